package linux

import (
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
)

// TwoManagers nodes have systemd-networkd configure rail 2, in addition to NetworkManager.
const TwoManagers host.Flaw = "networkd configures rail 2, too"

// A systemctl is a command line of systemctl.
type systemctl struct {
	verb             string
	names            []string // of units, each with its kind
	props            []string
	quiet, valueOnly bool
	version          bool
}

// parseSystemctl reads options wherever they stand; those that it doesn't know change nothing that is
// simulated.
func parseSystemctl(args []string) (s systemctl) {
	var words []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--version":
			s.version = true
		case a == "-q" || a == "--quiet":
			s.quiet = true
		case a == "--value":
			s.valueOnly = true
		case a == "-p" && i+1 < len(args):
			i++
			s.props = append(s.props, strings.Split(args[i], ",")...)
		case strings.HasPrefix(a, "-p") && len(a) > 2:
			s.props = append(s.props, strings.Split(a[2:], ",")...)
		case strings.HasPrefix(a, "--property="):
			s.props = append(s.props, strings.Split(strings.TrimPrefix(a, "--property="), ",")...)
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		}
	}
	if s.verb = "list-units"; len(words) > 0 {
		s.verb, s.names = words[0], words[1:]
	}
	for i, name := range s.names {
		// A name without a kind is a service's.
		if !strings.Contains(name, ".") {
			s.names[i] = name + ".service"
		}
	}
	return s
}

// runSystemctl knows transient units, and that some services run. Its statuses are LSB's, as in systemctl(1):
// 3 for a unit that doesn't run, and 1 where is-failed finds one that hasn't failed; 4 for one that is
// unknown or that the user may not change, 5 for one that isn't installed.
func runSystemctl(ctx context.Context, c *host.Call) int {
	s := parseSystemctl(c.Args[1:])
	if s.version {
		c.Println("systemd 255 (255.4-1ubuntu8.10)")
		return 0
	}
	switch s.verb {
	case "stop", "kill":
		return stopUnits(ctx, c, s.names)
	case "is-active", "is-failed":
		return isActive(c, s.verb, s.names, s.quiet)
	case "is-enabled":
		return isEnabled(c, s.names)
	case "show":
		showUnits(c, s.names, s.props, s.valueOnly)
	case "reset-failed":
		return resetFailed(c, s.names)
	case "is-system-running":
		c.Println("running")
	case "list-units", "list-timers":
		listUnits(c, s.names)
	case "daemon-reload":
	case "start", "restart", "reload", "enable", "disable", "status":
		return changeUnits(c, s.verb, s.names)
	default:
		return c.Fail(1, "Unknown command verb %s.", s.verb)
	}
	return 0
}

// listUnits lists the units that run, of those that a pattern names where there is one.
func listUnits(c *host.Call, patterns []string) {
	wanted := func(name string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, name)
			return err == nil && ok
		})
	}
	c.Locked(func() {
		for _, name := range host.AlwaysActive {
			if len(patterns) > 0 && wanted(name) {
				c.Printf("%s loaded active running %s\n", name, strings.TrimSuffix(name, ".service"))
			}
		}
		if c.Node.Flawed(TwoManagers) && len(patterns) > 0 && wanted("systemd-networkd.service") {
			c.Println("systemd-networkd.service loaded active running Network Configuration")
		}
		// In one order, as all on the rig is: a map has none.
		for _, name := range slices.Sorted(maps.Keys(c.Node.Units)) {
			if u := c.Node.Units[name]; wanted(name) {
				c.Printf("%s loaded %s %s\n", u.Name, u.Active, u.Sub)
			}
		}
	})
}

// changeUnits starts what runs already, and knows no other unit.
func changeUnits(c *host.Call, verb string, names []string) (code int) {
	for _, name := range names {
		masked := false
		c.Locked(func() { masked = isMasked(c.Node, name) })
		switch {
		case slices.Contains(host.AlwaysActive, name):
		case masked && (verb == "start" || verb == "restart" || verb == "enable"):
			code = c.Fail(1, "Failed to %s %s: Unit %s is masked.", verb, name, name)
		case verb == "status":
			code = c.Fail(4, "Unit %s could not be found.", name)
		case verb == "enable" || verb == "disable":
			code = c.Fail(1, "Failed to %s unit: Unit file %s does not exist.", verb, name)
		default:
			code = c.Fail(5, "Failed to %s %s: Unit %s not found.", verb, name, name)
		}
	}
	return code
}

// isEnabled says what of some units a boot starts.
func isEnabled(c *host.Call, names []string) (code int) {
	c.Locked(func() {
		for _, name := range names {
			_, _, err := c.Node.Walk("/etc/systemd/system/multi-user.target.wants/"+name, false, true)
			switch {
			case isMasked(c.Node, name):
				c.Println("masked")
				code = 1
			case err == nil || slices.Contains(host.AlwaysActive, name):
				c.Println("enabled")
			default:
				code = c.Fail(1, "Failed to get unit file state for %s: No such file or directory", name)
			}
		}
	})
	return code
}

// isMasked reports whether a unit was linked to /dev/null, so that it can't be started. Callers hold the
// rig's lock.
func isMasked(n *host.Node, name string) bool {
	i, _, err := n.Walk("/etc/systemd/system/"+name, false, true)
	return err == nil && i.Target == "/dev/null"
}

