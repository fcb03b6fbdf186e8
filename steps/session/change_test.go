package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
)

// These tests change real networks: three namespaces, two nodes with a real sshd
// each and a bench, joined by veth pairs. The session runs in a process of its own
// inside the bench's namespace, or inside a node's, so that it can be killed.

// A plan is what that process does. It is handed over in the environment.
type plan struct {
	// Peer and Here are names in the ssh_config; an empty Here is the process's own machine.
	Peer, Here, Config string
	Journal            string
	Script             string // the cell's script; $NODE names the node that runs it
	Look               string // the script that looks at it; empty where there is none
	ChangeTime         time.Duration
	Keep               string // yes, no, or hang: no one answers
	Undo               bool   // take everything back in place of making the change
	Meanwhile          string // what a user does on the peer while the question is open

	peer runner.Node
}

const planEnv = "RAILBENCH_TEST_PLAN"

func TestMain(m *testing.M) {
	if text := os.Getenv(planEnv); text != "" {
		var p plan
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			panic(err)
		}
		if err := p.run(); err != nil {
			fmt.Println("ended:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("RAILBENCH_NETNS") != "" {
		os.Exit(testform.Main(m)) // networks that are changed are work, too
	}
	os.Exit(testform.Waiting(m))
}

// Change answers as the plan says.
func (p plan) Change(ctx context.Context, q steps.ChangeQuestion) (bool, error) {
	if !q.Keep {
		if p.Meanwhile == "" {
			return true, nil
		}
		_, err := runner.Text(ctx, p.peer, runner.Script{Name: "meanwhile", Body: p.Meanwhile, Root: true})
		return true, err
	}
	fmt.Println("asked: keep")
	switch p.Keep {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	<-ctx.Done()
	return false, ctx.Err()
}

func (p plan) options() (o Options, err error) {
	names := [2]string{p.Here, p.Peer}
	o.Nodes, o.Where = make([]runner.Node, len(names)), make([]string, len(names))
	for e, name := range names {
		if name == "" {
			o.Nodes[e] = runner.NewLocal("n2", runner.NoAsker{})
			continue
		}
		target, err := runner.Resolve(context.Background(), name, p.Config)
		if err != nil {
			return o, err
		}
		o.Nodes[e] = runner.NewSSH(runner.SSHOptions{Name: name, Target: target, Ask: runner.NoAsker{}})
	}
	p.peer = o.Nodes[1]
	o.Rig, o.Confirm, o.ChangeTime = "test", p, p.ChangeTime
	o.Journal = &undo.Journal{Dir: p.Journal}
	o.Params = map[string]string{"DEVS": "rail0 rail1 br0"}
	cell := steps.Cell{ID: "c", Judge: "c", Limit: 20 * time.Second, Change: steps.Change{Set: []string{"DEVS"}}}
	cell.Roles = []steps.Role{{Name: "change", On: steps.OnBoth, Root: true, Script: p.Script}}
	if p.Look != "" {
		cell.Roles = append(cell.Roles, steps.Role{Name: "look", On: steps.OnBoth, Script: p.Look})
	}
	o.Tutorial = steps.Tutorial{Parts: []steps.Part{{ID: "p", Cells: []steps.Cell{cell}}}}
	o.Catalog.Judges = map[string]steps.Judge{"c": func(_ steps.Cell, r steps.Result) steps.Verdict {
		for _, o := range r.Stages[0].Outputs {
			if !o.Ran || !o.Exit.OK() {
				return steps.Verdict{Grade: steps.Fail, Reason: "looked bad: " + o.Err + o.Text}
			}
		}
		return steps.Verdict{Grade: steps.Pass, Reason: "fine"}
	}}
	return o, nil
}

func (p plan) run() error {
	o, err := p.options()
	if err != nil {
		return err
	}
	if p.Undo {
		entries, err := Changes(context.Background(), o)
		if err != nil {
			return err
		}
		fmt.Println("to undo:", len(entries))
		return Undo(context.Background(), o, entries, func(f string, a ...any) { fmt.Printf("note: "+f+"\n", a...) })
	}
	s := New(o)
	s.Open()
	s.Run("c")
	for {
		events, ok := s.Next(context.Background())
		if !ok {
			return errors.New("no end")
		}
		for _, e := range events {
			switch e := e.(type) {
			case steps.CellPrinted:
				for _, l := range e.Lines {
					fmt.Println("note:", l.Text)
				}
			case steps.CellEnded:
				fmt.Println("verdict:", e.Verdict.Grade, e.Verdict.Reason)
				return s.Close()
			}
		}
	}
}

// A ground is the three namespaces.
type ground struct {
	t      *testing.T
	nodes  map[string]nodetest.Netns // n1, n2 and bench
	dir    string
	before map[string]change.State
}

func newGround(t *testing.T) *ground {
	if os.Getenv("RAILBENCH_NETNS") == "" {
		t.Skip("takes minutes in network namespaces: set RAILBENCH_FULL=1 RAILBENCH_NETNS=1, as root")
	}
	testform.Tool(t, "unshare")
	sshd := testform.Tool(t, "sshd")
	keygen := testform.Tool(t, "ssh-keygen")
	g := &ground{t: t, nodes: map[string]nodetest.Netns{}, dir: t.TempDir(), before: map[string]change.State{}}
	for _, name := range []string{"n1", "n2", "bench"} {
		g.nodes[name] = nodetest.NewNetns(t)
	}
	join := func(a, devA, addrA, b, devB, addrB string) {
		g.nodes[a].Sh(fmt.Sprintf("ip link add %s type veth peer name %s netns %s && ip addr add %s brd + dev %s && ip "+
			"link set %s up",
			devA, devB, g.nodes[b].Name, addrA, devA, devA))
		g.nodes[b].Sh(fmt.Sprintf("ip addr add %s brd + dev %s && ip link set %s up", addrB, devB, devB))
	}
	join("n1", "rail0", "192.168.100.10/24", "n2", "rail0", "192.168.100.11/24")
	join("n1", "rail1", "192.168.200.10/24", "n2", "rail1", "192.168.200.11/24")
	join("n1", "mgmt", "10.9.1.2/24", "bench", "to1", "10.9.1.1/24")
	join("n2", "mgmt", "10.9.2.2/24", "bench", "to2", "10.9.2.1/24")
	for i, n := range []string{"n1", "n2"} {
		g.nodes[n].Sh(fmt.Sprintf("ip route add default via 10.9.%d.1; ip route add 10.50.0.0/16 dev rail1 metric 5; "+
			"ip neigh add 192.168.100.77 lladdr 02:00:00:00:00:77 dev rail0 nud permanent", i+1))
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"id", "host"} {
		must(exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(g.dir, key)).Run())
	}
	public, err := os.ReadFile(filepath.Join(g.dir, "id.pub"))
	must(err)
	must(os.WriteFile(filepath.Join(g.dir, "authorized_keys"), public, 0o600))
	must(os.WriteFile(filepath.Join(g.dir, "sshd_config"), fmt.Appendf(nil, `Port 22
HostKey %[1]s/host
AuthorizedKeysFile %[1]s/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxSessions 20
SetEnv HOME=%[1]s
`, g.dir), 0o600))
	host, err := os.ReadFile(filepath.Join(g.dir, "host.pub"))
	must(err)
	must(os.WriteFile(filepath.Join(g.dir, "known_hosts"), []byte("* "+string(host)), 0o600))
	config := "IdentityFile " + g.dir + "/id\nIdentitiesOnly yes\nIdentityAgent none\nUser root\nConnectTimeout 3\n" +
		"GlobalKnownHostsFile none\nUserKnownHostsFile " + g.dir + "/known_hosts\n"
	for name, addr := range map[string]string{"n1": "10.9.1.2", "n2": "10.9.2.2", "n1-rail": "192.168.100.10"} {
		config += fmt.Sprintf("Host %s\n  HostName %s\n", name, addr)
	}
	must(os.WriteFile(filepath.Join(g.dir, "ssh_config"), []byte(config), 0o600))
	for _, n := range []string{"n1", "n2"} {
		// A /run of its own: two nodes don't share one.
		cmd := g.own(n, sshd, "-D", "-e", "-f", filepath.Join(g.dir, "sshd_config"))
		must(cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		for i := 0; ; i++ {
			if _, err := g.nodes[n].Try("grep -q ':0016 .* 0A ' /proc/net/tcp"); err == nil {
				break
			}
			if i > 100 {
				t.Fatal("sshd does not listen")
			}
			time.Sleep(20 * time.Millisecond)
		}
		g.before[n] = g.look(n)
	}
	return g
}

// own is a command in a node's namespace, with a /run of its own.
func (g *ground) own(node string, args ...string) *exec.Cmd {
	return g.nodes[node].Command(append([]string{
		"unshare", "-m", "sh", "-c",
		`mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd && exec "$@"`, "sh",
	}, args...)...)
}

func (g *ground) look(node string) change.State {
	g.t.Helper()
	s, err := change.Parse(g.nodes[node].Sh(change.Capture))
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *ground) differences() (all []string) {
	for _, n := range []string{"n1", "n2"} {
		for _, d := range change.Differences(g.before[n], g.look(n), func(string) bool { return true }) {
			all = append(all, n+": "+d)
		}
	}
	return all
}

// same waits until both nodes are as before.
func (g *ground) same() {
	g.t.Helper()
	var diff []string
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if diff = g.differences(); diff == nil {
			return
		}
	}
	g.t.Errorf("not as before: %q", diff)
}

func (g *ground) changed() {
	g.t.Helper()
	if g.differences() == nil {
		g.t.Error("nothing has changed")
	}
}

// bridges is as near to a bond as a kernel without the module comes: both rails
// in one interface, which has the address of the first. Two bridges over two rails are a loop,
// and one packet for all would go around it for as long as it is there, on every processor of
// the machine: the second rail floods nothing.
const bridges = `set -e
at() { [ "$STEP" != "$1" ] || { echo "step $1 fails" >&2; exit 9; }; }
[ "$NODE" = "$FAILS" ] || STEP=none
at 1
ip link add br0 type bridge
at 2
for d in rail0 rail1; do
  addr=$(ip -4 -br addr show dev $d)
  ip addr flush dev $d
  ip link set $d down
  ip link set $d mtu 4000
  ip link set $d master br0
  [ $d = rail0 ] || ip link set $d type bridge_slave flood off mcast_flood off bcast_flood off
  at $d
  ip link set $d up
done
case $NODE in
n1*) ip addr add 192.168.100.10/24 dev br0 ;;
*) ip addr add 192.168.100.11/24 dev br0 ;;
esac
at 5
ip link set br0 up
at 6
`

func (g *ground) plan(keep string) plan {
	return plan{
		Peer: "n1", Here: "n2", Config: filepath.Join(g.dir, "ssh_config"), Journal: filepath.Join(g.dir, "undo"),
		Script: bridges, Keep: keep, ChangeTime: time.Minute,
	}
}

// A process is one that runs a plan.
type process struct {
	cmd *exec.Cmd
	out *bufio.Scanner
	all strings.Builder
}

func (g *ground) start(p plan) *process {
	g.t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		g.t.Fatal(err)
	}
	bin, err := os.Executable()
	if err != nil {
		g.t.Fatal(err)
	}
	at := "bench"
	if p.Here == "" {
		at = "n2"
	}
	r := &process{cmd: g.own(at, bin)}
	r.cmd.Env = append(os.Environ(), planEnv+"="+string(text))
	pipe, err := r.cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	r.cmd.Stderr = os.Stderr
	r.out = bufio.NewScanner(pipe)
	if err := r.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// until reads on to a line with some words; it is false at the end.
func (r *process) until(words string) bool {
	for r.out.Scan() {
		r.all.WriteString(r.out.Text() + "\n")
		if strings.Contains(r.out.Text(), words) {
			return true
		}
	}
	return false
}

// end reads all that is left and gives the whole.
func (r *process) end() string {
	r.until("\x00")
	_ = r.cmd.Wait()
	return r.all.String()
}

func wants(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			t.Errorf("it doesn't say %q:\n%s", w, out)
		}
	}
}

