package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

// local is a node that this machine plays under a name.
type local struct {
	runner.Node
	name string
}

func (l local) Name() string { return l.name }

// rigOf is a rig of so many nodes, all of them this machine. mpirun takes every name but its own
// for another host, which it starts a daemon on by the agent of pretended.
func rigOf(t *testing.T, n int) session.Request {
	t.Helper()
	r := session.Request{
		Run: "rb-" + strings.ToLower(rand.Text()),
		Rig: steps.NewRig("", false, n), Params: map[string]string{Param: "openmpi"},
		Tell: func(format string, args ...any) { t.Logf(format, args...) },
	}
	for i := range n {
		name := fmt.Sprintf("rbnode%d", i+1)
		node := runner.NewLocal(name, nil)
		t.Cleanup(func() { node.Close() })
		r.Every = append(r.Every, local{node, name})
		r.Rig.Nodes[i].Name, r.Rig.Nodes[i].Host = name, name
		if i == 0 {
			r.Rig.Nodes[i].Host = "localhost"
		}
	}
	r.Nodes = [2]runner.Node{r.Every[0], r.Every[1]}
	return r
}

// pretended is the tool that mpirun starts its daemons with, in ssh's place: it drops the host's
// name and runs the command here, in a session of its own, as sshd would.
func pretended(t *testing.T) string {
	t.Helper()
	testform.Tool(t, "mpirun")
	path := filepath.Join(t.TempDir(), "agent")
	const text = "#!/bin/sh\nwhile case $1 in -*) ;; *) false ;; esac; do shift; done\nshift\n" +
		"tmp=$(mktemp -d \"${0%/*}/XXXXXX\")\n" + // each node has a /tmp of its own
		"exec env -u RAILBENCH_RUN -u RAILBENCH_LAUNCH TMPDIR=\"$tmp\" setsid sh -c \"$*\"\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func service(t *testing.T) Service {
	return Service{Launchers: func() (Launchers, error) { return built(t), nil }}
}

// preamble is the tutorial's own launch, with the agent of the tests.
func preamble(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../assets/tutorial/87-collectives.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```sh preamble=launch\n")
	body, _, end := strings.Cut(rest, "```")
	if !ok || !end {
		t.Fatal("the part on collectives has no preamble launch")
	}
	return body
}

