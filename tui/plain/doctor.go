package plain

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// A doctorText is what the checks came to, as text.
type doctorText struct{ doctor.Object }

// Doctor writes what reads well in an issue: what is wrong first, with its evidence,
// and what is right as one line.
func Doctor(to io.Writer, object doctor.Object, verbose bool, fixes func(check string) string) error {
	r := doctorText{object}
	var b strings.Builder
	simulated := ""
	if r.Rig.Simulated {
		simulated = "  SIMULATED"
	}
	sanitize.Fprintf(&b, "rig %s%s, railbench %s\n", r.Rig.Name, simulated, r.Railbench)
	for _, line := range r.Rig.NodeLines() {
		sanitize.Fprintln(&b, line)
	}
	for _, c := range r.Sorted() {
		if c.Verdict == steps.Fail || c.Verdict == steps.Warn || c.Fixed || verbose && c.Verdict == steps.Pass {
			Check(&b, c, fixes(c.ID), verbose)
		}
	}
	r.together(&b, steps.Inconclusive)
	r.hides(&b)
	r.advise(&b)
	if !verbose {
		r.passed(&b)
	}
	r.together(&b, steps.Skipped)
	printSymptom(&b, r.Symptom)
	sanitize.Fprintf(&b, "\n%s\n", headless.Sums(r.Summary))
	return sanitize.WriteText(to, b.String())
}

// section writes a paragraph for each text, with an empty line before them.
func section(b *strings.Builder, before string, all []string) {
	for i, text := range all {
		if i == 0 {
			b.WriteByte('\n')
		}
		Hang(b, before, text)
	}
}

// advise prints what works and could be better, each once.
func (r doctorText) advise(b *strings.Builder) {
	var all []string
	for _, c := range r.Checks {
		for _, a := range c.Advice {
			all = append(all, c.ID+": "+a.Text)
		}
	}
	section(b, "ADVICE  ", all)
}

// hides says which checks of speed got no figure of their own, and what hides the faults that they would find.
func (r doctorText) hides(b *strings.Builder) {
	var all []string
	for _, c := range r.Checks {
		if c.Hidden != nil {
			all = append(all, fmt.Sprintf("%s hides what %s would find. Fix it, and run doctor again.", c.ID,
				registry.And(c.Hidden)))
		}
	}
	section(b, "HIDDEN  ", all)
}

// passed names what passed, on one line.
func (r doctorText) passed(b *strings.Builder) {
	var ids []string
	for _, c := range r.Checks {
		if c.Verdict == steps.Pass && !c.Fixed {
			ids = append(ids, c.ID)
		}
	}
	if ids != nil {
		section(b, "PASS  ", []string{strings.Join(ids, " ")})
	}
}

// together names what has a grade, and once each why.
func (r doctorText) together(b *strings.Builder, g steps.Grade) {
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
		reasons[i] = strings.Join(ids[reason], ", ") + ": " + reason
	}
	section(b, g.String()+"  ", reasons)
}

// How much a finding shows where not all is asked for: pieces of evidence, and lines in all.
const (
	deciding  = 2
	MostLines = 6
)

// Check writes a check in at most six lines, or with all of its evidence.
func Check(b *strings.Builder, c doctor.Check, fixes string, verbose bool) {
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
		printEvidence(b, v.Digest())
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
		Hang(&fact, "      - ", cells.Evidence(e))
		used := strings.Count(b.String()[begun:], "\n") + strings.Count(fact.String(), "\n")
		if used >= MostLines { // the last line is the fix
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

// printEvidence writes the whole digest.
func printEvidence(b *strings.Builder, d steps.Digest) {
	facts := func(all []steps.Evidence) {
		for _, e := range all {
			Hang(b, "      - ", cells.Evidence(e))
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

// Hang writes a text behind what stands before its first line. It may have come from
// a node.
func Hang(b *strings.Builder, before, text string) {
	for _, l := range theme.Wrap(theme.Clean(text), issueWidth, before, strings.Repeat(" ", len(before))) {
		b.WriteString(strings.TrimRight(l, " "))
		b.WriteByte('\n')
	}
}

// shortCauses is how many causes of a check are listed without -v.
const shortCauses = 3

// Checks prints the checks by part, with the causes that they test; with phrases all of those, and what is said of
// them.
func Checks(out io.Writer, program string, t steps.Tutorial, asJSON, phrases bool) error {
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
					Hang(&b, "    - ", fmt.Sprintf("and %d more: --list -v", len(says)-i))
				case !phrases && i > shortCauses:
				default:
					Hang(&b, "    - ", s.Title)
				}
				for _, phrase := range s.Phrases {
					if phrases {
						Hang(&b, "        ", strconv.Quote(phrase))
					}
				}
			}
			all = append(all, check{c.ID, c.Title, symptoms, c.Check.Fix})
		}
	}
	if asJSON {
		return sanitize.JSON(out, map[string]any{"railbench": program, "checks": all})
	}
	return sanitize.WriteText(out, b.String())
}

// printSymptom says what a symptom led to, behind what the checks found.
func printSymptom(b *strings.Builder, s *doctor.Symptom) {
	if s == nil {
		return
	}
	sanitize.Fprintf(b, "\n")
	fit := map[string]string{
		"sure": "leads to ", "weak": "is a weak match: only some words fit ", "none": "fits no check",
	}[s.Match]
	Hang(b, "SYMPTOM  ", "what you said "+fit+strings.Join(s.Checks, ", "))
	for _, c := range s.Causes {
		Hang(b, "      - ", fmt.Sprintf("%s [%s]. Next: %s", c.Title, c.Sure, c.Next))
	}
	if !s.Found && len(s.Checks) > 0 {
		Hang(b, "      ", s.Passed())
	}
}
