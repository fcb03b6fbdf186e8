package launch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Room makes the buffers of cells with with=room as small as the nodes' memory needs them. It
// is a session.Service.
type Room struct {
	// Buffers are parameters that hold a size, by how many times as much memory a process may take
	// of what is left.
	Buffers map[string]int64
}

// Start gives the sizes that fit, of those that don't.
func (s Room) Start(ctx context.Context, r session.Request) (vars [2]map[string]string, stop func() error, err error) {
	given := map[string]string{}
	if err := s.fit(ctx, r, given); err != nil {
		return vars, nil, err
	}
	vars[steps.Here], vars[steps.Peer] = given, given
	return vars, nil, nil
}

// Plan is what a dry run shows: the sizes as they were asked for.
func (Room) Plan(session.Request) map[string]string { return nil }

// memory is a script that prints how much memory a node has left, and available reads it, KiB.
const memory = "grep '^MemAvailable:' /proc/meminfo"

func available(text string) (kib int, ok bool) {
	words := strings.Fields(text)
	if len(words) != 3 || words[0] != "MemAvailable:" || words[2] != "kB" {
		return 0, false
	}
	return strictnum.Count(words[1])
}

// fit makes sizes as small as the node with the least memory needs them: GPU and processor may
// share it, and a node that has none left freezes.
func (s Room) fit(ctx context.Context, r session.Request, given map[string]string) error {
	least, where := -1, ""
	texts, errs := each(ctx, r.Every, runner.Script{Name: "look at the memory", Body: memory, Limit: sweepLimit})
	for i, text := range texts {
		if errs[i] != nil {
			return errs[i]
		}
		kib, ok := available(text)
		if !ok {
			return fmt.Errorf("%s does not report its free memory", r.Every[i].Name())
		}
		if least < 0 || kib < least {
			least, where = kib, r.Every[i].Name()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Buffers)) {
		size, ok := strictnum.Count(r.Params[name])
		if !ok {
			continue
		}
		asked := size
		for size > 1 && int64(size) > int64(least)<<10/s.Buffers[name] {
			size /= 2
		}
		if size < asked {
			r.Tell("%s is %d in place of %d: %s has %d MiB of memory left", name, size, asked, where, least>>10)
			given[name] = fmt.Sprint(size)
		}
	}
	return nil
}
