package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

type doctorFlags struct {
	json, fix, yes, list, verbose bool
	symptom, junit                string
	timeout                       time.Duration
}

func doctorCommand(rig *rigFlags) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [CHECK…]",
		Short: "Find what is wrong with the rig, and fix it",
		Long: `Runs the checklist: every check, the checks that you name, or those that could explain a
symptom. It only reads. With --fix it offers to fix what it found, and checks again.

With --symptom, the checks that fit your words or message run first. If they find
nothing, or if only some words fit, all other checks run, too. Then the status is
0 only if all checks passed: a WARN gives 1. With --timeout, a check that has not ended
by then is INCONCLUSIVE, which JUnit calls an error.

Exit status: 0 nothing is wrong (a WARN is printed); 1 a check FAILed; 2 wrong usage
or configuration; 3 a node can't be reached; 4 nothing failed but something was
INCONCLUSIVE; 5 the result could not be written.`,
		Example: `  railbench doctor
  railbench doctor --symptom "TCP near zero"
  railbench doctor mtu-equal gid-index
  ib_write_bw … 2>&1 | railbench doctor --symptom -
  railbench doctor --fix`,
		ValidArgsFunction: completeChecks,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, *rig, args) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "offer to fix what was found, and check again")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --fix: do not ask; keep what works")
	cmd.Flags().BoolVar(&f.list, "list", false, "print the checks and their symptoms")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "evidence of all checks; with --list all phrases")
	cmd.Flags().StringVar(&f.symptom, "symptom", "",
		"run first the checks that fit this `TEXT`; - for stdin")
	cmd.Flags().StringVar(&f.junit, "junit", "", junitDoes)
	completeFlags(cmd, map[string]completer{"junit": files("xml")})
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, timeoutDoes)
	return cmd
}

// run looks, corrects what it may, and prints the result whatever becomes of the nodes.
func (f doctorFlags) run(cmd *cobra.Command, rig rigFlags, args []string) error {
	ctx := cmd.Context()
	if f.timeout < 0 {
		return usage(fmt.Errorf("--timeout %s is negative", f.timeout))
	}
	if err := writable(cmd.Flags(), "junit"); err != nil {
		return usage(err)
	}
	switch {
	case f.list && f.junit != "":
		return usage(errors.New("--list runs no check, so --junit has nothing to write: give one of them"))
	case f.list && (f.fix || f.symptom != "" || len(args) > 0):
		return usage(errors.New("--list prints all checks: leave out --fix, --symptom and the names of checks"))
	}
	t, _, err := tutorial()
	if err != nil {
		return err
	}
	if given := cmd.Flags().Lookup("symptom"); given.Changed && strings.TrimSpace(f.symptom) == "" {
		// A script whose variable is empty would get the whole checklist for an answer.
		return usage(errors.New("--symptom is empty: give a text, - for stdin, or leave it out to check everything"))
	}
	if f.list {
		return listChecks(cmd.OutOrStdout(), t, f.json, f.verbose)
	}
	checks, about, err := f.checks(ctx, t, args, cmd.InOrStdin())
	if err != nil && ctx.Err() != nil {
		return status{exitInconclusive, err}
	}
	if err != nil {
		return usage(err)
	}
	ask, confirm := newAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), f.yes)
	if f.fix && confirm == nil {
		return usage(errors.New("--fix cannot ask without a terminal: add --yes"))
	}
	b, err := rig.open(ctx, ask)
	if err != nil {
		return err
	}
	defer b.close()
	if f.fix {
		// Without anybody who confirms nothing is changed.
		b.options.Confirm = confirm
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("the --timeout of %s was reached", f.timeout))
		defer cancel()
	}
	b.options.Logs = logDir()
	b.tellWaits(cmd.ErrOrStderr())
	s := session.New(b.options)
	b.onState = s.State
	d := doctor{Follower: session.Follow(s, nil), tutorial: t, out: cmd.ErrOrStderr(), fixed: map[string]bool{}}
	s.Open()
	d.run(ctx, checks)
	if about != nil {
		checks = append(checks, d.beyond(ctx, about, checks)...)
	}
	if f.fix {
		d.fix(ctx, checks)
	}
	found, probed := s.Rig()
	unreachable := s.Unreachable()
	closed := s.Close()
	b.remind(cmd.ErrOrStderr())
	if !probed {
		found = named(b)
	}
	result := d.object(found, checks)
	result.Symptom = about
	if f.json {
		err = writeJSON(cmd.OutOrStdout(), result)
	} else {
		err = result.print(cmd.OutOrStdout(), f.verbose, b.fixes)
	}
	if f.junit != "" {
		err = errors.Join(err, results(found, checks, d.Ended).WriteJUnit(f.junit))
	}
	end := ending{written: err, unreachable: unreachable, closed: closed}.status(result.Summary)
	if end == nil && about != nil {
		return about.status(result.Summary, len(checks))
	}
	return end
}

