package tool

import (
	"bufio"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// count reads the number behind -n or -c, and the sign before it, which head and tail take
// for different things.
func count(c *host.Call, text, of string) (n int, sign byte, ok bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(text) == len(digits)+1 {
		sign = text[0]
	}
	n, err := strconv.Atoi(digits)
	if err != nil || len(text) > len(digits)+1 {
		c.Fail(1, "%s: invalid number of %s: ‘%s’", c.Program(), of, text)
		return 0, 0, false
	}
	return n, sign, true
}

// counted is what -c, or else -n, asks for: units of the text, bytes or lines, of which the
// lines keep their ends.
func counted(c *host.Call, set host.Flags) (cut func(text string) []string, n int, sign byte, ok bool) {
	if set.Has("c") {
		n, sign, ok = count(c, set.Last('c', ""), "bytes")
		return byBytes, n, sign, ok
	}
	n, sign, ok = count(c, set.Last('n', "10"), "lines")
	return func(text string) []string { return slices.Collect(strings.Lines(text)) }, n, sign, ok
}

func byBytes(text string) (parts []string) {
	for i := range len(text) {
		parts = append(parts, text[i:i+1])
	}
	return parts
}

// oldCount turns an ancient -5 into -n5. It counts only as the first argument: behind -n it is
// a number with a sign.
func oldCount(args []string) []string {
	if len(args) > 1 && len(args[1]) > 1 && args[1][0] == '-' && args[1][1] >= '0' && args[1][1] <= '9' {
		args = append([]string{args[0], "-n" + args[1][1:]}, args[2:]...)
	}
	return args
}

func runHead(_ context.Context, c *host.Call) int {
	c.Args = oldCount(c.Args)
	set, files, ok := c.Flags("nc")
	if !ok {
		return 1
	}
	cut, n, sign, ok := counted(c, set)
	if !ok {
		return 1
	}
	if len(files) == 0 && sign != '-' && !set.Has("c") {
		// Who writes may never come to an end by himself.
		in := bufio.NewReader(c.In)
		for range n {
			line, err := in.ReadString('\n')
			c.Out.WriteString(line)
			if err != nil {
				break
			}
		}
		return 0
	}
	return inputs(c, files, func(_, text string) {
		parts := cut(text)
		end := min(n, len(parts))
		if sign == '-' { // all but the last so many
			end = max(0, len(parts)-n)
		}
		c.Out.WriteString(strings.Join(parts[:end], ""))
	})
}

func runTail(_ context.Context, c *host.Call) int {
	c.Args = oldCount(c.Args)
	set, files, ok := c.Flags("nc")
	if !ok {
		return 1
	}
	cut, n, sign, ok := counted(c, set)
	if !ok {
		return 1
	}
	return inputs(c, files, func(_, text string) {
		parts := cut(text)
		start := max(0, len(parts)-n)
		if sign == '+' { // from that one on
			start = min(max(0, n-1), len(parts))
		}
		c.Out.WriteString(strings.Join(parts[start:], ""))
	})
}
