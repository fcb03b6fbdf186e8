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
func (m *Model) showNext() tea.Cmd { return m.toScene(m.play.scene + 1) }

func (m *Model) showBack() tea.Cmd { return m.toScene(max(0, m.play.scene-1)) }

// showAuto has the show go on by itself, or wait for the presenter again.
func (m *Model) showAuto() tea.Cmd {
	m.play.auto = !m.play.auto
	if !m.play.auto {
		m.notice = "the show waits for you: space goes on"
		return m.tell()
	}
	m.notice = "the show goes on by itself"
	if m.play.scene < 0 {
		return m.showNext()
	}
	return m.tell()
}

// showJump has the next digit choose a scene.
func (m *Model) showJump() tea.Cmd {
	if !m.scripted() {
		m.notice = "there is no show to jump in"
		return nil
	}
	m.play.jumping = true
	m.notice = fmt.Sprintf("to which scene? 1 to %d", min(9, len(m.opts.Show.Scenes)))
	return nil
}

// digit starts a load, or jumps to a scene.
func (m *Model) digit(n int) tea.Cmd {
	if m.play.jumping {
		m.play.jumping = false
		return m.toScene(n)
	}
	if n >= len(loads()) {
		return nil
	}
	return m.startLoad(n)
}

// toScene begins a scene.
func (m *Model) toScene(n int) tea.Cmd {
	s := &m.play
	if n < 0 || n >= len(m.opts.Show.Scenes) {
		if s.auto = false; s.scene >= 0 && n >= len(m.opts.Show.Scenes) {
			m.notice = "the show is over; j and a digit goes back to a scene"
		}
		return m.tell()
	}
	if s.scene < 0 || s.began.IsZero() {
		s.began, s.beganAt = m.opts.RigNow(), m.opts.Now()
	}
	s.scene, s.act, s.until, s.ran = n, 0, time.Time{}, ""
	m.layers.push(presentationLevel)
	cmds := []tea.Cmd{}
	// Whoever jumps out of the scene that pulled it would leave the others without it.
	if s.pulled {
		cmds = append(cmds, m.cable(false))
	}
	return tea.Batch(append(cmds, m.acts(), m.showTicks())...)
}

// showTicks has a show that has begun go on with its clock.
func (m *Model) showTicks() tea.Cmd {
	if m.play.ticking || m.play.scene < 0 {
		return nil
	}
	m.play.ticking = true
	return m.showTick()
}

func (m *Model) showTick() tea.Cmd {
	return m.play.tick(showPace, func(time.Time) tea.Msg { return showTickMsg{} })
}

// onShowTick goes on where something is over that the show has waited for.
func (m *Model) onShowTick() tea.Cmd {
	m.dirty = true
	if !m.layers.has(presentationLevel) {
		m.play.ticking = false // it goes on where it was when the stage is opened again
		return nil
	}
	return tea.Batch(m.acts(), m.showTick())
}

// acts does what can be done now, and begins the next scene where the show goes on by itself.
func (m *Model) acts() tea.Cmd {
	s := &m.play
	if s.scene < 0 {
		return nil
	}
	var cmds []tea.Cmd
	acts := m.opts.Show.Scenes[s.scene].Acts
	for s.act < len(acts) {
		cmd, done := m.do(acts[s.act])
		cmds = append(cmds, cmd)
		if !done {
			return tea.Batch(append(cmds, m.tell())...)
		}
		s.act++
	}
	cmds = append(cmds, m.tell())
	if s.auto {
		if s.scene+1 < len(m.opts.Show.Scenes) {
			cmds = append(cmds, m.toScene(s.scene+1))
		} else {
			s.auto = false
			cmds = append(cmds, m.tell())
		}
	}
	return tea.Batch(cmds...)
}

// do does one act; done is false as long as it has to be waited for.
func (m *Model) do(a show.Act) (cmd tea.Cmd, done bool) {
	s := &m.play
	switch a.Deed {
	case show.View:
		if v, ok := presentation.ViewNamed(a.View); ok {
			m.stage.view = v
		}
	case show.Pause:
		if s.until.IsZero() {
			s.until = m.opts.RigNow().Add(a.For)
		}
		if m.opts.RigNow().Before(s.until) {
			return nil, false
		}
		s.until = time.Time{}
	case show.Run:
		return m.showRun(a), true
	case show.Wait:
		return nil, m.showRan()
	case show.Pull:
		return m.cable(true), true
	case show.Plug:
		return m.cable(false), true
	}
	return nil, true
}

