package linux

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// trSet expands ranges and escapes.
func trSet(s string) []rune {
	s = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\000`, "\x00", `\0`, "\x00", `\\`, `\`, "[:space:]", " \t\n\r\v\f",
		"[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]", "abcdefghijklmnopqrstuvwxyz",
		"[:digit:]", "0123456789").Replace(s)
	in := []rune(s)
	var out []rune
	for i := 0; i < len(in); i++ {
		if i+2 < len(in) && in[i+1] == '-' && in[i] <= in[i+2] {
			for r := in[i]; r <= in[i+2]; r++ {
				out = append(out, r)
			}
			i += 2
			continue
		}
		out = append(out, in[i])
	}
	return out
}

// runTr exchanges letters, deletes them with -d, takes repetitions together with -s and the others' complement
// with -c.
func runTr(_ context.Context, c *host.Call) int {
	set, sets, ok := c.Flags("")
	if !ok || len(sets) == 0 {
		return c.Fail(1, "tr: missing operand")
	}
	from := trSet(sets[0])
	var to []rune
	if len(sets) > 1 {
		to = trSet(sets[1])
	}
	b, _ := io.ReadAll(c.In)
	var prev rune = -1
	for _, r := range string(b) {
		i := slices.Index(from, r)
		if set.Has("cC") {
			// What is not in the set is what is meant, as its last letter.
			if i >= 0 {
				i = -1
			} else {
				i = max(0, len(to)-1)
			}
		}
		if i >= 0 && set.Has("d") {
			continue
		}
		squeezed := i >= 0 && set.Has("s")
		if i >= 0 && len(to) > 0 {
			r = to[min(i, len(to)-1)]
		}
		// What comes twice is looked for behind the exchange: tr -s 'a-z' 'x' leaves one x.
		if squeezed && r == prev {
			continue
		}
		prev = r
		c.Out.WriteRune(r)
	}
	return 0
}
