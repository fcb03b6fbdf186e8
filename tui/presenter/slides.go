package presenter

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/tui/presentation"
	"github.com/railbench/railbench/tui/screen"
)

// progress is where a presentation is. Its time is the nodes': a simulated rig's may go faster than ours.
type progress struct {
	Slide    int  // from 0; -1 before it has begun
	action   int  // the next one of the slide
	auto     bool // goes on by itself
	jumping  bool // the next digit is a slide
	began    time.Time
	beganAt  time.Time   // by our own clock, which another terminal has, too
	until    time.Time   // a pause's end
	ran      string      // the cell that wait waits for
	before   steps.RunID // its run before it was asked for
	asked    time.Time
	pulled   bool
	Ticking  bool
	Tick     func(time.Duration, func(time.Time) tea.Msg) tea.Cmd // tea.Tick, but in tests
	Reported script.Moment
}

// tickPace is how often a presentation looks whether it goes on, and moves its clock.
const tickPace = 200 * time.Millisecond

// startsWithin is how long a cell that was asked for may take to begin: what is refused never does.
const startsWithin = 10 * time.Second

// SlideTickMsg says that a script may go on.
type SlideTickMsg struct{}

// nextSlide begins the next slide, or the presentation.
func (pr *Screen) nextSlide() tea.Cmd { return pr.toSlide(pr.Progress.Slide + 1) }

func (pr *Screen) previousSlide() tea.Cmd { return pr.toSlide(max(0, pr.Progress.Slide-1)) }

// Autoplay has the presentation go on by itself, or wait for the presenter again.
func (pr *Screen) Autoplay() tea.Cmd {
	pr.Progress.auto = !pr.Progress.auto
	if !pr.Progress.auto {
		pr.Notice = "the show waits for you: space goes on"
		return pr.Report()
	}
	pr.Notice = "the show goes on by itself"
	if pr.Progress.Slide < 0 {
		return pr.nextSlide()
	}
	return pr.Report()
}

// jump has the next digit choose a slide.
func (pr *Screen) jump() tea.Cmd {
	if !pr.scripted() {
		return pr.Say("no presentation to jump in")
	}
	pr.Progress.jumping = true
	n := len(pr.Opts.Presentation.Script.Slides)
	if pr.Notice = fmt.Sprintf("to which scene? 1 to %d", min(9, n)); n > 9 {
		pr.Notice += ", or 0 for 10"
	}
	return nil
}

// zero resets the gauges, or jumps to the tenth slide.
func (pr *Screen) zero() tea.Cmd {
	if pr.Progress.jumping {
		return pr.digit(9)
	}
	return pr.ResetPeaks()
}

// digit starts a load, or jumps to a slide.
func (pr *Screen) digit(n int) tea.Cmd {
	if pr.Progress.jumping {
		pr.Progress.jumping = false
		return pr.toSlide(n)
	}
	if n >= len(loads()) {
		return nil
	}
	return pr.startLoad(n)
}

// toSlide begins a slide.
func (pr *Screen) toSlide(n int) tea.Cmd {
	s := &pr.Progress
	if n < 0 || n >= len(pr.Opts.Presentation.Script.Slides) {
		if s.auto = false; s.Slide >= 0 && n >= len(pr.Opts.Presentation.Script.Slides) {
			pr.Notice = "the show is over; j and a digit goes back to a scene"
		}
		return pr.Report()
	}
	if s.Slide < 0 || s.began.IsZero() {
		s.began, s.beganAt = pr.Opts.Clock.Rig(), pr.Opts.Clock.Now()
	}
	s.Slide, s.action, s.until, s.ran = n, 0, time.Time{}, ""
	pr.Layers.Push(screen.Presenting)
	cmds := []tea.Cmd{}
	// A jump out of the slide that pulled the cable would leave the other slides without it.
	if s.pulled {
		cmds = append(cmds, pr.cable(false))
	}
	return tea.Batch(append(cmds, pr.act(), pr.ticks())...)
}

