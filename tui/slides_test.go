package tui

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/tui/presenter"
	"github.com/railbench/railbench/tui/screen"
)

const twoScenes = `# A show
## One rail {#one}
The caption.
> The notes.
` + "```show" + `
view rails
run load-rail LOAD_SECONDS=5
wait
pause 3s
` + "```" + `
## A cable {#cable}
Pulled.
` + "```show" + `
run load-half
pause 2s
pull
wait
plug
pause 1s
` + "```" + `
`

// staged is a screen with a presentation, whose loads take five seconds.
func staged(t *testing.T) (s *driven, told *[]script.Moment, pulls *[]bool) {
	t.Helper()
	parsed, err := script.Parse("show.md", twoScenes)
	if err != nil {
		t.Fatal(err)
	}
	told, pulls = &[]script.Moment{}, &[]bool{}
	s = newScreen(t, loadable(), 120, 40)
	s.Model.Opts.Presentation.Script = parsed
	s.Model.presenter.Progress.Tick = func(time.Duration,
		func(time.Time) tea.Msg,
	) tea.Cmd {
		return nil
	} // pass has the clock
	s.Model.Opts.Presentation.Tell = func(m script.Moment) error { *told = append(*told, m); return nil }
	s.Model.Opts.Presentation.Pull = func(out bool) error { *pulls = append(*pulls, out); return nil }
	s.send(eventsMsg(connected()))
	s.press("ctrl+g")
	return s, told, pulls
}

// key presses a key, and has what it brings about happen.
func (s *driven) key(name string) {
	_, cmd := s.Update(keyPress(name))
	s.happen(cmd)
}

// happen sends what a command brings back.
func (s *driven) happen(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.happen(c)
		}
	default:
		_, next := s.Update(msg)
		s.happen(next)
	}
}

// pass lets seconds go by in steps of the presentation's clock. Loads end after five.
func (s *driven) pass(seconds int) {
	for range seconds * 5 {
		s.now = s.now.Add(200 * time.Millisecond)
		if id := s.Book.Running; id != "" && s.now.Sub(s.Book.Cells[id].Started) >= 5*time.Second {
			s.Update(eventsMsg{steps.CellEnded{
				Run: s.Book.Cells[id].Run, Cell: id,
				Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Good."},
			}})
		}
		if s.Model.presenter.Progress.Ticking {
			_, cmd := s.Update(presenter.SlideTickMsg{})
			s.happen(cmd)
		}
		for _, call := range s.fake.took() {
			if id, ok := strings.CutPrefix(call, "run "); ok {
				s.Update(eventsMsg{steps.CellStarted{Run: steps.RunID(len(s.Book.Cells) + 10), Cell: id, At: s.now}})
			}
		}
	}
}

func TestAShowGoesOnByItself(t *testing.T) {
	s, told, pulls := staged(t)
	s.sees("A show", "space begins the show")
	began := s.now
	s.key("a")
	s.pass(1)
	s.sees("The caption.", "1/2", "0:01")
	if s.Book.Running != "load-rail" {
		t.Fatalf("%q runs", s.Book.Running)
	}
	for range 60 {
		if s.pass(1); s.Model.presenter.Progress.Reported.Over {
			break
		}
	}
	if took := s.now.Sub(began); !s.Model.presenter.Progress.Reported.Over || took > 20*time.Second {
		t.Errorf("after %s it is %+v", took, s.Model.presenter.Progress.Reported)
	}
	s.sees("2/2", "Pulled.")
	if len(*pulls) != 2 || !(*pulls)[0] || (*pulls)[1] {
		t.Errorf("the cable: %v", *pulls)
	}
	first := (*told)[0]
	for _, m := range *told {
		if m.Slide == 1 && m.Verdict != "" {
			first = m
		}
	}
	if first.Notes != "The notes." || first.Next != "A cable" || first.Of != 2 ||
		!strings.HasPrefix(first.Verdict, "PASS") {
		t.Errorf("what the presenter reads: %+v", first)
	}
}

// With keys: a slide at a time, back, a jump; a cable is never left out when the presentation goes elsewhere.
func TestAShowByKeys(t *testing.T) {
	s, _, pulls := staged(t)
	s.key("space")
	s.pass(12)
	s.sees("1/2") // it waits for the presenter
	s.key("j")
	s.key("2")
	s.pass(4)
	s.sees("2/2")
	if len(*pulls) != 1 {
		t.Errorf("the cable: %v", *pulls)
	}
	s.key("b")
	s.pass(1)
	s.sees("1/2")
	if len(*pulls) != 2 || (*pulls)[1] {
		t.Errorf("the cable stays out: %v", *pulls)
	}
	s.key("space")
	s.key("space")
	s.sees("the show is over")
}