func TestChangeIsKeptAndUndone(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	p := g.plan("yes")
	p.Look = "ping -c 1 -W 2 -I br0 192.168.100.10 && ping -c 1 -W 2 -I br0 192.168.100.11"
	wants(t, g.start(p).end(), "rollback timer started", "verdict: PASS", "kept on both nodes")
	g.changed()
	p.Undo = true
	wants(t, g.start(p).end(), "to undo: 1")
	g.same()
	wants(t, g.start(p).end(), "to undo: 0")
}

func TestChangeIsNotKept(t *testing.T) {
	t.Parallel()
	for keep, says := range map[string]string{
		"no":   "You did not confirm it",
		"hang": "the time for confirmation is over",
	} {
		t.Run(keep, func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			brief := g.plan(keep)
			if keep == "hang" {
				brief.ChangeTime = 30 * time.Second
			}
			wants(t, g.start(brief).end(), says, "Both nodes are as they were before")
			g.same()
			p := g.plan("")
			p.Undo = true
			wants(t, g.start(p).end(), "to undo: 0")
		})
	}
}

// TestChangeFails fails each step on either node.
func TestChangeFails(t *testing.T) {
	t.Parallel()
	for _, node := range []string{"n1", "n2"} {
		for _, step := range []string{"1", "2", "rail0", "rail1", "5", "6"} {
			t.Run(node+" "+step, func(t *testing.T) {
				t.Parallel()
				g := newGround(t)
				p := g.plan("yes")
				p.Script = fmt.Sprintf("STEP=%s FAILS=%s\n", step, node) + p.Script
				out := g.start(p).end()
				wants(t, out, "verdict: FAIL", "The change failed on "+node, "step "+step+" fails",
					"Both nodes are as they were before")
				if diff := g.differences(); diff != nil {
					t.Errorf("not as before: %q", diff)
				}
			})
		}
	}
}

