package linux

import (
	"context"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runCut prints fields, letters or bytes of each line in their own order, whatever the list's is; letters are
// bytes, as coreutils' are.
func runCut(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("dfcb")
	if !ok {
		return 1
	}
	list := set.Last('f', set.Last('c', set.Last('b', "")))
	if list == "" {
		return c.Fail(1, "cut: you must specify a list of bytes, characters, or fields")
	}
	wanted := func(i int) bool { return inList(list, i) }
	sep := set.Last('d', "\t")
	return inputs(c, files, func(_, text string) {
		for _, l := range splitLines(text) {
			if set.Has("cb") {
				for i, r := range []byte(l) {
					if wanted(i + 1) {
						c.Out.WriteByte(r)
					}
				}
				c.Println("")
				continue
			}
			fields := strings.Split(l, sep)
			// A line without the separator is whole, and left out with -s.
			if len(fields) == 1 {
				if !set.Has("s") {
					c.Println(l)
				}
				continue
			}
			var kept []string
			for i, f := range fields {
				if wanted(i + 1) {
					kept = append(kept, f)
				}
			}
			c.Println(strings.Join(kept, sep))
		}
	})
}

// inList reports whether a list, as in 1,3-5,7-, has a number.
func inList(list string, i int) bool {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, _ := strconv.Atoi(lo)
		b := a
		if isRange {
			if b, _ = strconv.Atoi(hi); hi == "" {
				b = 1 << 30
			}
		}
		if i >= a && i <= b {
			return true
		}
	}
	return false
}
