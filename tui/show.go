package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/show"
	"github.com/railbench/railbench/tui/presentation"
)

// showing is where a show is. Its time is the nodes': a simulated rig's may go faster than ours.
type showing struct {
	scene   int  // from 0; -1 before it has begun
	act     int  // the next one of the scene
	auto    bool // goes on by itself
	jumping bool // the next digit is a scene
	began   time.Time
	beganAt time.Time   // by our own clock, which another terminal has, too
	until   time.Time   // a pause's end
	ran     string      // the cell that wait waits for
	before  steps.RunID // its run before it was asked for
	asked   time.Time
	pulled  bool
	ticking bool
	tick    func(time.Duration, func(time.Time) tea.Msg) tea.Cmd // tea.Tick, but in tests
	told    show.Moment
}

// showPace is how often a show looks whether it goes on, and moves its clock.
const showPace = 200 * time.Millisecond

// startsWithin is how long a cell that was asked for may take to begin: what is refused never does.
const startsWithin = 10 * time.Second

type showTickMsg struct{}

// showNext begins the next scene, or the show.
func (pr *presenter) showNext() tea.Cmd { return pr.toScene(pr.play.scene + 1) }

func (pr *presenter) showBack() tea.Cmd { return pr.toScene(max(0, pr.play.scene-1)) }

// showAuto has the show go on by itself, or wait for the presenter again.
func (pr *presenter) showAuto() tea.Cmd {
	pr.play.auto = !pr.play.auto
	if !pr.play.auto {
		pr.notice = "the show waits for you: space goes on"
		return pr.tell()
	}
	pr.notice = "the show goes on by itself"
	if pr.play.scene < 0 {
		return pr.showNext()
	}
	return pr.tell()
}

// showJump has the next digit choose a scene.
func (pr *presenter) showJump() tea.Cmd {
	if !pr.scripted() {
		pr.notice = "there is no show to jump in"
		return nil
	}
	pr.play.jumping = true
	pr.notice = fmt.Sprintf("to which scene? 1 to %d", min(9, len(pr.opts.Presentation.Script.Scenes)))
	return nil
}

// digit starts a load, or jumps to a scene.
func (pr *presenter) digit(n int) tea.Cmd {
	if pr.play.jumping {
		pr.play.jumping = false
		return pr.toScene(n)
	}
	if n >= len(loads()) {
		return nil
	}
	return pr.startLoad(n)
}

// toScene begins a scene.
func (pr *presenter) toScene(n int) tea.Cmd {
	s := &pr.play
	if n < 0 || n >= len(pr.opts.Presentation.Script.Scenes) {
		if s.auto = false; s.scene >= 0 && n >= len(pr.opts.Presentation.Script.Scenes) {
			pr.notice = "the show is over; j and a digit goes back to a scene"
		}
		return pr.tell()
	}
	if s.scene < 0 || s.began.IsZero() {
		s.began, s.beganAt = pr.opts.Clock.Rig(), pr.opts.Clock.Now()
	}
	s.scene, s.act, s.until, s.ran = n, 0, time.Time{}, ""
	pr.layers.push(presentationLevel)
	cmds := []tea.Cmd{}
	// Whoever jumps out of the scene that pulled it would leave the others without it.
	if s.pulled {
		cmds = append(cmds, pr.cable(false))
	}
	return tea.Batch(append(cmds, pr.acts(), pr.showTicks())...)
}

// showTicks has a show that has begun go on with its clock.
func (pr *presenter) showTicks() tea.Cmd {
	if pr.play.ticking || pr.play.scene < 0 {
		return nil
	}
	pr.play.ticking = true
	return pr.showTick()
}

func (pr *presenter) showTick() tea.Cmd {
	return pr.play.tick(showPace, func(time.Time) tea.Msg { return showTickMsg{} })
}

// onShowTick goes on where something is over that the show has waited for.
func (pr *presenter) onShowTick() tea.Cmd {
	pr.dirty = true
	if !pr.layers.has(presentationLevel) {
		pr.play.ticking = false // it goes on where it was when the stage is opened again
		return nil
	}
	return tea.Batch(pr.acts(), pr.showTick())
}

// acts does what can be done now, and begins the next scene where the show goes on by itself.
func (pr *presenter) acts() tea.Cmd {
	s := &pr.play
	if s.scene < 0 {
		return nil
	}
	var cmds []tea.Cmd
	acts := pr.opts.Presentation.Script.Scenes[s.scene].Acts
	for s.act < len(acts) {
		cmd, done := pr.do(acts[s.act])
		cmds = append(cmds, cmd)
		if !done {
			return tea.Batch(append(cmds, pr.tell())...)
		}
		s.act++
	}
	cmds = append(cmds, pr.tell())
	if s.auto {
		if s.scene+1 < len(pr.opts.Presentation.Script.Scenes) {
			cmds = append(cmds, pr.toScene(s.scene+1))
		} else {
			s.auto = false
			cmds = append(cmds, pr.tell())
		}
	}
	return tea.Batch(cmds...)
}

