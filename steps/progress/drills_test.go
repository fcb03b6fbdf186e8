package progress

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What was reached is kept, and shown with the best first.
func TestDrillScores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drills.json")
	var out bytes.Buffer
	if err := Scores(&out, path); err != nil || !strings.Contains(out.String(), "No drill is saved yet") {
		t.Errorf("%v: %s", err, out.String())
	}
	for i, points := range []int{40, 90} {
		d := Drill{
			At: time.Unix(0, 0), Fault: "slow-rail@spark-01", Seed: uint64(i), Points: points, Took: time.Minute,
			Checks: 3, Hints: 1,
		}
		if err := d.Keep(path); err != nil {
			t.Fatal(err)
		}
	}
	out.Reset()
	if err := Scores(&out, path); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "    90  1m0s") || !strings.HasPrefix(lines[2], "    40  1m0s") ||
		!strings.Contains(lines[1], "slow-rail@spark-01 (1)") {
		t.Errorf("got:\n%s", out.String())
	}
}
