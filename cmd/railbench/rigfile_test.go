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

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

const peerTable = "[peer]\nssh = \"nvidia@192.0.2.1\"\n"

func TestParseRig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		want      rigFile
		err       string // begins with what follows the path, where there is one
	}{
		{
			name: "both over ssh",
			src: "name = \"lab\"\n[here]\nssh = \"spark-02\"\n[peer]\nname = \"b\"\nssh = \"nvidia@192.0.2.1:2222\"\n" +
				"[[rail]]\nhere = \"mlx5_0\"\npeer = \"mlx5_1\"\n",
			want: rigFile{
				Name: "lab", Here: nodeFile{SSH: "spark-02"}, Peer: nodeFile{Name: "b", SSH: "nvidia@192.0.2.1:2222"},
				Rails: []railFile{{Here: "mlx5_0", Peer: "mlx5_1"}},
			},
		},
		{
			name: "inline, Windows line ends, comments",
			src:  "# a rig\r\nhere = {local = true}\r\npeer.ssh = 'spark-01' # the other\r\n",
			want: rigFile{Here: nodeFile{Local: true}, Peer: nodeFile{SSH: "spark-01"}},
		},
		{
			name: "an etcd that is there", src: "etcd = \"http://192.0.2.1:2379\"\n[here]\nlocal = true\n" + peerTable,
			want: rigFile{Etcd: "http://192.0.2.1:2379", Here: nodeFile{Local: true}, Peer: nodeFile{SSH: "nvidia@192.0.2.1"}},
		},
		{
			name: "no URL of an etcd", src: "name = \"a\"\netcd = \"192.0.2.1:2379\"\n[here]\nlocal = true\n" + peerTable,
			err: `:2: etcd "192.0.2.1:2379": its URL is written http://HOST:PORT`,
		},
		{
			name: "unknown key", src: "[here]\nlocal = true\n[peer]\nshh = \"a\"\n",
			err: `:4: unknown key "peer.shh"; did you mean "peer.ssh"?`,
		},
		{name: "unknown key, none near", src: "colour = 4\n", err: `:1: unknown key "colour"`},
		{
			name: "unknown table", src: "[here]\nlocal = true\n\n[pear]\nssh = \"a\"\n",
			err: `:4: unknown key "pear"; did you mean "peer"?`,
		},
		{
			name: "unknown key of a rail", src: "[here]\nlocal = true\n" + peerTable + "[[rail]]\nhere = \"a\"\nperr = \"b\"\n",
			err: `:7: unknown key "rail.perr"; did you mean "rail.peer"?`,
		},
		{name: "plural", src: "[[rails]]\nhere = \"a\"\n", err: `:1: unknown key "rails"; did you mean "rail"?`},
		{
			name: "a number for a string", src: "[here]\n  ssh = 5\n" + peerTable,
			err: `:2:9: here.ssh is an integer here, and must be a string: "…"`,
		},
		{
			name: "a string for a boolean", src: "[here]\nlocal = \"yes\"\n" + peerTable,
			err: ":2:9: here.local is a string here, and must be true or false",
		},
		{
			name: "a string for a table", src: "here = \"spark-02\"\n" + peerTable,
			err: ":1:8: here is a string here, and must be a table: [here]",
		},
		{
			name: "a string for rails", src: "rail = \"a\"\n",
			err: ":1:8: rail is a string here, and must be tables, each beginning with [[rail]]",
		},
		{name: "open string", src: "name = \"x\n[here]\n", err: ":1:10: "},
		{name: "no value", src: "[here]\nssh =\n", err: ":2:"},
		{name: "a table twice", src: "[here]\nlocal = true\n[here]\n", err: ":3:2 at key here: "},
		{name: "not UTF-8", src: "name = \"\xff\"\n", err: ":1:"},
		{name: "empty", src: "", err: `:1: [here] needs ssh = "user@host", or local = true`},
		{
			name: "neither", src: "[here]\nlocal = true\n[ peer ]\nname = \"x\"\n",
			err: `:3: [peer] needs ssh = "user@host", or local = true`,
		},
		{
			name: "local is false", src: peerTable + "[here]\nlocal = false\n",
			err: `:3: [here] needs ssh = "user@host", or local = true`,
		},
		{
			name: "both", src: peerTable + "\n[here]\nlocal = true\nssh = \"a\"\n",
			err: ":4: [here] has both ssh and local: remove one of them",
		},
		{
			name: "both nodes local", src: "[here]\nlocal = true\n[peer]\nlocal = true\n",
			err: ":3: here.local and peer.local: both nodes are this machine, and a rig has two",
		},
		{name: "both wrong, the first is told", src: "[here]\n[peer]\n", err: ":1: [here] needs"},
		{
			name: "rail without a peer", src: "[here]\nlocal = true\n" + peerTable +
				"[[rail]]\nhere = \"a\"\npeer = \"b\"\n[[rail]]\nhere = \"c\"\n",
			err: ":8: rail 2 needs here and peer, the RDMA devices at its two ends",
		},
		{
			name: "a name of two lines", src: "[here]\nlocal = true\nname = \"a\\nrm -rf ~\"\n" + peerTable,
			err: `:1: here.name "a\nrm -rf ~" has a control character`,
		},
		{
			name: "a name that controls the terminal", src: "[here]\nlocal = true\n" + peerTable + "name = \"\\u001b[2J\"\n",
			err: `:3: peer.name "\x1b[2J" has a control character`,
		},
		{name: "a rig's name that does", src: "\nname = \"\\u009b2J\"\n", err: `:2: name "\u009b2J" has a control character`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseRig("dir/rig.toml", []byte(c.src))
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "dir/rig.toml"+c.err) {
					t.Fatalf("%v, want dir/rig.toml%s", err, c.err)
				}
				if strings.Contains(err.Error(), "main.") || strings.Contains(err.Error(), "\n") {
					t.Errorf("not for people: %q", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

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
	want := rigFile{
		Name: "lab", SSHConfig: "/etc/lab config", Here: nodeFile{Name: "a", Local: true},
		Peer:  nodeFile{Name: "b", SSH: "nvidia@b:2222"},
		Rails: []railFile{{Here: "mlx5_0", Peer: "mlx5_1"}, {Here: "mlx5_2", Peer: "mlx5_3"}},
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
		want := rigFile{
			Name: v, SSHConfig: v, Here: nodeFile{Name: v, SSH: v}, Peer: nodeFile{Name: v, SSH: v},
			Rails: []railFile{{Here: v, Peer: v}},
		}
		if err := writeRig(path, want, false); err != nil {
			t.Fatalf("%q: %v", v, err)
		}
		got, err := readRig(path)
		switch {
		case hasControl(v):
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

// TestNastyNodes opens rigs whose nodes have nasty names and addresses: no value is
// run, and what is no host is refused before anything is asked.
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
	file := rigFile{
		Name: "lab", Here: nodeFile{Name: "near", SSH: fmt.Sprintf("far:%d", port)},
		Peer: nodeFile{SSH: fmt.Sprintf("far:%d", port)},
	}
	if runtime.GOOS == "linux" {
		file.Here = nodeFile{Name: "near", Local: true}
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

// A file of many nodes, and what is refused of one.
func TestRigFileOfManyNodes(t *testing.T) {
	t.Parallel()
	const trio = "[[node]]\nname = \"a\"\nlocal = true\n[[node]]\nname = \"b\"\nssh = \"b\"\n[[node]]\nname = \"c\"\n" +
		"ssh = \"c\"\n"
	f, err := parseRig("rig.toml", []byte(trio+"[[rail]]\na = \"a:mlx5_0\"\nb = \"c:mlx5_1\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.nodes()) != 3 || f.nodes()[2].SSH != "c" {
		t.Errorf("%+v", f.nodes())
	}
	rails, err := f.choices()
	if want := (session.RailChoice{Link: steps.Link{Here: 0, Peer: 2}, Here: "mlx5_0", Peer: "mlx5_1"}); err != nil ||
		len(rails) != 1 || rails[0] != want {
		t.Errorf("%+v, %v", rails, err)
	}
	for _, c := range [][2]string{
		{trio + "[here]\nlocal = true\n", ":1: the file has [[node]] tables, and [here] or [peer] too"},
		{"[[node]]\nname = \"a\"\nlocal = true\n", "from 2 to 1024 nodes, and the file 1"},
		{trio + "[[node]]\nname = \"a\"\nssh = \"d\"\n", `:10: two nodes have the name "a"`},
		{trio + "[[node]]\nssh = \"d\"\n", ":10: [[node 4]] needs a name"},
		{trio + "[[node]]\nname = \"d e\"\nssh = \"d\"\n", "has no colon, comma or blank"},
		{trio + "[[node]]\nname = \"d\"\nlocal = true\n", "two nodes are local"},
		{trio + "[[node]]\nname = \"d\"\n", "[node 4] needs ssh"},
		{trio + "[[rail]]\nhere = \"x\"\npeer = \"y\"\n", "rail 1 needs a and b"},
		{trio + "[[rail]]\na = \"a:x\"\nb = \"d:y\"\n", `"d:y" is not NODE:DEVICE`},
		{trio + "[[rail]]\na = \"a:x\"\nb = \"a:y\"\n", "leads from a to itself"},
		{
			"[here]\nlocal = true\n[peer]\nssh = \"b\"\n[[rail]]\nhere = \"x\"\npeer = \"y\"\na = \"b:x\"\n",
			"a and b go with [[node]] tables",
		},
	} {
		src, want := c[0], c[1]
		if _, err := parseRig("rig.toml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v, want %s", src, err, want)
		}
	}
}

func TestParseLink(t *testing.T) {
	t.Parallel()
	names := []string{"spark-01", "spark-02", "spark-03"}
	for text, want := range map[string]steps.Link{
		"spark-01:spark-03": {Here: 0, Peer: 2}, "3:1": {Here: 2, Peer: 0}, "spark-02:1": {Here: 1, Peer: 0},
	} {
		if got, err := parseLink(text, names); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"spark-01": "give A:B", "1:1": "give A:B", "": "give A:B", "0:1": `no node "0"`,
		"spark-01:spark-04": `did you mean`, "1:4": `no node "4"`,
	} {
		if _, err := parseLink(text, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
