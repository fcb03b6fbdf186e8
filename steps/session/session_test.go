package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
)

// recorder is this machine as a node that remembers what it was given.
type recorder struct {
	runner.Node
	mu  sync.Mutex
	ran []runner.Script
}

func (r *recorder) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	r.mu.Lock()
	r.ran = append(r.ran, s)
	r.mu.Unlock()
	if s.Name != "probe" || testform.Full() || ctx.Err() != nil {
		return r.Node.Run(ctx, s, emit)
	}
	return thisMachine.Run(ctx, s, emit, r.Node)
}

// thisMachine has answered a look already: all nodes of a bench are this machine, and a look at its hardware is a
// hundred processes, many times what most cells here run. The long form looks each time.
var thisMachine seenBefore

type seenBefore struct {
	mu      sync.Mutex
	answers map[string][]runner.Line // by the script
}

func (b *seenBefore) Run(ctx context.Context, s runner.Script, emit func(runner.Line), n runner.Node) (runner.Exit,
	error,
) {
	b.mu.Lock()
	lines, known := b.answers[s.Body]
	b.mu.Unlock()
	if known {
		for _, l := range lines {
			emit(l)
		}
		return runner.Exit{}, nil
	}
	exit, err := n.Run(ctx, s, func(l runner.Line) {
		lines = append(lines, l)
		emit(l)
	})
	if err == nil && exit.OK() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.answers == nil {
			b.answers = map[string][]runner.Line{}
		}
		b.answers[s.Body] = lines
	}
	return exit, err
}

// bench is a session of cells on this machine, by several names.
type bench struct {
	*Session
	t     *testing.T
	nodes []*recorder
	book  steps.Notebook
}

// passes is a judge that sees no evil: what does not pass then was held back by
// the session.
func passes(steps.Cell, steps.Result) steps.Verdict {
	return steps.Verdict{Grade: steps.Pass, Reason: "fine"}
}

func open(t *testing.T, o Options, cells ...steps.Cell) *bench {
	t.Helper()
	return openNodes(t, o, []string{"spark-02", "spark-01"}, cells...)
}

// openNodes is open with as many nodes as there are names, each of them this machine.
func openNodes(t *testing.T, o Options, names []string, cells ...steps.Cell) *bench {
	t.Helper()
	judges := map[string]steps.Judge{
		"passes": passes,
		"warns": func(steps.Cell, steps.Result) steps.Verdict {
			return steps.Verdict{Grade: steps.Warn, Reason: "odd"}
		},
		"fails": func(steps.Cell, steps.Result) steps.Verdict {
			return steps.Verdict{Grade: steps.Fail, Reason: "so it is"}
		},
	}
	maps.Copy(judges, o.Catalog.Judges)
	o.Catalog.Judges, o.Catalog.Params = judges, catalog.New().Params
	o.Catalog.Parsers = map[string]steps.Parser{"lines": func(stdout, _ string) (any, error) {
		return strings.Count(stdout, "\n"), nil
	}}
	return start(t, o, names, cells...)
}

// openCatalog is open with what families bring, and nothing else.
func openCatalog(t *testing.T, c steps.Catalog, cells ...steps.Cell) *bench {
	t.Helper()
	return start(t, Options{Catalog: c}, []string{"spark-02", "spark-01"}, cells...)
}

func start(t *testing.T, o Options, names []string, cells ...steps.Cell) *bench {
	t.Helper()
	b := &bench{t: t}
	for _, name := range names {
		n := &recorder{Node: nodetest.Here(name)}
		b.nodes = append(b.nodes, n)
		o.Nodes, o.Where = append(o.Nodes, n), append(o.Where, "this machine")
	}
	o.Tutorial = steps.Tutorial{Parts: []steps.Part{{ID: "part", Cells: cells}}}
	o.Logs = t.TempDir()
	b.Session = New(o)
	b.book = steps.NewNotebook(o.Tutorial)
	b.Open()
	t.Cleanup(func() { b.Close() })
	return b
}

// until folds events until a cell has ended.
func (b *bench) until(id string) steps.CellState {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
	defer cancel()
	for {
		events, ok := b.Next(ctx)
		if !ok {
			b.t.Fatalf("no end of %s", id)
		}
		ended := false
		for _, e := range events {
			b.book = b.book.Apply(e)
			if e, ok := e.(steps.CellEnded); ok && e.Cell == id {
				ended = true
			}
		}
		if ended {
			return b.book.Cells[id]
		}
	}
}