// stopUnits returns once they have ended.
func stopUnits(ctx context.Context, c *host.Call, names []string) int {
	code := 0
	for _, name := range names {
		var u *host.Unit
		c.Locked(func() {
			u = c.Node.Units[name]
			switch {
			case u == nil && slices.Contains(host.AlwaysActive, name) && c.Root:
				code = c.Fail(1, "Failed to stop %s: the simulated node needs it", name)
			case u == nil:
				code = c.Fail(5, "Failed to stop %s: Unit %s not loaded.", name, name)
			case !c.Root:
				code, u = c.Fail(4, "Failed to stop %s: Interactive authentication required.", name), nil
			default:
				u.Stop()
				// A timer and a failed unit have no process whose end would remove them.
				if u.Proc == nil || u.Active == "failed" {
					u.Forget(c.Node)
				}
			}
		})
		if u == nil {
			continue
		}
		if !clock.Wait(ctx, c.Node.Rack.Clock, u.Gone) {
			return host.Terminated
		}
	}
	return code
}

// isActive prints each unit's state. The status is 0 where one of them is in the state that was asked for.
func isActive(c *host.Call, verb string, names []string, quiet bool) int {
	wanted := strings.TrimPrefix(verb, "is-")
	code, known := 4, 3 // for unknown units, and for a unit in another state
	if verb == "is-failed" {
		known = 1
	}
	c.Locked(func() {
		for _, name := range names {
			state := "inactive"
			if u := c.Node.Units[name]; u != nil {
				state = u.Active
				code = min(code, known)
			} else if slices.Contains(host.AlwaysActive, name) {
				state = "active"
				code = min(code, known)
			} else if isMasked(c.Node, name) {
				code = min(code, known)
			}
			if state == wanted {
				code = 0
			}
			if !quiet {
				c.Println(state)
			}
		}
	})
	return code
}

// showUnits prints properties of units, also of unknown ones: unknown is a state, and not an error. An empty
// line stands between two units.
func showUnits(c *host.Call, names, props []string, valueOnly bool) {
	c.Locked(func() {
		for i, name := range names {
			// What systemd says of a unit that it has never heard of.
			values := map[string]string{
				"Id": name, "LoadState": "not-found", "ActiveState": "inactive",
				"SubState": "dead", "MainPID": "0", "Result": "success", "ExecMainStatus": "0",
			}
			if u := c.Node.Units[name]; u != nil {
				values["LoadState"], values["ActiveState"], values["SubState"] = "loaded", u.Active, u.Sub
				values["Result"], values["ExecMainStatus"] = u.Result, strconv.Itoa(u.Status)
				if u.Proc != nil && u.Active == "active" {
					values["MainPID"] = strconv.Itoa(u.Proc.PID)
				}
			} else if slices.Contains(host.AlwaysActive, name) {
				values["LoadState"], values["ActiveState"], values["SubState"] = "loaded", "active", "running"
			} else if isMasked(c.Node, name) {
				values["LoadState"] = "masked"
			}
			maps.Copy(values, waitsOnline(c.Node, name))
			if i > 0 {
				c.Println("")
			}
			shown := props
			if len(shown) == 0 {
				shown = []string{"Id", "LoadState", "ActiveState", "SubState", "Result", "MainPID", "ExecMainStatus"}
			}
			for _, p := range shown {
				v, ok := values[p]
				switch {
				case ok && valueOnly:
					c.Println(v)
				case ok:
					c.Printf("%s=%s\n", p, v)
				}
			}
		}
	})
}

// SlowBoot nodes waited for the network until the service that waits gave up.
const SlowBoot host.Flaw = "the boot waited for the network"

// waitsOnline is what is another of the services that wait for the network at a boot.
func waitsOnline(n *host.Node, name string) map[string]string {
	// Microseconds since the boot; 0 of what never ran.
	v := map[string]string{"ExecMainStartTimestampMonotonic": "0", "ExecMainExitTimestampMonotonic": "0"}
	switch name {
	case "NetworkManager-wait-online.service":
		v["LoadState"], v["ActiveState"], v["SubState"] = "loaded", "active", "exited"
		v["ExecMainStartTimestampMonotonic"], v["ExecMainExitTimestampMonotonic"] = "9120400", "15330812"
		// It gives up after NM_ONLINE_TIMEOUT, 60 s.
		if n.Flawed(SlowBoot) {
			v["ActiveState"], v["SubState"], v["Result"], v["ExecMainStatus"] = "failed", "failed", "exit-code", "1"
			v["ExecMainExitTimestampMonotonic"] = "69210400"
		}
	case "systemd-networkd-wait-online.service":
		v["LoadState"] = "loaded"
	}
	return v
}

func resetFailed(c *host.Call, names []string) int {
	code := 0
	c.Locked(func() {
		if len(names) == 0 {
			for _, u := range c.Node.Units {
				names = append(names, u.Name)
			}
		} else if i := slices.IndexFunc(names, func(name string) bool { return c.Node.Units[name] == nil }); i >= 0 {
			code = c.Fail(1, "Failed to reset failed state of unit %s: Unit %s not loaded.", names[i], names[i])
		}
		for _, name := range names {
			if u := c.Node.Units[name]; u != nil && u.Active == "failed" {
				u.Forget(c.Node)
			}
		}
	})
	return code
}
