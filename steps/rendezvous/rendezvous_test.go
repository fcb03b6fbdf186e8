package rendezvous_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/sim/etcdtest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rendezvous"
	"github.com/railbench/railbench/steps/session"
)

// TestMain has railbench-etcd in $PATH in the full form of the tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if !testform.Full() {
		return testform.Main(m)
	}
	dir, err := os.MkdirTemp("", "railbench-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if _, err := etcdtest.Build(dir); err != nil {
		panic(err)
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return testform.Main(m)
}

// own starts an etcd of railbench's own: a simulated one at a port of loopback, and in the full form of the tests
// railbench-etcd.
func own(t *testing.T) rendezvous.Starter {
	t.Helper()
	if testform.Full() {
		return etcd.Start
	}
	return func(context.Context) (*etcd.Server, error) {
		there, err := etcd.Open(etcdtest.Serve(t))
		if err != nil {
			return nil, err
		}
		return etcd.Within(there.Dial), nil
	}
}

// A desk is a request that keeps what was reported to it.
type desk struct {
	session.Request
	mu   sync.Mutex
	told []string
}

func newDesk(run string, nodes [2]runner.Node) *desk {
	d := &desk{Request: session.Request{Run: run, Nodes: nodes, Params: map[string]string{}}}
	d.Tell = func(format string, args ...any) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told = append(d.told, fmt.Sprintf(format, args...))
	}
	return d
}

func (d *desk) words() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.told, "\n")
}

// simulated are both nodes of a simulated rig.
func simulated(t *testing.T) [2]runner.Node {
	t.Helper()
	rig, err := sim.New(sim.Options{Speed: 50})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rig.Close() })
	var nodes [2]runner.Node
	for e, name := range map[steps.End]string{steps.Here: "spark-02", steps.Peer: "spark-01"} {
		nodes[e] = runner.NewSSH(runner.SSHOptions{
			Name: name, Ask: runner.NoAsker{}, Target: runner.Target{Host: name, User: "nvidia", Port: 22},
			Dial:    func(ctx context.Context) (net.Conn, error) { return rig.Dial(ctx, name) },
			HostKey: ssh.FixedHostKey(rig.HostKey(name)),
		})
		t.Cleanup(func() { nodes[e].Close() })
	}
	return nodes
}

// local are this machine, twice.
func local(t *testing.T) (nodes [2]runner.Node) {
	t.Helper()
	for e, name := range map[steps.End]string{steps.Here: "spark-02", steps.Peer: "spark-01"} {
		nodes[e] = runner.NewLocal(name, runner.NoAsker{})
		t.Cleanup(func() { nodes[e].Close() })
	}
	return nodes
}

// real are this machine and, as the peer, the same by way of a real sshd.
func real(t *testing.T, config ...string) [2]runner.Node {
	t.Helper()
	s := nodetest.StartSshd(t, config...)
	target, err := runner.Resolve(t.Context(), "node", s.Config)
	if err != nil {
		t.Fatal(err)
	}
	nodes := [2]runner.Node{
		runner.NewLocal("spark-02", runner.NoAsker{}),
		runner.NewSSH(runner.SSHOptions{Name: "spark-01", Target: target, Ask: runner.NoAsker{}}),
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			n.Close()
		}
	})
	return nodes
}