// fixes is what corrects what a check has found on the bench's rig, to be pasted into a shell.
func (b *bench) fixes(check string) string {
	args := []string{"doctor", check, "--fix"}
	if b.simRig != nil { // and not whichever rig is one's own
		args = append(args, "--rig", b.options.Rig)
	}
	return b.options.Command(args...)
}

// maxSymptom bounds what is read of a text that a user pipes in.
const maxSymptom = 1 << 20

// checks are those that are asked for, and what leads to them where a symptom does.
func (f doctorFlags) checks(
	ctx context.Context, t steps.Tutorial, args []string, in io.Reader,
) ([]steps.Cell, *symptomObject, error) {
	switch {
	case f.symptom != "" && len(args) > 0:
		return nil, nil, errors.New("name checks, or give --symptom: one of them")
	case f.symptom != "":
		text := f.symptom
		if text == "-" {
			var err error
			if text, err = readUntil(ctx, in, maxSymptom); err != nil {
				return nil, nil, fmt.Errorf("read the symptom from stdin: %w", err)
			}
		}
		return suspects(t, text)
	case len(args) == 0:
		return t.Checks(), nil, nil
	}
	checks, err := namedChecks(t, args)
	return checks, nil, err
}

func namedChecks(t steps.Tutorial, args []string) ([]steps.Cell, error) {
	all, err := steps.Tutorial{Parts: t.Checklist}.Select(args...)
	if err != nil {
		for _, id := range args {
			if c, ok := t.Cell(id); ok && !c.Check.Any() {
				return nil, fmt.Errorf("%s is a cell of the tutorial, not a check: railbench run %[1]s", id)
			}
		}
		return nil, fmt.Errorf("the checklist: %w", err)
	}
	checks := slices.DeleteFunc(all, func(c steps.Cell) bool { return !c.Check.Any() })
	if len(checks) == 0 {
		return nil, fmt.Errorf("%s is a fix, not a check: run it with railbench run", strings.Join(args, ", "))
	}
	return checks, nil
}

// A doctor runs checks and fixes on a session.
type doctor struct {
	*session.Follower
	tutorial steps.Tutorial
	out      io.Writer       // what is done, while it is
	fixed    map[string]bool // checks that were corrected
}

// run runs cells to their ends, the checks among them side by side.
func (d *doctor) run(ctx context.Context, cells []steps.Cell) {
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.ID)
	}
	d.Run(ctx, ids...)
}

// amiss reports whether something was found, which a fix may correct.
func amiss(g steps.Grade) bool { return g == steps.Fail || g == steps.Warn }

// fix runs the fix of every check that found something, each once, and the check again. What a fix did shows
// elsewhere, too: a bond that is gone leaves a rail without an address. So all are looked at again, until nothing is
// left that a fix could do. Checks that move data take their time, so of those only what found something is looked at
// again.
func (d *doctor) fix(ctx context.Context, checks []steps.Cell) {
	tried := map[string]bool{}
	for d.fixOnce(ctx, checks, tried) {
		var again []steps.Cell
		for _, c := range checks {
			if !c.Check.Measures || amiss(d.Ended[c.ID].Verdict.Grade) {
				again = append(again, c)
			}
		}
		before := maps.Clone(d.Ended)
		d.run(ctx, again)
		for _, c := range again {
			d.fixed[c.ID] = d.Ended[c.ID].Verdict.Grade == steps.Pass && (d.fixed[c.ID] || amiss(before[c.ID].Verdict.Grade))
		}
	}
}