func one(id, script, judge string) steps.Cell {
	return steps.Cell{ID: id, Judge: judge, Roles: []steps.Role{{Script: script}}}
}

func printed(c steps.CellState) string {
	var lines []string
	for _, l := range c.Output.Lines(0, 1000) {
		if l.Kind != steps.Note {
			lines = append(lines, l.From+":"+l.Text)
		}
	}
	return strings.Join(lines, " ")
}

func TestCellRunsAndIsJudged(t *testing.T) {
	b := open(t, Options{}, one("c", "echo out; echo err >&2", "passes"))
	b.Run("c")
	c := b.until("c")
	if c.Verdict.Grade != steps.Pass || c.Run != 1 || !c.HasExit || !c.Exit.OK() {
		t.Errorf("%+v", c)
	}
	if got := printed(c); got != "spark-02:out spark-02:err" && got != "spark-02:err spark-02:out" {
		t.Errorf("printed %q", got)
	}
	if b.book.Running != "" || len(b.book.Queue) > 0 {
		t.Errorf("still running %q, queue %q", b.book.Running, b.book.Queue)
	}
}

// No judge can make a PASS, nor a WARN, of what did not run to its end with status 0.
func TestNothingPassesThatDidNotEndWell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]steps.Cell{
		"exit 1":    one("c", "exit 1", "passes"),
		"a warning": one("c", "exit 1", "warns"),
		"killed":    one("c", "kill -9 $$", "passes"),
		"timed out": {ID: "c", Judge: "passes", Limit: time.Second, Roles: []steps.Role{{Script: "sleep 60"}}},
		"no judge":  one("c", "true", "no such judge"),
		"server failed": {ID: "c", Judge: "passes", Roles: []steps.Role{
			{Name: "server", On: steps.OnPeer, Script: "echo ready; sleep 0.3; exit 7", Ready: steps.Ready{Line: "^ready$"}},
			{Name: "client", Script: "true"},
		}},
		"server not ready": {ID: "c", Judge: "passes", Roles: []steps.Role{
			{Name: "server", On: steps.OnPeer, Script: "exit 0", Ready: steps.Ready{Line: "^ready$"}},
			{Name: "client", Script: "echo must not run"},
		}},
		"no rails": {ID: "c", Judge: "passes", EachRail: true, Roles: []steps.Role{{Script: "true"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, Options{}, c)
			b.Run("c")
			state := b.until("c")
			if state.Verdict.Grade != steps.Inconclusive || state.Verdict.Reason == "" {
				t.Errorf("%+v", state.Verdict)
			}
			if strings.Contains(printed(state), "must not run") {
				t.Error("the client ran without its server")
			}
		})
	}
}

// The client starts when the server is ready, and a server that would stay is ended.
func TestServerFirst(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
	defer ln.Close()
	file := t.TempDir() + "/ready"
	b := open(t, Options{Params: map[string]string{"FILE": file, "PORT": taken}},
		steps.Cell{ID: "line", Judge: "passes", Roles: []steps.Role{
			{
				Name: "server", On: steps.OnPeer, Script: `sleep 0.3; : >"$FILE"; echo now ready; exec sleep 0.2`,
				Ready: steps.Ready{Line: "ready$"},
			},
			{Name: "client", Script: `[ -e "$FILE" ] && echo in order`},
		}},
		steps.Cell{ID: "busy", Judge: "passes", Roles: []steps.Role{
			{Name: "server", On: steps.OnPeer, Script: "echo must not run", Ready: steps.Ready{Port: "$PORT"}},
			{Name: "client", Script: "echo must not run"},
		}})
	b.Run("line")
	if c := b.until("line"); c.Verdict.Grade != steps.Pass || !strings.Contains(printed(c), "in order") {
		t.Errorf("%+v %s", c.Verdict, printed(c))
	}
	b.Run("busy")
	c := b.until("busy")
	if c.Verdict.Grade != steps.Inconclusive || !strings.Contains(c.Verdict.Reason, "in use") || printed(c) != "" {
		t.Errorf("%+v %s", c.Verdict, printed(c))
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	b := open(t, Options{}, one("long", "echo pid $$; sleep 300", "passes"), one("next", "echo must not run", "passes"))
	b.Run("long", "next")
	for printed(b.book.Cells["long"]) == "" {
		events, _ := b.Next(t.Context())
		for _, e := range events {
			b.book = b.book.Apply(e)
		}
	}
	pid := strings.TrimPrefix(printed(b.book.Cells["long"]), "spark-02:pid ")
	b.Interrupt()
	c := b.until("long")
	if c.Verdict.Grade != steps.Inconclusive || !strings.Contains(c.Verdict.Reason, "Interrupted") {
		t.Errorf("%+v", c.Verdict)
	}
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Errorf("process %s is alive", pid)
	}
	if len(b.book.Queue) > 0 || b.book.Cells["next"].Run != 0 {
		t.Errorf("the queue goes on: %+v", b.book.Queue)
	}
	// The session goes on.
	b.Run("next")
	if c := b.until("next"); c.Verdict.Grade != steps.Pass {
		t.Errorf("%+v", c.Verdict)
	}
}

