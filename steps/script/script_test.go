package script

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestParse(t *testing.T) {
	got, err := Parse("x.md", "# A show\n\nAbout it.\n\n## One {#one}\n\nWhat is\nsaid.\n\n> Told\n> the presenter.\n\n"+
		"```show\nview rails\nrun load-rail LOAD_SECONDS=5 SIZE=64K\nwait\npause 1m30s\npull\nplug\n```\n## Two {#two}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Script{Title: "A show", Slides: []Slide{
		{ID: "one", Title: "One", Caption: "What is said.", Notes: "Told the presenter.", Actions: []Action{
			{Kind: View, View: "rails"},
			{Kind: Run, Cell: "load-rail", Params: []Param{{"LOAD_SECONDS", "5"}, {"SIZE", "64K"}}},
			{Kind: Wait},
			{Kind: Pause, For: 90 * time.Second},
			{Kind: Pull},
			{Kind: Plug},
		}},
		{ID: "two", Title: "Two"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWhatIsWrongWithAScript(t *testing.T) {
	scene := "## One {#one}\n"
	for text, want := range map[string]string{
		"":                               "has no scene",
		"# Title only":                   "has no scene",
		"## One":                         "a scene is",
		"## One {#Big}":                  "a scene is",
		scene + scene:                    "x.md:2: the scene one is there twice",
		scene + "```sh\nls\n```":         "```show",
		scene + "```show\nrun\n```":      "x.md:3: run names a cell",
		scene + "```show\nrun a b\n```":  "NAME=VALUE",
		scene + "```show\npause\n```":    "pause takes a time",
		scene + "```show\npause -5s\n":   "up to an hour",
		scene + "```show\nview all\n":    "halves, cables, rails",
		scene + "```show\nwait here\n":   "stands alone",
		scene + "```show\nrm -rf /\n":    "is not an act",
		scene + "```show\nwait\n":        "no end",
		strings.Repeat("x", mostBytes+1): "at most",
	} {
		if _, err := Parse("x.md", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, not %q", text, err, want)
		}
	}
}

// The built-in script names cells that are there, none of which needs root or changes anything.
func TestTheBuiltInShowIsSafe(t *testing.T) {
	text, err := os.ReadFile("../../assets/show/show.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("show.md", string(text))
	if err != nil {
		t.Fatal(err)
	}
	tut := kindtest.Tutorial(t)
	if err := s.Check(tut, func(string, string, string) error { return nil }); err != nil {
		t.Error(err)
	}
	for _, scene := range s.Slides {
		if scene.Caption == "" || scene.Notes == "" || len(scene.Actions) == 0 {
			t.Errorf("the scene %s lacks a caption, notes or acts", scene.ID)
		}
		for _, a := range scene.Actions {
			c, _ := tut.Cell(a.Cell)
			if c.Change.Any() || c.Asks {
				t.Errorf("%s changes something", a.Cell)
			}
			for _, r := range c.Roles {
				if r.Root {
					t.Errorf("%s needs root", a.Cell)
				}
			}
		}
	}
	if err := s.Check(steps.Tutorial{}, func(string, string, string) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "load-rail") {
		t.Errorf("a cell that isn't there: %v", err)
	}
	bad := errors.New("no such parameter")
	if err := s.Check(tut, func(string, string, string) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("a parameter that isn't there: %v", err)
	}
}