// fixOnce goes through the checks once; it reports whether a fix changed anything. A check is looked at again before
// its fix: another's may have cured it.
func (d *doctor) fixOnce(ctx context.Context, checks []steps.Cell, tried map[string]bool) (changed bool) {
	for _, c := range checks {
		cell, ok := d.cure(c, tried)
		if !ok || ctx.Err() != nil {
			continue
		}
		if changed {
			d.run(ctx, []steps.Cell{c})
			d.fixed[c.ID] = d.Ended[c.ID].Verdict.Grade == steps.Pass
			// What it says now is what is corrected: nothing is, for what was found before.
			if cell, ok = d.cure(c, tried); !ok {
				continue
			}
		}
		tried[cell.ID] = true
		sanitize.Fprintf(d.out, "▸ %s for %s: %s\n", cell.ID, c.ID, cell.Title)
		d.run(ctx, []steps.Cell{cell})
		v := d.Ended[cell.ID].Verdict
		sanitize.Fprintf(d.out, "  %s  %s\n", v.Grade, v.Reason)
		if v.Grade == steps.Skipped || v.Grade == steps.Inconclusive {
			continue // it changed nothing
		}
		changed = true
	}
	return changed
}

// cure is the cell that corrects what a check has found, where there is one that was not tried.
func (d *doctor) cure(c steps.Cell, tried map[string]bool) (cell steps.Cell, ok bool) {
	v := d.Ended[c.ID].Verdict
	if !amiss(v.Grade) {
		return cell, false
	}
	cell, ok = d.tutorial.Cell(c.Check.Cures(v))
	return cell, ok && !tried[cell.ID]
}

// doctorObject is what --json prints; scripts rely on its keys.
type doctorObject struct {
	Railbench string         `json:"railbench"`
	Rig       rigObject      `json:"rig"`
	Symptom   *symptomObject `json:"symptom,omitempty"`
	Checks    []checkObject  `json:"checks"`
	Summary   map[string]int `json:"summary"`
}

type checkObject struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Node     string        `json:"node"` // the one that it is about, or both
	Verdict  steps.Grade   `json:"verdict"`
	Code     steps.Code    `json:"code,omitempty"`
	Codes    []steps.Code  `json:"codes,omitempty"`
	Reason   string        `json:"reason"`
	Findings []steps.Found `json:"findings,omitempty"`
	Advice   []steps.Found `json:"advice,omitempty"`
	Devices  []string      `json:"devices,omitempty"` // the RDMA devices that it is about
	// The check that found the cause of this finding; empty where there is none.
	CausedBy string `json:"causedBy,omitempty"`
	// The checks of speed that measured nothing because of it, so that it hides what they would find.
	Hidden   []string         `json:"hides,omitempty"`
	Evidence []steps.Evidence `json:"evidence"`
	Fix      string           `json:"fix"` // the cell that puts it right; empty where there is none
	Fixed    bool             `json:"fixed,omitempty"`
	// By the nodes' time. What only looks runs next to others.
	ElapsedMS int64 `json:"elapsedMS"`
}

