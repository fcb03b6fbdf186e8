// Package frames runs a screen in a terminal, and says when its frames are drawn: soon after
// something has happened, and never while nothing does. It knows nothing of what is drawn.
package frames

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// perSecond bounds how long a key waits for the frame that answers it: 120 is what
// Bubble Tea does at most.
const perSecond = 120

// A Terminal is what the screen is drawn on.
type Terminal interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// Show runs a screen in a terminal to its end. environ is the environment as Bubble Tea
// is to see it.
func Show(ctx context.Context, model tea.Model, out Terminal, environ []string) error {
	r := newRest(out)
	return r.run(ctx, model, tea.WithOutput(resting{out, r}), tea.WithEnvironment(environ))
}

// A rest keeps Bubble Tea's renderer from looking for something to draw while nothing
// happens: it does so at every tick of its frame rate for as long as the program runs
// (v2.0.9, startRenderer), which is more than all that an idle screen does otherwise, and
// has no way to pause it.
//
// Its ticks end while it is in a Write. After every message another follows that has a
// mark written, and whoever writes the mark for the second time, with no message between,
// is held until the next. Between both marks the renderer has drawn what there was: the
// first was written after the last message's frame was handed over, and before a look for
// it.
type rest struct {
	out  io.Writer
	send func(tea.Msg)
	ends <-chan struct{} // the program's end

	mu     sync.Mutex
	marks  int           // that came since the last message
	asked  bool          // a mark is under way
	wanted chan struct{} // closed by a message; nil while nobody waits
}

// restMark is never drawn. It is no sequence of a terminal's, and unlike any text.
const restMark = "\x00rest\x00"

// heartbeat is how long the renderer rests at most. It has to be there for the program's
// end where no message says so: a panic in a command.
const heartbeat = time.Second

func newRest(out io.Writer) *rest { return &rest{out: out} }

// run runs a program whose output is the rest's, by one of the options.
func (r *rest) run(ctx context.Context, model tea.Model, options ...tea.ProgramOption) error {
	r.ends = ctx.Done()
	p := tea.NewProgram(model, append(options, tea.WithContext(ctx), tea.WithFPS(perSecond),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			r.heard(msg)
			return msg
		}))...)
	r.send = p.Send
	_, err := p.Run()
	return err
}

// heard is told of every message before anything is done for it.
func (r *rest) heard(msg tea.Msg) {
	if msg == nil {
		return // a command that has nothing to say
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw, ok := msg.(tea.RawMsg); ok && raw.Msg == restMark {
		r.marks++
		return
	}
	r.marks = 0
	if r.wanted != nil {
		close(r.wanted)
		r.wanted = nil
	}
	r.ask()
}

// ask has a mark written; mu is held. It is sent by somebody else: whoever writes or hears
// must not wait for the program.
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
	r.pause()
	return len(b), nil
}

// pause is at a mark. At the second it waits for a message.
func (r *rest) pause() {
	r.mu.Lock()
	r.asked = false
	if r.marks < 2 {
		r.ask()
		r.mu.Unlock()
		return
	}
	wanted := make(chan struct{})
	r.wanted = wanted
	r.mu.Unlock()
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	select {
	case <-wanted:
	case <-r.ends:
	case <-beat.C:
		r.mu.Lock()
		r.wanted = nil
		r.ask()
		r.mu.Unlock()
	}
}

// resting is a terminal that is written to by way of a rest.
type resting struct {
	Terminal
	rest *rest
}

func (r resting) Write(b []byte) (int, error) { return r.rest.Write(b) }

// Below is the terminal itself, for a program that has it for a while: by way of a rest it
// would have a pipe.
func Below(w io.Writer) io.Writer {
	if r, ok := w.(resting); ok {
		return r.Terminal
	}
	return w
}