// ticks has a presentation that has begun go on with its clock.
func (pr *Screen) ticks() tea.Cmd {
	if pr.Progress.Ticking || pr.Progress.Slide < 0 {
		return nil
	}
	pr.Progress.Ticking = true
	return pr.tick()
}

func (pr *Screen) tick() tea.Cmd {
	return pr.Progress.Tick(tickPace, func(time.Time) tea.Msg { return SlideTickMsg{} })
}

// OnTick goes on where something is over that the presentation has waited for.
func (pr *Screen) OnTick() tea.Cmd {
	pr.Dirty = true
	if !pr.Layers.Has(screen.Presenting) {
		pr.Progress.Ticking = false // it goes on where it was when the presentation is opened again
		return nil
	}
	return tea.Batch(pr.act(), pr.tick())
}

// act does what can be done now, and begins the next slide where the presentation goes on by itself.
func (pr *Screen) act() tea.Cmd {
	s := &pr.Progress
	if s.Slide < 0 {
		return nil
	}
	var cmds []tea.Cmd
	acts := pr.Opts.Presentation.Script.Slides[s.Slide].Actions
	for s.action < len(acts) {
		cmd, done := pr.do(acts[s.action])
		cmds = append(cmds, cmd)
		if !done {
			return tea.Batch(append(cmds, pr.Report())...)
		}
		s.action++
	}
	cmds = append(cmds, pr.Report())
	if s.auto {
		if s.Slide+1 < len(pr.Opts.Presentation.Script.Slides) {
			cmds = append(cmds, pr.toSlide(s.Slide+1))
		} else {
			s.auto = false
			cmds = append(cmds, pr.Report())
		}
	}
	return tea.Batch(cmds...)
}

// do does one action; done is false as long as it has to be waited for.
func (pr *Screen) do(a script.Action) (cmd tea.Cmd, done bool) {
	s := &pr.Progress
	switch a.Kind {
	case script.View:
		if v, ok := presentation.ViewNamed(a.View); ok {
			pr.view = v
		}
	case script.Pause:
		if s.until.IsZero() {
			s.until = pr.Opts.Clock.Rig().Add(a.For)
		}
		if pr.Opts.Clock.Rig().Before(s.until) {
			return nil, false
		}
		s.until = time.Time{}
	case script.Run:
		return pr.runCell(a), true
	case script.Wait:
		return nil, pr.ranCell()
	case script.Pull:
		return pr.cable(true), true
	case script.Plug:
		return pr.cable(false), true
	}
	return nil, true
}

// runCell runs a cell in place of what runs.
func (pr *Screen) runCell(a script.Action) tea.Cmd {
	pr.Progress.ran, pr.Progress.before, pr.Progress.asked = a.Cell, pr.Book.Cells[a.Cell].Run, pr.Opts.Clock.Rig()
	busy := pr.Busy()
	return pr.Try(func(s screen.Session) error {
		if busy {
			s.Interrupt()
		}
		for _, p := range a.Params {
			if err := s.SetParam(a.Cell, p.Name, p.Value); err != nil {
				return err
			}
		}
		s.Run(a.Cell)
		return nil
	})
}

// ranCell reports whether the cell that was run last has ended, or will never begin.
func (pr *Screen) ranCell() bool {
	s := &pr.Progress
	if s.ran == "" {
		return true
	}
	c := pr.Book.Cells[s.ran]
	if c.Run <= s.before {
		return !pr.Busy() && !pr.Asking && pr.Opts.Clock.Rig().Sub(s.asked) > startsWithin
	}
	return !c.Running
}

// cable pulls the cable of the simulated rig, or plugs it in. On hardware that is the presenter's.
func (pr *Screen) cable(pull bool) tea.Cmd {
	if pr.Opts.Presentation.Pull == nil {
		return pr.Say(map[bool]string{true: "pull the cable of port 0 now", false: "plug the cable in again"}[pull])
	}
	pr.Progress.pulled = pull
	pr.Notice = map[bool]string{true: "the cable of port 0 is out (u plugs it in)", false: "the cable is in again"}[pull]
	change := pr.Opts.Presentation.Pull
	// In the order of the calls: a slide that begins again plugs the cable in and pulls it.
	return pr.Try(func(screen.Session) error { return change(pull) })
}