func TestChangeThatLooksBad(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	p := g.plan("yes")
	p.Look = "ping -c 1 -W 1 192.168.100.99"
	wants(t, g.start(p).end(), "verdict: FAIL", "looked bad", "Both nodes are as they were before")
	g.same()
}

// TestChangeTouchesWhatItMustNot is a script that goes beyond its change set.
func TestChangeTouchesWhatItMustNot(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	p := g.plan("yes")
	p.Script = "ip link set rail0 mtu 4000; ip link set lo mtu 1400"
	wants(t, g.start(p).end(), "verdict: FAIL", "it changed other settings on n", "lo has MTU 1400")
	for _, n := range []string{"n1", "n2"} {
		g.nodes[n].Sh("ip link set lo mtu 65536")
	}
	g.same()
}

// TestChangedMeanwhile is what another user does on a node while the question is open: nothing is changed, and what
// he made stays.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ does, says string }{
		"a link of that name": {"ip link add br0 type bridge", "br0 is new"},
		"another MTU":         {"ip link set rail0 mtu 4000", "rail0 has MTU 4000"},
		"another name":        {"ip link set rail1 down; ip link set rail1 name rail9", "rail1 is gone"},
		"a second name":       {"ip link property add dev lo altname br0", "br0 is another name of lo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			p := g.plan("yes")
			p.Meanwhile = c.does
			wants(t, g.start(p).end(), "verdict: INCONCLUSIVE", "othing was changed", c.says)
			made := g.look("n1")
			g.before["n1"] = made
			if diff := g.differences(); diff != nil {
				t.Errorf("it was changed: %q", diff)
			}
			if _, there := made.Links["br0"]; there != strings.Contains(c.does, "add br0") {
				t.Errorf("br0 is there: %v", there)
			}
		})
	}
}

