package sim

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
)

// What runs apart from the script and the connection that started it: processes
// in a session of their own, and the transient units of systemd. It ends with
// the node, which is when the rig is closed.

// A unit is a service or a timer that systemd-run made.
type unit struct {
	name   string // with .service or .timer
	active string // activating, active or failed
	sub    string
	proc   *process // of a service
	// stop ends it; calling it again does nothing.
	stop func()
	gone chan struct{} // closed when it is forgotten
	// collect is what --collect asks for: a unit that failed is forgotten too.
	collect bool
	result  string
	status  int
}

// leashVariable is the mark by which a leash finds what a script left behind.
// What doesn't have it and is in a session of its own outlives the script.
const leashVariable = "RAILBENCH_RUN"

// apart runs a command in a session of its own, until it is over, end is called
// or the rig is closed; done gets its status. Callers hold the rig's lock.
func (n *node) apart(args, env []string, root bool, dir string, pid int) (p *process, done chan int) {
	r := n.rack
	done = make(chan int, 1)
	if pid == 0 {
		pid = n.nextPID
		n.nextPID += 3
	}
	ctx, cancel := context.WithCancel(r.life)
	p = &process{pid: pid, args: args, root: root, end: cancel, started: r.Clock.Uptime()}
	if r.closed {
		cancel()
		done <- terminated
		return p, done
	}
	n.procs[p.pid] = p
	sh := newShell(n, root, false)
	sh.proc = p
	c := &call{
		sh: sh, node: n, root: root, args: args, dir: dir, in: strings.NewReader(""), err: io.Discard,
		env: valueIn(env), exported: func() []string { return env },
	}
	c.setOut(io.Discard)
	r.alone(func() {
		defer cancel()
		code := c.exec(ctx, args)
		if ctx.Err() != nil {
			code = terminated
		}
		r.Lock()
		defer r.Unlock()
		delete(n.procs, p.pid)
		done <- code
	})
	return p, done
}

// runSetsid gives a command a session of its own. The leash finds it there by
// the mark in its environment; without the mark it stays.
func runSetsid(ctx context.Context, c *call) int {
	args := c.args[1:]
	fork := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		fork = fork || args[0] == "-f" || args[0] == "--fork"
		args = args[1:]
	}
	if len(args) == 0 {
		return c.fail(1, "setsid: no command specified\nTry 'setsid --help' for more information.")
	}
	env := c.exported()
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, leashVariable+"=") }) {
		return c.exec(ctx, args)
	}
	if _, err := c.find(args[0]); err != nil {
		return c.fail(127, "setsid: failed to execute %s: %s", args[0], errorText(err))
	}
	var p *process
	var done chan int
	c.locked(func() {
		pid := 0
		if c.job != nil {
			pid = c.job.pid
		}
		p, done = c.node.apart(args, env, c.root, c.dir, pid)
	})
	if fork {
		return 0
	}
	r := c.node.rack
	if !clock.Wait(ctx, r.Clock, done) {
		// The script's end leaves it; kill means it.
		if c.job != nil && c.job.killed {
			p.end()
			clock.Wait(context.Background(), r.Clock, done)
		}
		return terminated
	}
	return <-done
}

// A transient is what systemd-run was asked for.
type transient struct {
	unit     string
	quiet    bool
	collect  bool
	onActive string // empty where the service starts at once
	env      []string
	dir      string
	args     []string
}

func (c *call) transient() (t transient, code int) {
	t.dir = "/"
	args := c.args[1:]
	value := func(name string) (string, bool) {
		if v, ok := strings.CutPrefix(args[0], name+"="); ok {
			return v, true
		}
		if args[0] == name && len(args) > 1 {
			args = args[1:]
			return args[0], true
		}
		return "", false
	}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		if v, ok := value("--unit"); ok {
			t.unit = v
		} else if v, ok := value("-u"); ok {
			t.unit = v
		} else if v, ok := value("--on-active"); ok {
			t.onActive = v
		} else if v, ok := value("--setenv"); ok {
			t.env = append(t.env, v)
		} else if v, ok := value("-E"); ok {
			t.env = append(t.env, v)
		} else if v, ok := value("--working-directory"); ok {
			t.dir = v
		} else if slices.ContainsFunc([]string{
			"--property", "-p", "--timer-property", "--description", "--slice", "--service-type",
		}, func(o string) bool { _, ok := value(o); return ok }) {
			// They change nothing that is simulated.
		} else {
			switch args[0] {
			case "--quiet", "-q":
				t.quiet = true
			case "--collect", "-G":
				t.collect = true
			case "--no-block", "--no-ask-password", "--system":
			default:
				return t, c.fail(1, "systemd-run: unrecognized option '%s'", args[0])
			}
		}
		args = args[1:]
	}
	t.args = args
	return t, 0
}