func service(t *testing.T, endpoint string) *rendezvous.Etcd {
	t.Helper()
	e, err := rendezvous.NewEtcd(endpoint, own(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func start(t *testing.T, s session.Service, d *desk) (vars [2]map[string]string, stop func()) {
	t.Helper()
	vars, end, err := s.Start(t.Context(), d.Request)
	if err != nil {
		t.Fatal(err)
	}
	return vars, func() {
		t.Helper()
		if end == nil {
			return
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// register does what nixlbench does at its start, by the address that a program on a node has: it takes the next
// rank, which no other has.
func register(t *testing.T, url, group string) (rank string) {
	t.Helper()
	size := []byte("xferbench/" + group + "//size")
	for {
		rank = "0"
		compare := map[string]any{"key": size, "target": "CREATE", "create_revision": "0"}
		if got := etcdtest.Ask(t, url, "kv/range", map[string]any{"key": size}); got["kvs"] != nil {
			rank = "1"
			was := got["kvs"].([]any)[0].(map[string]any)["value"]
			compare = map[string]any{"key": size, "target": "VALUE", "value": was}
		}
		put := map[string]any{"request_put": map[string]any{"key": size, "value": []byte(rank)}}
		done := etcdtest.Ask(t, url, "kv/txn", map[string]any{"compare": []any{compare}, "success": []any{put}})
		if done["succeeded"] == true {
			break
		}
	}
	etcdtest.Put(t, url, "xferbench/"+group+"//rank/"+rank, "xferbench/"+group+"/barrier/start_barrier/0/"+rank)
	return rank
}

// Both ends register through their own forwarded port, in two runs in a row, and
// nothing of a run is left.
func TestEtcdThroughForwardedPorts(t *testing.T) {
	for name, nodes := range map[string]func(*testing.T) [2]runner.Node{
		"this machine":          local,
		"a real SSH connection": func(t *testing.T) [2]runner.Node { return real(t) },
	} {
		t.Run(name, func(t *testing.T) { meetTwice(t, nodes(t)) })
	}
}

func meetTwice(t *testing.T, nodes [2]runner.Node) {
	e := service(t, "")
	for _, run := range []string{"rb-one", "rb-two"} {
		d := newDesk(run, nodes)
		vars, stop := start(t, e, d)
		here, peer := vars[steps.Here]["ETCD"], vars[steps.Peer]["ETCD"]
		if here == peer || peer != "http://127.0.0.1:"+vars[steps.Peer]["ETCD_PORT"] {
			t.Errorf("%v", vars)
		}
		if a, b := register(t, here, run), register(t, peer, run); a != "0" || b != "1" {
			t.Errorf("%s: ranks %s and %s", run, a, b)
		}
		message := "xferbench/" + run + "/msg+int_data/src=0/dst=1"
		if testform.Full() {
			next := watch(t, peer, message)
			etcdtest.Put(t, here, message)
			if got := next(); !strings.Contains(got, `"value":"MQ=="`) {
				t.Errorf("%s: watched %s", run, got)
			}
		} else {
			etcdtest.Put(t, here, message)
		}
		if left, err := e.Keys(t.Context()); err != nil || len(left) != 1 || left[0].Name != run {
			t.Errorf("%s: keys %v, %v", run, left, err)
		}
		stop()
		if words := d.words(); words != "etcd: removed 6 keys under xferbench/"+run+"/" {
			t.Errorf("%s: told %q", run, words)
		}
		if left, err := e.Keys(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", run, left, err)
		}
		for _, end := range steps.Ends {
			if conn, err := net.Dial("tcp", "127.0.0.1:"+vars[end]["ETCD_PORT"]); err == nil {
				conn.Close()
				t.Errorf("%s: the port of the %s still listens", run, end)
			}
		}
	}
}

// watch watches a key of a real etcd. next is the first event.
func watch(t *testing.T, url, key string) (next func() string) {
	t.Helper()
	question, err := json.Marshal(map[string]any{"create_request": map[string]any{"key": []byte(key)}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/v3/watch", "application/json", bytes.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	answers := bufio.NewReader(resp.Body)
	line := func() string {
		text, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if created := line(); !strings.Contains(created, `"created":true`) {
		t.Fatal(created)
	}
	return line
}

const asks = `curl -sSf "$ETCD/version" && curl -sSf -d '{"key":"'"$KEY"'","value":"MQ=="}' "$ETCD/v3/kv/put"`

func ask(t *testing.T, n runner.Node, body string, vars map[string]string) (string, runner.Exit) {
	t.Helper()
	var out []string
	exit, err := n.Run(t.Context(), runner.Script{Name: "ask", Body: body, Vars: vars, Limit: time.Minute},
		func(l runner.Line) { out = append(out, l.Text) })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n"), exit
}

func TestEtcdOnTheSimulatedRig(t *testing.T) {
	nodes, e := simulated(t), service(t, "")
	var ports []string
	for range 2 {
		d := newDesk("rb-sim", nodes)
		vars, stop := start(t, e, d)
		for _, end := range steps.Ends {
			vars[end]["KEY"] = "eGZlcmJlbmNoL3JiLXNpbS8vc2l6ZQ==" // xferbench/rb-sim//size
			if out, exit := ask(t, nodes[end], asks, vars[end]); !exit.OK() || !strings.Contains(out, "etcdserver") {
				t.Errorf("%s: %v: %s", end, exit, out)
			}
			if out, _ := ask(t, nodes[end], `ss -Htln | grep -c "127.0.0.1:$ETCD_PORT"`, vars[end]); out != "1" {
				t.Errorf("%s: ss finds %q", end, out)
			}
			ports = append(ports, vars[end]["ETCD_PORT"])
		}
		stop()
		if words := d.words(); words != "etcd: removed 1 key under xferbench/rb-sim/" {
			t.Errorf("told %q", words)
		}
		if out, exit := ask(t, nodes[steps.Peer], `curl -s "$ETCD/version"`, vars[steps.Peer]); exit.Code != 7 {
			t.Errorf("after the run: %v %s", exit, out)
		}
	}
	if slices.Contains(ports, "") {
		t.Errorf("ports %v", ports)
	}
}

// Links are measured side by side: what a run next to it has put there is none of another user's, and stays.
func TestRunsBesideEachOther(t *testing.T) {
	e := service(t, "")
	nodes := simulated(t)
	first, second := newDesk("rb-first", nodes), newDesk("rb-second", nodes)
	vars, stopFirst := start(t, e, first)
	// xferbench/rb-first//size
	put := `curl -s -o /dev/null -d '{"key":"eGZlcmJlbmNoL3JiLWZpcnN0Ly9zaXpl","value":"MQ=="}' "$ETCD/v3/kv/put"`
	if out, exit := ask(t, nodes[steps.Here], put, vars[steps.Here]); !exit.OK() {
		t.Fatalf("%v %s", exit, out)
	}
	_, stopSecond := start(t, e, second)
	stopSecond()
	if words := second.words(); words != "" {
		t.Errorf("the second was told %q", words)
	}
	stopFirst()
	if words := first.words(); words != "etcd: removed 1 key under xferbench/rb-first/" {
		t.Errorf("the first was told %q", words)
	}
}

// An etcd that is there already is used, and what others have in it stays there.
// One on this machine's loopback is lent to the nodes.
func TestEtcdThatIsThere(t *testing.T) {
	etcdtest.Each(t, testEtcdThatIsThere)
}

func testEtcdThatIsThere(t *testing.T, there string) {
	etcdtest.Put(t, there, "xferbench/default//size", "xferbench/default/barrier/start_barrier/0/0",
		"xferbench/rb-a//size", "unrelated")
	e := service(t, there)
	d := newDesk("rb-b", local(t))
	vars, stop := start(t, e, d)
	register(t, vars[steps.Peer]["ETCD"], "rb-b")
	stop()
	words := d.words()
	if !strings.Contains(words, "default (2 keys), rb-a (1 key). They stay there") ||
		!strings.Contains(words, "removed 3 keys under xferbench/rb-b/") {
		t.Errorf("told %q", words)
	}
	left, err := e.Keys(t.Context())
	if err != nil || len(left) != 2 {
		t.Errorf("left %v, %v", left, err)
	}
	if n, err := e.Clear(t.Context(), "default"); n != 2 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left := etcdtest.Ask(t, there, "kv/range", map[string]any{"key": []byte("unrelated")}); left["count"] != "1" {
		t.Errorf("what is somebody else's: %v", left)
	}
}

// Whether the nodes reach an etcd, this machine does not know: it is handed over.
func TestEtcdThatThisMachineDoesNotReach(t *testing.T) {
	d := newDesk("rb-a", local(t))
	vars, stop := start(t, service(t, "http://127.0.0.2:1"), d) // loopback, and no one there
	stop()
	if !strings.Contains(d.words(), "refused") || vars[steps.Peer]["ETCD_PORT"] == "1" {
		t.Errorf("%v, told %q", vars, d.words())
	}
	d = newDesk("rb-a", local(t))
	vars, stop = start(t, service(t, "http://etcd.invalid:2379/"), d)
	stop()
	for _, end := range steps.Ends {
		if vars[end]["ETCD"] != "http://etcd.invalid:2379" || vars[end]["ETCD_PORT"] != "2379" {
			t.Errorf("%v", vars[end])
		}
	}
	if !strings.Contains(d.words(), "what earlier runs left there is not known") {
		t.Errorf("told %q", d.words())
	}
}

func TestEtcdBadEndpoint(t *testing.T) {
	_, err := rendezvous.NewEtcd("spark-01:2379", nil)
	if err == nil || !strings.Contains(err.Error(), "http://HOST:PORT") {
		t.Errorf("got %v", err)
	}
}

// A run that is interrupted can talk to the etcd until its end.
func TestEtcdInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := newDesk("rb-a", local(t))
	vars, stop, err := service(t, "").Start(ctx, d.Request)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	register(t, vars[steps.Peer]["ETCD"], "rb-a")
	if err := stop(); err != nil || !strings.Contains(d.words(), "removed 3 keys") {
		t.Errorf("%v, told %q", err, d.words())
	}
	// That it was interrupted says nothing of whether there is an etcd.
	e := lacking(t, context.Canceled)
	if _, _, err := e.Start(ctx, d.Request); !errors.Is(err, context.Canceled) {
		t.Errorf("a start after the interruption: %v", err)
	}
}

func TestEtcdForwardingRefused(t *testing.T) {
	d := newDesk("rb-a", real(t, "AllowTcpForwarding no"))
	_, stop, err := service(t, "").Start(t.Context(), d.Request)
	if err == nil || stop != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"spark-01", "AllowTcpForwarding", "--etcd http://"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestEtcdTellsAnOpenPort(t *testing.T) {
	d := newDesk("rb-a", real(t, "GatewayPorts yes"))
	_, stop := start(t, service(t, ""), d)
	stop()
	if words := d.words(); !strings.Contains(words, "everybody who reaches spark-01") ||
		strings.Contains(words, "spark-02") {
		t.Errorf("told %q", words)
	}
}

// A connection that is lost while an etcd is forwarded is reported at the end, and the keys are removed all
// the same.
func TestEtcdLostConnection(t *testing.T) {
	nodes := simulated(t)
	rig, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rig.Close()
	var conn net.Conn
	nodes[steps.Peer] = runner.NewSSH(runner.SSHOptions{
		Name: "spark-01", Ask: runner.NoAsker{}, Target: runner.Target{Host: "spark-01", User: "nvidia", Port: 22},
		Dial: func(ctx context.Context) (net.Conn, error) {
			c, err := rig.Dial(ctx, "spark-01")
			conn = c
			return c, err
		},
		HostKey: ssh.FixedHostKey(rig.HostKey("spark-01")),
	})
	defer nodes[steps.Peer].Close()
	d := newDesk("rb-a", nodes)
	vars, stop, err := service(t, "").Start(t.Context(), d.Request)
	if err != nil {
		t.Fatal(err)
	}
	vars[steps.Peer]["KEY"] = "eGZlcmJlbmNoL3JiLWEvL3NpemU=" // xferbench/rb-a//size
	if out, exit := ask(t, nodes[steps.Peer], asks, vars[steps.Peer]); !exit.OK() {
		t.Fatal(out)
	}
	conn.Close()
	// The next script goes over a new connection, where nothing is forwarded.
	deadline := time.Now().Add(5 * time.Minute)
	for {
		_, err := nodes[steps.Peer].Run(t.Context(),
			runner.Script{Name: "again", Body: `curl -s "$ETCD/version" || exit 0; exit 1`, Vars: vars[steps.Peer]},
			func(runner.Line) {})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	err = stop()
	if e, ok := errors.AsType[*runner.Error](err); !ok || e.Kind != runner.Lost || e.Node != "spark-01" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(d.words(), "removed 1 key under") {
		t.Errorf("told %q", d.words())
	}
}

// lacking is a service whose etcd does not start.
func lacking(t *testing.T, why error) *rendezvous.Etcd {
	t.Helper()
	e, err := rendezvous.NewEtcd("", func(context.Context) (*etcd.Server, error) { return nil, why })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// If an etcd can't be started, the error says what this machine lacks and what to do about it. A run that
// needs no etcd does not report it.
func TestEtcdThatIsAbsent(t *testing.T) {
	nodes := local(t)
	for why, want := range map[string]string{
		"it is not installed: go install -C /x .": "it is not installed: go install -C /x . Or name an etcd",
		"no space left": "no space left. Or name an etcd",
	} {
		e := lacking(t, errors.New(why))
		_, stop, err := e.Start(t.Context(), newDesk("rb-a", nodes).Request)
		absent, ok := errors.AsType[session.Absent](err)
		if !ok || stop != nil || !strings.HasPrefix(absent.Why, want) ||
			!strings.HasSuffix(absent.Why, "--etcd http://HOST:2379. nixlbench from 1.1.0 on needs none.") {
			t.Errorf("%s: %v", why, err)
		}
	}
	for asked, fails := range map[string]bool{"": false, "ASIO": false, "ETCD": true} {
		var both [2]runner.Node
		for i, e := range steps.Ends {
			p := pretend{Forwarder: nodes[e].(runner.Forwarder), help: middle}
			both[e] = named{p, []string{"spark-02", "spark-01"}[i]}
		}
		d := newDesk("rb-a", both)
		d.Rig, d.Params = rig(), map[string]string{"NIXL_RUNTIME": asked}
		_, _, err := rendezvous.NewRuntime(lacking(t, errors.New("none"))).Start(t.Context(), d.Request)
		if _, absent := errors.AsType[session.Absent](err); absent != fails || !fails && err != nil {
			t.Errorf("NIXL_RUNTIME=%s: %v", asked, err)
		}
	}
}

// railbench's own etcd starts with the first run and ends with Close.
func TestEtcdOwnLife(t *testing.T) {
	e := service(t, "")
	if keys, err := e.Keys(t.Context()); err != nil || keys != nil {
		t.Errorf("before the first run: %v, %v", keys, err)
	}
	if n, err := e.Clear(t.Context(), "x"); n != 0 || err != nil {
		t.Errorf("before the first run: %v, %v", n, err)
	}
	plan := e.Plan(session.Request{})
	if plan["ETCD"] != "http://127.0.0.1:2379" || plan["ETCD_PORT"] != "2379" {
		t.Errorf("plan %v", plan)
	}
	if plan := service(t, "http://10.0.0.1:2380").Plan(session.Request{}); plan["ETCD"] != "http://10.0.0.1:2380" ||
		plan["ETCD_PORT"] != "2380" {
		t.Errorf("plan %v", plan)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
