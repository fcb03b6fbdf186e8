package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

// served is a cell of two roles, which needs its nodes for itself. Its client says when it is there,
// and waits for a word.
func served(dir string) steps.Cell {
	return steps.Cell{ID: "served", Judge: "passes", Roles: []steps.Role{
		{
			Name: "server", On: steps.OnPeer, Script: "echo ready; read -r end <" + dir + "/end",
			Ready: steps.Ready{Line: "ready"},
		},
		{
			Name: "client", On: steps.OnHere,
			Script: "echo >" + dir + "/there; read -r word <" + dir + "/go; echo $word; echo >" + dir + "/end",
		},
	}}
}

// lockedSession is a session on the same two nodes as others with this place.
func lockedSession(t *testing.T, who, at, dir string, cells ...steps.Cell) (b *bench, waits chan string) {
	t.Helper()
	waits = make(chan string, 100)
	b = openNodes(t, Options{
		LockOwner: runner.LockOwner{Token: who, Who: who, At: at}, OnWait: func(why string) { waits <- why },
		linger: lockLinger / 10, pause: lockPause / 20,
	}, []string{"spark-02", "spark-01"}, append(cells, served(dir))...)
	return b, waits
}

// TestTwoOnOneRig: one session runs; the other learns which one does, and runs after it. A cell that only
// looks waits for no other session. A session that gives up learns for which one it waited.
func TestTwoOnOneRig(t *testing.T) {
	t.Parallel()
	testform.Tool(t, "flock")
	at, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"there", "go", "end"} {
		if err := exec.Command("mkfifo", filepath.Join(dir, name)).Run(); err != nil {
			t.Fatal(err)
		}
	}
	looks := one("looks", "echo looked", "passes")
	first, told := lockedSession(t, "alice", at, dir)
	second, waits := lockedSession(t, "bob", at, dir, looks)
	third, gaveUp := lockedSession(t, "carol\x1b[2J", at, dir)

	first.Run("served")
	if _, err := os.ReadFile(filepath.Join(dir, "there")); err != nil { // its client has begun
		t.Fatal(err)
	}
	second.Run("looks", "served")
	third.Run("served")
	for _, w := range []chan string{waits, gaveUp} {
		if why := <-w; !strings.Contains(why, "is in use by alice: served waits") {
			t.Error(why)
		}
	}
	if c := second.until("looks"); c.Verdict.Grade != steps.Pass {
		t.Errorf("what only looks: %s: %s", c.Verdict.Grade, c.Verdict.Reason)
	}
	third.Interrupt()
	if v := third.until("served").Verdict; v.Grade != steps.Inconclusive ||
		!strings.Contains(v.Said(), "is in use by alice") {
		t.Errorf("given up: %s: %s", v.Grade, v.Reason)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := first.until("served"); c.Verdict.Grade != steps.Pass || !strings.Contains(printed(c), "first") {
		t.Errorf("the first: %s: %s\n%s", c.Verdict.Grade, c.Verdict.Reason, printed(c))
	}
	// The second comes by itself: its client begins when the first's nodes are free.
	if _, err := os.ReadFile(filepath.Join(dir, "there")); err != nil {
		t.Fatal(err)
	}
	third.Run("served")
	if why := <-gaveUp; !strings.Contains(why, "is in use by bob") {
		t.Error(why)
	}
	third.Interrupt()
	third.until("served")
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := second.until("served"); c.Verdict.Grade != steps.Pass || !strings.Contains(printed(c), "second") {
		t.Errorf("the second: %s: %s\n%s", c.Verdict.Grade, c.Verdict.Reason, printed(c))
	}
	if len(told) > 0 {
		t.Errorf("the first has waited, too: %s", <-told)
	}
	second.Close()
	// What has ended has nothing.
	c, by, err := runner.LockOwner{Token: "dave", At: at}.Lock(context.Background(), first.nodes[0])
	if err != nil || c == nil {
		t.Fatalf("it is %q's (%v)", by, err)
	}
	c.Release()
}

// hanging is a node that another has, and that is silent when it is asked a second time.
type hanging struct {
	runner.Node
	asked int
	again chan struct{} // closed then
}

func (h *hanging) Name() string { return "spark-02" }

func (h *hanging) Run(ctx context.Context, _ runner.Script, out func(runner.Line)) (runner.Exit, error) {
	if h.asked++; h.asked == 1 {
		out(runner.Line{Text: "busy alice"})
		return runner.Exit{}, nil
	}
	close(h.again)
	<-ctx.Done()
	return runner.Exit{}, ctx.Err()
}

// TestInterruptedAsk: a user who gives up while a node is asked again learns for whom they waited. A user who
// gives up while the node is asked for the first time learns that they gave up.
func TestInterruptedAsk(t *testing.T) {
	t.Parallel()
	n := &hanging{again: make(chan struct{})}
	s := New(Options{Nodes: []runner.Node{n}, LockOwner: runner.LockOwner{Token: "bob"}, pause: time.Millisecond})
	ctx, interrupt := context.WithCancel(context.Background())
	go func() {
		<-n.again
		interrupt()
	}()
	var waited []bool
	err := s.await(ctx, []int{0}, func(_ string, first bool) { waited = append(waited, first) })
	if _, busy := errors.AsType[busyError](err); !busy || err.Error() != "spark-02 is in use by alice" ||
		!slices.Equal(waited, []bool{true}) {
		t.Errorf("waited for: %v, %v", err, waited)
	}
	n = &hanging{asked: 1, again: make(chan struct{})}
	s = New(Options{Nodes: []runner.Node{n}, LockOwner: runner.LockOwner{Token: "bob"}})
	if err := s.await(ctx, []int{0}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("not waited: %v", err)
	}
}