// timeSpan reads systemd's times: 30, 30s, 1min 30s, 500ms.
func timeSpan(text string) (time.Duration, bool) {
	units := map[string]time.Duration{
		"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
		"ms": time.Millisecond, "m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour, "us": time.Microsecond, "d": 24 * time.Hour,
	}
	var sum time.Duration
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
		sum += time.Duration(v * float64(scale))
		text = text[u:]
	}
	return sum, true
}

// runSystemdRun starts a transient service, at once or after a while.
func runSystemdRun(_ context.Context, c *call) int {
	if len(c.args) > 1 && c.args[1] == "--version" {
		c.println("systemd 255 (255.4-1ubuntu8.10)")
		return 0
	}
	t, code := c.transient()
	if code != 0 {
		return code
	}
	var after time.Duration
	kind := "service"
	if t.onActive != "" {
		ok := false
		if after, ok = timeSpan(t.onActive); !ok {
			return c.fail(1, "Failed to parse timer value: %s", t.onActive)
		}
		kind = "timer"
	}
	switch {
	case len(t.args) == 0:
		return c.fail(1, "Command line to execute required.")
	case !c.root:
		return c.fail(1, "Failed to start transient %s unit: Interactive authentication required.", kind)
	}
	if _, err := c.find(t.args[0]); err != nil {
		return c.fail(1, "Failed to find executable %s: %s", t.args[0], errorText(err))
	}
	c.locked(func() {
		n := c.node
		name := strings.TrimSuffix(strings.TrimSuffix(t.unit, ".service"), ".timer")
		if name == "" {
			name = fmt.Sprintf("run-r%016x%016x", n.Random("unit").Uint64(), n.Random("unit").Uint64())
		}
		for _, taken := range []string{name + ".timer", name + ".service"} {
			if n.units[taken] != nil && (taken == name+"."+kind || kind == "timer") {
				code = c.fail(1, "Failed to start transient %s unit: "+
					"Unit %s was already loaded or has a fragment file.", kind, taken)
				return
			}
		}
		if kind == "service" {
			n.startService(name, t)
			if !t.quiet {
				c.fail(0, "Running as unit: %s.service; invocation ID: %016x%016x",
					name, n.Random("unit").Uint64(), n.Random("unit").Uint64())
			}
			return
		}
		n.startTimer(name, t, after)
		if !t.quiet {
			c.fail(0, "Running timer as unit: %s.timer\nWill run service as unit: %s.service", name, name)
		}
	})
	return code
}

// startService starts a unit's command. Callers hold the rig's lock.
func (n *node) startService(name string, t transient) {
	env := append([]string{
		"LANG=en_US.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/snap/bin",
	}, t.env...)
	p, done := n.apart(t.args, env, true, t.dir, 0)
	u := &unit{
		name: name + ".service", active: "active", sub: "running", proc: p,
		stop: p.end, gone: make(chan struct{}), collect: t.collect, result: "success",
	}
	n.units[u.name] = u
	n.rack.alone(func() {
		clock.Wait(context.Background(), n.rack.Clock, done)
		code := <-done
		n.rack.Lock()
		defer n.rack.Unlock()
		if timer := n.units[name+".timer"]; timer != nil {
			timer.forget(n)
		}
		if u.status = code; code == 0 || code == 128+int(syscall.SIGTERM) || u.collect {
			u.forget(n)
			return
		}
		u.active, u.sub, u.result = "failed", "failed", "exit-code"
	})
}

func (n *node) startTimer(name string, t transient, after time.Duration) {
	ctx, cancel := context.WithCancel(n.rack.life)
	u := &unit{
		name: name + ".timer", active: "active", sub: "waiting", stop: cancel, gone: make(chan struct{}), result: "success",
	}
	n.units[u.name] = u
	if n.rack.closed {
		cancel()
		return
	}
	n.rack.alone(func() {
		defer cancel()
		if !n.rack.Clock.Sleep(ctx, after) {
			return
		}
		n.rack.Lock()
		defer n.rack.Unlock()
		// It may have been stopped at the very moment.
		if ctx.Err() == nil {
			u.sub = "running"
			n.startService(name, t)
		}
	})
}

