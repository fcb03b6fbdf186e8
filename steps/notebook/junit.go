package notebook

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// The form of JUnit, as Jenkins, GitLab and GitHub's actions read it: testdata/junit.xsd.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		took       time.Duration
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Time    string      `xml:"time,attr"`
		Skipped *junitWhy   `xml:"skipped"`
		Error   *junitWhy   `xml:"error"`
		Failure *junitWhy   `xml:"failure"`
		Out     *junitLines `xml:"system-out"`
	}
	junitWhy struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitLines struct {
		Text string `xml:",chardata"`
	}
)

// Results are what cells came to on a rig.
type Results struct {
	Program  string // its version
	Rig      steps.Rig
	Cells    []steps.Cell
	Ended    map[string]steps.CellEnded
	Evidence func(steps.Evidence) string // a line of it
}

// WriteJUnit replaces a file, which may be a CI's from the run before, with the results as JUnit: a suite for each
// part.
func (r Results) WriteJUnit(path string) error {
	b, err := xml.MarshalIndent(r.junit(), "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	if err := safefile.Replace(path, slices.Concat([]byte(xml.Header), b, []byte("\n")), 0o644); err != nil {
		return fmt.Errorf("write JUnit to %s: %w", path, err)
	}
	return nil
}

func (r Results) junit() junitSuites {
	whole := junitSuites{Name: sanitize.Line("railbench, rig " + r.Rig.Name)}
	if r.Rig.Simulated {
		whole.Name += " SIMULATED"
	}
	var took time.Duration
	at := map[string]int{}
	for _, c := range r.Cells {
		i, ok := at[c.Part]
		if !ok {
			i = len(whole.Suites)
			at[c.Part] = i
			whole.Suites = append(whole.Suites, junitSuite{Name: sanitize.Line(c.Part), Properties: r.junitProperties()})
		}
		e := r.Ended[c.ID]
		took += e.Elapsed
		whole.Suites[i].add(r.junitCase(c, e), e)
	}
	for i := range whole.Suites {
		s := &whole.Suites[i]
		s.Time = junitSeconds(s.took)
		whole.Tests += s.Tests
		whole.Failures += s.Failures
		whole.Errors += s.Errors
	}
	whole.Time = junitSeconds(took)
	return whole
}

func (r Results) junitProperties() []junitProperty {
	all := []junitProperty{
		{"railbench", r.Program}, {"rig", r.Rig.Name}, {"simulated", strconv.FormatBool(r.Rig.Simulated)},
	}
	for i, n := range r.Rig.Nodes {
		all = append(all, junitProperty{
			"node " + steps.End(i).String(), strings.TrimSpace(n.Name + " " + n.OS + " " + n.Kernel),
		})
	}
	for i := range all {
		all[i].Name, all[i].Value = sanitize.Line(all[i].Name), sanitize.Line(all[i].Value)
	}
	return all
}

// junitCase is what one cell came to. Of the four outcomes of JUnit three say that something
// is not as it should be: what passes with a warning has its reason among what it printed.
func (r Results) junitCase(c steps.Cell, e steps.CellEnded) junitCase {
	class := "railbench." + c.Part
	if r.Rig.Simulated {
		class = "SIMULATED." + c.Part // a CI shows a case without its suite
	}
	v := e.Verdict
	test := junitCase{Name: sanitize.Line(c.ID), Class: sanitize.Line(class), Time: junitSeconds(e.Elapsed)}
	why := &junitWhy{
		Type:    strings.TrimSpace(v.Grade.String() + " " + string(v.Code)),
		Message: sanitize.Line(v.Reason), Text: r.junitEvidence(v),
	}
	switch v.Grade {
	case steps.Fail:
		test.Failure = why
	case steps.Skipped:
		why.Text = ""
		test.Skipped = why
	case steps.Pass, steps.Warn:
		test.Out = &junitLines{sanitize.Line(v.Grade.String()+": "+v.Reason) + "\n" + r.junitEvidence(v)}
	default: // a cell that never ran is as unknown as an INCONCLUSIVE one
		why.Type = strings.TrimSpace(steps.Inconclusive.String() + " " + string(v.Code))
		test.Error = why
	}
	return test
}

func (s *junitSuite) add(test junitCase, e steps.CellEnded) {
	switch {
	case test.Failure != nil:
		s.Failures++
	case test.Skipped != nil:
		s.Skipped++
	case test.Error != nil:
		s.Errors++
	}
	s.Tests++
	s.took += e.Elapsed
	s.Cases = append(s.Cases, test)
}

// junitEvidence is a verdict's, a line each.
func (r Results) junitEvidence(v steps.Verdict) string {
	var b strings.Builder
	if v.Node != "" {
		sanitize.Fprintf(&b, "on %s\n", v.Node)
	}
	for _, e := range v.Facts() {
		sanitize.Fprintf(&b, "%s\n", r.Evidence(e))
	}
	return b.String()
}

// junitSeconds has no thousands' separator and no exponent: some readers take neither.
func junitSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
