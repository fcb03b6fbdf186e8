package steps

import (
	"slices"
	"strconv"
	"strings"
)

// A Digest is what a verdict rests on in the order of reading. Every place that shows evidence shows this.
type Digest struct {
	// Decided is what else was found, who decided, and what that rests on.
	Decided []Evidence
	// Measures are what was measured of several rails.
	Measures []PerRail
	// Rest is what can stay folded.
	Rest []Evidence
}

// A PerRail is one thing that was measured of several rails.
type PerRail struct {
	What, Unit string
	Rows       []Evidence
}

// DecidedName is the name of the evidence that says which stage of the verification decided, and by which counters or
// figures.
const DecidedName = "decided by"

// What is what evidence is called without the rail that it is of.
func (e Evidence) What() string { return strings.TrimPrefix(e.Name, e.Of+" ") }

// OnNode is what evidence is called without the node that it is of.
func (e Evidence) OnNode() string { return strings.TrimPrefix(e.Name, e.Node+" ") }

// Digest sorts a verdict's evidence.
func (v Verdict) Digest() Digest {
	var d Digest
	for _, f := range v.Findings[min(1, len(v.Findings)):] { // the reason has the first
		d.Decided = append(d.Decided, Evidence{Name: f.Grade.String(), Value: f.Text})
	}
	found := len(d.Decided)
	rest := slices.Clone(v.Evidence)
	if i := slices.IndexFunc(rest, func(e Evidence) bool { return e.Name == DecidedName }); i >= 0 {
		d.Decided, rest = append(d.Decided, rest[i]), slices.Delete(rest, i, i+1)
	}
	several := map[[2]string]int{}
	for _, e := range rest {
		if e.Of != "" {
			several[[2]string{e.What(), e.Unit}]++
		}
	}
	decides := func(e Evidence) bool { return e.Decisive || e.Outside() }
	// A table has all of its rows, also those that did not decide: they are what it is compared with.
	decided := map[[2]string]bool{}
	for _, e := range rest {
		key := [2]string{e.What(), e.Unit}
		switch {
		case e.Of != "" && several[key] > 1:
			decided[key] = decided[key] || decides(e)
			i := slices.IndexFunc(d.Measures, func(m PerRail) bool { return m.What == key[0] && m.Unit == key[1] })
			if i < 0 {
				i, d.Measures = len(d.Measures), append(d.Measures, PerRail{What: key[0], Unit: key[1]})
			}
			d.Measures[i].Rows = append(d.Measures[i].Rows, e)
		case decides(e):
			d.Decided = append(d.Decided, e)
		default:
			d.Rest = append(d.Rest, e)
		}
	}
	slices.SortStableFunc(d.Decided[found:], func(a, b Evidence) int {
		return placeOf(a) - placeOf(b)
	})
	slices.SortStableFunc(d.Measures, func(a, b PerRail) int {
		x, y := decided[[2]string{a.What, a.Unit}], decided[[2]string{b.What, b.Unit}]
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return d
}

// placeOf puts who decided first, and then what is outside of its limits.
func placeOf(e Evidence) int {
	switch {
	case e.Name == DecidedName:
		return 0
	case e.Outside():
		return 1
	}
	return 2
}

// Table has a row a rail for each measure, or one row where all rails have the same. value and band write a value, and
// what it is compared with without its source; the sources are below. ok is false where there is nothing to show.
func (d Digest) Table(value, band func(Evidence) string) (t Table, ok bool) {
	t.Columns = []Column{{Name: "what"}, {Name: "rail"}, {Name: "measured", Number: true}, {Name: "expected"}}
	var sources []string
	of := map[string][]string{} // the measures that a source is about
	for _, m := range d.Measures {
		var rows [][]string
		for _, e := range m.Rows {
			rail, _, _ := strings.Cut(e.Of, " (") // without its device: a table has no room for both
			row := []string{m.What, rail, value(e), ""}
			if x := e.Expected; x != nil {
				row[3] = band(e)
				if of[x.From] == nil {
					sources = append(sources, x.From)
				}
				if !slices.Contains(of[x.From], m.What) {
					of[x.From] = append(of[x.From], m.What)
				}
			}
			rows = append(rows, row)
		}
		if !slices.ContainsFunc(rows, func(row []string) bool { return !slices.Equal(row[2:], rows[0][2:]) }) {
			rows[0][1] = "each of " + strconv.Itoa(len(rows))
			rows = rows[:1]
		}
		for _, row := range rows[1:] {
			row[0] = ""
		}
		t.Rows = append(t.Rows, rows...)
	}
	var notes []string
	for _, from := range sources {
		if from != "" {
			notes = append(notes, strings.Join(of[from], ", ")+": "+from+".")
		}
	}
	t.Note = strings.Join(notes, " ")
	return t, len(t.Rows) > 0
}