func (pr *Screen) pullOrPlug() tea.Cmd { return pr.cable(!pr.Progress.pulled) }

// moment is where the presentation is.
func (pr *Screen) moment() script.Moment {
	s := pr.Progress
	scenes := pr.Opts.Presentation.Script.Slides
	at := script.Moment{
		Script: pr.Opts.Presentation.Script.Title, Slide: s.Slide + 1, Of: len(scenes), Auto: s.auto, Began: s.beganAt,
		Rig: pr.RigName(),
	}
	if s.Slide >= 0 && s.Slide < len(scenes) {
		scene := scenes[s.Slide]
		at.Title, at.Caption, at.Notes = scene.Title, scene.Caption, scene.Notes
		at.Over = s.Slide == len(scenes)-1 && s.action >= len(scene.Actions)
	}
	if s.Slide+1 < len(scenes) {
		at.Next = scenes[s.Slide+1].Title
	}
	if a, ok := health.Urgent(pr.Snapshot.Health); ok {
		at.Alarm = a.String()
	}
	c := pr.shown("")
	at.Cell = c.Title
	if c.Grade != steps.NotRun {
		at.Verdict = c.Grade.String() + ": " + c.Verdict
	}
	return at
}

// Report sends the present slide to the presenter's notes in another terminal, if it has changed.
func (pr *Screen) Report() tea.Cmd {
	at := pr.moment()
	// The number alone is not a change.
	at.No = pr.Progress.Reported.No
	if pr.Opts.Presentation.Tell == nil || at == pr.Progress.Reported {
		return nil
	}
	// A workbench without a presentation leaves the notes of another one alone.
	if pr.Progress.Slide < 0 && !pr.Layers.Has(screen.Presenting) {
		return nil
	}
	at.No++
	pr.Progress.Reported = at
	tell := pr.Opts.Presentation.Tell
	return func() tea.Msg {
		if err := tell(at); err != nil {
			return screen.WroteMsg("railbench notes can't follow: " + err.Error())
		}
		return nil
	}
}

// caption puts the script's own words onto the screen.
func (pr *Screen) caption(s *presentation.Screen) {
	scenes := pr.Opts.Presentation.Script.Slides
	if len(scenes) == 0 {
		return
	}
	if pr.Progress.Slide < 0 {
		s.Title = pr.Opts.Presentation.Script.Title
		s.Caption = "space begins the show, a has it go on by itself"
		return
	}
	scene := scenes[pr.Progress.Slide]
	s.Title, s.Caption = scene.Title, scene.Caption
	s.Place = fmt.Sprintf("%d/%d", pr.Progress.Slide+1, len(scenes))
	gone := max(0, pr.Opts.Clock.Rig().Sub(pr.Progress.began)).Truncate(time.Second)
	s.Clock = fmt.Sprintf("%d:%02d", int(gone.Minutes()), int(gone.Seconds())%60)
}

// scripted reports whether there is a presentation.
func (pr *Screen) scripted() bool { return len(pr.Opts.Presentation.Script.Slides) > 0 }

// results are what the slides of a presentation reached. A cell may run in several slides, and the notebook has its
// last run only.
type results struct {
	slides  map[steps.RunID]int // the slide that asked for a run
	Reached map[int]presentation.Result
	most    presentation.Result // what the gauges showed at most of the cell that runs
	since   time.Time           // when that began, by our own clock
}

// settled is how long gauges may show what moved before a cell began: their window, and the cell's own start.
const settled = 2 * time.Second

// All are the results in the order of so many slides.
func (rs *results) All(slides int) (all []presentation.Result) {
	for i := range slides {
		if r, ok := rs.Reached[i]; ok {
			all = append(all, r)
		}
	}
	return all
}

