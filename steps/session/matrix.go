package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
)

// PairingOf is what a cell with pairs= measures.
func PairingOf(t steps.Tutorial, cell steps.Cell) (p Pairing, err error) {
	if len(cell.Pairs) != 2 {
		return p, fmt.Errorf("%s does not name two cells that measure a pair", cell.ID)
	}
	p.Cell = cell
	for i, into := range []*steps.Cell{&p.Bandwidth, &p.Latency} {
		c, ok := t.Cell(cell.Pairs[i])
		if !ok {
			return p, fmt.Errorf("the tutorial has no cell %s, with which %s measures each pair", cell.Pairs[i], cell.ID)
		}
		*into = c
	}
	return p, nil
}

// matrix runs a cell that measures every pair of nodes. What was measured is drawn also where an
// interrupt ended it.
func (r *run) matrix(ctx context.Context) (steps.Result, steps.Verdict) {
	began := r.s.clock.Now()
	p, result, err := r.measured(ctx)
	if p == nil || p.done == 0 && ctx.Err() != nil {
		return result, unfinished(ctx, result, err)
	}
	p.m.Elapsed = r.s.clock.Now().Sub(began)
	r.draw(p.m)
	v := matrixVerdict(p.m)
	if err != nil {
		left := unfinished(ctx, result, err)
		v.Grade = v.Grade.Worst(left.Grade)
		v.Reason = left.Reason + " " + v.Reason
	}
	return result, v
}

// unfinished is the verdict of what ended before it was done.
func unfinished(ctx context.Context, result steps.Result, err error) steps.Verdict {
	reason := "Interrupted before it was done." + moved(result)
	if ctx.Err() == nil {
		reason = sentence(err)
	}
	return steps.Verdict{Grade: steps.Inconclusive, Code: steps.Interrupted, Reason: reason}
}

// measured measures the pairs of a cell, and reports what comes next. p is nil if nothing could be begun.
func (r *run) measured(ctx context.Context) (p *pairing, result steps.Result, err error) {
	what, err := PairingOf(r.s.o.Tutorial, r.cell)
	if err != nil {
		return nil, result, err
	}
	if why := r.s.o.refuses(r.cell, r.params); why != "" {
		return nil, result, fmt.Errorf("not run: %s", why)
	}
	if err := r.lockSome(ctx, everyNode(len(r.s.o.Nodes))); err != nil {
		return nil, result, err
	}
	what.Measured = func(_ *pairs.Matrix, at pairs.Progress) error {
		r.tell("%s", at)
		return nil
	}
	p = r.s.pairing(what)
	p.log = r.write
	p.seen = r.s.look(ctx, fresh)
	result.Rig, err = p.seen.over(r.s.o, r.s.currentLink())
	r.s.note(err) // a node of the link that doesn't answer may be one of many
	if err := p.prepare(); err != nil {
		return nil, result, err
	}
	cost, wrong := p.cost()
	r.tell("%s", cost)
	for _, why := range wrong {
		r.tell("%s", why)
	}
	return p, result, p.all(ctx)
}

// mapWidth is how wide a map may be: 64 nodes, in a terminal of 80 columns.
const mapWidth = 79

// draw prints the maps of bandwidth and of latency.
func (r *run) draw(m *pairs.Matrix) {
	m.Judge() // a square's state is what it is among the others
	line := func(text string, spans ...steps.Span) {
		r.print(steps.OutputLine{Kind: steps.FromStdout, Text: text, Spans: spans}, false)
	}
	faint := steps.Span{Style: steps.Style{Attr: steps.Faint}}
	for _, text := range m.Key() {
		line(text, faint)
	}
	// A cell that is folded shows its last lines: the map of bandwidth, between what it is of and its scale.
	for _, what := range slices.Backward(pairs.Measures[:]) {
		line("")
		line(m.Title(what), steps.Span{Style: steps.Style{Attr: steps.Bold}})
		for _, row := range m.Map(what, mapWidth) {
			line(row.Text, colours(row)...)
		}
		line(m.Scale(what), faint)
	}
}

// colours are those of a row's squares: each glyph says the same without.
func colours(row pairs.Row) (spans []steps.Span) {
	const red, green, yellow, magenta = 1, 2, 3, 5
	styles := [...]steps.Style{
		pairs.Unmeasured: {Fg: runner.Indexed(magenta)},
		pairs.Good:       {Fg: runner.Indexed(green)},
		pairs.Warned:     {Fg: runner.Indexed(yellow)},
		pairs.Crowd:      {Fg: runner.Indexed(yellow)},
		pairs.Bad:        {Fg: runner.Indexed(red), Attr: steps.Bold},
	}
	end := 0
	for _, s := range row.Squares {
		style := styles[s.State]
		if s.Diagonal {
			style = steps.Style{Attr: steps.Faint}
		}
		if s.At != end || style != spans[len(spans)-1].Style {
			spans = append(spans, steps.Span{At: int32(s.At), Style: style})
		}
		end = s.At + utf8.RuneLen(s.Glyph)
	}
	return spans
}

// matrixVerdict is what a matrix means, with what explains it.
func matrixVerdict(m *pairs.Matrix) steps.Verdict {
	j := m.Judge()
	v := steps.Verdict{Grade: j.Grade, Code: j.Code, Reason: j.Reason, Evidence: []steps.Evidence{}}
	if j.Grade == steps.Fail || j.Grade == steps.Warn {
		v.Decided = steps.ByFigure
	}
	for _, what := range pairs.Measures {
		e := m.Extremes(what)
		if e.Measured == 0 {
			continue
		}
		for _, end := range []struct {
			name  string
			value float64
		}{{"best", e.Best}, {"other end", e.Worst}} {
			v.Evidence = append(v.Evidence, steps.Evidence{
				Name: fmt.Sprintf("%s, %s", what, end.name), Value: end.value, Unit: pairs.Unit(what),
			})
		}
	}
	for state, count := range j.Counts {
		if count > 0 {
			v.Evidence = append(v.Evidence, steps.Evidence{Name: "figures " + pairs.State(state).String(), Value: count})
		}
	}
	v.Evidence = append(v.Evidence, steps.Evidence{Name: "conditions", Value: m.Conditions.String()})
	if len(j.Causes) == 0 {
		return v
	}
	t := steps.Table{
		Title:   "Causes, most frequent first",
		Columns: []steps.Column{{Name: ""}, {Name: "what"}, {Name: "figures", Number: true}, {Name: "which"}},
	}
	for _, c := range j.Causes {
		t.Rows = append(t.Rows, []string{c.State.String(), c.Text, strconv.Itoa(c.Cells), c.Evidence})
	}
	v.Tables = []steps.Table{t}
	return v
}