// The FAIL is reported before the queue is emptied, so that a screen can say what it has stopped.
func TestQueueStopsAtAFail(t *testing.T) {
	b := open(t, Options{}, one("a", "true", "fails"), one("b", "true", "passes"))
	b.Run("a", "b")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for dropped := false; !dropped; {
		events, ok := b.Next(ctx)
		if !ok {
			t.Fatal("b is never taken from the queue")
		}
		for _, e := range events {
			if _, is := e.(steps.CellDequeued); is {
				dropped = true
				if c := b.book.Cells["a"]; c.Verdict.Grade != steps.Fail {
					t.Errorf("b was taken from the queue before the end of a was told: %+v", c)
				}
			}
			b.book = b.book.Apply(e)
		}
	}
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Run("a")
	b.until("a")
	if b.book.Cells["b"].Run != 0 || len(b.book.Queue) != 0 {
		t.Errorf("b ran after a failed: %+v", b.book.Queue)
	}
}

// A flood that no one draws stays bounded, and the log has every line.
func TestFlood(t *testing.T) {
	const count = 5 * steps.KeepLines
	b := open(t, Options{}, one("flood", fmt.Sprintf("seq 1 %d", count), "passes"))
	b.Run("flood")
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.out.mu.Lock()
	for _, e := range b.out.events {
		if p, ok := e.(steps.CellPrinted); ok && len(p.Lines) > 2*steps.KeepLines {
			t.Errorf("%d lines wait to be drawn", len(p.Lines))
		}
	}
	b.out.mu.Unlock()
	c := b.until("flood")
	last := c.Output.Lines(c.Output.Len()-1, 1)
	if c.Output.Len()+c.Output.Dropped() != count || len(last) != 1 || last[0].Text != strconv.Itoa(count) {
		t.Errorf("%d kept, %d dropped, last %v", c.Output.Len(), c.Output.Dropped(), last)
	}
	log, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSuffix(string(log), "\n"), "\n"); len(lines) != count || lines[0] != "1" ||
		lines[count-1] != strconv.Itoa(count) {
		t.Errorf("the log has %d lines", len(lines))
	}
}

// A log has an end, and says so: a tool that never stops must not fill the disk.
func TestALogHasAnEnd(t *testing.T) {
	b := open(t, Options{LogBytes: 1000}, one("flood", "seq 1 1000", "passes"))
	b.Run("flood")
	c := b.until("flood")
	log, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	kept, told, _ := strings.Cut(string(log), "\n\n")
	lines := strings.Count(kept, "\n") + 1
	if want := fmt.Sprintf("# the log ends here: %d more lines were printed\n", 1000-lines); len(kept) < 995 ||
		len(kept) > 1010 || told != want {
		t.Errorf("the log has %d bytes and ends in %q, not %q", len(kept), told, want)
	}
	last := c.Output.Lines(c.Output.Len()-1, 1)
	if len(last) != 1 || last[0].Kind != steps.Note ||
		!strings.Contains(last[0].Text, fmt.Sprintf("%d more lines", 1000-lines)) {
		t.Errorf("told as %v", last)
	}
}

