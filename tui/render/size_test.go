package render

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Of a terminal of any size no more is drawn than is cheap.
func TestSizesAreBounded(t *testing.T) {
	for _, c := range [][4]int{
		{80, 24, 80, 24},
		{500, 200, 500, 200},
		{1000, 1000, 500, 200},
		{65535, 1, 500, 1},
		{1, 65535, 1, 200},
		{0, 0, 0, 0},
	} {
		want := tea.WindowSizeMsg{Width: c[2], Height: c[3]}
		if got := fitted(tea.WindowSizeMsg{Width: c[0], Height: c[1]}); got != want {
			t.Errorf("%d x %d: %v", c[0], c[1], got)
		}
	}
	environ := []string{"COLUMNS=501", "LINES=99999", "COLUMNS=500", "LINES=200", "LINES=", "TERM=1000", "LINES"}
	if got := small(environ); !slices.Equal(got, []string{"COLUMNS=500", "LINES=200", "LINES=", "TERM=1000", "LINES"}) {
		t.Errorf("%q", got)
	}
}

// A sizes model remembers the last size.
type sizes struct{ last chan tea.WindowSizeMsg }

func (sizes) Init() tea.Cmd { return nil }

func (s sizes) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		s.last <- size
	}
	return s, nil
}

func (sizes) View() tea.View { return tea.NewView("") }

// A terminal that was too large at the start is followed when it becomes smaller, and larger again.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		columns := make(chan int, 1)
		columns <- mostColumns + 1
		r := newRest(&bytes.Buffer{})
		r.size = func() (int, int) {
			n := <-columns
			columns <- n
			return n, 50
		}
		got := make(chan tea.Msg, 1)
		r.send = func(msg tea.Msg) { got <- msg }
		over, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			r.follow(over)
		}()
		synctest.Wait()
		for _, next := range []int{100, mostColumns + 1} {
			<-columns
			columns <- next
			time.Sleep(2 * sizeEvery)
			if size := (<-got).(tea.WindowSizeMsg); size.Width != min(next, mostColumns) || size.Height != 50 {
				t.Errorf("%d: %v", next, size)
			}
		}
		close(over)
		<-ended
		select {
		case msg := <-got:
			t.Errorf("nothing has changed: %v", msg)
		default:
		}
	})
}

// The model hears of no size that is not drawn.
func TestTheModelHearsASizeThatIsDrawn(t *testing.T) {
	r, last := newRest(&bytes.Buffer{}), make(chan tea.WindowSizeMsg, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- r.run(t.Context(), sizes{last}, tea.WithOutput(r), tea.WithInput(nil), tea.WithWindowSize(1000, 900))
	}()
	if size := <-last; size.Width != mostColumns || size.Height != mostRows {
		t.Errorf("%v", size)
	}
	r.send(tea.Quit())
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
