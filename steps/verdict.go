package steps

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Verdict says what a result means, and why.
type Verdict struct {
	Grade Grade `json:"verdict"`
	// Code is the cause of the grade, the worst where there are several. It is empty on a PASS, and in sessions of before
	// it was there.
	Code Code `json:"code,omitempty"`
	// Codes are the causes of everything that was found, the worst first, where there are several.
	Codes    []Code     `json:"codes,omitempty"`
	Reason   string     `json:"reason"` // one or two plain sentences, of 25 words where they can be
	Evidence []Evidence `json:"evidence"`
	// Findings are all that was found, the worst first, where the reason has no room for some of it.
	Findings []Found `json:"findings,omitempty"`
	// Advice is what works and could be better; it changes no grade.
	Advice []Found `json:"advice,omitempty"`
	// Decided is the verification stage that gave the grade; empty where none found anything, and where nothing was
	// measured.
	Decided Verification `json:"decided,omitempty"`
	// All are the findings of the report that it was made of, the worst first, each with its node if it is
	// about one. Code that folds several verdicts reads them. It is not saved.
	All []Found `json:"-"`
	// Node is the node that what is wrong is about; empty where that is both or none.
	Node string `json:"node,omitempty"`
	// ByHand says that the check's fix does nothing for what was found.
	ByHand bool `json:"byHand,omitempty"`
	// Devices are the RDMA devices that what is wrong is about, by their rails; empty where that is none in particular.
	Devices []string `json:"devices,omitempty"`
	Tables  []Table  `json:"tables,omitempty"`
	Charts  []Chart  `json:"charts,omitempty"`
	// Figures are what was measured, for other cells to read. Sessions of before it was
	// there have none.
	Figures []Figure `json:"figures,omitempty"`
}

// Found is one thing that was found. Of advice the grade is PASS.
type Found struct {
	Grade Grade  `json:"verdict"`
	Code  Code   `json:"code"`
	Text  string `json:"text"` // a sentence
	// Node is the node that it is about; empty where that is both or none.
	Node string `json:"node,omitempty"`
	// Devices are the RDMA devices that it is about. Verdict.On makes them of Names.
	Devices []string `json:"devices,omitempty"`
	// Names are what its text names: nodes, devices, interfaces and more.
	Names []string `json:"-"`
	// Like is the text with nothing in the node's place: what several nodes have alike is the same.
	Like string `json:"-"`
	// OnNode says that the text has the node as "on NODE", so that it may name several.
	OnNode bool `json:"-"`
}

// On is a verdict on a rig: what its findings name is what they are about, where that is a device or an interface of a
// rail.
func (v Verdict) On(rig Rig) Verdict {
	devs := map[string]string{}
	for _, n := range rig.Nodes {
		for _, r := range n.Rails {
			devs[r.Dev], devs[r.Netdev.Name] = r.Dev, r.Dev
		}
	}
	about := func(all []Found) {
		for i, f := range all {
			for _, name := range f.Names {
				if dev := devs[name]; dev != "" && !slices.Contains(all[i].Devices, dev) {
					all[i].Devices = append(all[i].Devices, dev)
				}
			}
		}
	}
	about(v.All)
	about(v.Findings)
	about(v.Advice)
	v.Devices = nil
	for _, f := range v.All {
		for _, dev := range f.Devices {
			if f.Grade == v.Grade && f.Grade > Pass && !slices.Contains(v.Devices, dev) {
				v.Devices = append(v.Devices, dev)
			}
		}
	}
	return v
}

// Said is all that a verdict says in words: its reason, what the reason has no room for, advice, notes and the
// evidence that decides.
func (v Verdict) Said() string {
	words := []string{v.Reason}
	for _, f := range slices.Concat(v.Findings, v.Advice) {
		words = append(words, f.Text)
	}
	for _, e := range v.Evidence {
		if text, ok := e.Value.(string); ok && (e.Name == NoteName || e.Decisive) {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

// A Verification is one of the stages by which a measured cell's run is judged, in this order. What an earlier one
// finds explains what a later one would.
type Verification string

// The verification stages.
const (
	ByEnds   Verification = "ends"   // how both ends ended
	ByOutput Verification = "output" // what they printed: whole, and of this run
	ByBytes  Verification = "bytes"  // what every port moved
	ByFigure Verification = "figure" // how fast it was
	BySigns  Verification = "signs"  // what a good figure hides
)

// A Grade is one of five.
type Grade uint8

// The grades. NotRun is the zero value and no verdict at all. The order is that
// of Worst: a cell is as good as the worst of its rails.
const (
	NotRun Grade = iota
	Skipped
	Pass
	Warn
	Inconclusive
	Fail
)

var gradeNames = [...]string{"", "SKIPPED", "PASS", "WARN", "INCONCLUSIVE", "FAIL"}

func (g Grade) String() string { return gradeNames[g] }

// MarshalJSON writes the grade's name.
func (g Grade) MarshalJSON() ([]byte, error) { return json.Marshal(g.String()) }

// UnmarshalJSON reads a grade's name.
func (g *Grade) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	for i, name := range gradeNames {
		if name == s {
			*g = Grade(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a verdict", s)
}

// Worst is the grade that stands for both.
func (g Grade) Worst(h Grade) Grade { return max(g, h) }

// Evidence is one thing that a verdict rests on.
type Evidence struct {
	Name     string    `json:"name"`           // "rocep1s0f0 bandwidth"
	Value    any       `json:"value"`          // a number, string or bool
	Unit     string    `json:"unit,omitempty"` // "Gb/s", "bytes", "us"
	Expected *Expected `json:"expected,omitempty"`
	// Of is the rail, and Node the node, that it is of, as Name begins; empty where it is of none, or of several.
	Of   string `json:"of,omitempty"`
	Node string `json:"node,omitempty"`
	// Decisive says that the verdict follows from it.
	Decisive bool `json:"decisive,omitempty"`
}

// NoteName is the name of evidence that says in words what a reason has no room for.
const NoteName = "note"

// Deciding is the evidence that a verdict follows from, first what is outside of its limits.
func (v Verdict) Deciding() []Evidence {
	var all []Evidence
	for _, outside := range []bool{true, false} {
		for _, e := range v.Evidence {
			if e.Outside() == outside && (outside || e.Decisive) {
				all = append(all, e)
			}
		}
	}
	return all
}

// Facts is the digest as one list: what decided, what was measured of each rail, and the rest.
func (v Verdict) Facts() []Evidence {
	d := v.Digest()
	all := d.Decided
	for _, m := range d.Measures {
		all = append(all, m.Rows...)
	}
	return append(all, d.Rest...)
}

// Outside reports whether the value is a number that is outside of what was expected.
func (e Evidence) Outside() bool {
	v, ok := e.Number()
	x := e.Expected
	return ok && x != nil && (x.Min != nil && v < *x.Min || x.Max != nil && v > *x.Max)
}

// Number is the value where it is a finite number.
func (e Evidence) Number() (v float64, ok bool) {
	switch x := e.Value.(type) {
	case float64:
		v = x
	case float32:
		v = float64(x)
	case int:
		v = float64(x)
	case int64:
		v = float64(x)
	case uint64:
		v = float64(x)
	default:
		return 0, false
	}
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Expected is the band that a value was compared with and where it comes from.
type Expected struct {
	Min  *float64 `json:"min,omitempty"`
	Max  *float64 `json:"max,omitempty"`
	From string   `json:"from"`
}

// Thousands writes a number with a comma at each third digit: one figure looks alike wherever
// it is read.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
