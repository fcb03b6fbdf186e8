package linux

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

// An extract is what head or tail is asked for: so many bytes, or lines with their ends, of
// some files.
type extract struct {
	cut   func(text string) []string
	n     int
	sign  byte // before the number; 0 where there is none
	bytes bool
	files []string
}

// asked reads a command line of head or tail: -c, or else -n, or the ancient -5.
func asked(c *host.Call) (e extract, ok bool) {
	// Before Flags, to which -5 would be a letter.
	c.Args = oldCount(c.Args)
	set, files, ok := c.Flags("nc")
	if !ok {
		return e, false
	}
	e.files, e.bytes = files, set.Has("c")
	if e.bytes {
		e.cut = byBytes
		e.n, e.sign, ok = count(c, set.Last('c', ""), "bytes")
		return e, ok
	}
	e.cut = func(text string) []string { return slices.Collect(strings.Lines(text)) }
	e.n, e.sign, ok = count(c, set.Last('n', "10"), "lines")
	return e, ok
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

// runHead reads no more lines of stdin than it prints, and then ends: what writes there gets SIGPIPE, as on a
// real node.
func runHead(_ context.Context, c *host.Call) int {
	e, ok := asked(c)
	if !ok {
		return 1
	}
	if len(e.files) == 0 && e.sign != '-' && !e.bytes {
		// Who writes may never come to an end by himself.
		in := bufio.NewReader(c.In)
		for range e.n {
			line, err := in.ReadString('\n')
			c.Out.WriteString(line)
			if err != nil {
				break
			}
		}
		return 0
	}
	return inputs(c, e.files, func(_, text string) {
		parts := e.cut(text)
		end := min(e.n, len(parts))
		if e.sign == '-' { // all but the last so many
			end = max(0, len(parts)-e.n)
		}
		c.Out.WriteString(strings.Join(parts[:end], ""))
	})
}

func runTail(_ context.Context, c *host.Call) int {
	e, ok := asked(c)
	if !ok {
		return 1
	}
	return inputs(c, e.files, func(_, text string) {
		parts := e.cut(text)
		start := max(0, len(parts)-e.n)
		if e.sign == '+' { // from that one on
			start = min(max(0, e.n-1), len(parts))
		}
		c.Out.WriteString(strings.Join(parts[start:], ""))
	})
}
