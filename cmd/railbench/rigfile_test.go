package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rigfile"
)

func TestReadRig(t *testing.T) {
	t.Parallel()
	_, err := readRig(filepath.Join(t.TempDir(), "none.toml"))
	if err == nil || !strings.Contains(err.Error(), "read the rig file: ") || !strings.Contains(err.Error(), "none.toml") {
		t.Error(err)
	}
}

// nasty values are what a shell, a path or TOML could take for something else.
var nasty = []string{
	"it's", `a"b`, "a;reboot", "$(reboot)", "`reboot`", "${HOME}", "-rf", "--", "a b", "  ", `back\slash`, `\`, "#", "'''",
	`"""`, "a=b",
	"[x]", "*", "~", "~/x", "ü€😀", "%s", "!!", "a&b|c>d<e", "two\nlines", "tab\tand\rreturn", "\x1b[31m", "'\"'\"'",
	"$'\\n'", strings.Repeat("x", 5000),
}

func TestWriteRig(t *testing.T) {
	t.Parallel()
	want := rigfile.File{
		Name: "lab", SSHConfig: "/etc/lab config", Here: rigfile.Node{Name: "a", Local: true},
		Peer:  rigfile.Node{Name: "b", SSH: "nvidia@b:2222"},
		Rails: []rigfile.Rail{{Here: "mlx5_0", Peer: "mlx5_1"}, {Here: "mlx5_2", Peer: "mlx5_3"}},
	}
	path := filepath.Join(t.TempDir(), "new", "rig.toml")
	if err := writeRig(path, want, false); err != nil {
		t.Fatal(err)
	}
	got, err := readRig(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	// Another is not written over it, unless forced.
	other := want
	other.Name = "other"
	if err := writeRig(path, other, false); err == nil || !strings.Contains(err.Error(), path+" exists: give --force") {
		t.Errorf("written over: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file has changed all the same")
	}
	if err := writeRig(path, other, true); err != nil {
		t.Error(err)
	}
	if got, _ := readRig(path); got.Name != "other" {
		t.Errorf("--force left %q", got.Name)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// A folder that can't be made is an error, and nothing is lost.
	if err := writeRig(filepath.Join(path, "below", "rig.toml"), want, false); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// Whatever a value is, it comes back as it was, or is refused by name.
func TestRigFileNastyValues(t *testing.T) {
	t.Parallel()
	for i, v := range nasty {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i), "rig.toml")
		want := rigfile.File{
			Name: v, SSHConfig: v, Here: rigfile.Node{Name: v, SSH: v}, Peer: rigfile.Node{Name: v, SSH: v},
			Rails: []rigfile.Rail{{Here: v, Peer: v}},
		}
		if err := writeRig(path, want, false); err != nil {
			t.Fatalf("%q: %v", v, err)
		}
		got, err := readRig(path)
		switch {
		case strings.ContainsFunc(v, unicode.IsControl):
			if err == nil || !strings.Contains(err.Error(), "has a control character") {
				t.Errorf("%q: %v", v, err)
			}
		case err != nil:
			t.Errorf("%q: %v", v, err)
		default:
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%q: %s", v, d)
			}
		}
	}
}

// TestNastyNodes opens rigs whose nodes have nasty names and addresses: no value is run, and what is not a host is
// refused before anything is asked.
func TestNastyNodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "ssh_config")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owned := filepath.Join(dir, "owned")
	for _, v := range append([]string{
		"$(touch " + owned + ")", "`touch " + owned + "`", "a;touch " + owned,
		"-oProxyCommand=touch${IFS}" + owned,
	}, nasty...) {
		flags := rigFlags{here: v, peer: v, speed: 1, sshConfig: config}
		b, err := flags.open(t.Context(), runner.NoAsker{})
		if err == nil {
			b.close()
		}
		if strings.HasPrefix(v, "-") && err == nil {
			t.Errorf("%q was taken for a host", v)
		}
	}
	if _, err := os.Stat(owned); err == nil {
		t.Error("a value was run")
	}
}

// TestUnreachablePeer is a rig file whose peer refuses: exit status 3 and a hint.
func TestUnreachablePeer(t *testing.T) {
	testform.NeedsFull(t, "waits for limits")
	t.Parallel()
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close() // and nothing listens there any more
	rig, config := filepath.Join(dir, "rig.toml"), filepath.Join(dir, "ssh_config")
	if err := os.WriteFile(config, []byte("Host far\n  HostName 127.0.0.1\n  User nvidia\n  IdentityAgent none\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	file := rigfile.File{
		Name: "lab", Here: rigfile.Node{Name: "near", SSH: fmt.Sprintf("far:%d", port)},
		Peer: rigfile.Node{SSH: fmt.Sprintf("far:%d", port)},
	}
	if runtime.GOOS == "linux" {
		file.Here = rigfile.Node{Name: "near", Local: true}
	}
	if err := writeRig(rig, file, false); err != nil {
		t.Fatal(err)
	}
	hint := fmt.Sprintf("nothing listens on port %d: is sshd running there", port)
	for _, args := range [][]string{{"run", "hosts"}, {"run", "--all", "--json"}, {"run", "hosts", "--dry-run"}} {
		var stdout, stderr bytes.Buffer
		code := Main(append(args, "--rig", rig, "--ssh-config", config), strings.NewReader(""), &stdout, &stderr)
		if code != exitUnreachable || !strings.Contains(stderr.String(), hint) ||
			!strings.Contains(stderr.String(), "railbench: connect to") {
			t.Errorf("%v: exit %d: %s", args, code, stderr.String())
		}
		if strings.Contains(stdout.String(), "SIMULATED") || strings.Contains(stdout.String(), `"simulated": true`) {
			t.Errorf("%v: a real rig is called simulated: %s", args, stdout.String())
		}
	}

	// init writes nothing about a rig that it has not seen.
	out := filepath.Join(dir, "found.toml")
	var stdout, stderr bytes.Buffer
	code := Main([]string{"init", "--peer", fmt.Sprintf("far:%d", port), "--ssh-config", config, "-o", out},
		strings.NewReader(""), &stdout, &stderr)
	if code != exitUnreachable || !strings.Contains(stderr.String(), hint) {
		t.Errorf("init: exit %d: %s", code, stderr.String())
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("init wrote a file")
	}
}

func TestParseLink(t *testing.T) {
	t.Parallel()
	names := []string{"spark-01", "spark-02", "spark-03"}
	for text, want := range map[string]steps.Link{
		"spark-01:spark-03": {Here: 0, Peer: 2}, "3:1": {Here: 2, Peer: 0}, "spark-02:1": {Here: 1, Peer: 0},
	} {
		if got, err := steps.ParseLink(text, names); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"spark-01": "give A:B", "1:1": "give A:B", "": "give A:B", "0:1": `no node "0"`,
		"spark-01:spark-04": `did you mean`, "1:4": `no node "4"`,
	} {
		if _, err := steps.ParseLink(text, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