// TestDefaultRouteIsRefused is a change set with the management interface in it.
func TestDefaultRouteIsRefused(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	for _, n := range []string{"n1", "n2"} {
		g.nodes[n].Sh("ip route del default; ip route add default via 192.168.100.1 dev rail0")
		g.before[n] = g.look(n)
	}
	wants(t, g.start(g.plan("yes")).end(), "verdict: INCONCLUSIVE", "carries the default route")
	if diff := g.differences(); diff != nil {
		t.Errorf("it was changed: %q", diff)
	}
}

// TestKilled is kill -9 at every point: both nodes go back by themselves, and
// what is left in the journal is taken back by the next one.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, keep, at string }{
		"armed":      {"sleep 2\n" + bridges, "yes", "note: rollback timer started"},
		"in between": {bridges + "sleep 3\n", "yes", "note: rollback timer started"},
		"asked":      {bridges, "hang", "asked: keep"},
		"kept":       {bridges, "yes", "note: kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			p := g.plan(c.keep)
			// On a busy machine it takes a while until it is there to be killed.
			p.Script, p.ChangeTime = c.change, 40*time.Second
			r := g.start(p)
			if !r.until(c.at) {
				t.Fatalf("it never said %q: %s", c.at, r.all.String())
			}
			if name == "in between" {
				for range 100 {
					if g.differences() != nil {
						break
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			_ = r.cmd.Process.Kill()
			if name == "asked" || name == "in between" {
				g.changed()
			}
			p.Undo = true
			if name == "kept" {
				wants(t, g.start(p).end(), "to undo: 1")
			} else {
				g.same() // before anybody does anything
				wants(t, g.start(p).end(), "to undo: 1")
			}
			g.same()
		})
	}
}