// What a dry run prints is what runs, byte for byte, whatever the values hold.
func TestPlanIsWhatRuns(t *testing.T) {
	nasty := `'; echo gone; "$(echo gone)" -n \` + "\n*"
	cell := steps.Cell{
		ID: "c", Judge: "passes",
		Roles: []steps.Role{{On: steps.OnBoth, Script: `printf '%s' "$SIZE" | wc -c; : $PORT`}},
	}
	b := open(t, Options{Params: map[string]string{"SIZE": nasty}}, cell)
	b.Run("c")
	c := b.until("c")
	rig, _ := b.Rig()
	plan := Plan(b.o, rig, []steps.Cell{cell})
	if len(plan) != 2 {
		t.Fatalf("planned %d", len(plan))
	}
	for _, p := range plan {
		found := false
		for _, s := range b.nodes[p.Node].ran {
			found = found || s.Text() == p.Script.Text()
		}
		if !found {
			t.Errorf("not run at %d: %q", p.Node, p.Script.Text())
		}
	}
	if got, want := printed(c), strconv.Itoa(len(nasty)); !strings.Contains(got, ":"+want) ||
		strings.Contains(got, "gone") {
		t.Errorf("printed %q, want %s", got, want)
	}
}

// TCP's addresses are the bond's where one holds the rails, and rail 1's otherwise.
func TestTCPVars(t *testing.T) {
	rig := steps.NewRig("", false, 2)
	rig.Pairs = []steps.Pair{{Rails: [2]int{0, 0}}}
	for e := range rig.Nodes {
		d := steps.Netdev{Name: "rail", Addrs: []string{fmt.Sprintf("10.0.0.%d/24", e+1)}}
		rig.Nodes[e].Rails = []steps.Rail{{Netdev: d, Addr: fmt.Sprintf("10.0.0.%d", e+1)}}
		rig.Nodes[e].Netdevs = []steps.Netdev{d}
	}
	look := func(want ...string) {
		t.Helper()
		v := vars(rig, steps.Peer, -1,
			effective(Params(catalog.New(), steps.Tutorial{}), steps.Settings{All: map[string]string{"TCP_SECONDS": "3"}}, "c"))
		for i, name := range []string{"TCP_NETDEV", "TCP_IP", "PEER_TCP_IP", "TCP_PORT", "TCP_SECONDS"} {
			if v[name] != want[i] {
				t.Errorf("%s is %q, want %q", name, v[name], want[i])
			}
		}
	}
	look("rail", "10.0.0.2", "10.0.0.1", "5201", "3")
	for e := range rig.Nodes {
		n := &rig.Nodes[e]
		n.Rails[0].Netdev.Master, n.Rails[0].Netdev.Addrs, n.Rails[0].Addr = "bond0", nil, ""
		n.Netdevs = append(n.Netdevs, steps.Netdev{Name: "bond0", Addrs: []string{fmt.Sprintf("10.0.9.%d/24", e+1)}})
	}
	rig.Pairs = nil
	look("bond0", "10.0.9.2", "10.0.9.1", "5201", "3")
	// Nothing leads there: the scripts' tools say so themselves.
	look2 := vars(steps.Rig{}, steps.Here, -1, nil)
	if look2["TCP_IP"] != "" {
		t.Errorf("%v", look2)
	}
}

func TestQuestions(t *testing.T) {
	a := NewAsker()
	go func() {
		q := <-a.questions
		q.Answer("sesame", true)
		q.Answer("again", true) // a second answer is ignored
		q = <-a.questions
		q.Answer("", false)
	}()
	if s, err := a.Secret(t.Context(), runner.SecretQuestion{}); s != "sesame" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	if _, err := a.Secret(t.Context(), runner.SecretQuestion{}); err == nil {
		t.Error("a declined question has no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := a.HostKey(ctx, runner.HostKeyQuestion{}); yes || err == nil {
		t.Error("a question that nobody sees is answered")
	}
}

// A rail that the rig file names and that is none now must not stop the cells that could say why; a cell per rail
// does not pass without it.
func TestMissingRail(t *testing.T) {
	b := open(t, Options{Rails: []RailChoice{{Link: steps.DefaultLink, Here: "rocep1s0f0", Peer: "rocep1s0f0"}}},
		one("look", "true", "passes"),
		steps.Cell{ID: "each", Judge: "passes", EachRail: true, Roles: []steps.Role{{Script: "true"}}})
	b.Run("look", "each")
	each := b.until("each")
	if c := b.book.Cells["look"]; c.Verdict.Grade != steps.Pass {
		t.Errorf("%+v", c.Verdict)
	}
	if each.Verdict.Grade != steps.Inconclusive || !strings.Contains(each.Verdict.Reason, "rocep1s0f0 on spark-02") {
		t.Errorf("%+v", each.Verdict)
	}
	if err := b.Unreachable(); err != nil || len(b.book.Rig.Missing) != 1 {
		t.Errorf("%v, missing %q", err, b.book.Rig.Missing)
	}
}

// What both nodes complain of are two sentences, and not two lines.
func TestSentence(t *testing.T) {
	refused := func(node string) error {
		return &runner.Error{
			Op: "connect to", Node: node, Err: errors.New("connection refused"),
			Hint: "Is sshd running there?",
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("no such thing"), "No such thing."},
		{refused("spark-01"), "Could not connect to spark-01: connection refused. Is sshd running there?"},
		{errors.Join(nil, refused("spark-01")), "Could not connect to spark-01: connection refused. Is sshd running there?"},
		{errors.Join(refused("a"), refused("b")), "Could not connect to a: connection refused. " +
			"Is sshd running there? Could not connect to b: connection refused. Is sshd running there?"},
	} {
		if got := sentence(c.err); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestTogether: of two that belong together one fails, and the other would wait
// for it for ever.
func TestTogether(t *testing.T) {
	t.Parallel()
	cell := steps.Cell{ID: "c", Judge: "passes", Together: true, Roles: []steps.Role{
		{
			Name: "initiator", On: steps.OnHere, Script: "echo registered; sleep 0.3; exit 3",
			Ready: steps.Ready{Line: "registered"},
		},
		{Name: "target", On: steps.OnPeer, Script: "sleep 50"},
	}}
	b := open(t, Options{}, cell)
	b.Run("c")
	c := b.until("c")
	if c.Verdict.Grade != steps.Inconclusive || !strings.Contains(c.Verdict.Reason, "initiator") ||
		!strings.Contains(c.Verdict.Reason, "exit 3") {
		t.Errorf("%+v", c.Verdict)
	}
}

// TestStall ends what has not printed anything for a while.
func TestStall(t *testing.T) {
	testform.NeedsFull(t, "waits for limits")
	t.Parallel()
	// A busy machine may take long between two lines, and never as long as the script's end.
	cell := one("c", "echo a; sleep 0.1; echo b; sleep 600", "passes")
	cell.Stall = 2 * time.Second
	b := open(t, Options{}, cell)
	b.Run("c")
	c := b.until("c")
	if c.Verdict.Grade != steps.Inconclusive || !strings.Contains(c.Verdict.Reason, "nothing was printed") {
		t.Errorf("%+v", c.Verdict)
	}
	if got := printed(c); !strings.HasPrefix(got, "spark-02:a spark-02:b") {
		t.Errorf("printed %q", got)
	}
}

// What is edited runs as it is when its turn comes; what is removed, or made a note,
// does not.
func TestEdit(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	b := open(t, Options{}, one("first", "until [ -e "+done+" ]; do sleep 0.05; done", "passes"),
		one("second", "echo old", "passes"), one("third", "echo third", "passes"))
	b.Run("first", "second", "third")
	for !b.book.Cells["first"].Running {
		events, ok := b.Next(t.Context())
		if !ok {
			t.Fatal("it never started")
		}
		for _, e := range events {
			b.book = b.book.Apply(e)
		}
	}
	edited := []steps.Cell{
		one("first", "true", "passes"), one("second", "echo new", "passes"),
		{ID: "third", Prose: "a note"},
		one("added", "echo added", "passes"),
	}
	b.Edit("part", edited)
	b.Run("added")
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.until("added")
	if got := printed(b.book.Cells["second"]) + " " +
		printed(b.book.Cells["added"]); got != "spark-02:new spark-02:added" {
		t.Errorf("printed %q", got)
	}
	if _, ran := b.book.Cells["third"]; ran || len(b.book.Queue) > 0 {
		t.Errorf("a note has run, or waits: %q", b.book.Queue)
	}
	if why := b.book.Stale("first"); why != "its script was changed after it ran" {
		t.Errorf("the first: %q", why)
	}
	if why := b.book.Stale("second"); why != "" {
		t.Errorf("the second: %q", why)
	}
}

// TestDeserted: of three roles that belong together any one that dies ends the cell, and
// not only the first.
func TestDeserted(t *testing.T) {
	testform.NeedsFull(t, "waits for limits")
	t.Parallel()
	lasting := func(name string) steps.Role {
		return steps.Role{Name: name, On: steps.OnHere, Script: "echo ready; sleep 50", Ready: steps.Ready{Line: "ready"}}
	}
	dying := steps.Role{Name: "dying", On: steps.OnHere, Script: "echo ready; exit 3", Ready: steps.Ready{Line: "ready"}}
	for name, servers := range map[string][]steps.Role{
		"the first":  {dying, lasting("second")},
		"the second": {lasting("first"), dying},
	} {
		t.Run(name+" died", func(t *testing.T) {
			t.Parallel()
			cell := steps.Cell{ID: "c", Judge: "passes", Together: true, Limit: 10 * time.Second}
			cell.Roles = append(servers, steps.Role{Name: "last", On: steps.OnPeer, Script: "sleep 50"})
			b := open(t, Options{}, cell)
			b.Run("c")
			var told []string
			state := b.until("c")
			for _, l := range state.Output.Lines(0, state.Output.Len()) {
				told = append(told, l.Text)
			}
			// It is interrupted, where its limit would say that it timed out.
			if text := strings.Join(told, "\n"); !strings.Contains(text, "last on spark-01: interrupted") {
				t.Error(text)
			}
		})
	}
}

// TestChannelsAreClosed: who waits for the gauges or a question is not left waiting.
func TestChannelsAreClosed(t *testing.T) {
	for _, o := range []Options{{}, {Sample: true, Asker: NewAsker()}} {
		b := open(t, o, steps.Cell{ID: "c", Judge: "passes", Roles: []steps.Role{{Script: "true"}}})
		b.Run("c")
		b.until("c")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		for range b.Boards() { // ends with the channel
		}
		for range b.Questions() {
		}
		if _, ok := b.Next(t.Context()); ok {
			for ok {
				_, ok = b.Next(t.Context())
			}
		}
	}
}

// What is judged of a cell with a probe is the probe's, and its output is in the log alone. What
// the lesson itself came to is the reader's.
func TestProbe(t *testing.T) {
	var judged []steps.Output
	o := Options{Catalog: steps.Catalog{Judges: map[string]steps.Judge{
		"looks": func(_ steps.Cell, r steps.Result) steps.Verdict {
			judged = r.Stages[0].Outputs
			return steps.Verdict{Grade: steps.Pass, Reason: "fine"}
		},
	}}}
	b := open(t, o, steps.Cell{ID: "a", Judge: "looks", Parser: "lines", Roles: []steps.Role{
		{On: steps.OnBoth, Script: "hello; exit 3\n", Before: "hello() { echo \"lesson of $NODE\"; }\n"},
		{On: steps.OnBoth, Name: "probe", Probe: true, Script: "echo fact; echo beside >&2\n"},
	}})
	b.Run("a")
	state := b.until("a")
	if len(judged) != 2 || judged[0].Role != "probe" || judged[0].Value != 1 || !judged[0].Exit.OK() {
		t.Errorf("judged %+v", judged)
	}
	shown := ""
	for _, l := range state.Output.Lines(0, state.Output.Len()) {
		shown += l.Text + "\n"
	}
	log, err := os.ReadFile(b.Log("a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lesson of spark-02", "lesson of spark-01", "beside", "exit 3"} {
		if !strings.Contains(shown, want) || !strings.Contains(string(log), want) {
			t.Errorf("%q is missing:\n%s\nlog:\n%s", want, shown, log)
		}
	}
	if strings.Contains(shown, "fact") || !strings.Contains(string(log), "spark-01: fact") {
		t.Errorf("what only railbench needs:\n%s\nlog:\n%s", shown, log)
	}
	for _, n := range b.nodes {
		if !strings.HasPrefix(n.ran[len(n.ran)-2].Body, "hello() {") {
			t.Errorf("it ran %q", n.ran[len(n.ran)-2].Body)
		}
	}
}

// The values of a script are in another interpreter's environment, whatever stands in it.
func TestInterpreters(t *testing.T) {
	python := "import os\nprint(os.environ['NODE'], \"it's $HOME `id` \\\\\", os.environ['ROLE'])\n"
	bash := "words=(one two)\nread -r line || true\necho \"$NODE ${words[1]} it's \\\\ $ROLE\"\n"
	b := open(t, Options{},
		steps.Cell{ID: "p", Judge: "passes", Roles: []steps.Role{{Name: "end", Script: python, Interpreter: "python3"}}},
		steps.Cell{ID: "b", Judge: "passes", Roles: []steps.Role{{Name: "end", Script: bash, Interpreter: "bash"}}},
		steps.Cell{ID: "x", Judge: "passes", Roles: []steps.Role{{Script: "echo no\n", Interpreter: "perl -e"}}})
	for id, want := range map[string]string{"p": "spark-02 it's $HOME `id` \\ end", "b": "spark-02 two it's \\ end"} {
		t.Run(id, func(t *testing.T) {
			testform.Tool(t, map[string]string{"p": "python3", "b": "bash"}[id])
			b.Run(id)
			state := b.until(id)
			if got := state.Output.Lines(0, 1); len(got) == 0 || got[0].Text != want {
				t.Errorf("%+v, want %q", got, want)
			}
		})
	}
	b.Run("x")
	if v := b.until("x").Verdict; v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), "bash and python3") {
		t.Errorf("%+v", v)
	}
}

// What a runbook says of an output is judged without a judge of its own, and a script that fails is
// quoted.
func TestValues(t *testing.T) {
	cell := func(id, script string, role steps.Role, needs ...string) steps.Cell {
		role.Script = script
		return steps.Cell{ID: id, Roles: []steps.Role{role}, Needs: needs}
	}
	rate := []string{`rate /rate: (\S+)/ Gb/s $LEAST..20: the link is slow`}
	b := open(t, Options{Catalog: catalog.New(), Params: map[string]string{}},
		cell("good", "echo rate: 12\n",
			steps.Role{Values: []string{`rate /rate: (\S+)/ Gb/s 10..20`}, Expects: []string{"rate"}}),
		cell("low", "echo rate: 9\n", steps.Role{Values: []string{`rate /rate: (\S+)/ Gb/s 10..20: the link is slow`}}),
		cell("none", "echo fate: 9\n", steps.Role{Values: []string{`rate /rate: (\S+)/`}}),
		cell("unset", "echo rate: 12\n", steps.Role{Values: rate}),
		cell("text", "echo refused\n", steps.Role{Expects: []string{"!refused"}}),
		cell("fails", "echo 'no route to host' >&2; exit 4\n", steps.Role{}),
		cell("needs", "echo\n", steps.Role{}, "no-such-tool"),
		cell("evil", "echo\n", steps.Role{}, "x; touch owned"),
	)
	for id, want := range map[string]struct {
		grade steps.Grade
		words string
	}{
		"good": {steps.Pass, "as expected: its text, rate 12 Gb/s (10 to 20)"},
		"low":  {steps.Fail, "rate is 9 Gb/s on spark-02, expected at least 10 Gb/s: the link is slow"},
		"none": {steps.Inconclusive, "nothing in the output is like"},
		// A range that no one gave holds nothing back, and passes nothing.
		"unset": {steps.Inconclusive, "$LEAST"},
		"text":  {steps.Fail, `"refused" is in the output`},
		"fails": {steps.Fail, "exit 4: no route to host"},
		"needs": {steps.Skipped, "no no-such-tool"},
		"evil":  {steps.Pass, "status 0"},
	} {
		b.Run(id)
		if v := b.until(id).Verdict; v.Grade != want.grade || !strings.Contains(v.Said(), want.words) {
			t.Errorf("%s: %s %s, want %s %s", id, v.Grade, v.Reason, want.grade, want.words)
		}
	}
	for _, n := range b.nodes {
		for _, s := range n.ran {
			if strings.Contains(s.Body, "touch owned") {
				t.Error("the name of a command became script")
			}
		}
	}
}
