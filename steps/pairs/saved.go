package pairs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// Version is the form of a saved matrix. Another one is not read.
const Version = 1

// MostSaved is how large a saved matrix may be, in bytes: as many figures as it can have, and a reason here and
// there.
const MostSaved = 256 << 20

// mostNodes are those of a rig: a file of more was not written here, and small files would cost much.
const mostNodes = steps.MostNodes

// A document is a matrix as JSON; scripts rely on its keys.
type document struct {
	Version    int         `json:"pairs"`
	Railbench  string      `json:"railbench,omitempty"`
	Rig        string      `json:"rig"`
	Simulated  bool        `json:"simulated"`
	Began      time.Time   `json:"began"`
	ElapsedMS  int64       `json:"elapsedMS"`
	Conditions Conditions  `json:"conditions"`
	Nodes      []Node      `json:"nodes"`
	Rails      []string    `json:"rails"`
	Partners   int         `json:"partners,omitempty"` // of each node, where that is not all others
	ByLink     bool        `json:"railsByLink,omitempty"`
	Uncabled   [][2]int    `json:"uncabled,omitempty"` // pairs of nodes that no cable joins
	Verdict    steps.Grade `json:"verdict"`
	Reason     string      `json:"reason"`
	Causes     []cause     `json:"causes"`
	Figures    []entry     `json:"figures"`
}

type cause struct {
	State    string        `json:"state"`
	Measure  steps.Measure `json:"measure"`
	Text     string        `json:"text"`
	Evidence string        `json:"evidence"`
	Figures  int           `json:"figures"`
}

