package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// mostMiB is what a process of railbench's may take of what TestMemoryIsBounded feeds it.
const mostMiB = 256

// endless is ten gigabytes of lines from no one's disk; it ends early when no one reads.
type endless struct{ left int64 }

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = " 65536  1000  92.5  92.4  0.17\n"[i%31]
	}
	e.left -= int64(len(b))
	return len(b), nil
}

// A grownSession is one that railbench saved while it is made longer. It goes straight to the disk: what this process
// has of memory is counted as that of those it starts.
type grownSession struct {
	cells []map[string]any // as they were saved
	add   func(cell map[string]any, mib int)
}

func ofCode(cell map[string]any) bool { return cell["cell_type"] == "code" }

// grown writes a session with other cells, and with so many MiB of output where a cell is one of code.
func grown(t *testing.T, path string, grow func(grownSession)) string {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	run := asProcess(t, "run", "hosts", "--rig", "sim", "--speed", "max", "--session", path)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(path)
	var rest map[string]json.RawMessage
	var s grownSession
	if err := errors.Join(err, json.Unmarshal(text, &rest), json.Unmarshal(rest["cells"], &s.cells)); err != nil {
		t.Fatal(err)
	}
	delete(rest, "cells")
	head, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, `%s,"cells":[`, strings.TrimSuffix(string(head), "}"))
	comma := ""
	const here = "the output's place"
	line := `"` + strings.Repeat("x", 123) + `\n",`
	s.add = func(cell map[string]any, mib int) {
		cell = maps.Clone(cell)
		if ofCode(cell) {
			cell["outputs"] = []any{map[string]any{"output_type": "stream", "name": "stdout", "text": []string{here, ""}}}
		}
		text, err := json.Marshal(cell)
		if err != nil {
			t.Fatal(err)
		}
		before, after, prints := strings.Cut(string(text), `"`+here+`",`)
		out.WriteString(comma + before)
		for i := 0; prints && i < mib<<20/len(line); i++ {
			out.WriteString(line)
		}
		out.WriteString(after)
		comma = ","
	}
	grow(s)
	fmt.Fprint(out, "]}")
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMemoryIsBounded gives a real process ten gigabytes of each input and looks at the most memory
// that it ever had: files that are named, streams, and a node that prints without an end.
func TestMemoryIsBounded(t *testing.T) {
	if !testform.Full() {
		t.Skip("gigabytes are the gate's: RAILBENCH_FULL=1")
	}
	size := int64(1 << 30) // four times what may be taken
	if os.Getenv("RAILBENCH_LONG") != "" {
		size *= 10
	}
	dir := t.TempDir()
	huge := func(name, begins string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(begins), 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	session, book, rig := huge("s.ipynb", `{"cells": [`), huge("b.md", "# Title {#title}\n"),
		huge("rig.toml", "name = \"x\"\n")
	config := huge("config", "Host a\n")
	brought := filepath.Join(dir, "brought.toml")
	text := fmt.Sprintf("ssh_config = %q\n[here]\nlocal = true\n[peer]\nssh = \"a\"\n", config)
	if err := os.WriteFile(brought, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(huge("j", "{}\n"), filepath.Join(dir, "fresh.ipynb.journal")); err != nil {
		t.Fatal(err)
	}
	tried, held := 0, 0
	try := func(name string, stdin io.Reader, args ...string) {
		cmd := asProcess(t, args...)
		cmd.Stdin = stdin
		if stdin == nil {
			endsBySignals(t, cmd, args[0])
		} else {
			_ = cmd.Run() // which status it has is other tests' business
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			t.Skip("nothing tells how much memory it had")
		}
		mib := usage.Maxrss >> 10
		t.Logf("%s: %d MiB", name, mib)
		if tried++; mib > mostMiB {
			t.Errorf("%s: %d MiB", name, mib)
		} else {
			held++
		}
	}
	try("a session", nil, "export", session, "--to", "md")
	try("a session to trust", nil, "trust", session)
	try("two sessions", nil, "compare", session, session)
	try("a session that goes on", nil, "run", "hosts", "--rig", "sim", "--speed", "max", "--session", session)
	mib := int(min(size>>22, 450)) // as long as a session may be, or a quarter of what others are
	for name, grow := range map[string]func(s grownSession){
		"a session with long outputs": func(s grownSession) {
			for _, c := range s.cells {
				s.add(c, mib/50)
			}
		},
		"a session of many cells": func(s grownSession) {
			small := map[string]any{"cell_type": "markdown", "id": "a", "metadata": map[string]any{}, "source": ""}
			for range mib << 20 / 70 {
				s.add(small, 0)
			}
		},
		"a session with one long cell": func(s grownSession) {
			s.add(s.cells[slices.IndexFunc(s.cells, ofCode)], mib)
		},
	} {
		path := grown(t, filepath.Join(dir, "grown.ipynb"), grow)
		out := filepath.Join(t.TempDir(), "s.md")
		try(name, strings.NewReader(""), "export", path, "--to", "md", "-o", out) // to its end
		if _, err := os.Stat(out); (err == nil) != strings.Contains(name, "long outputs") {
			t.Errorf("%s: exported: %v", name, err)
		}
		try(name+", to trust", strings.NewReader(""), "trust", path)
	}
	try("a journal", nil, "run", "hosts", "--rig", "sim", "--speed", "max", "--session", filepath.Join(dir, "fresh.ipynb"))
	try("a runbook", nil, "check", book)
	try("a rig file", nil, "run", "hosts", "--rig", rig)
	try("a rig file's ssh configuration", nil, "trust", brought)
	for _, tool := range []string{"perftest", "iperf3", "nixlbench"} {
		try("what "+tool+" prints, on stdin", &endless{size}, "parse", tool)
	}
	try("a file of which nobody knows what it is", &endless{size}, "parse", "--detect", "-")
	for _, stage := range []nodetest.Stage{
		nodetest.FloodsBeforeTheGreeting, nodetest.ExecsAndFloods,
		nodetest.ExecsWithoutEnd,
	} {
		config := filepath.Join(t.TempDir(), "config")
		text := fmt.Sprintf("Host bad\n HostName 127.0.0.1\n Port %d\n StrictHostKeyChecking accept-new\n"+
			" UserKnownHostsFile %s\n"+
			" IdentityAgent none\n ConnectTimeout 1\n", stage.Start(t), filepath.Join(t.TempDir(), "known_hosts"))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range [][]string{{"run", "hosts"}, {"undo", "--list"}} {
			try(fmt.Sprint("a server that ", stage, ", ", verb), nil, append(verb, "--peer", "bad", "--ssh-config", config)...)
		}
	}
	t.Logf("tried %d, held %d", tried, held)
}
