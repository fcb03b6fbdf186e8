package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/steps"
)

// check is a check of this machine with a script.
func check(id, script, judge string) steps.Cell {
	c := one(id, script, judge)
	c.Check.Finds = []string{"something"}
	return c
}

// Checks run side by side: each of these ends only when the other has begun. What measures, and what is not a check,
// runs alone.
func TestChecksRunSideBySide(t *testing.T) {
	dir := t.TempDir()
	meets := func(mine, other string) string {
		return "touch " + filepath.Join(dir, mine) + "\nwhile [ ! -e " + filepath.Join(dir, other) + " ]; do sleep 0.02; done"
	}
	alone := "[ -z \"$(ls " + dir + "/runs-* 2>/dev/null)\" ] || exit 9; touch " + dir + "/runs-$$; rm " + dir + "/runs-$$"
	measures := check("measures", alone, "passes")
	measures.Check.Measures = true
	b := open(t, Options{}, check("a", meets("a", "b"), "passes"), check("b", meets("b", "a"), "fails"), measures,
		one("cell", alone, "passes"))
	b.Run("a", "b", "measures", "cell")
	b.until("cell")
	for id, want := range map[string]steps.Grade{
		"a": steps.Pass, "b": steps.Fail, "measures": steps.Pass,
		"cell": steps.Pass,
	} {
		if v := b.book.Cells[id].Verdict; v.Grade != want {
			t.Errorf("%s: %s: %s (a FAIL of a check does not end the queue)", id, v.Grade, v.Reason)
		}
	}
	probes := 0
	for _, s := range b.nodes[steps.Here].ran {
		if s.Name == "probe" {
			probes++
		}
	}
	if probes > 3 {
		t.Errorf("the node was looked at %d times", probes)
	}
}

// At most as many checks run at once as a node's sshd allows.
func TestSurveyIsBounded(t *testing.T) {
	dir := t.TempDir()
	var cells []steps.Cell
	var ids []string
	script := "mkdir " + dir + "/$$; ls " + dir + " | wc -l; sleep 0.1; rmdir " + dir + "/$$"
	for id := range strings.FieldsSeq("a b c d e f g h i j k l") {
		cells, ids = append(cells, check(id, script, "passes")), append(ids, id)
	}
	b := open(t, Options{}, cells...)
	b.Run(ids...)
	for _, id := range ids {
		if b.book.Cells[id].Verdict.Grade == steps.NotRun {
			b.until(id)
		}
		if got := printed(b.book.Cells[id]); got == "" || got > fmt.Sprintf("spark-02:%d", sideBySide) {
			t.Errorf("%s saw %q run", id, got)
		}
	}
}

// Interrupting a survey ends what runs and starts nothing more.
func TestInterruptedSurvey(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	var cells []steps.Cell
	var ids []string
	for id := range strings.FieldsSeq("a b c d e f g") {
		cells, ids = append(cells, check(id, "echo >>"+started+"; sleep 600", "passes")), append(ids, id)
	}
	b := open(t, Options{}, cells...)
	b.Run(ids...)
	for {
		text, _ := os.ReadFile(started)
		if len(text) >= sideBySide {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Interrupt()
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.until("a")
	if text, _ := os.ReadFile(started); len(text) > sideBySide {
		t.Errorf("%d were started", len(text))
	}
	if v := b.book.Cells["a"].Verdict; v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), "Interrupted") {
		t.Errorf("a: %s: %s", v.Grade, v.Reason)
	}
}

// That a node does not answer is for the checks to judge, one of them as a finding.
func TestChecksJudgeANodeThatIsGone(t *testing.T) {
	b := &bench{t: t}
	o := Options{Tutorial: steps.Tutorial{Parts: []steps.Part{{Cells: []steps.Cell{check("c", "true", "sees")}}}}}
	o.Catalog.Judges = map[string]steps.Judge{"sees": func(_ steps.Cell, r steps.Result) steps.Verdict {
		return steps.Verdict{Grade: steps.Fail, Reason: "seen: " + r.Rig.Nodes[steps.Peer].Err}
	}}
	o.Nodes, o.Where = []runner.Node{nodetest.Here("spark-02"), gone{}},
		[]string{"this machine", "away"}
	b.Session, b.book = New(o), steps.NewNotebook(o.Tutorial)
	b.Open()
	t.Cleanup(func() { b.Close() })
	b.Run("c")
	if v := b.until("c").Verdict; v.Grade != steps.Fail || !strings.Contains(v.Said(), "seen: ") ||
		!strings.Contains(v.Said(), "nobody home") {
		t.Errorf("%s: %s", v.Grade, v.Reason)
	}
	if b.Unreachable() == nil {
		t.Error("the session does not say that a node can't be reached")
	}
}

// gone is a node that can't be reached.
type gone struct{}

func (gone) Name() string { return "spark-01" }
func (gone) Close() error { return nil }
func (gone) Run(context.Context, runner.Script, func(runner.Line)) (runner.Exit, error) {
	return runner.Exit{}, &runner.Error{
		Op: "connect to spark-01", Kind: runner.Unreachable, Err: os.ErrDeadlineExceeded,
		Hint: "nobody home",
	}
}

// answers is a Confirmer with one answer, which keeps what it was asked.
type answers struct {
	yes   bool
	asked *[]steps.ChangeQuestion
}

func (a answers) Change(_ context.Context, q steps.ChangeQuestion) (bool, error) {
	*a.asked = append(*a.asked, q)
	return a.yes, nil
}

// slow answers after a minute.
type slow struct{}

func (slow) Change(context.Context, steps.ChangeQuestion) (bool, error) {
	time.Sleep(time.Minute)
	return true, nil
}

// A cell's time does not have that of the user's answer.
func TestAnswerTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{s: &Session{o: Options{Confirm: slow{}}, clock: runner.WallClock{}}}
		if ok, err := r.confirmed(t.Context(), steps.ChangeQuestion{}); !ok || err != nil || r.waited != time.Minute {
			t.Errorf("%v, %v, waited %s", ok, err, r.waited)
		}
	})
}

// What can't be taken back is shown, and runs only where the user says so.
func TestAsksFirst(t *testing.T) {
	for _, yes := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "made")
		c := one("c", "touch "+file, "passes")
		c.Asks, c.Title = true, "Make a file"
		var asked []steps.ChangeQuestion
		b := open(t, Options{Confirm: answers{yes, &asked}}, c)
		b.Run("c")
		v := b.until("c").Verdict
		_, err := os.Stat(file)
		if made := err == nil; made != yes {
			t.Errorf("answer %v: the script ran: %v", yes, made)
		}
		if len(asked) != 1 || !asked[0].Final || asked[0].Title != "Make a file" || len(asked[0].Places) != 1 ||
			!strings.Contains(asked[0].Places[0].Script, "touch "+file) {
			t.Errorf("asked %+v", asked)
		}
		if want := map[bool]steps.Grade{true: steps.Pass, false: steps.Inconclusive}[yes]; v.Grade != want {
			t.Errorf("answer %v: %s: %s", yes, v.Grade, v.Reason)
		}
	}
	c := one("c", "echo must not run", "passes")
	c.Asks = true
	b := open(t, Options{}, c)
	b.Run("c")
	if s := b.until("c"); s.Verdict.Grade != steps.Inconclusive || printed(s) != "" ||
		!strings.Contains(s.Verdict.Reason, "Add --yes to railbench run c.") {
		t.Errorf("nobody to ask: %s: %s, printed %q", s.Verdict.Grade, s.Verdict.Reason, printed(s))
	}
}
