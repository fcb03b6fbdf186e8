package cells

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// An opened output of two nodes has a column for each node where their lines have room, and otherwise one
// below the other. The row of a line leads back to a line of that row.
func TestNodesSideBySideOnAPage(t *testing.T) {
	c := steps.Cell{Roles: []steps.Role{{Name: "server", On: steps.OnPeer, Script: "a"}, {Name: "client", Script: "b"}}}
	names := []string{"spark-02", "spark-01"}
	state := steps.CellState{Run: 1, Output: steps.Scroll{}.Append([]steps.OutputLine{
		{Kind: steps.Note, Text: "rail 1"},
		{From: "spark-02", Role: "client", Text: "c1"},
		{From: "spark-01", Role: "server", Text: "s1"},
		{From: "spark-02", Role: "client", Text: "c2"},
		{Kind: steps.Note, Text: "rail 2"},
		{From: "spark-01", Role: "server", Text: "s2 is " + strings.Repeat("long ", 12)},
		{From: "spark-02", Role: "client", Text: "c3"},
	})}
	for i, name := range names {
		state.Rig.Nodes = append(state.Rig.Nodes, steps.Node{No: i, Name: name})
	}
	for _, x := range []struct {
		width int
		want  string
	}{
		{80, "· rail 1\n01 │ s1\n02 │ c1\n02 │ c2\n· rail 2\n01 │ s2 is " + strings.TrimSpace(strings.Repeat("long ", 12)) +
			"\n02 │ c3"},
		{120, "· rail 1\nspark-01 │ s1  spark-02 │ c1\n  spark-02 │ c2\n· rail 2\nspark-01 │ s2 is " +
			strings.TrimSpace(strings.Repeat("long ", 12)) + "\nspark-02 │ c3"},
		{170, "· rail 1\nspark-01 │ s1  spark-02 │ c1\n  spark-02 │ c2\n· rail 2\nspark-01 │ s2 is " +
			strings.TrimSpace(strings.Repeat("long ", 12)) + "  spark-02 │ c3"},
	} {
		p := Page{Cell: c, State: state, Names: names, Rows: NewRows(c, state, names, x.width)}
		var got []string
		for _, l := range p.Lines(theme.New(true, colorprofile.NoTTY), x.width, 10) {
			if l = strings.TrimRight(runs.ReplaceAllString(unstyled([]string{l}), "  "), " \n"); l != "" {
				got = append(got, strings.TrimPrefix(strings.TrimLeft(l, " "), "spark-02 · "))
			}
		}
		want := strings.ReplaceAll(x.want, "\n  spark", "\nspark")
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("at %d columns:\n%s\nwant:\n%s", x.width, text, want)
		}
		for row := range p.Rows.Count(state.Output.Len()) {
			if at := p.Rows.Row(p.Rows.Line(row)); at != row {
				t.Errorf("at %d columns: row %d leads to row %d", x.width, row, at)
			}
		}
	}
}

// The rows of any output have each of its lines once.
func TestRowsLoseNoLine(t *testing.T) {
	c := steps.Cell{Roles: []steps.Role{{On: steps.OnBoth, Script: "a"}}}
	var lines []steps.OutputLine
	for i := range 200 {
		l := steps.OutputLine{Text: fmt.Sprint(i)}
		switch i * i % 7 {
		case 0:
			l.Kind = steps.Note
		case 1, 2:
			l.From = "here"
		default:
			l.From = "peer"
		}
		lines = append(lines, l)
	}
	state := steps.CellState{Output: steps.Scroll{}.Append(lines)}
	for _, width := range []int{0, 20, 80, 120, 200} {
		s := NewRows(c, state, []string{"here", "peer"}, width)
		seen := map[int]int{}
		for row := range s.Count(len(lines)) {
			for _, line := range s.row(row) {
				if line != none {
					seen[line]++
				}
			}
		}
		for i := range lines {
			if seen[i] != 1 {
				t.Errorf("at %d columns line %d is there %d times", width, i, seen[i])
			}
		}
	}
}