func (d *doctor) object(rig steps.Rig, checks []steps.Cell) doctorObject {
	whole := newObject(rig, nil, nil)
	r := doctorObject{Railbench: whole.Railbench, Rig: whole.Rig, Checks: []checkObject{}, Summary: whole.Summary}
	for _, c := range checks {
		v := d.Ended[c.ID].Verdict
		check := checkObject{
			ID: c.ID, Title: c.Title, Node: v.Node, Verdict: v.Grade, Code: v.Code, Codes: v.Codes,
			Reason: v.Reason, Findings: v.Findings, Advice: v.Advice, Devices: v.Devices, Evidence: v.Evidence,
			Fixed: d.fixed[c.ID], ElapsedMS: d.Ended[c.ID].Elapsed.Milliseconds(),
		}
		if check.Node == "" {
			check.Node = "both"
		}
		if amiss(v.Grade) || check.Fixed {
			check.Fix = c.Check.Cures(v)
		}
		if check.Evidence == nil {
			check.Evidence = []steps.Evidence{}
		}
		r.Checks = append(r.Checks, check)
		r.Summary[v.Grade.String()]++
	}
	// Whichever ran first: of two with one code the cause is the one that only reads.
	inOrder := map[string]int{}
	for i, c := range d.tutorial.Checks() {
		inOrder[c.ID] = i
	}
	ordered := slices.SortedStableFunc(slices.Values(r.Checks), func(a, b checkObject) int {
		return cmp.Compare(inOrder[a.ID], inOrder[b.ID])
	})
	for i, c := range r.Checks {
		r.Checks[i].CausedBy = causeOf(c, ordered)
	}
	for _, c := range r.Checks {
		without := c.Verdict == steps.Skipped || c.Verdict == steps.Inconclusive ||
			c.Verdict == steps.Fail && c.Code.Cost() == steps.CostsTraffic
		if cell, _ := d.tutorial.Cell(c.ID); cell.Check.Measures && without {
			r.hide(c)
		}
	}
	return r
}

// hide adds a check of speed without a result to the check that found the reason.
func (r doctorObject) hide(measured checkObject) {
	by := measured.CausedBy
	if measured.Verdict == steps.Skipped { // it follows no code, but other traffic or a missing program skips it
		for _, c := range r.Checks {
			if c.Verdict > steps.Pass && (c.Code == steps.OtherTraffic || c.Code == steps.CommandMissing) {
				by = c.ID
				break
			}
		}
	}
	for i, c := range r.Checks {
		if by != "" && c.ID == by {
			r.Checks[i].Hidden = append(c.Hidden, measured.ID)
		}
	}
}

// causeOf is the check that found the cause of what another found: one with a code that the other's follows, or an
// earlier one with the same code at the same node. What concerns other rails is another fault.
func causeOf(of checkObject, all []checkObject) string {
	if of.Code == "" || of.Verdict == steps.Skipped {
		return ""
	}
	same := ""
	for _, c := range all {
		if c.ID == of.ID {
			if same == "" {
				same = of.ID // what comes after it is not its cause
			}
			continue
		}
		shared := slices.ContainsFunc(of.Devices, func(dev string) bool { return slices.Contains(c.Devices, dev) })
		apart := len(of.Devices) > 0 && len(c.Devices) > 0 && !shared
		switch {
		case c.Verdict <= steps.Pass || apart:
		case of.Code.Follows(c.Code) && !c.Code.Follows(of.Code):
			return c.ID
		case same == "" && c.Code == of.Code && (c.Node == of.Node || c.Node == "both" || of.Node == "both"):
			same = c.ID
		}
	}
	if same == of.ID {
		return ""
	}
	return same
}

// print writes what reads well in an issue: what is wrong first, with its evidence,
// and what is right as one line.
func (r doctorObject) print(to io.Writer, verbose bool, fixes func(check string) string) error {
	var b strings.Builder
	simulated := ""
	if r.Rig.Simulated {
		simulated = "  SIMULATED"
	}
	sanitize.Fprintf(&b, "rig %s%s, railbench %s\n", r.Rig.Name, simulated, r.Railbench)
	many := len(r.Rig.Nodes) > linesTold
	for nodes := r.Rig.Nodes; len(nodes) > 0; {
		end, names := nodes[0].End, []string{nodes[0].Name}
		about := nodes[0].about()
		nodes = nodes[1:]
		if len(r.Rig.Nodes)-len(nodes) > len(steps.Ends) { // the ends have a line each
			for len(nodes) > 0 && nodes[0].about() == about {
				names, nodes = append(names, nodes[0].Name), nodes[1:]
			}
			var others []nodeObject
			for _, n := range nodes { // of many nodes also those that don't follow each other
				if many && n.about() == about {
					names = append(names, n.Name)
				} else {
					others = append(others, n)
				}
			}
			nodes = others
		}
		if len(names) > 1 {
			end = fmt.Sprintf("%d more", len(names))
		}
		sanitize.Fprintf(&b, "%-5s %s: %s\n", end, nodeset.Fold(names), about)
	}
	for _, c := range r.sorted() {
		if c.Verdict == steps.Fail || c.Verdict == steps.Warn || c.Fixed || verbose && c.Verdict == steps.Pass {
			c.print(&b, fixes(c.ID), verbose)
		}
	}
	r.together(&b, steps.Inconclusive)
	r.hides(&b)
	r.advise(&b)
	if !verbose {
		r.passed(&b)
	}
	r.together(&b, steps.Skipped)
	r.Symptom.print(&b)
	sanitize.Fprintf(&b, "\n%s\n", sums(r.Summary))
	return sanitize.WriteText(to, b.String())
}

