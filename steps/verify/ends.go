package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/pattern"
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

// told are the signals by which somebody, or a limit of the shell, ends a program, by number: those that
// railbench sends are no exit of the program's own. SIGABRT is the program's own word, and SIGPIPE follows
// from another's end.
var told = map[int]string{
	1: "SIGHUP: was its session closed?", 2: "SIGINT", 3: "SIGQUIT", 5: "SIGTRAP", 8: "SIGFPE", 10: "SIGUSR1",
	12: "SIGUSR2", 14: "SIGALRM",
	15: "SIGTERM: was it ended by hand, or did the node go down?", 24: "SIGXCPU, its limit of processor time: ulimit -t",
	25: "SIGXFSZ, its limit of a file's size: ulimit -f", 31: "SIGSYS, a filter of system calls",
}

// starts are how the loader, which names the program first, and the shell, which names it last, say that
// a program does not start, and what that means behind its name and node.
var starts = []struct {
	form  *pattern.Pattern
	means string
}{
	{
		pattern.New(`^(\S+): error while loading shared libraries: ([^\s:]+)`),
		"does not start, because a library that it needs is not there (%s): install it, or put its folder into " +
			"LD_LIBRARY_PATH",
	},
	{
		pattern.New(`^(\S+): (?:\S+: )?(version \S+ not found) \(required by|^(\S+): (symbol lookup error)`),
		"does not start (%s): it was built with newer libraries than are there, so build it on that node, or take a build " +
			"for its system",
	},
	{
		pattern.New(`(\S+): (Exec format error|cannot execute)`),
		"can't be executed (%s): it was built for another kind of processor, or the file is damaged; build it on that node",
	},
	{
		pattern.New(`(\S+): (Permission denied)$`),
		"may not be executed (%s): is it marked as a program (chmod +x), and may programs run from its file system (noexec)?",
	},
}

// full is how a program says that it could not write.
var full = pattern.New(`(?:write error|cannot create|can't create|failed to create|cannot open|error writing|writing output).*` +
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
				"%s could not write (%s): look at its room (disk-space)", whose(rig, o), m[1])
		}
	}
	return f, false
}

// First is what ended a run first, as far as that shows without a word of the tools: an
// end that somebody killed, a link that went down, a limit that was too short for what was asked. What both ends
// print after that follows from it. ok is false where none of it happened.
func First(rig steps.Rig, s steps.Stage, ports ...traffic.Port) (f registry.Finding, ok bool) {
	if s.Restarted != nil {
		return finding(steps.NodeRestarted, steps.Inconclusive,
			"%s restarted in the middle: whatever else was seen follows from that",
			registry.And(s.Restarted))
	}
	for _, o := range s.Outputs {
		if !o.Ran || o.Exit.Why != runner.Ended {
			continue
		}
		switch o.Exit.Code {
		case killed:
			return finding(steps.ProgramKilled, steps.Inconclusive,
				"%s was killed (exit %d): did its memory run out (dmesg)?", whose(rig, o), killed)
		case segfault:
			return finding(steps.ProgramCrashed, steps.Fail,
				"%s crashed (exit %d, a segmentation fault): look at its last lines and at dmesg",
				whose(rig, o), segfault)
		case illegal:
			return finding(steps.ProgramForeign, steps.Fail,
				"%s met an instruction that its processor hasn't got (exit %d): it was built for "+
					"another one, so build it on that node", whose(rig, o), illegal)
		case busError:
			return finding(steps.MemoryNotGiven, steps.Inconclusive,
				"%s was ended by a bus error (exit %d): memory that it had mapped could not "+
					"be given; is /dev/shm full (df), are there huge pages left, or does dmesg report a memory "+
					"error?", whose(rig, o), busError)
		}
		if o.Exit.Code != 0 {
			if f, ok := unable(rig, o); ok {
				return f, true
			}
		}
		if signal := told[o.Exit.Code-128]; signal != "" {
			return finding(steps.ProgramKilled, steps.Inconclusive,
				"%s was ended by a signal (exit %d, %s), and not by railbench: what the "+
					"other end said follows from that", whose(rig, o), o.Exit.Code, signal)
		}
	}
	// A node that was lost in the middle: that the other end then reached its limit, or complained
	// of the connection, is no hint at anything else.
	for _, o := range s.Outputs {
		if !o.Ran && o.Err != "" && o.Err != steps.NotStarted && anyRan(s) {
			return finding(steps.NotRunToEnd, steps.Inconclusive,
				"%s did not run to its end: %s; what the other end said follows from that",
				whose(rig, o), o.Err)
		}
	}
	if s.Err == "" && !slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return !o.Exit.OK() }) {
		return registry.Finding{}, false
	}
	for _, p := range ports {
		if grown := traffic.Flaps(s.Bytes, p); grown != "" {
			return finding(steps.LinkFlapped, steps.Fail,
				"the link of %s on %s went down during the test (%s): what the ends said afterwards "+
					"follows from that; check its cable at both ends", traffic.Name(rig, p), rig.NameOf(p.Node), grown)
		}
	}
	return outlasted(rig, s, ports)
}

// outlasted is for a test that reached its limit at work: its ports carried, over all of the time, about what one of
// them can, so that it can't have hung for long. What its ends said as they were ended is no cause.
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
		"%s %s, at work: %s until then, so what was asked for takes longer; ask for "+
			"less, or give it more time (railbench run --timeout)", whose(rig, o), o.Exit, work)
}

// Reached is what the bytes say of a test that reached its limit, and that was not at work all the while, as a clause
// behind that; empty where its ports carried nothing to speak of.
func Reached(rig steps.Rig, s steps.Stage, ports ...traffic.Port) string {
	work := traffic.WorkOf(rig, s.Bytes, ports...)
	if !work.Any() {
		return ""
	}
	return fmt.Sprintf("; %s until then, so the ends reach each other: it stopped in the middle, or needs more time "+
		"(railbench run --timeout)", work)
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
