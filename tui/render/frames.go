// Package render runs a screen in a terminal, and says when its frames are drawn: soon after
// something has happened, and never while nothing does. It knows nothing of what is drawn.
package render

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// perSecond bounds how long a frame waits that follows another at once: 120 is what
// Bubble Tea does at most.
const perSecond = 120

// A Terminal is what the screen is drawn on.
type Terminal interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// Show runs a screen in a terminal to its end. environ is the environment as Bubble Tea
// is to see it. lend, where not nil, is called when another program gets the terminal, and what it gives when that
// program has ended. Signals are the caller's: they end ctx.
func Show(ctx context.Context, model tea.Model, out Terminal, environ []string, lend func() (back func())) error {
	r := newRest(out)
	r.lend = lend
	return r.run(ctx, model, r.sized(out, environ)...)
}

// A rest keeps Bubble Tea's renderer from looking for changes while nothing changes. It looks at every tick
// of its frame rate for as long as the program runs (v2.0.9, startRenderer). That is more work than
// everything else on an idle screen, and it cannot be paused.
//
// The renderer writes what is queued, draws the last frame, and waits for its tick. It is held in that write,
// by a mark that it writes, as long as the next frame is the one that it drew last. So a frame is drawn as
// soon as it exists, and not at a tick.
//
// A frame is known to exist when a message arrives that was sent after the frame was made: Bubble Tea passes
// on a message's frame before it takes the next message.
type rest struct {
	out  io.Writer
	lend func() (back func()) // nil if nothing waits for it
	send func(tea.Msg)
	size func() (columns, rows int) // nil where Bubble Tea asks for it
	ends <-chan struct{}            // the program's end

	mu     sync.Mutex
	view   tea.View      // the last one
	made   int           // frames that differed from the one before
	handed int           // how many of them the renderer has
	drawn  int           // how many of them it has drawn, or is about to
	awake  bool          // something is under way for which the renderer has to move
	asked  bool          // a mark is under way, and not written yet
	wanted chan struct{} // closed when the renderer has to move; nil while it isn't held
}

// restMark is never drawn. It is not a terminal sequence, and unlike any text.
const restMark = "\x00rest\x00"

// heartbeat is how long the renderer rests at most. It has to be there for the program's
// end where no message says so: a panic in a command.
const heartbeat = time.Second

func newRest(out io.Writer) *rest { return &rest{out: out} }

// run runs a program whose output is the rest's, by one of the options.
func (r *rest) run(ctx context.Context, model tea.Model, options ...tea.ProgramOption) error {
	r.ends = ctx.Done()
	p := tea.NewProgram(watched{model, r}, append(options, tea.WithContext(ctx), tea.WithoutSignalHandler(),
		tea.WithFPS(perSecond),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			r.heard(msg)
			return fitted(msg)
		}))...)
	r.send = p.Send
	if r.size != nil {
		over, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			r.follow(over)
		}()
		defer func() {
			close(over)
			<-ended
		}()
	}
	_, err := p.Run()
	return err
}

// watched reports the frames that a model makes to the rest.
type watched struct {
	tea.Model
	rest *rest
}

func (w watched) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	model, cmd := w.Model.Update(msg)
	return watched{model, w.rest}, cmd
}

func (w watched) View() tea.View {
	v := w.Model.View()
	w.rest.saw(v)
	return v
}

// saw gets every frame, before it is passed on.
func (r *rest) saw(v tea.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made > 0 && reflect.DeepEqual(v, r.view) {
		return
	}
	r.view = v
	r.made++
	r.ask()
}

// heard gets every message, before it is handled.
func (r *rest) heard(msg tea.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch msg := msg.(type) {
	case nil: // a command that has nothing to say
		return
	case tea.KeyMsg, tea.MouseMsg, tea.PasteMsg, tea.BatchMsg:
		return // what they change is seen in a frame
	case tea.RawMsg:
		if msg.Msg == restMark {
			r.awake, r.handed = false, r.made
			if r.handed > r.drawn {
				r.wake()
			}
			return
		}
	}
	if reflect.TypeOf(msg).PkgPath() != bubbleTea {
		return // the model's own
	}
	// Bubble Tea may write for it, or stop the renderer, and waits for that while it is at
	// this message.
	r.awake = true
	r.wake()
	r.ask()
}

var bubbleTea = reflect.TypeFor[tea.QuitMsg]().PkgPath()

// wake lets the renderer go on where it is held; mu is held.
func (r *rest) wake() {
	if r.wanted != nil {
		close(r.wanted)
		r.wanted = nil
	}
}

// ask has a mark written; mu is held. Another goroutine sends it: the goroutines that write and hear must not
// wait for the program.
func (r *rest) ask() {
	if !r.asked {
		r.asked = true
		go r.send(tea.RawMsg{Msg: restMark})
	}
}

// Write writes all but the mark.
func (r *rest) Write(b []byte) (int, error) {
	if !bytes.Contains(b, []byte(restMark)) {
		return r.out.Write(b)
	}
	if rest := bytes.ReplaceAll(b, []byte(restMark), nil); len(rest) > 0 {
		if _, err := r.out.Write(rest); err != nil {
			return 0, err
		}
	}
	r.hold()
	return len(b), nil
}

// hold is at a mark. It waits for a frame that isn't drawn, which the renderer draws next; the
// mark by which it was heard of holds the renderer again.
func (r *rest) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = false
	if r.made > r.handed {
		r.ask() // the frame was made after this mark was heard
	}
	if r.handed == r.drawn && !r.awake {
		r.wait()
	}
	r.ask()
	r.drawn = r.handed
}

// wait waits to be woken; mu is held before and after.
func (r *rest) wait() {
	wanted := make(chan struct{})
	r.wanted = wanted
	r.mu.Unlock()
	beat := time.NewTimer(heartbeat)
	select {
	case <-wanted:
	case <-r.ends:
	case <-beat.C:
	}
	beat.Stop()
	r.mu.Lock()
	r.wanted = nil
}

// resting is a terminal that is written to by way of a rest.
type resting struct {
	Terminal
	rest *rest
}

func (r resting) Write(b []byte) (int, error) { return r.rest.Write(b) }

// Lend gives the terminal itself to a program that has it until back is called: by way of a rest it would have a pipe.
func Lend(w io.Writer) (out io.Writer, back func()) {
	if b, ok := w.(blind); ok {
		w = b.resting
	}
	r, ok := w.(resting)
	switch {
	case !ok:
		return w, func() {}
	case r.rest.lend == nil:
		return r.Terminal, func() {}
	}
	return r.Terminal, r.rest.lend()
}