// A digit jumps only behind j: after another key it starts a load.
func TestAJumpIsForgotten(t *testing.T) {
	s, _, _ := staged(t)
	s.key("space")
	s.pass(12)
	s.key("j")
	s.key("v")
	s.key("2")
	s.pass(1)
	s.sees("1/2")
	if s.Book.Running != "load-half" {
		t.Errorf("%q runs, and not the load", s.Book.Running)
	}
	for range 8 {
		s.Opts.Presentation.Script.Slides = append(s.Opts.Presentation.Script.Slides, script.Slide{Title: "One more"})
	}
	s.key("0")
	s.sees("1/10")
	s.key("j")
	s.sees("0 for 10")
	s.key("0")
	s.sees("10/10")
	s.Model.Opts.Presentation.Script = script.Script{}
	s.Model.presenter.Progress.Slide = -1
	if s.key("j"); strings.Contains(s.Model.Notice, "1 to 0") {
		t.Errorf("without a show: %q", s.Model.Notice)
	}
}

// A script goes on when the presentation is opened again, also one that goes on by itself.
func TestAShowGoesOnOnTheStage(t *testing.T) {
	s, _, _ := staged(t)
	s.key("a")
	s.pass(1)
	// esc asks, and the presentation goes on meanwhile; esc again, and any key that is not an answer, stays.
	for _, answer := range []string{"esc", "n"} {
		s.key("esc")
		s.key("space")
		s.key("1")
		s.pass(1)
		s.sees("Leave the presentation?")
		s.key(answer)
		s.sees("1/2")
		if !s.Model.presenter.Progress.Ticking || s.Layers.Top() != screen.Presenting {
			t.Errorf("after esc and %s the layer is %d", answer, s.Layers.Top())
		}
	}
	s.key("esc")
	s.key("y")
	if s.Layers.Top() != screen.Notebook {
		t.Errorf("y leaves for the layer %d", s.Layers.Top())
	}
	s.pass(6)
	if s.Model.presenter.Progress.Ticking {
		t.Error("it goes on where nobody sees it")
	}
	s.key("ctrl+g")
	s.pass(6)
	s.sees("2/2")
}

// Commands run side by side: a slide that begins again plugs the cable in first, and pulls it then.
func TestACableIsPluggedInBeforeItIsPulled(t *testing.T) {
	s, _, pulls := staged(t)
	scenes := s.Model.Opts.Presentation.Script.Slides
	scenes[1].Actions = []script.Action{{Kind: script.Pull}, {Kind: script.Pause, For: time.Minute}}
	s.key("space")
	s.pass(6)
	s.key("space")
	s.pass(1)
	_, again := s.Update(keyPress("j"))
	s.happen(again)
	_, again = s.Update(keyPress("2"))
	var all []tea.Cmd
	collect := func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				all = append(all, c)
			}
		case nil:
		default:
			_, next := s.Update(msg)
			s.happen(next)
		}
	}
	collect(again)
	for len(all) > 0 { // the last one first, as may be
		last := all[len(all)-1]
		all = all[:len(all)-1]
		collect(last)
	}
	if !slices.Equal(*pulls, []bool{true, false, true}) {
		t.Errorf("the cable is out as %v", *pulls)
	}
}

