package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Drill is a line of the table of drills.
type Drill struct {
	At     time.Time     `json:"at"`
	Part   string        `json:"part,omitempty"` // whose exercise it was
	Fault  string        `json:"fault"`
	Seed   uint64        `json:"seed"`
	Points int           `json:"points"`
	Took   time.Duration `json:"took"` // nanoseconds
	Checks int           `json:"checks"`
	Hints  int           `json:"hints"`
}

// mostDrills is how many the table keeps.
const mostDrills = 200

// ReadDrills is the table; empty where there is none.
func ReadDrills(path string) (all []Drill, err error) {
	src, err := safefile.Read(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the table of drills: %w", err)
	}
	if err := json.Unmarshal(src, &all); err != nil {
		return nil, fmt.Errorf("read the table of drills %s: %w (delete the file to start again)", path, err)
	}
	return all, nil
}

// Keep adds a drill to the table.
func (d Drill) Keep(path string) error {
	all, err := ReadDrills(path)
	if err != nil {
		return err
	}
	all = append(all, d)
	text, err := json.MarshalIndent(all[max(0, len(all)-mostDrills):], "", "  ")
	if err != nil {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = safefile.Replace(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("the drill was not saved: %w", err)
	}
	return nil
}

// Scores prints the table, the best first.
func Scores(out io.Writer, path string) error {
	all, err := ReadDrills(path)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		sanitize.Fprintln(out, "No drill is saved yet. Start one: railbench drill")
		return nil
	}
	slices.SortStableFunc(all, func(a, b Drill) int { return b.Points - a.Points })
	sanitize.Fprintf(out, "%6s  %-9s %6s %5s  %-16s  %s\n", "points", "took", "checks", "hints", "when", "fault (--seed)")
	for _, d := range all {
		sanitize.Fprintf(out, "%6d  %-9s %6d %5d  %-16s  %s (%d)\n", d.Points, d.Took, d.Checks, d.Hints,
			d.At.Local().Format("2006-01-02 15:04"), d.Fault, d.Seed)
	}
	return nil
}
