package witness

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/wire"
)

// Exit statuses of a shell for what the kernel ended.
const (
	killed   = 128 + 9
	segfault = 128 + 11
	illegal  = 128 + 4
	busError = 128 + 7
)

// First is what ended a run first, as far as that shows without a word of the tools: an
// end that somebody killed, a link that went down, a limit. What both ends print after
// that follows from it. ok is false where none of it happened.
func First(rig steps.Rig, s steps.Stage, ports ...wire.Port) (f kind.Finding, ok bool) {
	for _, o := range s.Outputs {
		if !o.Ran || o.Exit.Why != runner.Ended {
			continue
		}
		switch o.Exit.Code {
		case killed:
			return finding(steps.Inconclusive, "%s was killed (exit %d): did its memory run out (dmesg)?", whose(rig, o), killed)
		case segfault:
			return finding(steps.Fail, "%s crashed (exit %d, a segmentation fault): look at its last lines and at dmesg",
				whose(rig, o), segfault)
		case illegal:
			return finding(steps.Fail, "%s met an instruction that its processor hasn't got (exit %d): it was built for another one, so "+
				"build it on that node", whose(rig, o), illegal)
		case busError:
			return finding(steps.Inconclusive, "%s was ended by a bus error (exit %d): memory that it had mapped could not be given; is "+
				"/dev/shm full (df), are there huge pages left, or does dmesg tell of a memory error?", whose(rig, o), busError)
		}
	}
	// A node that was lost in the middle: that the other end then reached its limit, or complained
	// of the connection, is no hint at anything else.
	for _, o := range s.Outputs {
		if !o.Ran && o.Err != "" && o.Err != steps.NotStarted && anyRan(s) {
			return finding(steps.Inconclusive, "%s did not run to its end: %s; what the other end said follows from that", whose(rig, o), o.Err)
		}
	}
	if s.Err == "" && !slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return !o.Exit.OK() }) {
		return kind.Finding{}, false
	}
	for _, p := range ports {
		if grown := wire.Flaps(s.Bytes, p); grown != "" {
			return finding(steps.Fail, "the link of %s on %s went down during the test (%s): what the ends said afterwards follows "+
				"from that; check its cable at both ends", wire.Name(rig, p), rig.NameOf(p.Node), grown)
		}
	}
	return kind.Finding{}, false
}

// anyRan reports whether an end ran, so that another one may explain what it said.
func anyRan(s steps.Stage) bool {
	return slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return o.Ran })
}

func finding(g steps.Grade, format string, args ...any) (kind.Finding, bool) {
	return kind.Finding{Grade: g, Text: fmt.Sprintf(format, args...)}, true
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