// The presenter's own screen shows the notes, and what is wrong where it can't.
func TestNotes(t *testing.T) {
	at, fails := script.Moment{
		Script: "A show", Slide: 1, Of: 2, Title: "One rail", Caption: "The caption.", Notes: "The notes.", Next: "A cable",
		Cell: "One rail", Verdict: "PASS: Good.", Began: time.Unix(1000, 0),
	}, error(nil)
	n := presenter.NewNotes(func() (script.Moment, error) { return at, fails },
		screen.Options{Clock: screen.Clock{Now: func() time.Time { return time.Unix(1065, 0) }}})
	n.Update(tea.WindowSizeMsg{Width: 60, Height: 24})
	look := func() string {
		n.Update(n.Init()())
		return n.View().Content
	}
	for _, want := range []string{"1/2  1:05", "The notes.", "The caption.", "PASS: Good.", "A cable"} {
		if got := look(); !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	at.Notes = "\x1b[31mred"
	if strings.Contains(look(), "\x1b[31mred") {
		t.Error("notes move the terminal")
	}
	fails = errors.New("no show has begun")
	if !strings.Contains(look(), "no show has begun") {
		t.Error("what is wrong is not told")
	}
	if _, cmd := n.Update(keyPress("q")); cmd == nil {
		t.Error("q doesn't end it")
	}
}

// A slide keeps what it reached, though its cell runs again in another one: its last rate, or the verdict of its last
// cell. What was cut short and what is run in the slide that shows them takes nothing away.
func TestWhatSlidesReached(t *testing.T) {
	s, _, _ := staged(t)
	cell := func(name string) []script.Action {
		return []script.Action{{Kind: script.Run, Cell: name}, {Kind: script.Wait}}
	}
	s.Model.Opts.Presentation.Script.Slides = []script.Slide{
		{ID: "one", Title: "One rail", Actions: cell("load-rail")},
		{ID: "gpu", Title: "GPU memory", Actions: cell("load-half")},
		{ID: "cable", Title: "A cable is pulled", Actions: slices.Insert(cell("load-rail"), 0,
			script.Action{Kind: script.Pull})},
		{ID: "end", Title: "The end", Actions: slices.Insert(cell("load-all"), 0,
			script.Action{Kind: script.View, View: "results"})},
	}
	run := steps.RunID(100)
	runs := func(id string, v steps.Verdict) {
		t.Helper()
		s.key("space")
		s.fake.took()
		run++
		s.Update(eventsMsg{steps.CellStarted{Run: run, Cell: id, At: s.now}})
		s.Update(eventsMsg{steps.CellEnded{Run: run, Cell: id, Verdict: v}})
	}
	of := func(gbps float64, f steps.Figure) steps.Verdict {
		f.What, f.Value, f.Unit = steps.Throughput, gbps, "Gb/s"
		return steps.Verdict{Grade: steps.Pass, Reason: "Good.", Figures: []steps.Figure{f}}
	}
	runs("load-rail", of(92.6, steps.Figure{Rails: []int{1}}))
	runs("load-half", of(4.84, steps.Figure{Rails: []int{1}, Memory: "VRAM", Staged: true}))
	runs("load-rail", steps.Verdict{Grade: steps.Fail, Code: steps.LinkDown, Reason: "It went down."})
	runs("load-all", of(185, steps.Figure{}))
	s.sees("One rail", "Gb/s, rail 1", "GPU memory", "host-staged", "A cable is pulled", "pulled on purpose", "link-down")
	s.seesNot("half 1", "-120 s")
	if all := s.Model.presenter.Results.All(4); len(all) != 3 || all[0].Gbps != 92.6 || all[2].Gbps != 0 ||
		!all[2].Pulled {
		t.Errorf("%+v", all)
	}
	// Back, and on before the load has ended.
	s.key("j")
	s.key("1")
	s.fake.took()
	s.Update(eventsMsg{steps.CellStarted{Run: 200, Cell: "load-rail", At: s.now}})
	s.key("space")
	stopped := steps.Verdict{Grade: steps.Inconclusive, Code: steps.Interrupted}
	s.Update(eventsMsg{steps.CellEnded{Run: 200, Cell: "load-rail", Verdict: stopped}})
	if all := s.Model.presenter.Results.All(4); all[0].Gbps != 92.6 {
		t.Errorf("a visit that was cut short leaves %+v", all[0])
	}
	// Where nothing else is known, what the gauges showed of it is, and is called so. What came to no rate at all, too.
	for _, want := range []float64{0, 92.5} {
		delete(s.Model.presenter.Results.Reached, 0)
		run++
		s.key("j")
		s.key("1")
		s.fake.took()
		s.Update(eventsMsg{steps.CellStarted{Run: run, Cell: "load-rail", At: s.now}})
		if want > 0 {
			b := sampleBoard(4, 0) // of the load before
			s.send(snapshotMsg(b))
			s.now = s.now.Add(2 * time.Second)
			for i := range b.Gauges {
				b.Gauges[i].Tx, b.Gauges[i].Rx = meter.Flow{}, meter.Flow{}
				b.Gauges[i].RoCE = rate.Headers{Payload: 1024, Counted: 58, Cable: 82}
				b.Gauges[i].TCP = rate.Headers{Payload: 1448, Counted: 66}
			}
			b.Gauges[0].Tx.RDMA = 97.8
			s.send(snapshotMsg(b))
		}
		s.key("space")
		s.Update(eventsMsg{steps.CellEnded{Run: run, Cell: "load-rail", Verdict: stopped}})
		if all := s.Model.presenter.Results.All(4); !all[0].Stopped || math.Abs(all[0].Gbps-want) > 0.1 {
			t.Errorf("stopped: %+v, not %v Gb/s", all[0], want)
		}
	}
	// A load that is started there is seen.
	s.key("j")
	s.key("4")
	s.seesNot("half 1")
	s.key("1")
	s.sees("all rails")
}
