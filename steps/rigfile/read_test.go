package rigfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

const peerTable = "[peer]\nssh = \"nvidia@192.0.2.1\"\n"

func TestParseRig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		want      File
		err       string // begins with what follows the path, where there is one
	}{
		{
			name: "both over ssh",
			src: "name = \"lab\"\n[here]\nssh = \"spark-02\"\n[peer]\nname = \"b\"\nssh = \"nvidia@192.0.2.1:2222\"\n" +
				"[[rail]]\nhere = \"mlx5_0\"\npeer = \"mlx5_1\"\n",
			want: File{
				Name: "lab", Here: Node{SSH: "spark-02"}, Peer: Node{Name: "b", SSH: "nvidia@192.0.2.1:2222"},
				Rails: []Rail{{Here: "mlx5_0", Peer: "mlx5_1"}},
			},
		},
		{
			name: "inline, Windows line ends, comments",
			src:  "# a rig\r\nhere = {local = true}\r\npeer.ssh = 'spark-01' # the other\r\n",
			want: File{Here: Node{Local: true}, Peer: Node{SSH: "spark-01"}},
		},
		{
			name: "an etcd that is there", src: "etcd = \"http://192.0.2.1:2379\"\n[here]\nlocal = true\n" + peerTable,
			want: File{Etcd: "http://192.0.2.1:2379", Here: Node{Local: true}, Peer: Node{SSH: "nvidia@192.0.2.1"}},
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
			got, err := Parse("dir/rig.toml", []byte(c.src))
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

// A file of many nodes, and what is refused of one.
func TestRigFileOfManyNodes(t *testing.T) {
	t.Parallel()
	const trio = "[[node]]\nname = \"a\"\nlocal = true\n[[node]]\nname = \"b\"\nssh = \"b\"\n[[node]]\nname = \"c\"\n" +
		"ssh = \"c\"\n"
	f, err := Parse("rig.toml", []byte(trio+"[[rail]]\na = \"a:mlx5_0\"\nb = \"c:mlx5_1\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.All()) != 3 || f.All()[2].SSH != "c" {
		t.Errorf("%+v", f.All())
	}
	rails, err := f.RailChoices()
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
		if _, err := Parse("rig.toml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v, want %s", src, err, want)
		}
	}
}
