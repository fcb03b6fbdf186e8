package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// Exit statuses of a shell for what the kernel ended.
const (
	killed   = 128 + 9
	segfault = 128 + 11
	illegal  = 128 + 4
	busError = 128 + 7
)

// signals end a program from outside, by number: sent by another process, or by a limit of the shell. SIGABRT is
// left out, as a program sends it to itself, and SIGPIPE, as it follows from another's end.
var signals = map[int]string{
	1: "SIGHUP, sent when a session closes", 2: "SIGINT", 3: "SIGQUIT", 5: "SIGTRAP", 8: "SIGFPE", 10: "SIGUSR1",
	12: "SIGUSR2", 14: "SIGALRM",
	15: "SIGTERM, sent by another process or a shutdown", 24: "SIGXCPU, CPU time limit: ulimit -t",
	25: "SIGXFSZ, file size limit: ulimit -f", 31: "SIGSYS, blocked by a system call filter",
}

// starts are how the loader, which names the program first, and the shell, which names it last, say that
// a program does not start, and what that means behind its name and node.
var starts = []struct {
	form  *lazyregexp.Pattern
	means string
}{
	{
		lazyregexp.New(`^(\S+): error while loading shared libraries: ([^\s:]+)`),
		"does not start: library %s is missing. Install it, or add its folder to " +
			"LD_LIBRARY_PATH",
	},
	{
		lazyregexp.New(`^(\S+): (?:\S+: )?(version \S+ not found) \(required by|^(\S+): (symbol lookup error)`),
		"does not start (%s): it was built with newer libraries. Build it on that node " +
			"or install a matching package",
	},
	{
		lazyregexp.New(`(\S+): (Exec format error|cannot execute)`),
		"cannot be executed (%s): wrong processor type or damaged file. Build it on " +
			"that node",
	},
	{
		lazyregexp.New(`(\S+): (Permission denied)$`),
		"may not be executed (%s). Make it executable (chmod +x), and check for a " +
			"noexec mount",
	},
}

// full is how a program says that it could not write.
var full = lazyregexp.New(`(?:write error|cannot create|can't create|failed to create|cannot open|error writing|writing output).*` +
	`(No space left on device|Disk quota exceeded|Read-only file system|I/O error)`)

// unable is what kept a program of an end from starting or from writing, in its own words; ok is false where
// none of them says so.
func unable(rig steps.Rig, o steps.Output) (f registry.Finding, ok bool) {
	for line := range strings.Lines(o.Text) {
		line = strings.TrimSpace(line)
		for _, s := range starts {
			m := s.form.Regexp().FindStringSubmatch(line)
			if m == nil || len(line) >= 400 || strings.HasSuffix(line, "Permission denied") && o.Exit.Code != 126 {
				continue
			}
			m = slices.DeleteFunc(m[1:], func(part string) bool { return part == "" })
			return finding(steps.ProgramUnable, steps.Fail, "%s on %s "+s.means, path.Base(m[0]), rig.NameOf(o.End), m[1])
		}
		if m := full.Regexp().FindStringSubmatch(line); m != nil && len(line) < 400 {
			return finding(steps.DiskFull, steps.Inconclusive,
				"%s could not write (%s). Free disk space (railbench doctor disk-space)", whose(rig, o), m[1])
		}
	}
	return f, false
}

// stopped is what happened to a run from outside.
func stopped(s steps.Stage) (f registry.Finding, ok bool) {
	switch {
	case s.Restarted != nil:
		return finding(steps.NodeRestarted, steps.Inconclusive,
			"%s restarted during the test. Wait until it is up again, then rerun",
			registry.And(s.Restarted))
	case s.Service != "":
		return finding(steps.ServiceEnded, steps.Inconclusive, "%s. Rerun the test", s.Service)
	case s.Halted != "":
		return finding(steps.TestStalled, steps.Inconclusive,
			"%s. Find what stopped it (a debugger, kill -STOP), then rerun", s.Halted)
	}
	return f, false
}

// ended is what an end's status says of it.
func ended(rig steps.Rig, o steps.Output) (f registry.Finding, ok bool) {
	switch o.Exit.Code {
	case killed:
		return finding(steps.ProgramKilled, steps.Inconclusive,
			"%s was killed (exit %d), perhaps for lack of memory. Check dmesg", whose(rig, o), killed)
	case segfault:
		return finding(steps.ProgramCrashed, steps.Fail,
			"%s crashed (exit %d, segmentation fault). Check its last lines and dmesg",
			whose(rig, o), segfault)
	case illegal:
		return finding(steps.ProgramForeign, steps.Fail,
			"%s used an instruction that its processor does not have (exit %d). Build it "+
				"on that node", whose(rig, o), illegal)
	case busError:
		return finding(steps.MemoryNotGiven, steps.Inconclusive,
			"%s ended with a bus error (exit %d): mapped memory was not available. Check "+
				"/dev/shm (df), huge pages, and dmesg", whose(rig, o), busError)
	}
	if o.Exit.Code != 0 {
		if f, ok := unable(rig, o); ok {
			return f, true
		}
	}
	if signal := signals[o.Exit.Code-128]; signal != "" {
		return finding(steps.ProgramKilled, steps.Inconclusive,
			"%s was ended by a signal (exit %d, %s), not by railbench. Rerun the test", whose(rig, o), o.Exit.Code, signal)
	}
	return f, false
}