// started runs a program on all nodes as a cell does.
func started(ctx context.Context, t *testing.T, r session.Request, program string, line func(runner.Line)) (runner.Exit,
	func() error,
) {
	t.Helper()
	agent := pretended(t)
	vars, stop, err := service(t).Start(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := r.Every[0].Run(ctx, runner.Script{
		Name: "launch", Limit: time.Minute, Vars: vars[steps.Here],
		Body: preamble(t) + "export OMPI_MCA_plm_rsh_agent=" + runner.Quote(agent) + "\nlaunch " + program,
	}, line)
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return exit, stop
}

// marked counts the processes that carry a run's mark.
func marked(t *testing.T, run string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || files == nil {
		t.Skip("there is no /proc to look at")
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended meanwhile
		if strings.Contains("\x00"+string(text), "\x00"+MarkVariable+"="+run+"\x00") {
			n++
		}
	}
	return n
}

// Real mpirun starts a process on every node, with the run's mark, and leaves nothing.
func TestOpenMPI(t *testing.T) {
	t.Parallel()
	r := rigOf(t, 3)
	said := map[string]bool{}
	exit, stop := started(t.Context(), t, r,
		`sh -c 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE $RAILBENCH_LAUNCH"'`,
		func(l runner.Line) { said[l.Text] = true })
	if !exit.OK() {
		t.Errorf("%s: %v", exit, said)
	}
	for i := range 3 {
		if want := fmt.Sprintf("rank %d of 3 %s", i, r.Run); !said[want] {
			t.Errorf("%q is missing in %v", want, said)
		}
	}
	if err := stop(); err != nil || marked(t, r.Run) != 0 {
		t.Errorf("%v, and %d processes are left", err, marked(t, r.Run))
	}
}

// A run that is cancelled in the middle, and one whose mpirun a user kills, leave no process on any node: neither
// mpirun's daemons nor what those have started, though it ignores SIGTERM.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cancelled", "killed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOf(t, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var up atomic.Int32
			most := 0
			counted := filepath.Join(t.TempDir(), "counted")
			_, stop := started(ctx, t, r, `sh -c 'trap "" TERM HUP; echo up
				until [ -e `+counted+` ]; do sleep 0.1; done
				[ "$OMPI_COMM_WORLD_RANK" != 0 ] || case `+name+` in killed) kill -9 "$PPID" ;; esac
				setsid sleep 300 & sleep 300'`, func(l runner.Line) {
				if l.Text != "up" || up.Add(1) < 3 {
					return
				}
				most = marked(t, r.Run)
				if err := os.WriteFile(counted, nil, 0o600); err != nil {
					t.Error(err)
				}
				if name == "cancelled" {
					cancel()
				}
			})
			if most < 3 {
				t.Errorf("%d processes carried the mark, of 3 nodes", most)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if n := marked(t, r.Run); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

// What a node says of its processes is a number, or nothing is known.
func TestSwept(t *testing.T) {
	for text, ok := range map[string]bool{
		"found 0\nleft 0\n": true, "found 3\nleft 1": true, "": false, "found 0": false, "found a[$(id)]\nleft 0": false,
		"found 0\nleft -1": false, "left 0\nfound 0": false, "found 0\nleft 0\nleft 0": false,
	} {
		if found, left, got := swept(text); got != ok {
			t.Errorf("%q: %d, %d, %t", text, found, left, got)
		}
	}
}

// saying is a node that answers every script with one text.
type saying struct {
	runner.Node
	text string
	err  error
}

func (saying) Name() string { return "spark-09" }

func (s saying) Run(_ context.Context, _ runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	for line := range strings.Lines(s.text) {
		emit(runner.Line{Text: strings.TrimSuffix(line, "\n")})
	}
	return runner.Exit{}, s.err
}

// No one passes over a node of which it is unknown what is left there.
func TestSweepTellsOfEveryNode(t *testing.T) {
	for text, want := range map[string]string{
		"found 0\nleft 0\n": "", "found 2\nleft 2\n": "2 processes of the run are still on spark-09",
		"gone\n": "it is unknown",
	} {
		err := sweep(session.Request{Run: "rb-x", Every: []runner.Node{saying{text: text}}, Tell: t.Logf})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := sweep(session.Request{
		Run: "rb-x", Every: []runner.Node{saying{err: errors.New("lost")}},
		Tell: t.Logf,
	}); err == nil {
		t.Error("a node that is away has nothing left")
	}
}

// Sizes are as small as the node with the least memory needs them.
func TestRoom(t *testing.T) {
	room := Room{Buffers: map[string]int64{"BYTES": 8}}
	for _, c := range []struct{ memory, asked, want string }{
		{"131072000", "1073741824", ""}, // 125 GiB
		{"4194304", "1073741824", "536870912"},
		{"16", "1073741824", "2048"},
		{"16", "2048", ""},
	} {
		r := session.Request{
			Every: []runner.Node{
				saying{text: "MemAvailable: 131072000 kB\n"},
				saying{text: "MemAvailable:   " + c.memory + " kB\n"},
			}, Tell: t.Logf, Params: map[string]string{"BYTES": c.asked},
		}
		vars, _, err := room.Start(t.Context(), r)
		if err != nil || vars[steps.Peer]["BYTES"] != c.want {
			t.Errorf("%+v: %v, %v", c, vars, err)
		}
	}
	for _, text := range []string{"", "MemAvailable: a[$(id)] kB\n", "MemAvailable: -1 kB\n", "1"} {
		r := session.Request{Every: []runner.Node{saying{text: text}}, Tell: t.Logf, Params: map[string]string{"BYTES": "1"}}
		if _, _, err := room.Start(t.Context(), r); err == nil {
			t.Errorf("%q is memory", text)
		}
	}
}

// ringOfFour are four nodes, each cabled to the next.
func ringOfFour() steps.Rig {
	rig := steps.NewRig("", false, 4)
	for i := range rig.Nodes {
		rig.Nodes[i].Host = fmt.Sprint("n", i)
		for port, cable := range []int{i, (i + 3) % 4} {
			rig.Nodes[i].Rails = append(rig.Nodes[i].Rails,
				steps.Rail{Dev: fmt.Sprint("dev", port), Addr: fmt.Sprintf("10.0.%d.%d", cable, port+1), Prefix: 24})
		}
	}
	return rig
}

func TestHosts(t *testing.T) {
	rig := steps.NewRig("", false, 3)
	rail := func(addr string) []steps.Rail { return []steps.Rail{{Dev: "rocep1s0f0", Addr: addr, Prefix: 24}} }
	for i, n := range []steps.Node{
		{Name: "a", Host: "spark-01", Where: "this machine", Rails: rail("192.168.100.10")},
		{Name: "b", Host: "spark-02", Where: "nvidia@192.168.1.102:22", Rails: rail("192.168.100.11")},
		{Name: "c", Host: "spark-03", Where: "nvidia@127.0.0.1:2222", Rails: rail("192.168.100.12")},
	} {
		n.No = i
		rig.Nodes[i] = n
	}
	for _, c := range []struct{ by, chosen, want string }{
		{"address", "", "spark-01,192.168.1.102,192.168.100.12"},
		{"name", "", "spark-01,spark-02,spark-03"},
		{"name", "x,y,z", "x,y,z"},
		{"address", "x,y", "LAUNCH_HOSTS names 2 hosts, and the rig has 3 nodes"},
	} {
		got, err := hostsOf(rig, c.by, c.chosen)
		text := strings.Join(got, ",")
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%+v: %s", c, text)
		}
	}
	// Where one rail is down, the launcher goes over one that is up.
	for i := range rig.Nodes {
		rig.Nodes[i].Rails[0].State = "DOWN"
		rig.Nodes[i].Rails = append(rig.Nodes[i].Rails,
			steps.Rail{Dev: "rocep1s0f1", Addr: fmt.Sprintf("192.168.200.1%d", i), Prefix: 24, State: "ACTIVE"})
	}
	if got, err := hostsOf(rig, "address", ""); err != nil || got[2] != "192.168.200.12" {
		t.Errorf("%v, %v", got, err)
	}
	ring := ringOfFour()
	for _, c := range []struct {
		link         steps.Link
		chosen, want string
	}{
		{steps.Link{Here: 0, Peer: 1}, "", "n0,n1,n2,n3"},
		{steps.Link{Here: 1, Peer: 0}, "", "n1,n0,n3,n2"},
		{steps.Link{Here: 1, Peer: 0}, "a,b,c,d", "b,a,d,c"},
		{steps.Link{Here: 0, Peer: 2}, "", "n0,n1,n2,n3"},
	} {
		got, err := hostsOf(ring.Over(c.link), "name", c.chosen)
		if text := strings.Join(got, ","); err != nil || text != c.want {
			t.Errorf("ring, %+v: %s, %v", c, text, err)
		}
	}
	rig.Nodes[2].Err = "no route"
	if hosts, err := hostsOf(rig, "name", ""); err == nil {
		t.Errorf("a node that is away is one of %v", hosts)
	}
}

// The folder that is called after the run, which a rank's own shell takes away where it can, goes on every node.
func TestTheRunsFolderGoes(t *testing.T) {
	t.Parallel()
	r := rigOf(t, 2)
	_, stop, err := service(t).Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	folder := "/tmp/railbench-" + r.Run
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "nccl.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