// Reach notes what the cells of the slides came to. A run belongs to the slide that asked for it, also where it ends
// in the next one.
func (pr *Screen) Reach(events []steps.Event) {
	s := &pr.Progress
	for _, e := range events {
		switch e := e.(type) {
		case steps.CellStarted:
			if s.Slide < 0 || e.Cell != s.ran || pr.slideShows(s.Slide) {
				continue
			}
			if pr.Results.slides == nil {
				pr.Results.slides, pr.Results.Reached = map[steps.RunID]int{}, map[int]presentation.Result{}
			}
			pr.Results.slides[e.Run] = s.Slide
			pr.Results.most, pr.Results.since = presentation.Result{}, pr.Opts.Clock.Now()
		case steps.CellEnded:
			slide, ok := pr.Results.slides[e.Run]
			if !ok {
				continue
			}
			r := pr.resultOf(slide, e)
			// A check next to a load, and a second visit that was cut short, take no rate away.
			if before, again := pr.Results.Reached[slide]; !again || !r.Weaker(before) {
				pr.Results.Reached[slide] = r
			}
		}
	}
}

// slideShows reports whether a slide shows the results: its own cells are none of them.
func (pr *Screen) slideShows(slide int) bool {
	for _, a := range pr.Opts.Presentation.Script.Slides[slide].Actions {
		if a.View == presentation.Results.String() {
			return true
		}
	}
	return false
}

func (pr *Screen) resultOf(slide int, e steps.CellEnded) presentation.Result {
	scene := pr.Opts.Presentation.Script.Slides[slide]
	r := presentation.Result{Name: scene.Title, Grade: e.Verdict.Grade, Code: e.Verdict.Code, Cell: e.Cell}
	for _, a := range scene.Actions {
		r.Pulled = r.Pulled || a.Kind == script.Pull
	}
	if all := e.Verdict.Measured(steps.Throughput); len(all) > 0 {
		r.Gbps, r.TCP, r.Why = all[0].Value, all[0].Streams > 0, why(pr.Book.Rig, all[0])
	}
	if r.Gbps == 0 && r.Code == steps.Interrupted {
		r.Stopped, r.Gbps, r.TCP = true, pr.Results.most.Gbps, pr.Results.most.TCP
	}
	return r
}

// Gauge notes what a slide's cell moves, in case it is stopped before it has a figure.
func (pr *Screen) Gauge() {
	if _, ok := pr.Results.slides[pr.Book.Cells[pr.Book.Running].Run]; !ok || pr.Book.Running == "" ||
		pr.Opts.Clock.Now().Sub(pr.Results.since) < settled {
		return
	}
	if gbps, ip := presentation.NewDials(pr.Book.Rig, pr.Snapshot).Moves(); gbps > pr.Results.most.Gbps {
		pr.Results.most.Gbps, pr.Results.most.TCP = gbps, ip
	}
}

// why says what a rate is of, and what limits it.
func why(rig steps.Rig, f steps.Figure) string {
	if f.Staged {
		return "host-staged: a processor copies"
	}
	var parts []string
	if f.Streams > 0 {
		parts = append(parts, steps.Counted(f.Streams, "stream"))
	}
	switch len(f.Rails) {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("rail %d", f.Rails[0]))
	default:
		var numbers []string
		links := 0
		for i, n := range f.Rails {
			numbers = append(numbers, fmt.Sprint(n))
			alone := rig.HasPair(n - 1)
			for _, m := range f.Rails[:i] {
				alone = alone && rig.HasPair(m-1) && !rig.SharesHalf(rig.Pairs[n-1], rig.Pairs[m-1])
			}
			if alone {
				links++
			}
		}
		parts = append(parts, "rails "+strings.Join(numbers, ", "))
		if links > 0 {
			parts = append(parts, steps.Counted(links, "PCIe link"))
		}
	}
	return strings.Join(parts, ", ")
}
