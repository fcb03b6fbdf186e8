package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/railbench/railbench/steps"
)

// What a session may be, so that a small file takes little memory, and what is saved can be opened again.

// A bounds is what a file may have, in bytes where it doesn't say otherwise.
type bounds struct {
	cell   int // of one cell, or of another value of the file; some more is let pass that was read ahead
	held   int // of cells that are held until the metadata behind them were read
	own    int // of all cells, without their outputs
	cells  int // how many there are
	levels int // of objects and lists within each other, in a cell or another value of the file
	values int // of the tables, charts, gauges and evidence of all cells
	name   int // of a node, a role, a title
	parts  int // objects and lists of a cell or another value of the file: each takes far more memory than its two bytes
	all    int // and of the whole file
	items  int // of all lists and objects of a cell, strings and numbers too
}

// A session that railbench saved is far below each of these, and what is kept of a foreign file stays below
// 256 MiB. Jupyter's own cells have fewer than 20 levels.
var ofSession = bounds{
	cell: 32 << 20, held: 16 << 20, own: 32 << 20, cells: 4096, levels: 100, values: 300_000, name: 4 << 10,
	parts: 250_000, all: 1_000_000, items: 4_000_000,
}

// mostIndented is how many times longer than without blanks a value may become by them.
const mostIndented = 8

// A form is what a JSON text is made of: how deep its objects and lists lie in each other, how many there are, and how
// many items they have.
type form struct{ levels, parts, items int }

func formOf(text []byte) (f form) {
	structure(text, func(c byte, depth int) {
		switch c {
		case '{', '[':
			f.parts++
			f.levels = max(f.levels, depth)
		case ',':
			f.items++
		}
	})
	return f
}

// structure visits the brackets and commas of a JSON text outside of its strings. depth counts the brackets that are
// open then: an opening one is counted, a closing one is not any more.
func structure(text []byte, visit func(c byte, depth int)) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			quoted = !quoted
			continue
		case quoted:
			continue
		}
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
		default:
			continue
		}
		visit(c, depth)
	}
}

// bounded says what of a value of the file is too much; all are the objects and lists of the values before it.
func (b bounds) bounded(text []byte, all *int) error {
	f := formOf(text)
	*all += f.parts
	switch {
	case f.levels > b.levels:
		return fmt.Errorf("not a session that railbench saved: a part of it has %d levels of objects and lists, and %d are "+
			"enough for every notebook", f.levels, b.levels)
	case f.parts > b.parts || f.items > b.items || *all > b.all:
		return errors.New("not a session that railbench saved: it has too many objects, lists or items of them")
	}
	return nil
}

// indented is a value as JSON, as Jupyter indents it: prefix stands before each line but the first. Where there would
// be many more blanks than text it has none.
func indented(v any, prefix string) ([]byte, error) {
	text, err := marshal(v)
	if err != nil {
		return nil, err
	}
	blanks := 0
	structure(text, func(_ byte, depth int) { blanks += 1 + len(prefix) + depth })
	if blanks > mostIndented*len(text) {
		return text, nil
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, prefix, " ")
	return b.Bytes(), err
}

// within says what of a cell's facts is longer than railbench has ever saved it.
func (b bounds) within(f facts) error {
	names := []string{f.Title}
	for _, r := range f.Roles {
		names = append(names, r.Name)
	}
	if f.Output != nil {
		for _, l := range f.Output.Lines {
			names = append(names, l.From, l.Role)
		}
	}
	if f.Definition != nil {
		names = append(names, f.Definition.Title)
		for _, r := range f.Definition.Roles {
			names = append(names, r.Name)
		}
	}
	return b.named(names...)
}

// shown says that a session has more tables, charts and evidence than can be shown in bounded memory: each of their
// values is written several times.
func (b bounds) shown(d *Document) error {
	values := 0
	for _, s := range d.Book.Cells {
		v := s.Verdict
		values += len(v.Evidence) + len(v.Findings) + len(v.Advice) + len(v.Figures) + cellsOf(s.Live)
		for _, t := range v.Tables {
			values += cellsOf(t)
		}
		for _, c := range v.Charts {
			values += len(c.Limits)
			for _, s := range c.Series {
				values += 1 + len(s.Points)
			}
		}
	}
	for _, g := range d.samples {
		for _, r := range g.Rails {
			values += 1 + len(r.Tx) + len(r.Rx)
		}
	}
	if values > b.values {
		return fmt.Errorf("not a session that railbench saved: its tables, charts and evidence have %d values", values)
	}
	return nil
}

func cellsOf(t steps.Table) int { return (len(t.Columns) + 1) * (len(t.Rows) + 1) }

// named says which name is longer than a name is.
func (b bounds) named(names ...string) error {
	for _, n := range names {
		if len(n) > b.name {
			return fmt.Errorf("not a session that railbench saved: it has a name of %d bytes", len(n))
		}
	}
	return nil
}

// rigs is within for the nodes of a session.
func (b bounds) rigs(all ...rigWire) error {
	for _, r := range all {
		names := []string{r.Name}
		for _, n := range r.Nodes {
			names = append(names, n.Name, n.Where)
			for _, x := range n.Rails {
				names = append(names, x.Dev)
			}
		}
		if err := b.named(names...); err != nil {
			return err
		}
	}
	return nil
}

// errUnreadable is of a session that would be saved and could not be opened again.
var errUnreadable = errors.New("it is more than railbench opens again")

// opens says why a session that is about to be written could not be opened again. Only a long one is tried.
func opens(file []byte, cells int, limit bounds) error {
	switch {
	case len(file) > sessionLimit:
		return fmt.Errorf("%w: it is longer than %d MiB", errUnreadable, sessionLimit>>20)
	case len(file) <= limit.own && cells <= limit.cells:
		return nil
	}
	if _, err := decode(bytes.NewReader(file), limit); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}
