package session

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// What a family brings may break off: the cell is INCONCLUSIVE with the place, the stack
// is in its log alone, and the session goes on.
func TestADefectIsContained(t *testing.T) {
	var none []int
	parser := func(text string) (int, error) {
		if strings.HasPrefix(text, "odd") {
			return none[len(text)], nil
		}
		return len(text), nil
	}
	broken := registry.Merge(registry.Kind{
		Parsers: map[string]registry.Parser{"lines": registry.Reads(parser)},
		Judges: map[string]registry.Judge{
			"index": registry.Bare(func(steps.Cell, steps.Result) steps.Verdict { panic(none[3]) }),
			"typed": registry.Bare(func(_ steps.Cell, r steps.Result) steps.Verdict {
				return registry.Inconclusive(steps.NothingRan, "%d", r.Stages[0].Outputs[0].Value.(int))
			}),
			"plan":   registry.Bare(passes),
			"passes": registry.Bare(passes),
		},
		Plans: map[string]steps.Planner{"plan": func(steps.Rig, map[string]string) steps.Plan { panic("two\nlines") }},
		Live:  map[string]func(string) (steps.Table, bool){"lines": func(string) (steps.Table, bool) { panic("live") }},
		Own:   map[string]func(steps.History) steps.Verdict{"own": func(steps.History) steps.Verdict { panic("own") }},
	})
	read := one("parsed", "echo odd", "passes")
	read.Parser = "lines"
	live := one("live", "echo even; echo even", "passes")
	live.Parser = "lines"
	own := steps.Cell{ID: "own", Own: "own"}
	cells := []steps.Cell{
		one("judged", "true", "index"), one("asserted", "true", "typed"), read, one("planned", "echo never", "plan"), own,
		live,
	}
	b := openCatalog(t, broken, cells...)
	for id, words := range map[string][]string{
		"judged":   {"judge index", "contain_test.go:", "index out of range [3]"},
		"asserted": {"judge typed", "contain_test.go:", "interface conversion"},
		"parsed":   {"parser lines", "contain_test.go:", "index out of range [4]"},
		"planned":  {"planner plan", "contain_test.go:", "(two)"},
		"own":      {"judge own", "contain_test.go:", "(own)"},
	} {
		b.Run(id)
		c := b.until(id)
		if c.Verdict.Grade != steps.Inconclusive {
			t.Errorf("%s: %s %s", id, c.Verdict.Grade, c.Verdict.Reason)
		}
		for _, w := range append(words, "a defect of railbench") {
			if !strings.Contains(c.Verdict.Reason, w) {
				t.Errorf("%s: %q lacks %q", id, c.Verdict.Reason, w)
			}
		}
		named := func(e steps.Evidence) bool {
			place, _ := e.Value.(string)
			return e.Name == "defect of railbench" && strings.Contains(place, "steps/session/contain_test.go:")
		}
		if id != "planned" && !slices.ContainsFunc(c.Verdict.Evidence, named) {
			t.Errorf("%s: no place in the evidence %+v", id, c.Verdict.Evidence)
		}
		if strings.Contains(printed(c), "never") {
			t.Errorf("%s ran without its plan", id)
		}
		for _, l := range c.Output.Lines(0, 1000) {
			if strings.Contains(l.Text, "goroutine") || strings.Contains(l.Text, ".go:") && l.Kind != steps.Note {
				t.Errorf("%s: a stack on the screen: %s", id, l.Text)
			}
		}
		log, err := os.ReadFile(c.Log)
		if err != nil || !strings.Contains(string(log), "\n# goroutine ") ||
			!strings.Contains(string(log), "contain_test.go:") {
			t.Errorf("%s: no stack in the log (%v):\n%s", id, err, log)
		}
	}
	b.Run("live")
	c := b.until("live")
	if c.Verdict.Grade != steps.Pass || strings.Count(printed(c), "even") != 2 {
		t.Errorf("a table that breaks off took the cell along: %+v %s", c.Verdict, printed(c))
	}
}

// A dry run, and the check of a Markdown file, ask planners too.
func TestADefectInAPlanIsTold(t *testing.T) {
	c := one("c", "true", "plan")
	o := Options{Catalog: steps.Catalog{Plans: map[string]steps.Planner{
		"plan": func(steps.Rig, map[string]string) steps.Plan { panic("half a plan") },
	}}}
	planned := Plan(o, example(), []steps.Cell{c})
	if len(planned) != 1 || !strings.Contains(planned[0].Note, "half a plan") {
		t.Errorf("planned %+v", planned)
	}
	if v := Variables(o, c); !slices.Contains(v, "RUN") {
		t.Errorf("the variables are %v", v)
	}
}
