package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/sanitize"
)

// sessionsDir is where sessions are saved that no one named.
func sessionsDir() (string, error) { return stateDir("sessions") }

// offer asks whether to resume a session that was cut off. It is a question of one
// line, before there is a screen.
func (b *bench) offer(ctx context.Context, in io.Reader, out io.Writer, d *notebook.Document) bool {
	ran, what := len(d.Book.Cells), ""
	var left []string
	for _, c := range d.Book.Tutorial.Cells() {
		if d.Book.Cells[c.ID].Running {
			left = append(left, c.ID)
		}
	}
	if left = append(left, d.Book.Queue...); len(left) > 0 {
		what = ", and " + strings.Join(left, ", ") + " was not done"
	}
	cells := "1 cell has"
	if ran != 1 {
		cells = fmt.Sprintf("%d cells have", ran)
	}
	sanitize.Fprintf(out, "The session of %s was cut off: %s run%s.\n",
		d.Created.Local().Format("2006-01-02 15:04"), cells, what)
	b.remind(out)
	sanitize.Fprint(out, "Resume it? (Y/n) ")
	answer, err := console.ReadLine(ctx, io.LimitReader(in, 100))
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "" && err == nil || strings.HasPrefix(answer, "y")
}
