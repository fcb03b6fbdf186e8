package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// The largest size that is drawn. 4,000,000 cells took 1 GB and many seconds for each frame, and the other
// end of a terminal can claim any size. The largest screens have some 480 columns and 150 rows.
const (
	mostColumns = 500
	mostRows    = 200
)

// sizeEvery is how often a terminal that was too large is asked for its size.
const sizeEvery = time.Second

// fitted is a message with a size that can be drawn.
func fitted(msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		return tea.WindowSizeMsg{Width: min(size.Width, mostColumns), Height: min(size.Height, mostRows)}
	}
	return msg
}

// small leaves out what the environment says of the size where that is too large, too: Bubble Tea (2.1.1) takes it
// where the terminal knows none.
func small(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(s string) bool {
		name, value, _ := strings.Cut(s, "=")
		n, err := strconv.Atoi(value)
		return err == nil && (name == "COLUMNS" && n > mostColumns || name == "LINES" && n > mostRows)
	})
}

// A blind is a terminal that does not say how large it is. Bubble Tea (2.1.1) makes a screen of any size at its start,
// and takes no message of a size that it holds to be impossible.
type blind struct{ resting resting }

func (b blind) Write(p []byte) (int, error) { return b.resting.Write(p) }

// sized are the options for a terminal as large as it is now.
func (r *rest) sized(out Terminal, environ []string) []tea.ProgramOption {
	all := []tea.ProgramOption{tea.WithEnvironment(small(environ))}
	size := func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 0, 0
		}
		return min(columns, mostColumns+1), min(rows, mostRows+1)
	}
	columns, rows := size()
	if columns <= mostColumns && rows <= mostRows {
		return append(all, tea.WithOutput(resting{out, r}))
	}
	r.size = size
	return append(all, tea.WithOutput(blind{resting{out, r}}), tea.WithColorProfile(colorprofile.Detect(out, environ)),
		tea.WithWindowSize(min(cmp.Or(columns, 80), mostColumns), min(cmp.Or(rows, 24), mostRows)))
}

// follow sends the size of a terminal that Bubble Tea does not look at, whenever it is another, until over is closed.
func (r *rest) follow(over <-chan struct{}) {
	columns, rows := r.size()
	every := time.NewTicker(sizeEvery)
	defer every.Stop()
	for {
		select {
		case <-over:
			return
		case <-every.C:
		}
		if c, l := r.size(); c > 0 && l > 0 && (c != columns || l != rows) {
			columns, rows = c, l
			r.send(tea.WindowSizeMsg{Width: min(c, mostColumns), Height: min(l, mostRows)})
		}
	}
}
