package parse

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// Free is what free prints.
type Free struct {
	// Unit is that of the figures: bytes, KiB, MiB …; empty if the text does not show it. free prints KiB by
	// default, and only -h prints the unit.
	Unit string    `json:"unit"`
	Rows []FreeRow `json:"rows"`
}

// A FreeRow is a line: Mem, Swap, Total, with the columns that it has.
type FreeRow struct {
	Name      string   `json:"name"`
	Total     float64  `json:"total"`
	Used      float64  `json:"used"`
	Free      float64  `json:"free"`
	Shared    *float64 `json:"shared,omitempty"`
	BuffCache *float64 `json:"buffCache,omitempty"`
	Available *float64 `json:"available,omitempty"`
}

var (
	freeName   = lazyregexp.New(`^(Mem|Swap|Total|Low|High):\s+(.+)$`)
	freeFigure = lazyregexp.New(`^(\d[\d.]*)(B|[KMGTP]i?)?$`)
	freeCall   = lazyregexp.New(`(?:^|[\s$#+;&|])free((?: +-[-\w=]+(?: \d+)?)*) *$`)
)

// freeUnits are free's options for a unit.
var freeUnits = map[string]string{
	"-b": "bytes", "--bytes": "bytes", "-k": "KiB", "--kibi": "KiB",
	"-m": "MiB", "--mebi": "MiB", "-g": "GiB", "--gibi": "GiB",
	"--kilo": "kB", "--mega": "MB", "--giga": "GB",
}

// FreeOutput reads free, with any of its units. The columns are found by their names. With -h the figures
// become bytes, as exact as they were printed; a line with the command itself before the table shows the
// unit, too.
func FreeOutput(text string) (Free, error) {
	r := freeReader{f: Free{Rows: []FreeRow{}}}
	lines(text, r.line)
	if r.human {
		r.f.Unit = "bytes"
	}
	if len(r.f.Rows) == 0 {
		return r.f, ErrNoResult
	}
	return r.f, nil
}

// A freeReader reads the header, and then the rows by its names.
type freeReader struct {
	f     Free
	names []string // of the columns; nil before the header
	human bool     // figures have units of their own
}

func (r *freeReader) line(line string) {
	words := strings.Fields(line)
	if len(words) > 2 && words[0] == "total" && words[1] == "used" {
		r.names = words
		return
	}
	if m := freeCall.Regexp().FindStringSubmatch(line); m != nil && r.names == nil {
		r.f.Unit = "KiB" // free's own, where no option asks for another
		for option := range strings.FieldsSeq(m[1]) {
			if u, ok := freeUnits[option]; ok {
				r.f.Unit = u
			}
		}
		return
	}
	m := freeName.Regexp().FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || r.names == nil || len(r.f.Rows) >= maxRows {
		return
	}
	if values, ok := r.values(strings.Fields(m[2])); ok {
		r.f.Rows = append(r.f.Rows, freeRow(m[1], values))
	}
}

// values are the figures of a row by the names of their columns. A row with a cell that is not a figure, or
// without a total, is skipped.
func (r *freeReader) values(cells []string) (values map[string]float64, ok bool) {
	values = map[string]float64{}
	for i, cell := range cells {
		c := freeFigure.Regexp().FindStringSubmatch(cell)
		if c == nil || i >= len(r.names) {
			return nil, false
		}
		base := 1024.0
		if len(c[2]) == 1 && c[2] != "B" {
			base = 1000 // --si has no i
		}
		v, ok := scaled(c[1], strings.TrimRight(c[2], "Bi"), base)
		if !ok {
			return nil, false
		}
		r.human = r.human || c[2] != ""
		values[r.names[i]] = v
	}
	_, ok = values["total"]
	return values, ok
}

// freeRow is nil in a column that this free doesn't print, which is not 0.
func freeRow(name string, values map[string]float64) FreeRow {
	row := FreeRow{Name: name, Total: values["total"], Used: values["used"], Free: values["free"]}
	row.Shared, row.Available = has(values, "shared"), has(values, "available")
	if row.BuffCache = has(values, "buff/cache"); row.BuffCache == nil && has(values, "buffers") != nil {
		both := values["buffers"] + values["cache"] + values["cached"] // -w, and procps before 3.3.10
		row.BuffCache = &both
	}
	return row
}

// has is the value of a column; nil where none was printed.
func has(values map[string]float64, name string) *float64 {
	v, ok := values[name]
	if !ok {
		return nil
	}
	return &v
}
