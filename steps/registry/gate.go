package registry

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/expect"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// Inconclusive is a verdict with one reason.
func Inconclusive(code steps.Code, format string, args ...any) steps.Verdict {
	return steps.Verdict{
		Grade: steps.Inconclusive, Code: code, Reason: fmt.Sprintf(format, args...), Evidence: []steps.Evidence{},
	}
}

// Gate answers for the judge where there is nothing to judge: the cell was
// skipped, or nothing ran.
func Gate(c steps.Cell, r steps.Result) (steps.Verdict, bool) {
	if r.Skip != "" {
		return steps.Verdict{
			Grade: steps.Skipped, Code: steps.CannotRun, Reason: r.Skip, Evidence: []steps.Evidence{},
		}, true
	}
	if len(r.Stages) > 0 {
		return steps.Verdict{}, false
	}
	for _, e := range steps.Ends {
		if r.Rig.At(e).Err != "" && c.Surveys() {
			return Inconclusive(steps.NodeAway,
				"Not checked: %s is unreachable.", r.Rig.NameOf(e)), true
		}
		if r.Rig.At(e).Err != "" {
			return Inconclusive(steps.NodeAway,
				"Nothing ran, because %s is unreachable: %s", r.Rig.NameOf(e), r.Rig.At(e).Err), true
		}
	}
	if c.EachRail && len(r.Rig.Pairs) == 0 {
		return Inconclusive(steps.NoRail, "Nothing ran, because no rail connects the nodes: see the rail map."), true
	}
	return Inconclusive(steps.NothingRan, "Nothing ran."), true
}

// Trouble says in words why an output can't be judged, and how bad that is; ok is false where it can. All of it is
// INCONCLUSIVE: a run that was cut short says nothing of the rig, and a FAIL would point at what isn't broken. A
// non-zero status is not a trouble: what it means the judge knows.
func Trouble(rig steps.Rig, o steps.Output) (Finding, bool) {
	where := "the script on " + rig.NameOf(o.End)
	if o.Role != "" {
		where = "the " + o.Role + " on " + rig.NameOf(o.End)
	}
	switch {
	case !o.Ran && o.Err != "":
		return Finding{
			Code: steps.NotRunToEnd, Grade: steps.Inconclusive,
			Text: fmt.Sprintf("%s did not finish: %s", where, o.Err),
		}, true
	case !o.Ran:
		return Finding{Code: steps.NotRunHere, Grade: steps.Inconclusive, Text: where + " did not run"}, true
	case o.Exit.Why == runner.TimedOut:
		return Finding{
			Code: steps.TimedOut, Grade: steps.Inconclusive,
			Text: where + " " + o.Exit.String() + ". Run: railbench doctor",
		}, true
	case o.Exit.Why == runner.Cancelled:
		f := Finding{Code: steps.Interrupted, Grade: steps.Inconclusive, Text: where + " was interrupted. Run it again"}
		return f, true
	case o.Exit.Code == steps.NoContainer && o.Asked[steps.Container] != "":
		return Finding{
			Code: steps.NoContainerFound, Grade: steps.Inconclusive,
			Text: fmt.Sprintf("docker and podman show this user no container %s on %s", o.Asked[steps.Container],
				rig.NameOf(o.End)),
		}, true
	case o.Exit.Code == 127:
		return Finding{
			Code: steps.CommandMissing, Grade: steps.Inconclusive, Text: where + " needs a command that is missing (exit 127)",
		}, true
	}
	return Finding{}, false
}

// OnBoth gathers the outputs of a cell that runs one script on both nodes, by
// end. ok is false where an end is missing: then the report says why, and what
// the other end alone shows may only be a consequence of that.
func OnBoth(r steps.Result, rep *Report) (good map[steps.End]steps.Output, ok bool) {
	good = map[steps.End]steps.Output{}
	seen := map[steps.End]bool{}
	for _, s := range r.Stages {
		if s.Err != "" {
			rep.Add(steps.NotRunToEnd, steps.Inconclusive, "it stopped: %s", s.Err)
		}
		for _, o := range s.Outputs {
			seen[o.End] = true
			if f, bad := Trouble(r.Rig, o); bad {
				rep.Note(f)
				continue
			}
			good[o.End] = o
		}
	}
	for _, e := range steps.Ends {
		if !seen[e] {
			rep.Add(steps.NotRunHere, steps.Inconclusive, "nothing ran on %s", r.Rig.NameOf(e))
		}
	}
	return good, len(good) == len(steps.Ends)
}

// Value reads what the parser made of an output. A missing or foreign value is
// INCONCLUSIVE and in the report.
func Value[T any](r steps.Result, o steps.Output, rep *Report) (T, bool) {
	v, ok := o.Value.(T)
	switch {
	case o.ParseErr != "":
		said := ""
		if last := strings.TrimSpace(LastLine(o.Text)); last != "" {
			said = " (its last line: " + last + ")"
		}
		rep.Add(steps.OutputIncomplete, steps.Inconclusive,
			"could not read the output on %s: %s%s", r.Rig.NameOf(o.End), o.ParseErr, said)
		return v, false
	case !ok:
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "could not read the output on %s", r.Rig.NameOf(o.End))
	}
	return v, ok
}