// forget unloads a unit, unless another one has its name by now.
func (u *unit) forget(n *node) {
	if n.units[u.name] == u {
		delete(n.units, u.name)
		close(u.gone)
	}
}

// alwaysActive are the services of every node that somebody may ask for.
var alwaysActive = []string{
	"ssh.service", "NetworkManager.service", "systemd-resolved.service", "docker.service", "multi-user.target",
}

// runSystemctl knows transient units, and that some services run.
func runSystemctl(ctx context.Context, c *call) int {
	var words, props []string
	quiet, valueOnly := false, false
	for i := 1; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a == "--version":
			c.println("systemd 255 (255.4-1ubuntu8.10)")
			return 0
		case a == "-q" || a == "--quiet":
			quiet = true
		case a == "--value":
			valueOnly = true
		case a == "-p" && i+1 < len(c.args):
			i++
			props = append(props, strings.Split(c.args[i], ",")...)
		case strings.HasPrefix(a, "-p") && len(a) > 2 && a[2] != '-':
			props = append(props, strings.Split(a[2:], ",")...)
		case strings.HasPrefix(a, "--property="):
			props = append(props, strings.Split(strings.TrimPrefix(a, "--property="), ",")...)
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		}
	}
	if len(words) == 0 {
		words = []string{"list-units"}
	}
	names := words[1:]
	for i, name := range names {
		if !strings.Contains(name, ".") {
			names[i] = name + ".service"
		}
	}
	switch words[0] {
	case "stop", "kill":
		return c.stopUnits(ctx, names)
	case "is-active", "is-failed":
		return c.isActive(words[0], names, quiet)
	case "show":
		c.showUnits(names, props, valueOnly)
	case "reset-failed":
		return c.resetFailed(names)
	case "is-system-running":
		c.println("running")
	case "list-units", "list-timers":
		c.locked(func() {
			for _, u := range c.node.units {
				c.printf("%s loaded %s %s\n", u.name, u.active, u.sub)
			}
		})
	case "daemon-reload":
	case "start", "restart", "reload", "enable", "disable", "status":
		code := 0
		for _, name := range names {
			switch {
			case slices.Contains(alwaysActive, name):
			case words[0] == "status":
				code = c.fail(4, "Unit %s could not be found.", name)
			case words[0] == "enable" || words[0] == "disable":
				code = c.fail(1, "Failed to %s unit: Unit file %s does not exist.", words[0], name)
			default:
				code = c.fail(5, "Failed to %s %s: Unit %s not found.", words[0], name, name)
			}
		}
		return code
	default:
		return c.fail(1, "Unknown command verb %s.", words[0])
	}
	return 0
}

// stopUnits returns once they have ended.
func (c *call) stopUnits(ctx context.Context, names []string) int {
	code := 0
	for _, name := range names {
		var u *unit
		c.locked(func() {
			u = c.node.units[name]
			switch {
			case u == nil && slices.Contains(alwaysActive, name) && c.root:
				code = c.fail(1, "Failed to stop %s: the simulated node needs it", name)
			case u == nil:
				code = c.fail(5, "Failed to stop %s: Unit %s not loaded.", name, name)
			case !c.root:
				code, u = c.fail(4, "Failed to stop %s: Interactive authentication required.", name), nil
			default:
				u.stop()
				if u.proc == nil || u.active == "failed" {
					u.forget(c.node)
				}
			}
		})
		if u == nil {
			continue
		}
		if !clock.Wait(ctx, c.node.rack.Clock, u.gone) {
			return terminated
		}
	}
	return code
}

func (c *call) isActive(verb string, names []string, quiet bool) int {
	wanted := strings.TrimPrefix(verb, "is-")
	code := 4 // of units that nobody knows
	c.locked(func() {
		for _, name := range names {
			state := "inactive"
			if u := c.node.units[name]; u != nil {
				state = u.active
				code = min(code, 3)
			} else if slices.Contains(alwaysActive, name) {
				state = "active"
			}
			if state == wanted {
				code = 0
			}
			if !quiet {
				c.println(state)
			}
		}
	})
	return code
}

