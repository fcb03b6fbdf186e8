package notebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// Encode is the document as an .ipynb. The error is of one that Decode would not take.
func (d *Document) Encode(now time.Time) ([]byte, error) {
	if err := ofSession.shown(d); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	f := file{
		Major: 4, Minor: 5,
		Metadata: fileMetadata{Kernel: shellKernel, Language: shellLanguage, Railbench: &head{
			Format: format, Railbench: d.Railbench, Title: d.Book.Tutorial.Title, Created: d.Created, Saved: now,
			Simulated: d.Book.Rig.Simulated, Rig: wireRig(d.Book.Rig),
			Params: wireParams(d.Book.Params), Journal: d.seq,
		}},
	}
	w := writer{d: d, ids: names{}, notes: d.notes()}
	// Their ids are taken before ours are given: they stay as they are.
	for _, s := range d.strange {
		w.ids[s.id] = s.id != ""
	}
	// What stood above everything of ours stands there again.
	w.strangers("")
	w.markdown("railbench-session", facts{Kind: kindHead}, d.headText())
	for i, p := range d.shown() {
		w.part(i+1, p)
	}
	// Last: only now is known which were met.
	if all := w.notes.markdown(); all != "" {
		w.markdown("railbench-differences", facts{Kind: kindNotes}, all)
	}
	w.strangers(lost)
	f.Metadata.Railbench.Rigs = w.rigs
	b, err := indented(f, "")
	if err != nil {
		return nil, fmt.Errorf("write the session as JSON: %w", err)
	}
	b = append(bytes.TrimSuffix(b, []byte("\n}")), ",\n \"cells\": ["...)
	for i, c := range w.cells {
		// A stranger's as it came: what blanks it has are its own.
		text, ok := c.(json.RawMessage)
		if !ok {
			if text, err = indented(c, "  "); err != nil {
				return nil, fmt.Errorf("write the session as JSON: %w", err)
			}
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n  "...), text...)
	}
	b = sanitize.EscapeJSON(append(b, "\n ]\n}\n"...))
	return b, opens(b, len(w.cells), ofSession)
}

// A writer puts a document's cells in their order, and a stranger behind the cell of ours that it stood behind.
type writer struct {
	d     *Document
	ids   names
	rigs  []rigWire
	cells []any
	put   map[string]bool // anchors of the strangers that are in
	notes *notes
}

// strangers adds foreign cells that stood behind a cell of ours; lost is for those whose cell is gone.
func (w *writer) strangers(after string) {
	if w.put == nil {
		w.put = map[string]bool{}
	}
	for _, s := range w.d.strange {
		if s.after == after || after == lost && !w.put[s.after] {
			w.cells = append(w.cells, s.raw)
		}
	}
	w.put[after] = true
}

const lost = "\x00"

// markdown adds a cell of text. Foreign cells that stood behind it follow.
func (w *writer) markdown(id string, f facts, source string) {
	f.Simulated = w.d.Book.Rig.Simulated && f.Kind == kindHead
	id = w.ids.give(id)
	w.cells = append(w.cells, markdownCell{
		Type: "markdown", ID: id, Metadata: cellMetadata{Railbench: &f},
		Source: text(source),
	})
	w.strangers(id)
}

// part adds a part: its heading, and of each cell what stands above the script, the script
// with its outputs, and what stands below. A reader of the .ipynb sees the tutorial.
func (w *writer) part(n int, p steps.Part) {
	text, notes := w.notes.wired(p.Prose, p.Title)
	w.markdown("part-"+p.ID, facts{
		Kind: kindPart, Part: p.ID, Title: p.Title, Check: w.d.inChecklist(p.ID),
		Edited: w.d.edited[p.ID], Notes: notes,
	}, titled(fmt.Sprintf("## %d. %s", n, markdownText(p.Title)), text))
	for _, c := range p.Cells {
		now := c
		if c.Note() {
			w.markdown(c.ID, facts{Kind: kindNote, Part: p.ID, Cell: c.ID, Title: c.Title, Definition: &now}, c.Prose)
			continue
		}
		// What it says above a script that ran is what it said then.
		c = w.d.cell(c)
		where := noteWhere(p, c)
		text, notes := w.notes.wired(c.Prose, where)
		w.markdown(c.ID+"-about", facts{Kind: kindAbout, Part: p.ID, Cell: c.ID, Title: c.Title, Notes: notes},
			titled("### "+markdownText(c.Title), text))
		w.code(p, c, now)
		if c.Tail != "" {
			text, notes = w.notes.wired(c.Tail, where)
			w.markdown(c.ID+"-tail", facts{Kind: kindTail, Part: p.ID, Cell: c.ID, Notes: notes}, strings.TrimSpace(text))
		}
	}
}

// inChecklist reports whether a part is of the checklist, which a mark on each of its cells shows in the
// file.
func (d *Document) inChecklist(part string) bool {
	for _, p := range d.Book.Tutorial.Checklist {
		if p.ID == part {
			return true
		}
	}
	return false
}

// titled is the opposite of untitled.
func titled(title, prose string) string {
	if prose = strings.TrimSpace(prose); prose == "" {
		return title
	}
	return title + "\n\n" + prose
}

// code adds a cell that runs. The outputs are those of Jupyter, and what they leave out is
// in the metadata.
func (w *writer) code(p steps.Part, c, now steps.Cell) {
	f := w.d.facts(p, c)
	if w.d.edited[p.ID] {
		f.Definition = &now
	}
	if r := w.d.Book.Cells[c.ID].Rig; !r.Probed.IsZero() {
		f.Rig = w.rig(wireRig(r))
	}
	cell := codeCell{
		Type: "code", ID: w.ids.give(c.ID), Metadata: cellMetadata{Railbench: &f}, // f gets more below
		Source: text(w.d.source(c)), Outputs: []any{},
	}
	if s, ran := w.d.Book.Cells[c.ID]; ran {
		// null where it never ran, as Jupyter has it.
		if s.Run > 0 {
			cell.Count = new(int(s.Run))
		}
		cell.Metadata.Execution = times(s)
		streams, from := w.d.streams(c, s)
		if len(from.Lines) > 0 || from.Dropped > 0 {
			f.Output = from
		}
		for _, o := range streams {
			cell.Outputs = append(cell.Outputs, o)
		}
		cell.Outputs = append(cell.Outputs, w.d.shows(c, s)...)
	}
	w.cells = append(w.cells, cell)
	w.strangers(cell.ID)
}

// rig is the place of a look at the nodes among those that are saved, from 1. Two that
// saw the same are one.
func (w *writer) rig(r rigWire) int {
	for i, known := range w.rigs {
		// When it was looked at makes no other rig of it.
		known.Probed = r.Probed
		if reflect.DeepEqual(known, r) {
			return i + 1
		}
	}
	w.rigs = append(w.rigs, r)
	return len(w.rigs)
}

// times are the stamps that Jupyter itself gives a run, so that its extensions show how
// long it took.
func times(s steps.CellState) map[string]string {
	if s.Started.IsZero() {
		return nil
	}
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	m := map[string]string{"iopub.execute_input": stamp(s.Started), "iopub.status.busy": stamp(s.Started)}
	if !s.Running {
		end := stamp(s.Started.Add(s.Elapsed))
		m["iopub.status.idle"], m["shell.execute_reply"] = end, end
	}
	return m
}

// definition is what a cell is, without what it came to.
func (d *Document) definition(part string, c steps.Cell) facts {
	f := facts{
		Kind: kindCell, Part: part, Cell: c.ID, Title: c.Title,
		Check: d.inChecklist(part), Simulated: d.Book.Rig.Simulated,
	}
	f.EachRail, f.Own = c.EachRail, c.Own
	for _, r := range c.Roles {
		w := roleWire{
			Name: r.Name, On: r.On.String(), Root: r.Root, Script: r.Script,
			Before: r.Before, Probe: r.Probe, Shared: r.Shared, Interpreter: r.Interpreter,
		}
		for _, e := range r.On.Ends() {
			w.Nodes = append(w.Nodes, d.node(e))
		}
		f.Roles = append(f.Roles, w)
	}
	return f
}

// facts are what the file says of a cell apart from its texts.
func (d *Document) facts(p steps.Part, c steps.Cell) facts {
	f := d.definition(p.ID, c)
	s, ran := d.Book.Cells[c.ID]
	if !ran {
		return f
	}
	f.Run, f.Running, f.Log, f.Gauges, f.Params = int(s.Run), s.Running, s.Log, d.samples[c.ID], s.Params
	if s.Verdict.Grade != steps.NotRun {
		f.Verdict = new(finite(s.Verdict))
	}
	if s.HasExit {
		f.Exit = wireExit(s.Exit)
	}
	if !s.Started.IsZero() {
		f.Started = new(s.Started)
	}
	f.ElapsedMS, f.Rails = milliseconds(s.Elapsed), d.wireBytes(s.Bytes)
	if len(s.Live.Columns) > 0 && s.Running {
		f.Live = new(s.Live)
	}
	return f
}

// source is what a cell runs, each role with where it runs.
func (d *Document) source(c steps.Cell) string {
	if c.Own != "" {
		return "# railbench does this itself: " + c.Own
	}
	var b strings.Builder
	lessons, probes := c.Lessons()
	// A cell that only probes has nothing to teach, and is shown by what it runs.
	if len(lessons) == 0 {
		lessons = probes
	}
	for i, l := range lessons {
		if i > 0 {
			b.WriteString("\n\n")
		}
		// One script here needs no word about where.
		if len(c.Roles) > 1 || l.On != steps.OnHere {
			sanitize.Fprintf(&b, "# --- %s\n", d.places(c, l))
		}
		b.WriteString(strings.TrimRight(l.Script, "\n"))
	}
	return b.String()
}

// places says which roles run a script, and where.
func (d *Document) places(c steps.Cell, l steps.Lesson) string {
	var all []string
	for i := l.No; i < len(c.Roles) && (i == l.No || c.Roles[i].Shared); i++ {
		var on []string
		for _, e := range c.Roles[i].On.Ends() {
			on = append(on, d.node(e))
		}
		place := "on " + strings.Join(on, " and ")
		if name := c.Roles[i].Name; name != "" {
			place = name + ", " + place
		}
		all = append(all, place)
	}
	return strings.Join(all, "; ")
}

// shows are what stands below a cell's lines: what it came to.
func (d *Document) shows(c steps.Cell, s steps.CellState) []any {
	var all []any
	// A run that goes on has no verdict, but figures up to now.
	if s.Running && len(s.Live.Columns) > 0 {
		all = append(all, d.tableOutput(s.Live))
	}
	if s.Verdict.Grade == steps.NotRun {
		return all
	}
	// What could not even be run is an error in Jupyter, too.
	if !s.HasExit && s.Verdict.Grade == steps.Inconclusive && c.Own == "" {
		all = append(all, failure{"error", s.Verdict.Grade.String(), d.mark(s.Verdict.Reason), []string{}})
	}
	all = append(all, d.verdictOutput(s))
	for _, t := range s.Verdict.Tables {
		all = append(all, d.tableOutput(t))
	}
	for _, x := range s.Verdict.Charts {
		all = append(all, d.chartOutput(x))
	}
	if g := d.samples[c.ID]; g.moved() {
		all = append(all, d.gaugesOutput(g))
	}
	return all
}

// show marks an output as one of railbench's, which is made again when the file is written and never read
// back.
func (d *Document) show(kind string, data map[string]text) display {
	return display{"display_data", data, displayMetadata{displayFacts{kind, d.Book.Rig.Simulated}}}
}

func (d *Document) verdictOutput(s steps.CellState) display {
	return d.show(showVerdict, map[string]text{
		"text/plain": text(d.verdictText(s)), "text/markdown": text(d.verdictMarkdown(s, true)),
		"text/html": text(d.verdictHTML(s)),
	})
}

func (d *Document) tableOutput(t steps.Table) display {
	t.Title = d.mark(t.Title)
	return d.show(showTable, map[string]text{
		"text/plain":    text(tableText(t)),
		"text/markdown": text(tableMarkdown(t)), "text/html": text(tableHTML(t)),
	})
}

// chartOutput is a picture, and text for programs that show none.
func (d *Document) chartOutput(c steps.Chart) display {
	c.Title = d.mark(c.Title)
	return d.show(showChart,
		map[string]text{"text/plain": text(chartText(c)), "image/svg+xml": text(chartSVG(c, true))})
}

func (d *Document) gaugesOutput(s *Samples) display {
	if !s.curve() {
		return d.tableOutput(s.runs(gaugesTitle))
	}
	title := d.mark(gaugesTitle)
	return d.show(showGauges,
		map[string]text{"text/plain": text(gaugesText(title, s)), "image/svg+xml": text(gaugesSVG(title, s, true))})
}

// streams are a cell's lines as Jupyter's outputs, one for each change from stdout to
// stderr, and where each line came from. The last lines stay, up to keepBytes.
func (d *Document) streams(c steps.Cell, s steps.CellState) ([]stream, *outputWire) {
	kept := s.Output.Lines(0, s.Output.Len())
	// By the texts alone: the prefixes are added below, and are short.
	size, from := 0, len(kept)
	// From the end: what a run came to stands there.
	for from > 0 && size+len(kept[from-1].Text) <= keepBytes {
		from--
		size += len(kept[from].Text)
	}
	where := &outputWire{Dropped: s.Output.Dropped() + from}
	named := c.OnSeveral()
	var all []stream
	var b strings.Builder
	open := ""
	flush := func() {
		if b.Len() > 0 {
			all = append(all, stream{"stream", open, text(b.String())})
		}
		b.Reset()
	}
	for _, l := range kept[from:] {
		name := "stdout"
		if l.Kind == steps.FromStderr {
			name = "stderr"
		}
		if name != open {
			flush()
			open = name
		}
		b.WriteString(linePrefix(l, named))
		b.WriteString(painted(l))
		b.WriteByte('\n')
		w := lineWire{kindNames[l.Kind], l.From, l.Role, 1}
		if n := len(where.Lines); n > 0 && where.Lines[n-1].same(w) {
			where.Lines[n-1].Count++
		} else {
			where.Lines = append(where.Lines, w)
		}
	}
	flush()
	return all, where
}

func (w lineWire) same(o lineWire) bool {
	return w.Kind == o.Kind && w.From == o.From && w.Role == o.Role
}

// linePrefix is a line's node, or the mark of railbench's own lines, as on the screen.
func linePrefix(l steps.OutputLine, named bool) string {
	switch {
	case l.Kind == steps.Note:
		return "· "
	case named && l.From != "":
		return l.From + " │ "
	}
	return ""
}