// showRun runs a cell in place of what runs.
func (m *Model) showRun(a show.Act) tea.Cmd {
	m.play.ran, m.play.before, m.play.asked = a.Cell, m.book.Cells[a.Cell].Run, m.opts.RigNow()
	busy := m.busy()
	return m.try(func(s Session) error {
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
func (m *Model) showRan() bool {
	s := &m.play
	if s.ran == "" {
		return true
	}
	c := m.book.Cells[s.ran]
	if c.Run <= s.before {
		return !m.busy() && !m.asking && m.opts.RigNow().Sub(s.asked) > startsWithin
	}
	return !c.Running
}

// cable pulls the cable of the simulated rig, or plugs it in. On hardware that is the presenter's.
func (m *Model) cable(pull bool) tea.Cmd {
	if m.opts.Pull == nil {
		m.notice = map[bool]string{true: "pull the cable of port 0 now", false: "plug the cable in again"}[pull]
		return nil
	}
	m.play.pulled = pull
	m.notice = map[bool]string{true: "the cable of port 0 is out (u plugs it in)", false: "the cable is in again"}[pull]
	change := m.opts.Pull
	// In the order of what was asked for: a scene that begins anew plugs the cable in and pulls it.
	return m.try(func(Session) error { return change(pull) })
}

func (m *Model) pullOrPlug() tea.Cmd { return m.cable(!m.play.pulled) }

// moment is where the show is.
func (m *Model) moment() show.Moment {
	s := m.play
	scenes := m.opts.Show.Scenes
	at := show.Moment{
		Show: m.opts.Show.Title, Scene: s.scene + 1, Of: len(scenes), Auto: s.auto, Began: s.beganAt,
		Rig: m.rigName(),
	}
	if s.scene >= 0 && s.scene < len(scenes) {
		scene := scenes[s.scene]
		at.Title, at.Caption, at.Notes = scene.Title, scene.Caption, scene.Notes
		at.Over = s.scene == len(scenes)-1 && s.act >= len(scene.Acts)
	}
	if s.scene+1 < len(scenes) {
		at.Next = scenes[s.scene+1].Title
	}
	if a, ok := health.Urgent(m.board.Health); ok {
		at.Alarm = a.String()
	}
	c := m.stageCell("")
	at.Cell = c.Title
	if c.Grade != steps.NotRun {
		at.Verdict = c.Grade.String() + ": " + c.Verdict
	}
	return at
}

// tell tells whoever follows the show in another terminal, where there is something new.
func (m *Model) tell() tea.Cmd {
	at := m.moment()
	// The number is no news by itself.
	at.No = m.play.told.No
	if m.opts.Tell == nil || at == m.play.told {
		return nil
	}
	at.No++
	m.play.told = at
	tell := m.opts.Tell
	return func() tea.Msg {
		if err := tell(at); err != nil {
			return wroteMsg("railbench notes can't follow: " + err.Error())
		}
		return nil
	}
}

// staged puts the show's own words onto the screen.
func (m *Model) staged(s *presentation.Screen) {
	scenes := m.opts.Show.Scenes
	if len(scenes) == 0 {
		return
	}
	if m.play.scene < 0 {
		s.Title = m.opts.Show.Title
		s.Caption = "space begins the show, a has it go on by itself"
		return
	}
	scene := scenes[m.play.scene]
	s.Title, s.Caption = scene.Title, scene.Caption
	s.Place = fmt.Sprintf("%d/%d", m.play.scene+1, len(scenes))
	gone := max(0, m.opts.RigNow().Sub(m.play.began)).Truncate(time.Second)
	s.Clock = fmt.Sprintf("%d:%02d", int(gone.Minutes()), int(gone.Seconds())%60)
}

// scripted reports whether there is a show.
func (m *Model) scripted() bool { return len(m.opts.Show.Scenes) > 0 }
