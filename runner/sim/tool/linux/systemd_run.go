package linux

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// transient is what systemd-run is asked for. Parsing stops at the first argument that is not an option: what
// follows is the command's own.
func transient(c *host.Call) (t host.Transient, code int) {
	t.Dir = "/"
	texts := map[string]*string{
		"--unit": &t.Unit, "-u": &t.Unit, "--on-active": &t.OnActive, "--working-directory": &t.Dir,
	}
	switches := map[string]*bool{"--quiet": &t.Quiet, "-q": &t.Quiet, "--collect": &t.Collect, "-G": &t.Collect}
	args := c.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		a := args[0]
		if args = args[1:]; a == "--" {
			break
		}
		name, value, has := strings.Cut(a, "=")
		if !has && slices.Contains(transientValues, name) && len(args) > 0 {
			value, has, args = args[0], true, args[1:]
		}
		switch on, text := switches[a], texts[name]; {
		case on != nil:
			*on = true
		case text != nil && has:
			*text = value
		case (name == "--setenv" || name == "-E") && has:
			t.Env = append(t.Env, value)
		case slices.Contains(transientValues, name) && has, slices.Contains(transientSwitches, a):
			// They change nothing that is simulated.
		default:
			return t, c.Fail(1, "systemd-run: unrecognized option '%s'", a)
		}
	}
	t.Args = args
	return t, 0
}

// The options of systemd-run that have a value, and those that change nothing here.
var (
	transientValues = []string{
		"--unit", "-u", "--on-active", "--setenv", "-E", "--working-directory",
		"--property", "-p", "--timer-property", "--description", "--slice", "--service-type",
	}
	transientSwitches = []string{"--no-block", "--no-ask-password", "--system"}
)

// timeSpan reads systemd's times: 30, 30s, 1min 30s, 500ms.
func timeSpan(text string) (time.Duration, bool) {
	units := map[string]time.Duration{
		"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
		"ms": time.Millisecond, "m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour, "us": time.Microsecond, "d": 24 * time.Hour,
	}
	var sum time.Duration
	// "1min 30s" has its parts apart or together.
	text = strings.ReplaceAll(text, " ", "")
	if text == "" {
		return 0, false
	}
	for text != "" {
		n := len(text) - len(strings.TrimLeft(text, "0123456789."))
		v, err := strconv.ParseFloat(text[:n], 64)
		text = text[n:]
		u := len(text) - len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz"))
		scale, ok := units[text[:u]]
		if err != nil || !ok {
			return 0, false
		}
		sum = min(sum+span(v, scale), endless)
		text = text[u:]
	}
	return sum, true
}

// runSystemdRun starts a transient service, at once or after a while.
func runSystemdRun(_ context.Context, c *host.Call) int {
	if len(c.Args) > 1 && c.Args[1] == "--version" {
		c.Println("systemd 255 (255.4-1ubuntu8.10)")
		return 0
	}
	t, code := transient(c)
	if code != 0 {
		return code
	}
	var after time.Duration
	kind := "service"
	if t.OnActive != "" {
		ok := false
		if after, ok = timeSpan(t.OnActive); !ok {
			return c.Fail(1, "Failed to parse timer value: %s", t.OnActive)
		}
		kind = "timer"
	}
	switch {
	case len(t.Args) == 0:
		return c.Fail(1, "Command line to execute required.")
	case !c.Root:
		return c.Fail(1, "Failed to start transient %s unit: Interactive authentication required.", kind)
	}
	if _, err := c.Find(t.Args[0]); err != nil {
		return c.Fail(1, "Failed to find executable %s: %s", t.Args[0], host.ErrorText(err))
	}
	c.Locked(func() { code = startTransient(c, kind, t, after) })
	return code
}

// startTransient makes the unit, unless there is one of its name.
func startTransient(c *host.Call, kind string, t host.Transient, after time.Duration) int {
	n := c.Node
	name := strings.TrimSuffix(strings.TrimSuffix(t.Unit, ".service"), ".timer")
	if name == "" {
		// As systemd names a unit that was given no name.
		name = fmt.Sprintf("run-r%016x%016x", n.Random("unit").Uint64(), n.Random("unit").Uint64())
	}
	// A timer takes both names, its service's too; a service may exist next to a timer that was left.
	for _, taken := range []string{name + ".timer", name + ".service"} {
		if n.Units[taken] != nil && (taken == name+"."+kind || kind == "timer") {
			return c.Fail(1, "Failed to start transient %s unit: "+
				"Unit %s was already loaded or has a fragment file.", kind, taken)
		}
	}
	if kind == "service" {
		n.StartService(name, t)
	} else {
		n.StartTimer(name, t, after)
	}
	switch {
	case t.Quiet:
	case kind == "service":
		c.Fail(0, "Running as unit: %s.service; invocation ID: %016x%016x",
			name, n.Random("unit").Uint64(), n.Random("unit").Uint64())
	default:
		c.Fail(0, "Running timer as unit: %s.timer\nWill run service as unit: %s.service", name, name)
	}
	return 0
}