// First is what ended a run first, as far as that shows without a word of the tools: an end that a user killed, a
// link that went down, a limit that was too short for what was asked. What both ends print after that follows from
// it. ok is false where none of it happened.
func First(rig steps.Rig, s steps.Stage, ports ...traffic.Port) (f registry.Finding, ok bool) {
	if f, ok := stopped(s); ok {
		return f, true
	}
	for _, o := range s.Outputs {
		if !o.Ran || o.Exit.Why != runner.Ended {
			continue
		}
		if f, ok := ended(rig, o); ok {
			return f, true
		}
	}
	// A node that was lost in the middle: that the other end then reached its limit, or complained of the connection,
	// is not a hint at anything else.
	for _, o := range s.Outputs {
		if !o.Ran && o.Err != "" && anyRan(s) {
			return finding(steps.NotRunToEnd, steps.Inconclusive,
				"%s did not run to its end: %s",
				whose(rig, o), o.Err)
		}
	}
	if s.Err == "" && !slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return !o.Exit.OK() }) {
		return registry.Finding{}, false
	}
	if f, ok := wentDown(rig, s, ports); ok {
		return f, true
	}
	return outlasted(rig, s, ports)
}

// wentDown is a link that went down during a test.
func wentDown(rig steps.Rig, s steps.Stage, ports []traffic.Port) (f registry.Finding, ok bool) {
	for _, p := range ports {
		if grown := traffic.Flaps(s.Bytes, p); grown != "" {
			return finding(steps.LinkFlapped, steps.Fail,
				"the link of %s on %s went down during the test (%s). Check its cable at both "+
					"ends", traffic.Name(rig, p), rig.NameOf(p.Node), grown)
		}
	}
	return f, false
}

// outlasted is for a test that reached its limit at work: its ports carried, over all of the time, about what one of
// them can, so that it can't have hung for long. What its ends said as they were ended is not a cause.
func outlasted(rig steps.Rig, s steps.Stage, ports []traffic.Port) (f registry.Finding, ok bool) {
	late := slices.IndexFunc(s.Outputs, func(o steps.Output) bool { return o.Ran && o.Exit.Why == runner.TimedOut })
	if late < 0 || traffic.Gaps(s.Bytes, ports...) != "" {
		return f, false
	}
	work := traffic.WorkOf(rig, s.Bytes, ports...)
	if work.Share < limits.AtWork.Value() {
		return f, false
	}
	o := s.Outputs[late]
	return finding(steps.TimedOut, steps.Inconclusive,
		"%s %s while still working: %s. Ask for less, or allow more time (railbench "+
			"run --timeout)", whose(rig, o), o.Exit, work)
}

// Reached is what the bytes say of a test that reached its limit, and that was not at work all the while, as a clause
// behind that; empty where its ports carried nothing to speak of.
func Reached(rig steps.Rig, s steps.Stage, ports ...traffic.Port) string {
	work := traffic.WorkOf(rig, s.Bytes, ports...)
	if !work.Any() {
		return ""
	}
	return fmt.Sprintf(". Until then %s, so the ends reach each other. Allow more time (railbench run "+
		"--timeout)", work)
}

// anyRan reports whether an end ran, so that another one may explain what it said.
func anyRan(s steps.Stage) bool {
	return slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return o.Ran })
}

func finding(code steps.Code, g steps.Grade, format string, args ...any) (registry.Finding, bool) {
	return registry.Finding{Code: code, Grade: g, Text: fmt.Sprintf(format, args...)}, true
}

func whose(rig steps.Rig, o steps.Output) string {
	role := o.Role
	if role == "" {
		role = "script"
	}
	return fmt.Sprintf("the %s on %s", role, rig.NameOf(o.End))
}

// Speak are the outputs whose words count: those of ends that ended by themselves and not
// well, where there is one. An end that railbench ended because of it says only what that
// did to it.
func Speak(s steps.Stage) []steps.Output {
	var failed []steps.Output
	for _, o := range s.Outputs {
		if o.Ran && o.Exit.Why == runner.Ended && o.Exit.Code != 0 {
			failed = append(failed, o)
		}
	}
	ours := slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return o.Exit.Why != runner.Ended })
	if len(failed) > 0 && ours {
		return failed
	}
	return s.Outputs
}
