package cells

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

func unstyled(lines []string) string {
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n")
}

func TestProse(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"paragraphs", "One\ntwo.\n\nThree.", " One two.\n\n Three."},
		{"styles", "A `code`, *em*, **strong** [link](https://x.y)", " A code, em, strong link <https://x.y>"},
		{"lists", "- a\n- b\n  1. c\n  2. d\n\nend", " • a\n • b\n   1. c\n   2. d\n\n end"},
		{"a quote", "> said\n\nend", " ▏ said\n\n end"},
		{"code", "```sh\nls -l\n\techo\n```", " │ ls -l\n │         echo"},
		{"a table", "| a | b |\n|---|---|\n| 1 | two |", " a  b\n 1  two"},
		{"what is no markup", "a \\* b `\\*`", " a * b \\*"},
		{"a comment is not shown", "<!-- note -->\n\nText.", " Text."},
		{"escapes are made visible", "a\x1b[31mb", " a\uFFFD[31mb"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unstyled(Prose(c.in, theme.New(true, colorprofile.TrueColor), 50)); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// A table gives way by setting its words in several lines, and becomes a list only
// where a column would be narrower than its longest word or than what can be read.
func TestATableThatIsTooWide(t *testing.T) {
	table := "| name | what | where |\n|---|---|---|\n| x | " + strings.Repeat("long ", 9) + "| here and there |"
	for _, c := range []struct {
		width int
		want  string
	}{
		{80, " name  what                                          where\n" +
			" x     long long long long long long long long long  here and there"},
		{52, " name  what                          where\n" +
			" x     long long long long long      here and there\n       long long long long"},
		{38, " name  what            where\n x     long long long  here and there\n       long long long\n" +
			"       long long long"},
		{30, " • name: x\n   what: long long long\n     long long long long long\n     long\n   where: here and there"},
	} {
		if got := unstyled(Prose(table, theme.New(true, colorprofile.ASCII), c.width)); got != c.want {
			t.Errorf("at %d columns:\n%s\nwant:\n%s", c.width, got, c.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	names := []string{"spark-02", "spark-01"}
	for want, c := range map[string]steps.Cell{
		"on spark-02":   {Roles: []steps.Role{{On: steps.OnHere}}},
		"on both nodes": {Roles: []steps.Role{{On: steps.OnBoth}}},
		"server spark-01 · client spark-02 · each rail": {
			EachRail: true,
			Roles:    []steps.Role{{Name: "server", On: steps.OnPeer}, {Name: "client", On: steps.OnHere}},
		},
		"on spark-01 (root)": {Roles: []steps.Role{{On: steps.OnPeer, Root: true}}},
	} {
		if got := Places(c, names); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	three := append(names, "spark-03")
	both := steps.Cell{Roles: []steps.Role{{On: steps.OnBoth}}}
	if got := Places(both, three); got != "on both nodes" {
		t.Errorf("a cell runs over a link, whatever the rig: %q", got)
	}
	launched := steps.Cell{With: []string{steps.LaunchService}, Roles: []steps.Role{{On: steps.OnHere}}}
	for want, of := range map[string][]string{
		"on spark-02, which starts it on both nodes": names, "on spark-02, which starts it on all nodes": three,
	} {
		if got := Places(launched, of); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	both.Check.Finds = []string{"x"}
	if got := Places(both, three); got != "on all nodes" {
		t.Errorf("a check of three nodes: %q", got)
	}
}

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"4,988":       steps.Thousands(4988),
		"-1,234,567":  steps.Thousands(-1234567),
		"17":          steps.Thousands(17),
		"92.5 Gb/s":   Value(92.5, "Gb/s"),
		"1.83 us":     Value(1.8349, "us"),
		"0.00012":     Value(0.00012, ""),
		"350,123,456": Value(350123456, ""),
		"yes":         Value(true, ""),
		"350.0 MB":    Bytes(350_000_000),
		"12 B":        Bytes(12),
		"6.2 s":       Seconds(6200 * time.Millisecond),
		"1:05 min":    Seconds(65 * time.Second),
		"1:00:01 h":   Seconds(time.Hour + time.Second),
		"0.0 s":       Seconds(-time.Second),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDistinct(t *testing.T) {
	for _, c := range [][2][]string{
		{{"spark-01", "spark-02"}, {"01", "02"}},
		{{"alpha", "beta"}, {"alpha", "beta"}},
		{{"a", "a"}, {"a", "a"}},
		{{"rig-", "rig-x"}, {"rig-", "rig-x"}},
		{{"lab-a-1", "lab-a-2", "lab-b-1"}, {"a-1", "a-2", "b-1"}},
		{{"one"}, {"one"}},
		{nil, nil},
	} {
		if got := Distinct(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%q became %q", c[0], got)
		}
	}
}

// The note about hidden lines never takes the place of a single one.
func TestLongOutputIsFolded(t *testing.T) {
	for n, want := range map[int]string{12: "", 13: "", 14: "2 more lines", 5000: "4,988 more lines"} {
		out := steps.Scroll{}
		for range n {
			out = out.Append([]steps.OutputLine{{Text: "row"}})
		}
		c := Cell{Cell: steps.Cell{Own: "summary"}, State: steps.CellState{Run: 1, Output: out}, View: View{Keep: 12}}
		got := unstyled(c.Draw(theme.New(true, colorprofile.ASCII), 60).Lines)
		if want == "" && strings.Contains(got, "more") || !strings.Contains(got, want) {
			t.Errorf("%d lines:\n%s", n, got)
		}
	}
}

// The counters of a cell that tests each rail stand under the test that they are of.
func TestCountersAreOfATest(t *testing.T) {
	of := func(test int) steps.RailBytes {
		return steps.RailBytes{Dev: "rocep1s0f0", Test: test, Known: true, Source: "port_xmit_data"}
	}
	draw := func(bytes ...steps.RailBytes) string {
		state := steps.CellState{Verdict: steps.Verdict{Grade: steps.Pass}, Bytes: bytes}
		return unstyled(Cell{
			Cell: steps.Cell{Own: "summary"}, State: state,
			View: View{Evidence: Decided},
		}.Draw(theme.New(true, colorprofile.ASCII), 60).Lines)
	}
	if got := draw(of(1), of(1), of(2)); strings.Count(got, "during rail 1's test:") != 1 ||
		strings.Count(got, "during rail 2's test:") != 1 {
		t.Error(got)
	}
	if got := draw(of(0), of(0)); strings.Contains(got, "during") {
		t.Error(got)
	}
}

func TestNumbersReadAlikeWhateverTheirType(t *testing.T) {
	for _, v := range []any{121715474966, int64(121715474966), uint64(121715474966), 121715474966.0} {
		if got := Value(v, "bytes"); got != "121,715,474,966 bytes" {
			t.Errorf("%T is written %s", v, got)
		}
	}
}

// A low screen has to show what a cell prints, and not its scripts alone.
func TestLongScriptsAreFolded(t *testing.T) {
	script := strings.TrimSuffix(strings.Repeat("\tx\n", 11), "\n")
	for _, c := range []struct {
		keep, roles int
		whole       bool
		want        int
	}{{5, 1, false, 11}, {5, 2, false, 8}, {20, 2, false, 22}, {5, 2, true, 22}} {
		cell := Cell{View: View{Keep: c.keep, Script: c.whole}}
		for i := range c.roles {
			cell.Roles = append(cell.Roles, steps.Role{Script: script + strings.Repeat("\n", i)})
		}
		got := unstyled(cell.Draw(theme.New(true, colorprofile.ASCII), 60).Lines)
		if n := strings.Count(got, "┃     x"); n != c.want ||
			(strings.Contains(got, "S shows them") == (n == 11*c.roles)) {
			t.Errorf("%+v: %d lines:\n%s", c, n, got)
		}
	}
}

// railbench run and doctor take a cell's id as an argument. It stands next to the title, or below it where
// there is no room, and never replaces the nodes on which the cell runs.
func TestTitlesHaveTheirIDs(t *testing.T) {
	c := Cell{
		Cell: steps.Cell{
			ID: "nixl-single-dram", Title: "One rail, host memory",
			Roles: []steps.Role{{Name: "initiator"}, {Name: "target", On: steps.OnPeer}},
		},
		Names: []string{"spark-02", "spark-01"}, State: steps.CellState{Run: 1, HasExit: true},
	}
	for width := 44; width < 130; width++ {
		text := unstyled(c.Draw(theme.New(true, colorprofile.ASCII), width).Lines[:3])
		for _, want := range []string{
			"One rail, host memory", "nixl-single-dram", "initiator spark-02 · target spark-01",
			"exit 0",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
	}
	c.Title = ""
	if text := unstyled(c.Draw(theme.New(true, colorprofile.ASCII), 80).Lines[:3]); strings.Count(text,
		"nixl-single-dram") != 1 {
		t.Error(text)
	}
}
