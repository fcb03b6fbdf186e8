package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/runner/nodetest"
)

// mostMiB is what a process of railbench's may take of what TestMemoryIsBounded feeds it.
const mostMiB = 256

// endless is ten gigabytes of lines from nobody's disk; it ends early when nobody reads.
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

// outputs makes a code cell print so many MiB; it reports whether it is one.
func outputs(cell any, mib int) bool {
	c, _ := cell.(map[string]any)
	if c["cell_type"] != "code" {
		return false
	}
	line := strings.Repeat("x", 127) + "\n"
	c["outputs"] = []any{map[string]any{
		"output_type": "stream", "name": "stdout", "text": slices.Repeat([]any{line}, mib<<20/len(line)),
	}}
	return true
}

// grown is a session that railbench saved, and that somebody made longer: of some half a GiB, which is as long as one may be.
func grown(t *testing.T, path string, mib int, grow func(map[string]any, int)) string {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	run := asProcess(t, "run", "hosts", "--rig", "sim", "--speed", "max", "--session", path)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(path)
	var s map[string]any
	if err := errors.Join(err, json.Unmarshal(text, &s)); err != nil {
		t.Fatal(err)
	}
	grow(s, min(mib, 450))
	f, err := os.Create(path)
	if err := errors.Join(err, json.NewEncoder(f).Encode(s), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMemoryIsBounded gives a real process ten gigabytes of each input and looks at the most memory
// that it ever had: files that are named, streams, and a node that prints without an end.
func TestMemoryIsBounded(t *testing.T) {
	if !nodetest.Whole() {
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
	session, book, rig := huge("s.ipynb", `{"cells": [`), huge("b.md", "# Title {#title}\n"), huge("rig.toml", "name = \"x\"\n")
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
			endsBySignals(t, cmd)
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
	for name, grow := range map[string]func(map[string]any, int){
		"a session with long outputs": func(s map[string]any, mib int) {
			cells, _ := s["cells"].([]any)
			for _, c := range cells {
				outputs(c, mib/50)
			}
		},
		"a session of many cells": func(s map[string]any, mib int) {
			small := map[string]any{"cell_type": "markdown", "id": "a", "metadata": map[string]any{}, "source": ""}
			s["cells"] = slices.Repeat([]any{small}, mib<<20/70)
		},
		"a session with one long cell": func(s map[string]any, mib int) {
			cells, _ := s["cells"].([]any)
			i := slices.IndexFunc(cells, func(c any) bool { return outputs(c, mib) })
			s["cells"] = cells[i : i+1]
		},
	} {
		path := grown(t, filepath.Join(dir, "grown.ipynb"), int(size>>20)/4, grow)
		try(name, nil, "export", path, "--to", "md", "-o", filepath.Join(t.TempDir(), "s.md"))
		try(name+", to trust", nil, "trust", path)
	}
	try("a journal", nil, "run", "hosts", "--rig", "sim", "--speed", "max", "--session", filepath.Join(dir, "fresh.ipynb"))
	try("a runbook", nil, "check", book)
	try("a rig file", nil, "run", "hosts", "--rig", rig)
	try("a rig file's ssh configuration", nil, "trust", brought)
	for _, tool := range []string{"perftest", "iperf3", "nixlbench"} {
		try("what "+tool+" prints, on stdin", &endless{size}, "parse", tool)
	}
	try("a file of which nobody knows what it is", &endless{size}, "parse", "--detect", "-")
	for _, stage := range []nodetest.Stage{nodetest.FloodsBeforeTheGreeting, nodetest.ExecsAndFloods, nodetest.ExecsWithoutEnd} {
		config := filepath.Join(t.TempDir(), "config")
		text := fmt.Sprintf("Host bad\n HostName 127.0.0.1\n Port %d\n StrictHostKeyChecking accept-new\n UserKnownHostsFile %s\n"+
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
