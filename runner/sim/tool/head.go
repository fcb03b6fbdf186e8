package tool

import (
	"bufio"
	"context"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

func lineCount(c *host.Call, set host.Flags) (n int, from bool, ok bool) {
	value := set.Last('n', "10")
	value, from = strings.CutPrefix(value, "+")
	n, err := strconv.Atoi(strings.TrimPrefix(value, "-"))
	if err != nil {
		c.Fail(1, "%s: invalid number of lines: ‘%s’", c.Program(), value)
		return 0, false, false
	}
	return n, from, true
}

// oldCount turns head's ancient -5 into -n 5.
func oldCount(args []string) []string {
	var out []string
	for _, a := range args {
		if len(a) > 1 && a[0] == '-' && a[1] >= '0' && a[1] <= '9' {
			a = "-n" + a[1:]
		}
		out = append(out, a)
	}
	return out
}

func runHead(_ context.Context, c *host.Call) int {
	c.Args = oldCount(c.Args)
	set, files, ok := c.Flags("nc")
	if !ok {
		return 1
	}
	if set.Has("c") {
		n, _ := strconv.Atoi(set.Last('c', "0"))
		return inputs(c, files, func(_, text string) { c.Out.WriteString(text[:min(n, len(text))]) })
	}
	n, _, ok := lineCount(c, set)
	if !ok {
		return 1
	}
	if len(files) == 0 {
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
		for _, l := range splitLines(text)[:min(n, len(splitLines(text)))] {
			c.Println(l)
		}
	})
}

func runTail(_ context.Context, c *host.Call) int {
	c.Args = oldCount(c.Args)
	set, files, ok := c.Flags("nc")
	if !ok {
		return 1
	}
	n, from, ok := lineCount(c, set)
	if !ok {
		return 1
	}
	return inputs(c, files, func(_, text string) {
		lines := splitLines(text)
		start := max(0, len(lines)-n)
		if from {
			start = min(max(0, n-1), len(lines))
		}
		for _, l := range lines[start:] {
			c.Println(l)
		}
	})
}
