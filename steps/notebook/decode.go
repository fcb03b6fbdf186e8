package notebook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// Damaged is about a file that was cut short or is not valid JSON.
type Damaged struct {
	// Found is what could be read of it, Cells how many cells that is.
	Found *Document
	Cells int
	Err   error
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("cut short or damaged after %d cells: %v", e.Cells, e.Err)
}

func (e *Damaged) Unwrap() error { return e.Err }

// The files that are none of ours.
var (
	errNotebook = errors.New("no Jupyter notebook: it has no cells")
	errSession  = errors.New("a notebook, but not a session that railbench saved: it has no metadata.railbench")
)

// A stranger is a cell that another program put into the file, such as Jupyter. It is kept as it came.
type stranger struct {
	id    string
	after string // the id of the cell of ours that it stood behind; empty at the top
	raw   json.RawMessage
}

// fileIn is a notebook but for its cells.
type fileIn struct {
	Major    *int
	Minor    int
	Metadata json.RawMessage
	Cells    int // -1 where it has no list of them
}

// A cellIn is what is read of a cell; outputs other than streams are made again from the metadata.
type cellIn struct {
	Type     string `json:"cell_type"`
	ID       string `json:"id"`
	Metadata struct {
		Railbench json.RawMessage `json:"railbench"`
	} `json:"metadata"`
	Source  text `json:"source"`
	Outputs []struct {
		Type string `json:"output_type"`
		Name string `json:"name"`
		Text text   `json:"text"`
	} `json:"outputs"`
}

// Decode reads an .ipynb that Encode wrote, and that Jupyter may have saved since.
func Decode(b []byte) (*Document, error) { return decode(bytes.NewReader(b), ofSession) }

