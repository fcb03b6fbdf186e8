package tool

import (
	"context"
	"strconv"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// seconds reads sleep's and timeout's times: 0.1, 5s, 2m.
func seconds(text string) (time.Duration, bool) {
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
		return 1 << 62, true
	}
	v, err := strconv.ParseFloat(text, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
}

func runSleep(ctx context.Context, c *host.Call) int {
	var sum time.Duration
	for _, a := range c.Args[1:] {
		d, ok := seconds(a)
		if !ok {
			return c.Fail(1, "sleep: invalid time interval ‘%s’\nTry 'sleep --help' for more information.", a)
		}
		sum += d
	}
	if len(c.Args) == 1 {
		return c.Fail(1, "sleep: missing operand\nTry 'sleep --help' for more information.")
	}
	if !c.Node.Rack.Clock.Sleep(ctx, sum) {
		return 143
	}
	return 0
}