// An entry is one cell, with its nodes and its rail by their numbers from 0.
type entry struct {
	Measure steps.Measure `json:"measure"`
	From    int           `json:"from"`
	To      int           `json:"to"`
	Rail    int           `json:"rail"`
	Value   *float64      `json:"value"` // null where there is none
	Unit    string        `json:"unit"`
	First   float64       `json:"first,omitempty"`
	Failed  bool          `json:"failedFirst,omitempty"`
	Verdict steps.Grade   `json:"verdict"`
	State   string        `json:"state"`
	Beside  int           `json:"beside,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Code    steps.Code    `json:"code,omitempty"`
}

var stateNames = [...]string{"not measured", "good", "warned", "bad beside others", "bad"}

func (s State) String() string { return stateNames[s] }

// rounded is a figure with the digits that mean something.
func rounded(v float32) float64 { return math.Round(float64(v)*100) / 100 }

// JSON writes the matrix with what it means. railbench is the program's version.
func (m *Matrix) JSON(railbench string) ([]byte, error) {
	j := m.Judge()
	d := document{
		Version: Version, Railbench: railbench, Rig: m.Rig, Simulated: m.Simulated, Began: m.Began.Round(time.Millisecond),
		ElapsedMS: m.Elapsed.Milliseconds(), Conditions: m.Conditions, Nodes: m.Nodes, Rails: m.Rails, Verdict: j.Grade,
		Partners: m.Partners, ByLink: m.ByLink, Reason: j.Reason,
		Causes: []cause{}, Figures: []entry{},
	}
	for _, p := range m.Uncabled {
		d.Uncabled = append(d.Uncabled, [2]int{p.From, p.To})
	}
	for _, c := range j.Causes {
		d.Causes = append(d.Causes, cause{c.State.String(), c.What, c.Text, c.Evidence, c.Cells})
	}
	m.Places(func(p Place, c *Cell) bool {
		e := entry{
			Measure: p.What, From: p.From, To: p.To, Rail: p.Rail, Unit: Unit(p.What), First: rounded(c.First),
			Failed: c.Failed, Verdict: c.Grade,
			State: c.State.String(), Beside: int(c.Beside), Reason: c.Reason, Code: c.Code,
		}
		if c.Value > 0 {
			v := rounded(c.Value)
			e.Value = &v
		}
		d.Figures = append(d.Figures, e)
		return true
	})
	var out bytes.Buffer
	err := sanitize.JSON(&out, d)
	return out.Bytes(), err
}

// What a saved matrix may make of memory, besides its cells.
const (
	mostValue   = 1 << 20  // bytes of one value of it: a node, a figure
	mostReasons = 64 << 20 // bytes of all reasons that differ
	deepest     = 100      // brackets in each other, in what no one reads
)

// longestRun bounds how long a matrix says that it took.
const longestRun = 366 * 24 * time.Hour

// Read reads what JSON has written. It trusts nothing in it: what is out of bounds is an error, and names
// are cleaned where they are shown. It goes from value to value: a short file of empty figures would
// be large in memory.
func Read(from io.Reader) (*Matrix, error) {
	m, err := newSavedReader(from).read()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, errors.New("not a complete matrix of pairs: the file is empty or cut off")
	case err != nil:
		return nil, fmt.Errorf("read a matrix of pairs: %w", err)
	}
	m.settle()
	return m, nil
}

// A metered reader gives so many bytes and then an error, until it may give more.
type metered struct {
	from  io.Reader
	left  int // of one value
	total int // of all
}

var (
	errLongValue = fmt.Errorf("it has a value longer than %d MiB", mostValue>>20)
	errLongFile  = fmt.Errorf("it is longer than %d MiB", MostSaved>>20)
)

func (r *metered) Read(p []byte) (int, error) {
	switch {
	case r.total <= 0:
		return 0, errLongFile
	case r.left <= 0:
		return 0, errLongValue
	}
	n, err := r.from.Read(p[:min(len(p), r.left, r.total)])
	r.left, r.total = r.left-n, r.total-n
	return n, err
}

// A savedReader is on its way through a saved matrix.
type savedReader struct {
	in      *metered
	dec     *json.Decoder
	d       document
	m       *Matrix // once there are figures
	reasons map[string]string
	room    int // for reasons
}

func newSavedReader(from io.Reader) *savedReader {
	r := &savedReader{in: &metered{from, mostValue, MostSaved + 1}, reasons: map[string]string{}, room: mostReasons}
	r.dec = json.NewDecoder(r.in)
	return r
}

func (r *savedReader) token() (json.Token, error) {
	r.in.left = mostValue
	return r.dec.Token()
}

func (r *savedReader) value(into any) error {
	r.in.left = mostValue
	return r.dec.Decode(into)
}

func (r *savedReader) more() bool {
	r.in.left = mostValue
	return r.dec.More()
}

// delim takes a bracket.
func (r *savedReader) delim(want json.Delim) error {
	t, err := r.token()
	if err == nil && t != want {
		err = fmt.Errorf("expected %s instead of %q", want, fmt.Sprint(t))
	}
	return err
}

// list takes a list, an element after the other.
func (r *savedReader) list(element func() error) error {
	if err := r.delim('['); err != nil {
		return err
	}
	for r.more() {
		if err := element(); err != nil {
			return err
		}
	}
	return r.delim(']')
}

// skip takes a value that no one wants.
func (r *savedReader) skip() error {
	for depth := 0; ; {
		t, err := r.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		switch {
		case depth <= 0:
			return nil
		case depth > deepest:
			return fmt.Errorf("more than %d nested brackets", deepest)
		}
	}
}

func (r *savedReader) read() (*Matrix, error) {
	if err := r.delim('{'); err != nil {
		return nil, err
	}
	for r.more() {
		key, err := r.token()
		if err != nil {
			return nil, err
		}
		if name, ok := key.(string); ok {
			err = r.field(name)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.delim('}'); err != nil {
		return nil, err
	}
	if _, err := r.token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing data")
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	d, m := r.d, r.m
	elapsed := time.Duration(d.ElapsedMS)
	if elapsed < 0 || elapsed > longestRun/time.Millisecond {
		return nil, fmt.Errorf("invalid duration of %d ms", d.ElapsedMS)
	}
	if y := d.Began.Year(); y < 1 || y > 9000 {
		return nil, fmt.Errorf("invalid start in the year %d", y) // it could not be written again
	}
	m.Rig, m.Simulated, m.Began, m.Elapsed, m.Conditions = d.Rig, d.Simulated, d.Began, elapsed*time.Millisecond,
		d.Conditions
	m.ByLink = d.ByLink
	return m, nil
}

// listOf reads a list into another one; over is the error where it has more than most.
func listOf[T any](r *savedReader, into *[]T, most int, over error) error {
	return r.list(func() error {
		var one T
		err := r.value(&one)
		if *into = append(*into, one); err == nil && len(*into) > most {
			err = over
		}
		return err
	})
}

// field reads one field. What it means is judged again, and its own verdict and causes are passed over.
func (r *savedReader) field(name string) error {
	plain := map[string]any{
		"pairs": &r.d.Version, "rig": &r.d.Rig, "simulated": &r.d.Simulated, "began": &r.d.Began,
		"elapsedMS": &r.d.ElapsedMS, "conditions": &r.d.Conditions, "railsByLink": &r.d.ByLink, "partners": &r.d.Partners,
	}
	into, ok := plain[name]
	switch {
	case (name == "nodes" || name == "rails" || name == "uncabled" || name == "partners") && r.m != nil:
		return fmt.Errorf("its %s must come before its figures", name)
	case ok:
		return r.value(into)
	case name == "nodes":
		return listOf(r, &r.d.Nodes, mostNodes, fmt.Errorf("it has more than %d nodes", mostNodes))
	case name == "rails":
		return listOf(r, &r.d.Rails, MostRails, fmt.Errorf("it has more than %d rails", MostRails))
	case name == "uncabled":
		return listOf(r, &r.d.Uncabled, mostNodes*mostNodes/2, errors.New("more pairs without a cable than pairs"))
	case name == "figures":
		if err := r.begin(); err != nil {
			return err
		}
		return r.list(r.figure)
	}
	return r.skip()
}

// begin makes the matrix of what stands before the figures.
func (r *savedReader) begin() error {
	if r.m != nil {
		return nil
	}
	if r.d.Version == 0 {
		return errors.New("no version found")
	}
	if r.d.Version != Version {
		return fmt.Errorf("version %d, but this railbench reads %d", r.d.Version, Version)
	}
	if len(r.d.Nodes) < 2 {
		return fmt.Errorf("%d nodes and %d rails", len(r.d.Nodes), len(r.d.Rails))
	}
	if n := r.d.Partners; n != PartnersOf(len(r.d.Nodes), n) {
		return fmt.Errorf("%d nodes cannot be measured with %d others each", len(r.d.Nodes), n)
	}
	if why := TooMany(len(r.d.Nodes), len(r.d.Rails), r.d.Partners); why != "" {
		return errors.New(why)
	}
	for _, n := range r.d.Nodes {
		for _, each := range [][]string{n.Halves, n.Ports, n.Lacks} {
			if len(each) > len(r.d.Rails) {
				return errors.New("a node has more rails than the matrix")
			}
		}
	}
	r.m = New(r.d.Rig, r.d.Nodes, r.d.Rails, r.d.Partners)
	for _, p := range r.d.Uncabled {
		if !r.m.Uncable(Pair{p[0], p[1]}) {
			return fmt.Errorf("the missing cable from node %d to %d is listed twice or invalid", p[0], p[1])
		}
	}
	return nil
}

// once is one copy of a text that many cells have, within the room that there is.
func (r *savedReader) once(text string) string {
	kept, known := r.reasons[text]
	if !known {
		r.room -= len(text)
		kept, r.reasons[text] = text, text
	}
	return kept
}

func (r *savedReader) figure() error {
	var e entry
	if err := r.value(&e); err != nil {
		return err
	}
	value := float32(0)
	if e.Value != nil {
		value = float32(*e.Value)
	}
	c, first := r.m.At(e.Measure, e.Rail, e.From, e.To), float32(e.First)
	// What is finite as 64 bits need not be as 32, and could never be written again.
	if c == nil || e.Measure != steps.Throughput && e.Measure != steps.Latency || e.Value != nil && !(value > 0) ||
		first < 0 ||
		math.IsInf(float64(value), 0) || math.IsInf(float64(first), 0) {
		return fmt.Errorf("invalid figure from node %d to %d over rail %d", e.From, e.To, e.Rail)
	}
	reason, code := r.once(e.Reason), r.once(string(e.Code))
	if r.room < 0 {
		return fmt.Errorf("its reasons exceed %d MiB", mostReasons>>20)
	}
	*c = Cell{
		Value: value, First: first, Failed: e.Failed, Grade: e.Verdict, Beside: uint16(min(max(e.Beside, 0), mostNodes)),
		Reason: reason, Code: steps.Code(code),
	}
	return nil
}

// Unlike says why figures of one matrix are not those of another, which is called so; empty where they can be. That
// their hardware is another one is Rewired's to say.
func (m *Matrix) Unlike(other *Matrix, called string) string {
	switch {
	case m.Simulated != other.Simulated:
		return "only one of them is simulated"
	case len(m.Nodes) != len(other.Nodes):
		return fmt.Sprintf("it has %d nodes, but %s has %d", len(m.Nodes), called, len(other.Nodes))
	case m.cabledOtherwise(other):
		return fmt.Sprintf("its cabling differs: of its pairs %s, of %s %s", uncabled(m), called,
			uncabled(other))
	case len(m.Rails) != len(other.Rails):
		return fmt.Sprintf("it has %d rails, but %s has %d", len(m.Rails), called, len(other.Rails))
	case m.Conditions.Settings != other.Conditions.Settings:
		return fmt.Sprintf("it was measured with %s, but %s with %s", m.Conditions.Settings, called,
			other.Conditions.Settings)
	}
	for i, n := range m.Nodes {
		if is := other.Nodes[i]; n.Name != is.Name {
			return fmt.Sprintf("its node %d is %s, but in %s it is %s", i+1, n.Name, called, is.Name)
		}
	}
	return ""
}

// cabledOtherwise reports whether a pair has a cable in one of two matrices alone. Which cables a node has that did not
// answer is not known.
func (m *Matrix) cabledOtherwise(other *Matrix) bool {
	known := func(n Node) bool { return n.Hardware == "" || strings.Trim(n.Hardware, railBreak) != "" }
	none := func(m *Matrix, p Pair) bool { return m.none != nil && m.none[p.From*len(m.Nodes)+p.To] }
	for _, all := range [][]Pair{m.Uncabled, other.Uncabled} {
		for _, p := range all {
			if none(m, p) != none(other, p) && known(m.Nodes[p.From]) && known(m.Nodes[p.To]) &&
				known(other.Nodes[p.From]) && known(other.Nodes[p.To]) {
				return true
			}
		}
	}
	return false
}

// uncabled says how many pairs no cable joins, and the first of them.
func uncabled(m *Matrix) string {
	if len(m.Uncabled) == 0 {
		return "each has a cable"
	}
	p := m.Uncabled[0]
	return fmt.Sprintf("%d have none, as %s and %s", len(m.Uncabled), m.Nodes[p.From].Name, m.Nodes[p.To].Name)
}

// railBreak separates what a node's Hardware says of each rail; empty is unknown, as of a node that didn't answer.
const railBreak = "; "

// HardwareOf is a node's, from what is known of each of its rails.
func HardwareOf(rails []string) string { return strings.Join(rails, railBreak) }

// Rewired says of each rail that was other hardware in this matrix than it is in one that is not unlike it.
func (m *Matrix) Rewired(is *Matrix) (all []string) {
	for i, n := range m.Nodes {
		now := strings.Split(is.Nodes[i].Hardware, railBreak)
		for rail, was := range strings.Split(n.Hardware, railBreak) {
			if rail < len(m.Rails) && rail < len(now) && was != "" && now[rail] != "" && was != now[rail] {
				all = append(all, fmt.Sprintf("%s of %s was %s, and is %s", m.Rails[rail], n.Name, was, now[rail]))
			}
		}
	}
	return all
}

// LeavesOut says of which pair another matrix, which is like this one, has a figure that has no place in this; empty
// where all have.
func (m *Matrix) LeavesOut(known *Matrix) (words string) {
	known.Places(func(p Place, c *Cell) bool {
		if c.Grade != steps.NotRun && m.LeftOut(p.From, p.To) {
			words = known.words(p)
		}
		return words == ""
	})
	return words
}

// Take takes over what another matrix, which is like this one, has measured.
func (m *Matrix) Take(known *Matrix) {
	known.Places(func(p Place, c *Cell) bool {
		if own := m.At(p.What, p.Rail, p.From, p.To); own != nil {
			*own = *c
		}
		return true
	})
	for i := range m.Nodes { // what doesn't answer now is what it was
		now, was := strings.Split(m.Nodes[i].Hardware, railBreak), strings.Split(known.Nodes[i].Hardware, railBreak)
		for rail := range now {
			if now[rail] == "" && rail < len(was) {
				now[rail] = was[rail]
			}
		}
		m.Nodes[i].Hardware = HardwareOf(now)
	}
	settings, soft := m.Conditions.Settings, m.Conditions.Soft
	m.Conditions, m.Began, m.Elapsed = known.Conditions, known.Began, known.Elapsed
	m.Conditions.Settings, m.Conditions.Soft = settings, soft
	m.settle()
}
