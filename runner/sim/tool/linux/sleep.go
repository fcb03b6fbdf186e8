package linux

import (
	"context"
	"strconv"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// endless is as long as anybody can wait for. Twice that is still a Duration: what a few
// waits add up to doesn't overflow, and a wait that did would be over at once.
const endless time.Duration = 1 << 61

// span is so many of a unit, and endless where that is more.
func span(v float64, unit time.Duration) time.Duration {
	if v >= float64(endless)/float64(unit) {
		return endless
	}
	return time.Duration(v * float64(unit))
}

// Seconds reads sleep's and timeout's times: 0.1, 5s, 2m.
func Seconds(text string) (time.Duration, bool) {
	unit := time.Second
	if text != "" {
		switch text[len(text)-1] {
		case 's':
			text = text[:len(text)-1]
		case 'm':
			unit, text = time.Minute, text[:len(text)-1]
		case 'h':
			unit, text = time.Hour, text[:len(text)-1]
		case 'd':
			unit, text = 24*time.Hour, text[:len(text)-1]
		}
	}
	if text == "infinity" {
		return endless, true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) { // "nan" is a number to ParseFloat
		return 0, false
	}
	return span(v, unit), true
}

func runSleep(ctx context.Context, c *host.Call) int {
	var sum time.Duration
	for _, a := range c.Args[1:] {
		d, ok := Seconds(a)
		if !ok {
			return c.Fail(1, "sleep: invalid time interval ‘%s’\nTry 'sleep --help' for more information.", a)
		}
		sum = min(sum+d, endless)
	}
	if len(c.Args) == 1 {
		return c.Fail(1, "sleep: missing operand\nTry 'sleep --help' for more information.")
	}
	if !c.Node.Rack.Clock.Sleep(ctx, sum) {
		return 143
	}
	return 0
}