// sorted are the checks by what their findings cost: faults, then warnings, and of each first what stops
// traffic and last what costs nothing until the next boot.
func (r doctorObject) sorted() []checkObject {
	var all []checkObject
	for _, g := range []steps.Grade{steps.Fail, steps.Warn, steps.Inconclusive, steps.Skipped, steps.Pass} {
		for _, c := range r.Checks {
			if c.Verdict == g {
				all = append(all, c)
			}
		}
	}
	consequence := func(c checkObject) int {
		if c.CausedBy != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b checkObject) int {
		if a.Verdict != b.Verdict {
			return 0 // they are in order
		}
		return cmp.Or(cmp.Compare(consequence(a), consequence(b)), cmp.Compare(a.Code.Cost(), b.Code.Cost()))
	})
	return all
}

// advise prints what works and could be better, each once.
func (r doctorObject) advise(b *strings.Builder) {
	begun := false
	for _, c := range r.Checks {
		for _, a := range c.Advice {
			if !begun {
				b.WriteByte('\n')
				begun = true
			}
			hang(b, "ADVICE  ", c.ID+": "+a.Text)
		}
	}
}

// hides says which checks of speed got no figure of their own, and what hides the faults that they would find.
func (r doctorObject) hides(b *strings.Builder) {
	begun := false
	for _, c := range r.Checks {
		if c.Hidden == nil {
			continue
		}
		if !begun {
			b.WriteByte('\n')
			begun = true
		}
		hang(b, "HIDDEN  ", fmt.Sprintf("%s hides what %s would find. Fix it, and run doctor again.", c.ID,
			registry.And(c.Hidden)))
	}
}

// passed names what passed, on one line.
func (r doctorObject) passed(b *strings.Builder) {
	var ids []string
	for _, c := range r.Checks {
		if c.Verdict == steps.Pass && !c.Fixed {
			ids = append(ids, c.ID)
		}
	}
	if ids != nil {
		b.WriteByte('\n')
		hang(b, "PASS  ", strings.Join(ids, " "))
	}
}

// together names what has a grade, and once each why.
func (r doctorObject) together(b *strings.Builder, g steps.Grade) {
	ids := map[string][]string{}
	var reasons []string
	for _, c := range r.Checks {
		if c.Verdict != g {
			continue
		}
		reason := c.Reason
		if c.CausedBy != "" {
			reason += " Caused by: " + c.CausedBy + "."
		}
		if ids[reason] == nil {
			reasons = append(reasons, reason)
		}
		ids[reason] = append(ids[reason], c.ID)
	}
	for i, reason := range reasons {
		if i == 0 {
			b.WriteByte('\n')
		}
		hang(b, g.String()+"  ", strings.Join(ids[reason], ", ")+": "+reason)
	}
}

// How much a finding shows where not all is asked for: pieces of evidence, and lines altogether.
const (
	deciding  = 2
	mostLines = 6
)