// Both is what the parser made of the outputs of both ends. ok is false where one did not
// run, did not end well or was not read: the report says so, and read has the other's.
func Both[T any](r steps.Result, rep *Report) (read [2]T, ok bool) {
	outputs, ok := OnBoth(r, rep)
	for _, e := range steps.Ends {
		o, there := outputs[e]
		if !there || Exited(r, o, rep) {
			ok = false
			continue
		}
		good := false
		read[e], good = Value[T](r, o, rep)
		ok = ok && good
	}
	return read, ok
}

// Exited reports a non-zero status.
func Exited(r steps.Result, o steps.Output, rep *Report) bool {
	if o.Exit.OK() {
		return false
	}
	rep.Add(steps.ScriptFailed, steps.Inconclusive, "the script on %s ended with %s", r.Rig.NameOf(o.End), o.Exit)
	return true
}

// ExitStatus is for cells that nothing else judges: every script ends well, and its output is as
// the runbook itself says.
func ExitStatus(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := Gate(c, r); done {
		return v
	}
	var rep Report
	n := 0
	var read []string
	for _, s := range r.Stages {
		if s.Err != "" {
			rep.Add(steps.NotRunToEnd, steps.Inconclusive, "it stopped: %s", s.Err)
		}
		for _, o := range s.Outputs {
			n++
			if f, bad := Trouble(r.Rig, o); bad {
				rep.Add(f.Code, f.Grade, "%s%s", f.Text, complaint(o))
			} else if !o.Exit.OK() && limited(s) {
				// What an end says whose other one reached its limit follows from that.
				rep.Show("the end on "+r.Rig.NameOf(o.End)+" afterwards", o.Exit.String()+complaint(o), "", nil)
			} else if !o.Exit.OK() {
				rep.Add(steps.ScriptFailed, steps.Fail,
					"the script on %s ended with %s%s", r.Rig.NameOf(o.End), o.Exit, complaint(o))
			} else {
				read = append(read, asSaid(c, r, s, o, &rep)...)
			}
		}
	}
	if n == 0 {
		rep.Add(steps.NothingRan, steps.Inconclusive, "nothing ran")
	}
	if len(read) > 0 {
		return rep.Verdict(strings.Join(slices.Compact(read), "; "), uncounted(c, r))
	}
	return rep.Verdict("every script ended with status 0; nothing else was checked")
}

// uncounted says of a rate over a rail that no counter confirms it: it may have gone over another one.
func uncounted(c steps.Cell, r steps.Result) string {
	if slices.ContainsFunc(r.Stages, func(s steps.Stage) bool { return len(s.Bytes) > 0 }) {
		return ""
	}
	for _, role := range c.Roles {
		for _, text := range role.Values {
			v, err := expect.ParseValue(text)
			if err == nil && rates.Regexp().MatchString(v.Unit) && anyRail.Regexp().MatchString(role.Script) {
				return "No counters were compared, so whether this rail carried the traffic is unverified"
			}
		}
	}
	return ""
}

var (
	rates   = lazyregexp.New(`^[KMGT]?i?(?:b|B|bits?|bytes)(?:/s|ps)$`)
	anyRail = lazyregexp.New(`\$\{?(?:RAIL|PEER_RAIL)\d*_`)
)

// limited reports whether an end of a stage reached its limit.
func limited(s steps.Stage) bool {
	return slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return o.Ran && o.Exit.Why == runner.TimedOut })
}

// complaint is what the script itself said of it.
func complaint(o steps.Output) string {
	if said := strings.TrimSpace(o.Complaint); said != "" {
		return ": " + said
	}
	return ""
}

// asSaid holds an output to what the runbook says of it, and gives what it read, in words; nothing
// where the runbook says nothing.
func asSaid(c steps.Cell, r steps.Result, s steps.Stage, o steps.Output, rep *Report) []string {
	i := slices.IndexFunc(c.Roles, func(role steps.Role) bool { return role.Name == o.Role })
	if i < 0 {
		return nil
	}
	where := "on " + r.Rig.NameOf(o.End)
	role := c.Roles[i]
	if c.EachRail {
		where = fmt.Sprintf("%s, rail %d", where, s.Pair+1)
	} else {
		where += oneRail(role.Script, o.Asked)
	}
	if o.Cut && len(role.Values)+len(role.Expects) > 0 {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "%s: the output is too long to be read", where)
		return nil
	}
	const whole = "its text"
	var read []string
	for _, text := range role.Expects {
		t, err := expect.ParseText(text)
		switch {
		case err != nil:
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "%s: %v", where, err)
		case !t.Holds(o.Text):
			rep.Add(steps.NotExpected, steps.Fail, "%s: %s", where, t.Missing())
		default:
			read = append(read, whole)
		}
	}
	for _, text := range role.Values {
		if said, ok := valueOf(text, where, o, rep); ok {
			read = append(read, said)
		}
	}
	switch read = slices.Compact(read); {
	case read == nil:
		return nil
	case len(read) == 1 && read[0] == whole:
		return []string{"the output " + where + " has the expected text"}
	}
	return []string{where + ", as expected: " + strings.Join(read, ", ")}
}