// decode is Decode of a file, of which it never holds more than it has to. What the cells of a long one mean stands
// behind them: it is read twice.
func decode(file io.ReadSeeker, limit bounds) (*Document, error) {
	var held []json.RawMessage
	size := 0
	f, broken, err := scan(file, limit, func(raw json.RawMessage) error {
		if size += len(raw); size <= limit.held {
			held = append(held, slices.Clone(raw))
		} else {
			// One cell too many and none is held: the file is read again.
			held = nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if errors.Is(broken, io.EOF) {
		return nil, errors.New("empty")
	}
	if err := f.readable(broken); err != nil {
		return nil, err
	}
	var meta struct {
		Railbench *json.RawMessage `json:"railbench"`
	}
	_ = json.Unmarshal(f.Metadata, &meta) // without any it is not a session, which is reported below
	h, err := readHead(meta.Railbench)
	if err != nil {
		return nil, err
	}
	if err := limit.rigs(append(h.Rigs, h.Rig)...); err != nil {
		return nil, err
	}
	r := newReader(h, limit)
	for _, raw := range held {
		if err := r.cell(raw); err != nil {
			return nil, err
		}
	}
	// The metadata stand behind the cells where Jupyter has saved it: only now is known what the cells mean.
	if size > limit.held {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if _, _, err := scan(file, limit, r.cell); err != nil {
			return nil, err
		}
	}
	switch {
	// Damaged, where something of railbench's was found: that is worth to be rescued.
	case broken != nil && (r.ours > 0 || meta.Railbench != nil):
		return nil, &Damaged{Found: r.d, Cells: max(0, f.Cells), Err: broken}
	case broken != nil:
		return nil, fmt.Errorf("no Jupyter notebook that can be read: %w", broken)
	case meta.Railbench == nil:
		return nil, errSession
	}
	return r.d, limit.shown(r.d)
}

// readable is what is wrong with the file as a notebook; broken is what was wrong with its
// JSON, so that f is what could be saved of it.
func (f fileIn) readable(broken error) error {
	switch {
	case f.Major == nil && f.Cells < 0 && len(f.Metadata) == 0:
		if broken != nil {
			return fmt.Errorf("no Jupyter notebook: %w", broken)
		}
		return errNotebook
	case f.Major != nil && *f.Major > 4:
		return fmt.Errorf("a notebook of a newer format, nbformat %d.%d: this railbench reads 4.5", *f.Major, f.Minor)
	// nbformat 3 had its cells in worksheets.
	case f.Major != nil && *f.Major < 4:
		return fmt.Errorf("a notebook of an old format, nbformat %d.%d: this railbench reads 4.5 (Jupyter converts it)",
			*f.Major, f.Minor)
	}
	return nil
}

// readHead reads metadata.railbench; a file without it has an empty one.
func readHead(raw *json.RawMessage) (head, error) {
	if raw == nil {
		return head{}, nil
	}
	// A newer one may have another form: that it is newer is what to say then.
	var version struct {
		Format    int    `json:"format"`
		Railbench string `json:"railbench"`
	}
	err := json.Unmarshal(*raw, &version)
	if err == nil && version.Format > format {
		return head{}, fmt.Errorf("saved by a newer railbench (%s, format %d):"+
			" this one reads format %d, so take that one", version.Railbench, version.Format, format)
	}
	var h head
	if err == nil {
		err = json.Unmarshal(*raw, &h)
	}
	if err != nil {
		return head{}, fmt.Errorf("its metadata.railbench can't be read: %w", err)
	}
	return h, nil
}

// scan reads a notebook up to where its JSON ends or breaks, which broken is about, and hands its cells over, one
// after the other; a cell is the callee's until it returns. err is about a file that can't be read, or has too much of
// something, or the callee's.
func scan(file io.Reader, limit bounds, cell func(json.RawMessage) error) (f fileIn, broken, err error) {
	in := &rationed{r: file, ration: limit.cell, left: limit.cell}
	s := scanner{in: in, dec: json.NewDecoder(in), cell: cell, limit: limit, file: fileIn{Cells: -1}}
	broken = s.notebook()
	if err = cmp.Or(s.refused, in.err); err != nil {
		broken = nil
	}
	return s.file, broken, err
}

// A rationed reader reads so much, and remembers why it couldn't.
type rationed struct {
	r            io.Reader
	ration, left int // bytes
	err          error
}

func (r *rationed) Read(b []byte) (int, error) {
	if r.left <= 0 {
		r.err = fmt.Errorf("not a session that railbench saved: a part of it is longer than %d bytes", r.ration)
		return 0, r.err
	}
	n, err := r.r.Read(b[:min(len(b), r.left)])
	r.left -= n
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// A scanner goes through a file once, and holds no more than one value of it.
type scanner struct {
	in      *rationed
	dec     *json.Decoder
	cell    func(json.RawMessage) error
	limit   bounds
	parts   int // objects and lists so far
	file    fileIn
	odd     error // a value that is none of its key's: what stands behind it is read all the same
	refused error
}

// notebook reads the object that the file is. Its error is about the JSON.
func (s *scanner) notebook() error {
	t, err := s.dec.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return errNotebook
	}
	for s.dec.More() {
		// Each value has the whole ration: what is bounded is what the decoder holds at once.
		s.in.left = s.in.ration
		key, err := s.dec.Token()
		if err == nil && key == "cells" {
			err = s.cells()
		} else if err == nil {
			err = s.value(key)
		}
		if err != nil {
			return inside(err)
		}
	}
	if _, err := s.dec.Token(); err != nil {
		return inside(err)
	}
	// Two notebooks in one file are none: which of them would be meant?
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errors.New("there is more behind its end"))
	}
	return s.odd
}

// inside is the error of a text that ends in its middle.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// cells hands over each cell as it comes. Each has a limit: a long file of short cells is harmless, a long
// cell is not.
func (s *scanner) cells() error {
	if t, err := s.dec.Token(); err != nil || t != json.Delim('[') {
		return cmp.Or(err, errors.New("its cells are not a list"))
	}
	s.file.Cells = 0
	for s.dec.More() {
		s.in.left = s.in.ration
		var raw json.RawMessage
		if err := s.dec.Decode(&raw); err != nil {
			return err
		}
		if s.file.Cells++; s.file.Cells > s.limit.cells {
			s.refused = fmt.Errorf("not a session that railbench saved: it has more than %d cells", s.limit.cells)
			return s.refused
		}
		if s.refused = s.limit.bounded(raw, &s.parts); s.refused == nil {
			s.refused = s.cell(raw)
		}
		if s.refused != nil {
			return s.refused
		}
	}
	_, err := s.dec.Token()
	return err
}

// value reads everything but a list of cells.
func (s *scanner) value(key json.Token) error {
	var raw json.RawMessage
	if err := s.dec.Decode(&raw); err != nil {
		return err
	}
	if s.refused = s.limit.bounded(raw, &s.parts); s.refused != nil {
		return s.refused
	}
	switch key {
	case "metadata":
		s.file.Metadata = raw
	case "nbformat":
		var major *int
		if err := json.Unmarshal(raw, &major); err != nil {
			s.odd = err // it is of no format then, and not of 0
		} else {
			s.file.Major = major
		}
	case "nbformat_minor":
		s.odd = cmp.Or(s.odd, json.Unmarshal(raw, &s.file.Minor))
	}
	return nil
}

// A reader makes a document of cells.
type reader struct {
	d     *Document
	seen  map[string]bool
	prose map[string]string // of the next cell, by its id
	rigs  []rigWire
	last  string // the id of the last cell of ours
	ours  int
	own   int // bytes of all cells, without their outputs
	limit bounds
}

func newReader(h head, limit bounds) reader {
	r := reader{
		d:    New(h.Railbench, steps.Tutorial{Title: h.Title}, h.Created),
		rigs: h.Rigs, seen: map[string]bool{}, prose: map[string]string{}, limit: limit,
	}
	r.d.seq = h.Journal
	r.d.Book.Rig, r.d.Book.Params = h.Rig.rig(), h.Params.settings()
	r.d.Book.Rig.Simulated = h.Simulated || h.Rig.Simulated
	return r
}

// cell reads one cell of the file. The error is about one that names itself as no cell
// of railbench's does.
func (r *reader) cell(raw json.RawMessage) error {
	var c cellIn
	var f facts
	err := json.Unmarshal(raw, &c)
	if err == nil && len(c.Metadata.Railbench) > 0 {
		err = json.Unmarshal(c.Metadata.Railbench, &f)
	}
	// A cell has several texts and one script: the kind separates them. Ids have no blanks.
	key := f.Kind + " " + f.Part + " " + f.Cell
	strange := err != nil || !f.ours(c.Type) || r.seen[key]
	if strange {
		raw = sanitize.EscapeJSON(bytes.ReplaceAll(raw, []byte("\r"), nil)) // as it is written again
	}
	// A stranger is kept whole, with its outputs.
	if r.own += len(c.Source) + len(c.Metadata.Railbench); strange {
		r.own += len(raw)
	}
	if r.own > r.limit.own {
		return fmt.Errorf("not a session that railbench saved: beside the outputs it has more than %d bytes", r.limit.own)
	}
	// A copy of a cell of ours has its metadata: the first one is meant.
	if strange {
		r.d.strange = append(r.d.strange, stranger{c.ID, r.last, slices.Clone(raw)})
		return nil
	}
	// Only for cells of ours: a stranger's ids become no paths.
	if err := cmp.Or(f.named(), r.limit.within(f)); err != nil {
		return err
	}
	r.seen[key], r.last = true, c.ID
	r.ours++
	// One simulated cell is enough: what was simulated is never shown as measured.
	r.d.Book.Rig.Simulated = r.d.Book.Rig.Simulated || f.Simulated
	for _, n := range f.Notes {
		r.d.numbers[n.Text] = n.No
	}
	r.ownCell(c, f)
	return nil
}

// ownCell reads a cell of ours.
func (r *reader) ownCell(c cellIn, f facts) {
	switch f.Kind {
	case kindPart:
		p := r.part(f)
		p.Title, p.Prose = f.Title, restored(untitled(string(c.Source)), f.Notes)
		if f.Edited {
			r.d.edited[f.Part] = true
		}
	case kindNote:
		r.note(c, f)
	case kindAbout:
		r.prose[f.Cell] = restored(untitled(string(c.Source)), f.Notes)
	case kindTail:
		r.tail(c, f)
	case kindCell:
		r.code(c, f)
	}
}

// ours reports whether a cell of a type is one of railbench's, by what it says of itself.
func (f facts) ours(typ string) bool {
	switch f.Kind {
	// Jupyter's raw cells count as text: a cell may have been switched in Jupyter.
	case kindHead, kindPart, kindAbout, kindTail, kindNotes:
		return typ != "code"
	case kindNote:
		return typ != "code" && f.Cell != ""
	case kindCell:
		return typ == "code" && f.Cell != ""
	}
	return false
}

// note adds a text that the user wrote. The text of the file wins over the definition's: it may have been
// edited in Jupyter.
func (r *reader) note(c cellIn, f facts) {
	p := r.part(f)
	note := steps.Cell{Scratch: true}
	if f.Definition != nil {
		note = *f.Definition
	}
	note.ID, note.Part, note.Title, note.Prose = f.Cell, f.Part, f.Title, string(c.Source)
	p.Cells = append(p.Cells, note)
}

// tail gives a cell the text behind it, as it is now and as it ran.
func (r *reader) tail(c cellIn, f facts) {
	p := r.part(f)
	i := slices.IndexFunc(p.Cells, func(x steps.Cell) bool { return x.ID == f.Cell })
	if i < 0 {
		return
	}
	p.Cells[i].Tail = restored(string(c.Source), f.Notes)
	if ran, ok := r.d.ran[f.Cell]; ok {
		ran.Tail = p.Cells[i].Tail
		r.d.ran[f.Cell] = ran
	}
}

// named says what is wrong with the ids in facts; those of a kind that has none are
// empty.
func (f facts) named() error {
	for _, id := range []string{f.Part, f.Cell} {
		if id != "" && !steps.IsID(id) {
			return noID(id)
		}
	}
	return nil
}

func noID(id string) error {
	return fmt.Errorf("%q is not an id of a cell or a part:"+
		" the file was changed, and railbench takes nothing from it", id)
}

// part finds a part of the document, or makes it.
func (r *reader) part(f facts) *steps.Part {
	t := &r.d.Book.Tutorial
	if f.Check || slices.ContainsFunc(t.Checklist, func(p steps.Part) bool { return p.ID == f.Part }) {
		return partOf(&t.Checklist, f.Part)
	}
	return partOf(&t.Parts, f.Part)
}

func partOf(list *[]steps.Part, id string) *steps.Part {
	// By its place and not by its value: what is added to it has to be in the list.
	for i := range *list {
		if (*list)[i].ID == id {
			return &(*list)[i]
		}
	}
	*list = append(*list, steps.Part{ID: id, Title: id})
	return &(*list)[len(*list)-1]
}

// untitled is a text without its heading.
func untitled(s string) string {
	if strings.HasPrefix(s, "#") {
		_, s, _ = strings.Cut(s, "\n")
	}
	return strings.TrimSpace(s)
}

// cell is the cell that facts are about.
func (f facts) cell() steps.Cell {
	c := steps.Cell{ID: f.Cell, Part: f.Part, Title: f.Title, EachRail: f.EachRail, Own: f.Own}
	for _, w := range f.Roles {
		c.Roles = append(c.Roles, steps.Role{
			Name: w.Name, On: whereOf(w.On), Script: w.Script, Root: w.Root,
			Before: w.Before, Probe: w.Probe, Shared: w.Shared, Interpreter: w.Interpreter,
		})
	}
	return c
}

// code adds a cell, and what its last run left.
func (r *reader) code(in cellIn, f facts) {
	c := f.cell()
	c.Prose = r.prose[f.Cell]
	p := r.part(f)
	// Of an edited part the cell as it is now; what it ran is kept separately (ran).
	if now := f.Definition; now != nil && now.ID == c.ID {
		now.Part = f.Part
		p.Cells = append(p.Cells, *now)
	} else {
		p.Cells = append(p.Cells, c)
	}
	if f.Run == 0 && !f.Running && f.Verdict == nil {
		return // it never ran
	}
	s := f.state()
	s.Output = r.output(c, in, f.Output)
	// Those of the run: the definition may have been edited since.
	for _, role := range c.Roles {
		s.Scripts = append(s.Scripts, role.Script)
	}
	if f.Rig > 0 && f.Rig <= len(r.rigs) {
		s.Rig = r.rigs[f.Rig-1].rig()
	}
	if g := f.Gauges; g != nil && g.StepMS > 0 {
		g.from = s.Started
		r.d.samples[c.ID] = g
	}
	r.d.ran[c.ID] = c
	r.d.Book.Put(c.ID, s)
	if s.Running && r.d.Book.Running == "" {
		r.d.Book.Running = c.ID
	}
}

// state is what facts say of a run by themselves.
func (f facts) state() steps.CellState {
	s := steps.CellState{
		Run: steps.RunID(f.Run), Running: f.Running, Elapsed: duration(f.ElapsedMS),
		Bytes: railBytes(f.Rails), Log: f.Log, Params: f.Params, Scripts: []string{},
	}
	if f.Started != nil {
		s.Started = *f.Started
	}
	if f.Exit != nil {
		s.Exit, s.HasExit = f.Exit.exit(), true
	}
	if f.Verdict != nil {
		s.Verdict = *f.Verdict
	}
	if f.Live != nil {
		s.Live = *f.Live
	}
	return s
}

// blockOfText is up to how many bytes of a stream may stay for the sake of one line.
const blockOfText = 64 << 10

// linesAtOnce is how many lines are held until what is not kept of them is dropped: an empty line of the file takes far
// more memory than its byte.
const linesAtOnce = 1024

// lines are the lines of the streams.
func (in cellIn) lines(yield func(steps.OutputLine) bool) {
	for _, o := range in.Outputs {
		if o.Type != "stream" {
			continue
		}
		kind := steps.FromStdout
		if o.Name == "stderr" {
			kind = steps.FromStderr
		}
		for l := range strings.Lines(string(o.Text)) {
			l = strings.TrimSuffix(l, "\n")
			if len(o.Text) > blockOfText {
				l = strings.Clone(l) // or one line that is kept would keep all others
			}
			if !yield(steps.OutputLine{Kind: kind, Text: l}) {
				return
			}
		}
	}
}

// output makes lines of the streams again. If the streams are not those that were saved, because the cell was
// run in Jupyter, they are taken as they are: which node printed a line is lost.
func (r *reader) output(c steps.Cell, in cellIn, w *outputWire) steps.Scroll {
	left := 0
	for range in.lines {
		left++
	}
	if w == nil {
		w = &outputWire{}
	}
	for _, x := range w.Lines {
		// An altered count would be a loop without an end.
		if x.Count < 0 || x.Count > left {
			left = -1
			break
		}
		left -= x.Count
	}
	saved := left == 0
	var all steps.Scroll
	if saved {
		all = all.Skip(w.Dropped) // lines keep the numbers that they had in the log
	}
	var some []steps.OutputLine
	named, i, of := c.OnSeveral(), 0, 0
	for l := range in.lines {
		if saved {
			for ; of == w.Lines[i].Count; i++ {
				of = 0
			}
			of++
			l.Kind, l.From, l.Role = kindOf(w.Lines[i].Kind), w.Lines[i].From, w.Lines[i].Role
			l.Text = strings.TrimPrefix(l.Text, linePrefix(l, named))
		}
		l.Text, l.Spans = unpainted(l.Text)
		if some = append(some, l); len(some) == linesAtOnce {
			all, some = all.Append(some), nil
		}
	}
	return all.Append(some)
}
