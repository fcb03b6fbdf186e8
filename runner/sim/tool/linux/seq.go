package linux

import (
	"context"
	"strconv"

	"github.com/railbench/railbench/runner/sim/host"
)

// runSeq counts in steps from the first number and not by adding them up: 0.1 ten times is 1.
func runSeq(_ context.Context, c *host.Call) int {
	var n []float64
	for _, a := range c.Args[1:] {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return c.Fail(1, "seq: invalid floating point argument: ‘%s’", a)
		}
		n = append(n, v)
	}
	first, step := 1.0, 1.0
	switch len(n) {
	case 1:
	case 2:
		first = n[0]
	case 3:
		first, step = n[0], n[1]
	default:
		return c.Fail(1, "seq: missing operand")
	}
	if step == 0 {
		return c.Fail(1, "seq: invalid Zero increment value: ‘0’")
	}
	end := n[len(n)-1]
	for i := 0; ; i++ {
		v := first + float64(i)*step
		// A million lines are more than any test wants: a typing error must not fill the memory.
		if step > 0 && v > end || step < 0 && v < end || i > 1e6 {
			return 0
		}
		c.Println(strconv.FormatFloat(v, 'f', -1, 64))
	}
}
