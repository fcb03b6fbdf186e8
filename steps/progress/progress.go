// Package progress keeps what a learner has read and run of the built-in tutorial, and shows it next to the
// exercises.
package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
)

// A Record is what a user has read and run, each with when that was first.
type Record struct {
	Read map[string]time.Time `json:"read"` // parts that were read to their end, by id
	Ran  map[string]time.Time `json:"ran"`  // cells that passed, or warned, by id
}

// A Keeper keeps a record in a file. Any number of goroutines may call it.
type Keeper struct {
	Path string
	mu   sync.Mutex
}

const most = 1 << 20 // bytes of the file

// Load is what was kept; empty where there is no file yet.
func (k *Keeper) Load() (Record, error) {
	r := Record{Read: map[string]time.Time{}, Ran: map[string]time.Time{}}
	src, err := safefile.Read(k.Path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(src, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read the progress in %s: %w (delete the file to start again)", k.Path, err)
	}
	return r, nil
}

// PartRead keeps that a part was read to its end.
func (k *Keeper) PartRead(id string) error {
	return k.keep(func(r Record) map[string]time.Time { return r.Read }, id)
}

// CellRan keeps that a cell passed, or warned.
func (k *Keeper) CellRan(id string) error {
	return k.keep(func(r Record) map[string]time.Time { return r.Ran }, id)
}

func (k *Keeper) keep(in func(Record) map[string]time.Time, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, err := k.Load()
	if err != nil {
		return err
	}
	if _, known := in(r)[id]; known {
		return nil
	}
	in(r)[id] = time.Now()
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(k.Path), 0o700)
	}
	if err == nil {
		err = safefile.Replace(k.Path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("the progress was not saved: %w", err)
	}
	return nil
}

// exercises are the faults of the simulated rig that teach a part, by its id: an exercise has one of them.
var exercises = map[string][]string{
	"set-up":                   {"tool-missing", "tool-differs", "sudo-password", "clock-off"},
	"device-discovery":         {"link-down", "cable-unplugged", "crossed", "mtu-mismatch"},
	"gid-check":                {"gid-drift", "rail-ip-missing", "link-local-missing"},
	"rdma-baseline":            {"slow-rail", "shaped", "pcie-x2", "pauses"},
	"bond-and-tcp":             {"autobond", "bond-left-over", "retransmits", "netplan-broken"},
	"nixl":                     {"nixl-missing", "ucx-no-verbs", "ucx-pinned", "memlock"},
	"nixl-matrix":              {"nixl-one-rail", "stale-etcd", "etcd-down"},
	"host-staging-diagnostics": {"gpu-missing", "gpu-stuck-clock", "small-bar1"},
	"throughput":               {"hog", "low-power", "hot-adapter"},
	"pairs":                    {"slow-cable", "bad-cable", "degraded-adapter"},
	"collectives":              {"nccl-socket", "nccl-half", "nccl-gid", "nccl-tcp"},
	"results":                  {"mtu-unsaved", "address-unsaved", "profile-stray"},
}

// Exercise gives the faults that teach a part; none for an unknown one.
func Exercise(part string) []string { return exercises[part] }

// Page is the progress as Markdown. solved has the parts whose exercise was solved.
func Page(t steps.Tutorial, r Record, solved map[string]bool) string {
	var b strings.Builder
	var read, ran, cells, done int
	b.WriteString("| part | read | cells run | exercise |\n|---|---|---:|---|\n")
	for i, p := range t.Parts {
		n := 0
		for _, c := range p.Way() {
			if !r.Ran[c.ID].IsZero() {
				n++
			}
		}
		all := len(p.Way())
		ran, cells = ran+n, cells+all
		seen, exercise := "", "`railbench drill "+p.ID+"`"
		if !r.Read[p.ID].IsZero() {
			read++
			seen = "✓"
		}
		if solved[p.ID] {
			done++
			exercise = "✓ solved"
		}
		fmt.Fprintf(&b, "| %d %s | %s | %d of %d | %s |\n", i+1, p.Title, seen, n, all, exercise)
	}
	head := fmt.Sprintf("# Progress\n\n%d of %d parts read, %d of %d cells run, %d of %d exercises solved. ",
		read, len(t.Parts), ran, cells, done, len(t.Parts))
	return head + "It counts what you read and run in the workbench.\n\n" + b.String()
}
