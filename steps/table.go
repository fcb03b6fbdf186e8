package steps

import "slices"

// A Table is what a verdict or a summary shows in rows and columns.
type Table struct {
	Title   string     `json:"title"`
	Columns []Column   `json:"columns"`
	Rows    [][]string `json:"rows"`
	// Note is a sentence under the table: where its figures come from.
	Note string `json:"note,omitempty"`
}

// A Column is one column of a Table.
type Column struct {
	Name string `json:"name"` // with its unit: "Gb/s"
	// Number sets its values to the right.
	Number bool `json:"number,omitempty"`
}

// NodeColumn is the first column of a table with a row a node: each says the same of itself at whichever link it is
// asked, and those of several links are one.
const NodeColumn = "node"

// OfNodes reports whether each row is of one node.
func (t Table) OfNodes() bool { return len(t.Columns) > 0 && t.Columns[0].Name == NodeColumn }

// Extends reports whether a table has the same columns as another.
func (t Table) Extends(other Table) bool {
	return t.Title == other.Title && slices.Equal(t.Columns, other.Columns)
}

// With is a table with the rows of another added to its own, each once.
func (t Table) With(other Table) Table {
	t.Rows = slices.Clip(t.Rows)
	for _, row := range other.Rows {
		if !slices.ContainsFunc(t.Rows, func(had []string) bool { return slices.Equal(had, row) }) {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Shape says how a Chart draws its values.
type Shape string

// The shapes.
const (
	Bars    Shape = "bars"     // one bar a point, from 0
	LogBars Shape = "log-bars" // the same on a logarithmic scale, for latencies
	Lines   Shape = "lines"    // a line a series, over X on a logarithmic scale
)

// A Chart is figures that are drawn.
type Chart struct {
	Title  string   `json:"title"`
	Shape  Shape    `json:"shape"`
	Unit   string   `json:"unit"`            // of the values: "Gb/s", "us"
	XUnit  string   `json:"xUnit,omitempty"` // of X in Lines: "bytes"
	Series []Series `json:"series"`
	// Limits are lines across the chart: the link's rate, a PCIe ceiling.
	Limits []Limit `json:"limits,omitempty"`
}

// Series is the points of one thing that was measured.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// A Point is one value. Label names it in Bars; X places it in Lines.
type Point struct {
	Label string  `json:"label,omitempty"`
	X     float64 `json:"x,omitempty"`
	Y     float64 `json:"y"`
}

// A Limit is a value that cannot be passed, and where it comes from.
type Limit struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}
