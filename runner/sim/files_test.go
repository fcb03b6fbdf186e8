package sim

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim/host"
)

// What a script writes on a node, and how the programs answer.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command string
		want    reply
	}{
		{
			`sudo sh -c 'mkdir -p -m 700 /run/railbench/a; stat -c "%a %U" /run/railbench /run/railbench/a'`,
			reply{out: "755 root\n700 root\n"},
		},
		{"ls /run/railbench/a", reply{err: "ls: cannot open directory '/run/railbench/a': Permission denied\n", code: 2}},
		{
			"[ -e /run/railbench/a/x ] || echo hidden; cat /run/railbench/a/x",
			reply{out: "hidden\n", err: "cat: /run/railbench/a/x: Permission denied\n", code: 1},
		},
		{"mkdir /run/mine", reply{err: "mkdir: cannot create directory ‘/run/mine’: Permission denied\n", code: 1}},
		{
			"sudo sh -c 'cd /run/railbench/a; cat >f <<END\none\nEND\necho two >>f; cat f; mv f g; mv f h'",
			reply{out: "one\ntwo\n", err: "mv: cannot stat 'f': No such file or directory\n", code: 1},
		},
		{
			"sudo sh -c 'cd /run/railbench/a; [ -f g ] && [ -s g ] && [ -r g ] && [ ! -d g ] && : >g && [ ! -s g ] && test " +
				"-e g; echo $?; rm g; rm -f g; rm g'",
			reply{out: "0\n", err: "rm: cannot remove 'g': No such file or directory\n", code: 1},
		},
		{
			"sudo sh -c 'cd /run/railbench; rmdir a; mkdir -p a/b; rm a; rmdir a'",
			reply{err: "rm: cannot remove 'a': Is a directory\nrmdir: failed to remove 'a': Directory not empty\n", code: 1},
		},
		{
			"sudo sh -c 'rm -rf /run/railbench; ls /run/railbench'",
			reply{err: "ls: cannot access '/run/railbench': No such file or directory\n", code: 2},
		},
		{`d=$(mktemp -d) && stat -c %a "$d" && echo x >"$d/x" && mkdir "$d/in" && mv "$d/x" "$d/in" && cat "$d/in/x" && mv "$d/in" "$d/out" && ls "$d/out" && rm -rf "$d" && [ ! -e "$d" ]`, reply{out: "700\nx\nx\n"}},
		{"cd /tmp; umask 077; echo x >u; umask 022; echo y >v; stat -c %a u v; chmod 640 u; chmod u+x,o=r v; " +
			"stat -c %a u v; rm u v", reply{out: "600\n644\n640\n744\n"}},
		{
			"sudo sh -c 'echo r >/tmp/root'; cat /tmp/root; echo x >>/tmp/root; rm /tmp/root",
			reply{out: "r\n", err: "bash: line 1: /tmp/root: Permission denied\nrm: cannot remove '/tmp/root': Operation not " +
				"permitted\n", code: 1},
		},
		{
			"sudo rm /tmp/root; printf 'echo $0 $1 $#; exit 4' >/tmp/s; /bin/sh /tmp/s a b",
			reply{out: "/tmp/s a 2\n", code: 4},
		},
		{
			"env -u HOME sh -c 'echo ${HOME-none}'; env HOME=/x sh -c 'echo $HOME'; env -i A=b printenv",
			reply{out: "/home/nvidia\n/x\nA=b\n"},
		},
		{"cat /proc/sys/kernel/random/boot_id", reply{out: host.BootID(0, 0) + "\n"}},
	} {
		if got := b.try("spark-01", c.command); got != c.want {
			t.Errorf("%s\n got %+v\nwant %+v", c.command, got, c.want)
		}
	}
	// Another device builds the tree again, and what was written stays.
	b.must("spark-01", "echo x >/tmp/stays; mkdir /tmp/d; echo y >/tmp/d/e; sudo ip link add bond7 type bond; "+
		"sudo ip link del bond7; cat /tmp/stays /tmp/d/e >/dev/null")
}

// TestComplaintsIntoAFile come from a tool that holds the rig's lock while it
// complains, and the file is behind the same lock.
func TestComplaintsIntoAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, command := range []string{"modprobe nvidia-peermem", "ip link set nosuch up", "ip addr add x dev lo"} {
		b.try("spark-01", command+" 2>/tmp/complaints")
		if said := b.must("spark-01", "cat /tmp/complaints"); said == "" {
			t.Errorf("%s complained of nothing", command)
		}
	}
}

// A script that reads files in a loop keeps none of their descriptors, whenever memory is collected.
func TestReadsLeaveNoDescriptors(t *testing.T) {
	b := newBench(t, Options{})
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b.must("spark-01", "true")
	before := descriptors(t)
	b.must("spark-01", "n=0; while [ $n -lt 200 ]; do { read -r up rest; } </proc/uptime; { read -r none; "+
		"} </dev/null || n=$((n + 1)); done")
	if after := descriptors(t); after > before+20 {
		t.Errorf("%d descriptors before, and %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("only Linux tells them")
	}
	return len(all)
}

// A line of a file that a statement reads for itself is read as one of a block is, which the interpreter reads.
func TestReadsOfALine(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.must("spark-01",
		`cd /tmp; printf 'one  two\\ three\n four\n' >words; printf 'no end' >cut; : >empty; echo x:y >parts; mkdir dir`)
	for _, c := range []struct{ read, from string }{
		{"read a", "words"},
		{"read -r a", "words"},
		{"read -r a b", "/tmp/words"},
		{"read -r a b c", "$dir/words"},
		{"read -r a b c", `"$dir"/words`},
		{"read a b", "cut"},
		{"read a b", "empty"},
		{"IFS=: read a b", "parts"},
		{"IFS= read -r a", "words"},
		{"! read a", "empty"},
		{"read a", "/dev/null"},
		{"read a", "nowhere"},
		{"read a", "/root/secret"},
		{"read a", "dir"},
		{"read a", "/sys/class/net/enP2p1s0f1np1/speed"},
	} {
		script := func(whole string) string {
			return "cd /tmp; dir=/tmp a=before b=before c=before; " + whole + `; echo "$? [$a] [$b] [$c] [$IFS]"; cat said`
		}
		said := b.must("spark-01", script(c.read+" 2>said <"+c.from))
		not, read := "", c.read
		if rest, ok := strings.CutPrefix(read, "! "); ok {
			not, read = "! ", rest
		}
		if want := b.must("spark-01", script(not+"{ "+read+"; } 2>said <"+c.from)); said != want {
			t.Errorf("%s <%s: %q, in a block %q", c.read, c.from, said, want)
		}
	}
}