func (c *call) showUnits(names, props []string, valueOnly bool) {
	c.locked(func() {
		for i, name := range names {
			values := map[string]string{
				"Id": name, "LoadState": "not-found", "ActiveState": "inactive",
				"SubState": "dead", "MainPID": "0", "Result": "success", "ExecMainStatus": "0",
			}
			if u := c.node.units[name]; u != nil {
				values["LoadState"], values["ActiveState"], values["SubState"] = "loaded", u.active, u.sub
				values["Result"], values["ExecMainStatus"] = u.result, strconv.Itoa(u.status)
				if u.proc != nil && u.active == "active" {
					values["MainPID"] = strconv.Itoa(u.proc.pid)
				}
			} else if slices.Contains(alwaysActive, name) {
				values["LoadState"], values["ActiveState"], values["SubState"] = "loaded", "active", "running"
			}
			if i > 0 {
				c.println("")
			}
			shown := props
			if len(shown) == 0 {
				shown = []string{"Id", "LoadState", "ActiveState", "SubState", "Result", "MainPID", "ExecMainStatus"}
			}
			for _, p := range shown {
				v, ok := values[p]
				switch {
				case ok && valueOnly:
					c.println(v)
				case ok:
					c.printf("%s=%s\n", p, v)
				}
			}
		}
	})
}

func (c *call) resetFailed(names []string) int {
	code := 0
	c.locked(func() {
		if len(names) == 0 {
			for _, u := range c.node.units {
				names = append(names, u.name)
			}
		} else if i := slices.IndexFunc(names, func(name string) bool { return c.node.units[name] == nil }); i >= 0 {
			code = c.fail(1, "Failed to reset failed state of unit %s: Unit %s not loaded.", names[i], names[i])
		}
		for _, name := range names {
			if u := c.node.units[name]; u != nil && u.active == "failed" {
				u.forget(c.node)
			}
		}
	})
	return code
}

// procDir is what /proc has of a process that is in the node's table.
func (n *node) procDir(name string) *inode {
	pid, err := strconv.Atoi(name)
	p := n.procs[pid]
	if err != nil || p == nil {
		return nil
	}
	dir := newDir()
	dir.put("cmdline", &inode{
		mode: 0o444, read: func() (string, error) { return strings.Join(p.args, "\x00") + "\x00", nil },
	})
	dir.fixed("comm", p.name())
	// The 22nd field is when it started, in hundredths of a second.
	dir.fixed("stat", fmt.Sprintf("%d (%s) S 1 %d %d 0 -1 4194304 812 0 0 0 3 2 0 0 20 0 1 0 %d 24645632 1408",
		pid, p.name(), pid, pid, p.started/(10*time.Millisecond)))
	uid := 1000
	if p.root {
		uid = 0
	}
	dir.fixed("status", fmt.Sprintf("Name:\t%s\nState:\tS (sleeping)\nPid:\t%d\nPPid:\t1\nUid:\t%d\t%d\t%d\t%d",
		p.name(), pid, uid, uid, uid, uid))
	dir.mode = fs.ModeDir | 0o555
	return dir
}

func (p *process) name() string {
	return p.args[0][strings.LastIndexByte(p.args[0], '/')+1:]
}

// runKill ends the script's own background jobs, what runs apart, alone or by
// its group, and the forgotten server that the fault port-busy leaves. Nothing
// else on the node can be killed.
func runKill(_ context.Context, c *call) int {
	args := c.args[1:]
	ask := false
	switch {
	case len(args) > 1 && args[0] == "-s":
		ask, args = args[1] == "0", args[2:]
	case len(args) > 1 && strings.HasPrefix(args[0], "-"):
		ask, args = args[0] == "-0", args[1:]
	}
	code := 0
	for _, a := range args {
		pid, err := strconv.Atoi(strings.TrimPrefix(a, "-"))
		if err != nil {
			if a != "--" {
				code = c.fail(2, "sh: 1: kill: Illegal number: %s", a)
			}
			continue
		}
		code = max(code, c.kill(pid, strings.HasPrefix(a, "-"), ask))
	}
	return code
}

func (c *call) kill(pid int, group, ask bool) int {
	if !group && c.sh.killJob(pid, ask) {
		return 0
	}
	code := 0
	c.locked(func() {
		p := c.node.procs[pid]
		switch {
		case p == nil || group && p.end == nil:
			code = c.fail(1, "sh: 1: kill: No such process")
		case p.root && !c.root:
			code = c.fail(1, "sh: 1: kill: Operation not permitted")
		case ask:
		case p.end != nil:
			p.end()
		default:
			c.node.endForgotten(p)
		}
	})
	return code
}

// endForgotten ends a server that nobody waits for.
func (n *node) endForgotten(p *process) {
	for port, l := range n.listeners {
		if l.proc == p && l.forgotten {
			delete(n.listeners, port)
			delete(n.procs, p.pid)
		}
	}
}