// do does one act; done is false as long as it has to be waited for.
func (pr *presenter) do(a show.Act) (cmd tea.Cmd, done bool) {
	s := &pr.play
	switch a.Deed {
	case show.View:
		if v, ok := presentation.ViewNamed(a.View); ok {
			pr.view = v
		}
	case show.Pause:
		if s.until.IsZero() {
			s.until = pr.opts.Clock.Rig().Add(a.For)
		}
		if pr.opts.Clock.Rig().Before(s.until) {
			return nil, false
		}
		s.until = time.Time{}
	case show.Run:
		return pr.showRun(a), true
	case show.Wait:
		return nil, pr.showRan()
	case show.Pull:
		return pr.cable(true), true
	case show.Plug:
		return pr.cable(false), true
	}
	return nil, true
}

// showRun runs a cell in place of what runs.
func (pr *presenter) showRun(a show.Act) tea.Cmd {
	pr.play.ran, pr.play.before, pr.play.asked = a.Cell, pr.book.Cells[a.Cell].Run, pr.opts.Clock.Rig()
	busy := pr.busy()
	return pr.try(func(s Session) error {
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

// showRan reports whether the cell that was run last has ended, or will never begin.
func (pr *presenter) showRan() bool {
	s := &pr.play
	if s.ran == "" {
		return true
	}
	c := pr.book.Cells[s.ran]
	if c.Run <= s.before {
		return !pr.busy() && !pr.asking && pr.opts.Clock.Rig().Sub(s.asked) > startsWithin
	}
	return !c.Running
}

// cable pulls the cable of the simulated rig, or plugs it in. On hardware that is the presenter's.
func (pr *presenter) cable(pull bool) tea.Cmd {
	if pr.opts.Presentation.Pull == nil {
		pr.notice = map[bool]string{true: "pull the cable of port 0 now", false: "plug the cable in again"}[pull]
		return nil
	}
	pr.play.pulled = pull
	pr.notice = map[bool]string{true: "the cable of port 0 is out (u plugs it in)", false: "the cable is in again"}[pull]
	change := pr.opts.Presentation.Pull
	// In the order of what was asked for: a scene that begins anew plugs the cable in and pulls it.
	return pr.try(func(Session) error { return change(pull) })
}

func (pr *presenter) pullOrPlug() tea.Cmd { return pr.cable(!pr.play.pulled) }

// moment is where the show is.
func (pr *presenter) moment() show.Moment {
	s := pr.play
	scenes := pr.opts.Presentation.Script.Scenes
	at := show.Moment{
		Show: pr.opts.Presentation.Script.Title, Scene: s.scene + 1, Of: len(scenes), Auto: s.auto, Began: s.beganAt,
		Rig: pr.rigName(),
	}
	if s.scene >= 0 && s.scene < len(scenes) {
		scene := scenes[s.scene]
		at.Title, at.Caption, at.Notes = scene.Title, scene.Caption, scene.Notes
		at.Over = s.scene == len(scenes)-1 && s.act >= len(scene.Acts)
	}
	if s.scene+1 < len(scenes) {
		at.Next = scenes[s.scene+1].Title
	}
	if a, ok := health.Urgent(pr.board.Health); ok {
		at.Alarm = a.String()
	}
	c := pr.stageCell("")
	at.Cell = c.Title
	if c.Grade != steps.NotRun {
		at.Verdict = c.Grade.String() + ": " + c.Verdict
	}
	return at
}

// tell tells whoever follows the show in another terminal, where there is something new.
func (pr *presenter) tell() tea.Cmd {
	at := pr.moment()
	// The number is no news by itself.
	at.No = pr.play.told.No
	if pr.opts.Presentation.Tell == nil || at == pr.play.told {
		return nil
	}
	at.No++
	pr.play.told = at
	tell := pr.opts.Presentation.Tell
	return func() tea.Msg {
		if err := tell(at); err != nil {
			return wroteMsg("railbench notes can't follow: " + err.Error())
		}
		return nil
	}
}

// staged puts the show's own words onto the screen.
func (pr *presenter) staged(s *presentation.Screen) {
	scenes := pr.opts.Presentation.Script.Scenes
	if len(scenes) == 0 {
		return
	}
	if pr.play.scene < 0 {
		s.Title = pr.opts.Presentation.Script.Title
		s.Caption = "space begins the show, a has it go on by itself"
		return
	}
	scene := scenes[pr.play.scene]
	s.Title, s.Caption = scene.Title, scene.Caption
	s.Place = fmt.Sprintf("%d/%d", pr.play.scene+1, len(scenes))
	gone := max(0, pr.opts.Clock.Rig().Sub(pr.play.began)).Truncate(time.Second)
	s.Clock = fmt.Sprintf("%d:%02d", int(gone.Minutes()), int(gone.Seconds())%60)
}

// scripted reports whether there is a show.
func (pr *presenter) scripted() bool { return len(pr.opts.Presentation.Script.Scenes) > 0 }
