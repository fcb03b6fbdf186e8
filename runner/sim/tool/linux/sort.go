package linux

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runSort knows -n, -r, -u and one key. What isn't a number counts as 0.
func runSort(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("kt")
	if !ok {
		return 2
	}
	var lines []string
	code := inputs(c, files, func(_, text string) { lines = append(lines, splitLines(text)...) })
	// Of -k 2,2n the first number: no script here sorts to the end of the line, as -k 2 alone means it.
	key := func(l string) string {
		k, err := strconv.Atoi(strings.TrimRight(strings.Split(set.Last('k', ""), ",")[0], "nr"))
		if err != nil || k < 1 {
			return l
		}
		fields := strings.Fields(l)
		if sep := set.Last('t', ""); sep != "" {
			fields = strings.Split(l, sep)
		}
		if k > len(fields) {
			return ""
		}
		return fields[k-1]
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		if set.Has("n") {
			x, _ := strconv.ParseFloat(strings.TrimSpace(key(a)), 64)
			y, _ := strconv.ParseFloat(strings.TrimSpace(key(b)), 64)
			if d := cmp.Compare(x, y); d != 0 {
				return d
			}
		}
		return cmp.Compare(key(a), key(b))
	})
	if set.Has("r") {
		slices.Reverse(lines)
	}
	if set.Has("u") {
		lines = slices.Compact(lines)
	}
	for _, l := range lines {
		c.Println(l)
	}
	return code
}
