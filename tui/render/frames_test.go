package render

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A counter shows how many keys came, and knows how often the rest had a mark written.
type counter struct {
	keys  int
	marks *atomic.Int32
}

func (counter) Init() tea.Cmd { return nil }

func (c counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if msg.String() == "q" {
			return c, tea.Quit
		}
		c.keys++
	case tea.RawMsg:
		c.marks.Add(1)
	}
	return c, nil
}

func (c counter) View() tea.View { return tea.NewView(picture(c.keys)) }

// picture has nothing that the one before had.
func picture(keys int) string { return string(rune('A' + keys%26)) }

type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// endsWith reports whether a picture is what was drawn last.
func (w *written) endsWith(picture string) bool {
	return strings.HasSuffix(strings.TrimSuffix(w.String(), "\r"), picture)
}

// shown runs a counter in a time of its own.
func shown(t *testing.T, ctx context.Context) (r *rest, out *written, marks *atomic.Int32, ended chan error) {
	t.Helper()
	out, marks, ended = &written{}, new(atomic.Int32), make(chan error, 1)
	r = newRest(out)
	ready := make(chan struct{})
	go func() {
		ended <- r.run(ctx, starts{counter{marks: marks}, ready}, tea.WithOutput(r), tea.WithInput(nil),
			tea.WithWindowSize(20, 2), tea.WithoutSignalHandler(), tea.WithEnvironment([]string{"TERM=dumb"}))
	}()
	<-ready
	return r, out, marks, ended
}

// starts says when the program runs.
type starts struct {
	counter
	ready chan struct{}
}

func (s starts) Init() tea.Cmd {
	close(s.ready)
	return nil
}

func (s starts) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return s.counter.Update(msg) }

func key(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

// An hour in which nothing happens is an hour of rest, and a key ends it.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out, marks, ended := shown(t, t.Context())
		time.Sleep(time.Minute)
		synctest.Wait()
		before := marks.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if beats := marks.Load() - before; beats > 2*int32(time.Hour/heartbeat) {
			t.Errorf("%d marks in an hour: the renderer does not rest", beats)
		}
		late := 0
		for i := range 300 { // at every place between two ticks and two beats
			r.send(key('x'))
			synctest.Wait() // no time passes
			if !out.endsWith(picture(i + 1)) {
				late++ // it came just at a beat
				time.Sleep(time.Second / perSecond)
				synctest.Wait()
			}
			if !out.endsWith(picture(i + 1)) {
				t.Fatalf("key %d is not drawn within a frame: %q", i+1, out)
			}
			time.Sleep(time.Second/perSecond + time.Duration(i)*7*time.Millisecond)
		}
		if late > 10 {
			t.Errorf("%d of 300 keys are not drawn at once", late)
		}
		if strings.Contains(out.String(), restMark) {
			t.Error("a mark is drawn")
		}
		r.send(key('q'))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Messages that change nothing that is seen wake no one, and the frame between them is drawn all the same.
func TestRestAmongMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out, marks, ended := shown(t, t.Context())
		time.Sleep(time.Minute)
		synctest.Wait()
		before := marks.Load()
		for i := range 10_000 {
			r.send(struct{}{})
			if i%100 == 0 {
				r.send(key('x'))
				time.Sleep(time.Second / perSecond)
				synctest.Wait()
				if !out.endsWith(picture(i/100 + 1)) {
					t.Fatalf("key %d is not drawn within a frame: %q", i/100+1, out)
				}
			}
		}
		if n := marks.Load() - before; n > 2*100 {
			t.Errorf("%d marks for 100 frames", n)
		}
		r.send(key('q'))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A program that ends at any place between two frames has not to wait for the rest.
func TestRestLetsGo(t *testing.T) {
	for i := range 100 {
		synctest.Test(t, func(t *testing.T) {
			r, _, _, ended := shown(t, t.Context())
			time.Sleep(time.Duration(i) * time.Millisecond / 5)
			for range i % 4 {
				r.send(key('x'))
			}
			r.send(key('q'))
			began := time.Now()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 2*time.Second/perSecond {
				t.Errorf("the end took %v", took)
			}
		})
	}
}

// What ends the program ends its rest.
func TestRestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, _, ended := shown(t, ctx)
		time.Sleep(time.Minute + heartbeat/2)
		began := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, tea.ErrProgramKilled) {
			t.Error(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the end took %v", took)
		}
	})
}

// Whatever else stands next to a mark is written.
func TestMarkIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &written{}
		r := newRest(out)
		r.send = func(tea.Msg) {}
		for _, text := range []string{"a", "b" + restMark + "c", restMark, restMark + "d"} {
			if n, err := r.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%q: %d, %v", text, n, err)
			}
		}
		if out.String() != "abcd" {
			t.Errorf("%q", out.String())
		}
	})
}
