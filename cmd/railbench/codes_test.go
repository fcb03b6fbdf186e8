package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/plain"
)

// A codeGroup is what stands below one heading of steps/code.go.
type codeGroup struct {
	title string
	codes []knownCode
}

type knownCode struct{ name, value, means string }

var constant = regexp.MustCompile(`^\t(\w+) Code = "(.*)"$`)

// codeGroups are the constants of steps/code.go: a comment with an empty line behind it is a heading, any other the
// meaning of the code below it.
func codeGroups(t *testing.T) (all []codeGroup) {
	t.Helper()
	src, err := os.ReadFile("../../steps/code.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(src), "\nconst (\n")
	text, _, ok := strings.Cut(text, "\n)\n")
	if !ok {
		t.Fatal("steps/code.go has no codes")
	}
	comment := ""
	for line := range strings.SplitSeq(text, "\n") {
		if words, is := strings.CutPrefix(line, "\t// "); is {
			comment = strings.TrimSpace(comment + " " + words)
			continue
		}
		switch m := constant.FindStringSubmatch(line); {
		case m != nil && len(all) > 0:
			g := &all[len(all)-1]
			g.codes = append(g.codes, knownCode{m[1], m[2], comment})
		case line == "" && comment != "":
			all = append(all, codeGroup{title: comment})
		case line != "":
			t.Errorf("a line that is no code: %q", line)
		}
		comment = ""
	}
	return all
}

// Each code is words joined by hyphens, stands once, and has a meaning.
func TestCodes(t *testing.T) {
	form, seen := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`), map[string]string{}
	for _, g := range codeGroups(t) {
		for _, c := range g.codes {
			if !form.MatchString(c.value) || !strings.HasSuffix(c.means, ".") {
				t.Errorf("%s: %q means %q", c.name, c.value, c.means)
			}
			if was := seen[c.value]; was != "" {
				t.Errorf("%s and %s are both %q", was, c.name, c.value)
			}
			seen[c.value] = c.name
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d codes", len(seen))
	}
}

// What a check explains is a cell of the tutorial or a cause, whose names have not changed.
func TestExplainsWhatThereIs(t *testing.T) {
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, c := range list.Cells() {
		known = append(known, c.ID)
	}
	for _, g := range codeGroups(t) {
		for _, c := range g.codes {
			known = append(known, c.value)
		}
	}
	for _, c := range list.Checks() {
		for _, name := range c.Check.Explains {
			before, after, wild := strings.Cut(name, "*")
			if !slices.ContainsFunc(known, func(k string) bool {
				return k == name || wild && strings.HasPrefix(k, before) && strings.HasSuffix(k, after)
			}) {
				t.Errorf("%s explains %s, which is neither a cell nor a code", c.ID, name)
			}
		}
	}
}

// How long a finding may be.
const (
	mostOfReason  = 40
	mostOfFinding = plain.MostLines
)

// Whatever a cell or a check comes to but a PASS has a code, whichever fault the rig has, and can be read at a glance.
func TestEveryVerdictHasACodeAndIsShort(t *testing.T) {
	t.Parallel()
	known := map[steps.Code]bool{}
	for _, g := range codeGroups(t) {
		for _, c := range g.codes {
			known[steps.Code(c.value)] = true
		}
	}
	for i, f := range sim.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			if sampled(i) {
				t.Skip("RAILBENCH_FULL=1 runs every fault, and so does its name")
			}
			t.Parallel()
			look := func(id string, g steps.Grade, code steps.Code, codes []steps.Code, reason string) {
				if (g != steps.Pass) != known[code] || slices.ContainsFunc(codes, func(c steps.Code) bool { return !known[c] }) {
					t.Errorf("%s: %s has the code %q of %q: %s", id, g, code, codes, reason)
				}
			}
			r, _, _ := checksOf(t, f.Name)
			for _, c := range r.Checks {
				look(c.ID, c.Verdict, c.Code, c.Codes, c.Reason)
				if words := len(strings.Fields(c.Reason)); words > mostOfReason {
					t.Errorf("%s says %d words: %s", c.ID, words, c.Reason)
				}
				var b strings.Builder
				plain.Check(&b, c, "railbench doctor "+c.ID+" --fix", false)
				if lines := strings.Count(strings.Trim(b.String(), "\n"), "\n") + 1; lines > mostOfFinding {
					t.Errorf("%s has %d lines:%s", c.ID, lines, b.String())
				}
			}
			if testform.Full() {
				r, _, _ := cellsOf(t, f.Name)
				for _, c := range r.Cells {
					look(c.ID, c.Verdict, c.Code, c.Codes, c.Reason)
				}
			}
		})
	}
}