// oneRail names the rail of a script that takes one of them by its number: its figure is that rail's
// and no other's. It is empty where a script names none, or several.
func oneRail(script string, asked map[string]string) string {
	no := ""
	for _, m := range railDevice.Regexp().FindAllStringSubmatch(script, -1) {
		if no != "" && no != m[1] {
			return ""
		}
		no = m[1]
	}
	dev := asked["RAIL"+no+"_DEV"]
	if no == "" || dev == "" {
		return ""
	}
	return fmt.Sprintf(", rail %s (%s)", no, dev)
}

var railDevice = lazyregexp.New(`\$\{?RAIL(\d+)_DEV\b`)

// valueOf reads a value and holds it to its range. What can't be read passes nothing.
func valueOf(text, where string, o steps.Output, rep *Report) (said string, ok bool) {
	v, err := expect.ParseValue(text)
	var got float64
	if err == nil {
		got, err = v.Read(o.Text)
	}
	var must, should span
	if err == nil {
		must.least, must.most, err = v.Range(o.Asked)
	}
	if err == nil {
		should.least, should.most, err = v.Warns(o.Asked)
	}
	if why, ok := errors.AsType[expect.Unknown](err); ok {
		rep.Add(steps.Unreadable, steps.Inconclusive, "%s is unknown %s: %s", v.Name, where, string(why))
		return "", false
	}
	if err != nil {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "could not read %s %s: %v", cmp.Or(v.Name, "a value"), where, err)
		return "", false
	}
	unit := strings.TrimSuffix(" "+v.Unit, " ")
	// Rounded, it must not look as if it were within its range where it isn't, or the other way round.
	shown := digits(got)
	if must.side(shown) != must.side(got) || should.side(shown) != should.side(got) {
		shown = got
	}
	rep.Show(v.Name+" "+where, shown, v.Unit, &steps.Expected{Min: must.least, Max: must.most, From: "the runbook"})
	value := plainly(shown) + unit
	because := ""
	if v.Text != "" {
		because = ": " + v.Text
	}
	out := func(g steps.Grade, of span) {
		end, way := of.least, "least"
		if of.side(got) > 0 {
			end, way = of.most, "most"
		}
		rep.Add(steps.NotExpected, g,
			"%s is %s %s, expected at %s %s%s%s", v.Name, value, where, way, plainly(*end), unit, because)
	}
	held := must
	switch {
	case must.side(got) != 0:
		out(steps.Fail, must)
	case should.side(got) != 0:
		out(steps.Warn, should)
	case should != span{}:
		held = should
	}
	return v.Name + " " + value + " (" + held.String() + ")", true
}

// A span is where a value has to be; an end is nil where the range is open.
type span struct{ least, most *float64 }

// side is -1 for what is below a span, 1 for what is above it, and 0 for what is within.
func (s span) side(x float64) int {
	switch {
	case s.least != nil && x < *s.least:
		return -1
	case s.most != nil && x > *s.most:
		return 1
	}
	return 0
}

// String says what a good value was held to: a figure without it could be anything.
func (s span) String() string {
	switch {
	case s.least != nil && s.most != nil:
		return plainly(*s.least) + " to " + plainly(*s.most)
	case s.least != nil:
		return "at least " + plainly(*s.least)
	case s.most != nil:
		return "at most " + plainly(*s.most)
	default:
		return "any number"
	}
}

// digits leaves six of a fraction's: a script's value may be of any size, in any unit.
func digits(x float64) float64 {
	if x == math.Trunc(x) {
		return x
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x // nothing else is longer than what it was made of
	}
	return short
}

// plainly writes a number without an exponent.
func plainly(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Skips makes a SKIPPED of a cause that is one: PASS ranks above it, so that the report's
// own verdict would be PASS. Where something FAILs, that is what is reported.
func Skips(rep *Report) (steps.Verdict, bool) {
	i := slices.IndexFunc(rep.Findings, func(f Finding) bool { return f.Grade == steps.Skipped })
	if i < 0 || slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Grade == steps.Fail }) {
		return steps.Verdict{}, false
	}
	v := rep.Verdict()
	return steps.Verdict{
		Grade: steps.Skipped, Code: rep.Findings[i].Code, Reason: Sentences([]string{rep.Findings[i].Text}),
		Evidence: v.Evidence,
	}, true
}