// print writes a check in at most six lines, or with all of its evidence.
func (c checkObject) print(b *strings.Builder, fixes string, verbose bool) {
	b.WriteByte('\n')
	begun := b.Len()
	text := fmt.Sprintf("%s  %s: %s", c.Verdict, c.ID, c.Reason)
	if len(c.Findings) > 0 && !verbose {
		text += " (-v shows all)"
	}
	for _, l := range theme.Wrap(theme.Clean(text), issueWidth, "", "      ") {
		b.WriteString(strings.TrimRight(l, " "))
		b.WriteByte('\n')
	}
	v := steps.Verdict{Reason: c.Reason, Findings: c.Findings, Evidence: c.Evidence}
	var shown []steps.Evidence
	switch {
	case verbose:
		c.evidence(b, v.Digest())
	case c.CausedBy != "":
	default:
		shown = v.Deciding()
		shown = shown[:min(len(shown), deciding)]
	}
	for _, e := range shown {
		if x := e.Expected; x != nil && (x.Min != nil || x.Max != nil) {
			e.Expected = &steps.Expected{Min: x.Min, Max: x.Max} // -v shows the source of a limit
		}
		var fact strings.Builder
		hang(&fact, "      - ", cells.Evidence(e))
		used := strings.Count(b.String()[begun:], "\n") + strings.Count(fact.String(), "\n")
		if used >= mostLines { // the last line is the fix
			break
		}
		b.WriteString(fact.String())
	}
	if c.CausedBy != "" {
		sanitize.Fprintf(b, "      caused by: %s\n", c.CausedBy)
	}
	switch {
	case c.Fixed:
		sanitize.Fprintf(b, "      fixed by %s\n", c.Fix)
	case c.Fix != "" && c.CausedBy == "": // the cause is to be fixed first
		sanitize.Fprintf(b, "      fix: %s   (asks first)\n", fixes)
	}
}

// evidence writes the whole digest.
func (c checkObject) evidence(b *strings.Builder, d steps.Digest) {
	facts := func(all []steps.Evidence) {
		for _, e := range all {
			hang(b, "      - ", cells.Evidence(e))
		}
	}
	facts(d.Decided)
	drawer := cells.Drawer{Styles: theme.New(true, colorprofile.NoTTY), Width: issueWidth - len("        ")}
	if t, ok := cells.RailTable(d); ok {
		for _, l := range drawer.Table(t) {
			sanitize.Fprintf(b, "%s\n", strings.TrimRight("        "+ansi.Strip(l), " "))
		}
	}
	facts(d.Rest)
}

// issueWidth is that of a text that is pasted into an issue.
const issueWidth = 100

// hang writes a text behind what stands before its first line. It may have come from
// a node.
func hang(b *strings.Builder, before, text string) {
	for _, l := range theme.Wrap(theme.Clean(text), issueWidth, before, strings.Repeat(" ", len(before))) {
		b.WriteString(strings.TrimRight(l, " "))
		b.WriteByte('\n')
	}
}

// shortCauses is how many causes of a check are listed without -v.
const shortCauses = 3

// listChecks prints the checks by part, with the causes that they test; with phrases all of those, and what is said of
// them.
func listChecks(out io.Writer, t steps.Tutorial, asJSON, phrases bool) error {
	type check struct {
		ID       string   `json:"id"`
		Title    string   `json:"title"`
		Symptoms []string `json:"symptoms"`
		Fix      string   `json:"fix"`
	}
	all := []check{}
	var b strings.Builder
	for _, p := range t.Checklist {
		headed := false
		for _, c := range p.Cells {
			if !c.Check.Any() {
				continue
			}
			if !headed {
				sanitize.Fprintf(&b, "%s\n", p.Title)
				headed = true
			}
			sanitize.Fprintf(&b, "  %-20s %s\n", c.ID, c.Title)
			symptoms := []string{}
			says := t.Says(c.ID)
			for i, s := range says {
				symptoms = append(symptoms, s.Phrases...)
				switch {
				case !phrases && i == shortCauses:
					hang(&b, "    - ", fmt.Sprintf("and %d more: --list -v", len(says)-i))
				case !phrases && i > shortCauses:
				default:
					hang(&b, "    - ", s.Title)
				}
				for _, phrase := range s.Phrases {
					if phrases {
						hang(&b, "        ", strconv.Quote(phrase))
					}
				}
			}
			all = append(all, check{c.ID, c.Title, symptoms, c.Check.Fix})
		}
	}
	if asJSON {
		return writeJSON(out, map[string]any{"railbench": version(), "checks": all})
	}
	return sanitize.WriteText(out, b.String())
}