// TestCut pulls the cable of the management network in the middle.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string][]string{"both": {"n1", "n2"}, "the peer": {"n1"}, "here": {"n2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			p := g.plan("yes")
			p.Script, p.ChangeTime = bridges+"sleep 4\n", 8*time.Second
			r := g.start(p)
			if !r.until("note: rollback timer started") {
				t.Fatal(r.all.String())
			}
			for i := range 2 {
				if n := fmt.Sprintf("n%d", i+1); strings.Contains(strings.Join(nodes, " "), n) {
					g.nodes["bench"].Sh(fmt.Sprintf("ip link set to%d down", i+1))
				}
			}
			time.Sleep(11 * time.Second)
			g.nodes["bench"].Sh("ip link set to1 up; ip link set to2 up")
			wants(t, r.end(), "as they were before")
			for i, n := range []string{"n1", "n2"} {
				g.nodes[n].Sh(fmt.Sprintf("ip route replace default via 10.9.%d.1", i+1))
			}
			g.same()
		})
	}
}

// TestOnlyWayIsARail: the peer is reached over the rail that changes. The
// connection breaks and comes back over the bridge; or it does not, and the node
// goes back by itself.
func TestOnlyWayIsARail(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"it comes back": "",
		"it does not":   "[ \"$NODE\" != n1-rail ] || ip addr flush dev br0\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			p := g.plan("yes")
			p.Peer, p.Here = "n1-rail", ""
			p.Script = bridges + spoil
			if spoil != "" {
				p.ChangeTime = 12 * time.Second
			}
			out := g.start(p).end()
			if spoil != "" {
				wants(t, out, "Both nodes are as they were before")
				g.same()
				return
			}
			wants(t, out, "verdict: PASS", "kept on both nodes")
			g.changed()
		})
	}
}
