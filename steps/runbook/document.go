package runbook

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/sanitize"
)

// MaxBytes is how long a file may be. The longest part of the tutorial has 17 kB.
const MaxBytes = 256 << 10

// A Document is one part with its source, and knows where in it everything stands.
type Document struct {
	Name  string
	Title string // the tutorial's
	Part  steps.Part
	// Problems are what keeps it from being read, by line; the part has what could be.
	Problems []Problem

	source
	headings map[string]int            // the lines of the part's and the cells' headings, by id
	given    map[string]map[string]int // the lines of attributes, by cell and name
	params   map[string]int            // the lines of parameters
	scripts  map[string][]block        // by cell, as its roles
	// preambles, by name: what the scripts of the file can have run before them.
	preambles map[string]preamble
}

// A block is where a script stands; offsets are into the source's text.
type block struct {
	info     int   // the fence's attributes
	from, to int   // what is between the fences
	lines    []int // where each line of the script begins, without the fence's indent
	indent   string
}

// problem is one of this document.
func (d Document) problem(line int, format string, args ...any) Problem {
	return Problem{File: d.Name, Line: line, Text: plain(fmt.Sprintf(format, args...))}
}

// Read reads one part, as Parse describes, with everything that is wrong with it.
func Read(name string, src []byte) Document {
	r := reader{
		source: newSource(src), preambles: map[string]preamble{},
		doc: Document{
			Name: name, headings: map[string]int{}, given: map[string]map[string]int{},
			params: map[string]int{}, scripts: map[string][]block{},
		},
	}
	r.doc.source, r.doc.preambles = r.source, r.preambles
	if r.readable(src) {
		r.doc.Title = Title(src)
		r.read()
	}
	byLine(r.doc.Problems)
	return r.doc
}

// readable reports whether the file is text that a runbook could be.
func (r *reader) readable(src []byte) bool {
	if len(src) > MaxBytes {
		r.problem(0, "it is longer than %d KiB, and no runbook is: is it the right file?", MaxBytes>>10)
		return false
	}
	if i := invalid(r.text); i >= 0 {
		line, column := r.position(i)
		r.doc.Problems = append(r.doc.Problems, Problem{
			File: r.doc.Name, Line: line,
			Column: column, Text: "it is not text in UTF-8 from here on: save it as UTF-8",
		})
		return false
	}
	if bytes.HasPrefix(r.text, []byte("---\n")) {
		r.problem(1, "front matter between lines of --- is not read:"+
			" the title stands in a comment, <!-- tutorial: Title -->")
		return false
	}
	at := 0
	for line := range bytes.Lines(r.text) {
		if sanitize.TooDeep(string(line)) {
			r.wrong(at, "more than 50 quotes or lists stand in each other")
			return false
		}
		at += len(line)
	}
	return true
}

// invalid is the offset of the first byte that is not of a text; -1 where there is
// none.
func invalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 || r == 0 {
			return i
		}
		i += size
	}
	return -1
}

var titleComment = lazyregexp.New(`(?s)\A\s*<!--\s*tutorial:\s*(.*?)\s*-->`)

func (r *reader) read() {
	// What is within a paragraph is of no interest here, and takes longest to read.
	blocks := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		parser.WithHeadingAttribute(),
	)
	tree := blocks.Parse(text.NewReader(r.text))
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level <= 2 {
				r.heading(n)
			}
		case *ast.FencedCodeBlock:
			r.fence(n)
		case *ast.HTMLBlock:
			r.comment(n)
		}
	}
	r.endCell(len(r.text))
	if !r.started && len(r.doc.Problems) == 0 {
		r.problem(0, "the heading of the part is missing: # Title {#id}")
	}
}

// A reader walks through one file.
type reader struct {
	source
	doc Document
	// prose is where the text begins that belongs to what is open.
	prose   int
	started bool        // the part's heading was seen
	cell    *steps.Cell // the open cell
	line    int         // of its heading
	given   map[string]int
	broken  bool // something is wrong with the open cell: what follows from that isn't reported
	lost    bool // the last heading of a cell could not be read: whose the scripts are isn't known

	preambles map[string]preamble
}

// wrong notes what is wrong where an offset is.
func (r *reader) wrong(at int, format string, args ...any) {
	line, _ := r.position(at)
	r.problem(line, format, args...)
}

// problem notes a mistake, and that the file can't be used.
func (r *reader) problem(line int, format string, args ...any) {
	r.broken = true
	r.doc.Problems = append(r.doc.Problems,
		Problem{File: r.doc.Name, Line: line, Text: plain(fmt.Errorf(format, args...).Error())})
}

// addProse adds the text up to an offset to what is open.
func (r *reader) addProse(to *string, end int) {
	if before := r.between(r.prose, end); before != "" {
		*to = strings.TrimLeft(*to+"\n\n"+before, "\n")
	}
}

// heading begins the part or a cell; deeper ones are prose.
func (r *reader) heading(h *ast.Heading) {
	start := r.lineStart(headingAt(h))
	if h.Level == 2 {
		r.endCell(start)
	}
	title, id, ok := r.named(h)
	if h.Level == 1 {
		switch {
		case r.started:
			r.wrong(start, "a file is one part, and %q is the second", title)
			return
		case ok:
			r.doc.Part.ID, r.doc.Part.Title = id, title
			r.doc.headings[id], _ = r.position(start)
		}
		r.started = true
		r.prose = r.afterHeading(h, start)
		return
	}
	switch {
	case !r.started && ok:
		r.wrong(start, "the cell %q stands before the part's heading: # Title {#id}", title)
		ok = false
	case ok && r.doc.headings[id] > 0:
		r.wrong(start, "the id %q is taken already", id)
		ok = false
	}
	r.lost, r.broken = !ok, false
	r.prose = r.afterHeading(h, start)
	if !ok {
		return
	}
	r.doc.headings[id], _ = r.position(start)
	r.cell = &steps.Cell{ID: id, Part: r.doc.Part.ID, Title: title}
	r.line = start
	r.given = map[string]int{}
}

// headingAt is the offset of its text, or of itself where it has none.
func headingAt(h *ast.Heading) int {
	if h.Lines().Len() > 0 {
		return h.Lines().At(0).Start
	}
	return max(0, h.Pos())
}

// afterHeading is where the line after it begins.
func (r *reader) afterHeading(h *ast.Heading, start int) int {
	if h.Lines().Len() == 0 {
		return r.nextLine(start)
	}
	end := r.nextLine(h.Lines().At(h.Lines().Len() - 1).Stop)
	at := h.Lines().At(0).Start
	if len(bytes.TrimLeft(r.text[r.lineStart(at):at], " ")) == 0 {
		end = r.nextLine(end) // underlined
	}
	return end
}

// named reads a heading's text and id.
func (r *reader) named(h *ast.Heading) (title, id string, ok bool) {
	what, mark := "part", "#"
	if h.Level == 2 {
		what, mark = "cell", "##"
	}
	at := headingAt(h)
	if h.Lines().Len() == 0 {
		r.wrong(at, "a heading without a text: %s Title {#id}", mark)
		return "", "", false
	}
	title = strings.TrimSpace(string(h.Lines().Value(r.text)))
	// The attributes are a part of the line that goldmark has taken off already, except where they are not
	// attributes: # Title {#part id}
	if strings.HasSuffix(title, "}") && strings.Contains(title, "{#") {
		r.wrong(at, "the id of %q can't be read: letters, digits, - and _ only", title)
		return title, "", false
	}
	if v, ok := h.AttributeString("id"); ok {
		if b, ok := v.([]byte); ok {
			id = string(b)
		}
	}
	for _, a := range h.Attributes() {
		if string(a.Name) != "id" {
			r.wrong(at, "a heading has an id and no other attribute: %s", a.Name)
			return title, "", false
		}
	}
	switch {
	case id == "":
		r.wrong(at, "the %s %q has no id. Write, for example: %s %s {#some-name}", what, title, mark, title)
	case !steps.IsID(id):
		r.wrong(at, "the id %q of a %s: small letters, digits and - only, a hundred at most", id, what)
	default:
		return title, id, true
	}
	return title, "", false
}

// endCell closes the open cell, or the part's own prose.
func (r *reader) endCell(to int) {
	c := r.cell
	if c == nil {
		if r.started && !r.lost {
			r.addProse(&r.doc.Part.Prose, to)
		}
		return
	}
	r.cell = nil
	switch {
	case r.broken:
	case len(c.Roles) == 0 && c.Own == "":
		r.wrong(r.line, "the cell %q has no script: ```sh cell=%s", c.ID, c.ID)
	default:
		if err := checkRoles(*c); err != nil {
			r.wrong(r.line, "the cell %q: %w", c.ID, err)
		}
	}
	c.Tail = r.between(r.prose, to)
	r.doc.given[c.ID] = r.given
	r.doc.Part.Cells = append(r.doc.Part.Cells, *c)
}

// fence adds a script to the open cell. A fence without cell= is prose: an example in the text is not run.
func (r *reader) fence(f *ast.FencedCodeBlock) {
	if f.Info == nil || r.lost {
		return
	}
	info := string(f.Info.Segment.Value(r.text))
	at := f.Info.Segment.Start
	if !cellFence.Regexp().MatchString(info) {
		if preambleFence.Regexp().MatchString(info) {
			r.preamble(f, info)
		}
		return
	}
	start := r.lineStart(at)
	b, ok := r.block(f, at)
	if !ok {
		return
	}
	if r.cell == nil {
		r.wrong(at, "a script before the first cell's heading: ## Title {#id}")
		return
	}
	language, all, err := settings(info)
	if err != nil {
		r.wrong(at, "%w", err)
		return
	}
	roles := r.roles(at, all)
	script := r.script(f, b)
	r.addProse(&r.cell.Prose, start)
	r.prose = r.nextLine(b.to)
	if language == builtIn {
		if len(r.cell.Roles) > 0 || r.cell.Own != "" {
			r.wrong(at, "what railbench does itself is the only script of its cell")
		}
		r.cell.Own = strings.TrimSpace(script)
		return
	}
	for _, role := range roles {
		role.Script = script
		if role.Interpreter == "" {
			role.Interpreter = byLanguage(language)
		}
		if role.Probe && role.Name == "" {
			role.Name = "probe"
		}
		r.cell.Roles = append(r.cell.Roles, role)
		r.doc.scripts[r.cell.ID] = append(r.doc.scripts[r.cell.ID], b)
	}
}

// block finds where a fence's script stands.
func (r *reader) block(f *ast.FencedCodeBlock, at int) (b block, ok bool) {
	b = block{info: at, from: r.nextLine(at), lines: []int{}}
	b.to = b.from
	start := r.lineStart(at)
	b.indent = string(r.text[start : start+len(r.text[start:at])-len(bytes.TrimLeft(r.text[start:at], " "))])
	for i := range f.Lines().Len() {
		b.lines = append(b.lines, f.Lines().At(i).Start)
		b.to = f.Lines().At(i).Stop
	}
	if !closed(r.text, b.to) {
		r.wrong(at, "the script has no closing ```")
		return b, false
	}
	return b, true
}

// script is a fence's text, and every character of it can be seen.
func (r *reader) script(f *ast.FencedCodeBlock, b block) string {
	script := string(f.Lines().Value(r.text))
	if strings.TrimSpace(script) == "" {
		r.wrong(b.info, "the script is empty")
	}
	if i, char := runner.Deceives(script); i >= 0 {
		c, _ := utf8.DecodeRuneInString(char)
		r.wrong(b.lines[strings.Count(script[:i], "\n")],
			"the script has a character that is invisible, or looks like another one (%U),"+
				" so what is shown of it is not what would run: print it with printf", c)
	}
	return script
}

// preamble keeps what the scripts below it can have run before them. It is not a prose: with each of those it is
// shown, and run.
func (r *reader) preamble(f *ast.FencedCodeBlock, info string) {
	at := f.Info.Segment.Start
	b, ok := r.block(f, at)
	if !ok {
		return
	}
	_, all, err := settings(info)
	name := ""
	for _, s := range all {
		if s.name == "preamble" {
			name = s.value
		}
	}
	switch {
	case err != nil:
		r.wrong(at, "%w", err)
	case !steps.IsID(name):
		r.wrong(at, "a preamble has a name of small letters, digits and -: ```sh preamble=NAME")
	case len(all) > 1:
		r.wrong(at, "a preamble has no other attribute: the script that uses it has them")
	case r.preambles[name].text != "":
		r.wrong(at, "the preamble %q is there already", name)
	default:
		line, _ := r.position(at)
		r.preambles[name] = preamble{text: r.script(f, b), line: line}
	}
	to := &r.doc.Part.Prose
	if r.cell != nil && len(r.cell.Roles) > 0 {
		r.wrong(at, "a preamble stands before the scripts of its cell, or after the last one's prose")
	}
	if r.cell != nil {
		to = &r.cell.Prose
	}
	r.addProse(to, r.lineStart(at))
	r.prose = r.nextLine(b.to)
}

// builtIn is the language of what railbench does itself.
const builtIn = "railbench"

var (
	cellFence     = lazyregexp.New(`(^|\s)cell(=|\s|$)`)
	preambleFence = lazyregexp.New(`(^|\s)preamble(=|\s|$)`)
)

// closed reports whether the line at offset closes a fence: goldmark ends one that
// is never closed with the file.
func closed(src []byte, offset int) bool {
	line, _, _ := bytes.Cut(src[min(offset, len(src)):], []byte("\n"))
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~"))
}

// checkRoles is what keeps the session from running a cell's scripts in order.
func checkRoles(c steps.Cell) error {
	if err := checkTogether(c); err != nil {
		return err
	}
	if c.Change.Any() {
		return checkChange(c)
	}
	names := map[string]bool{}
	isProbe := func(role steps.Role) bool { return role.Probe }
	lessons := slices.DeleteFunc(slices.Clone(c.Roles), isProbe)
	for _, role := range c.Roles {
		if names[role.Name] {
			return fmt.Errorf("it has the role %q twice", role.Name)
		}
		if role.Probe && role.Ready != (steps.Ready{}) {
			return fmt.Errorf("the probe %q has a ready=: it runs by itself, after the others", role.Name)
		}
		names[role.Name] = true
	}
	for i, role := range lessons {
		if err := checkRole(role, len(lessons), i == len(lessons)-1); err != nil {
			return err
		}
	}
	if c.Counters && c.Probed() {
		return errors.New("it counts bytes and has a probe: what moved is judged by the script that moved it")
	}
	return nil
}

// checkTogether is about attributes that exclude or need each other.
func checkTogether(c steps.Cell) error {
	switch {
	case c.Own != "" && len(c.Roles) > 0:
		return errors.New("what railbench does itself is the only script of its cell")
	case c.Pairs != nil && (c.Own == "" || len(c.Pairs) != 2):
		return errors.New("pairs=A,B names a cell of bandwidth and one of latency, and railbench measures them itself: " +
			"```railbench")
	case c.Change.Undoes != "" && !c.Change.Any():
		return errors.New("it has undoes= and no change=")
	case c.Change.Tries && !c.Change.Any():
		return errors.New("it has tries and no change=")
	case c.Judge != "" && slices.ContainsFunc(c.Roles,
		func(r steps.Role) bool { return r.Values != nil || r.Expects != nil }):
		return errors.New("it has value= or expect=, and judge=: a judge doesn't look at them")
	case c.Asks && c.Change.Any():
		return errors.New("it has asks and change=: a change asks anyway")
	case !c.Check.Any() && (c.Check.Fix != "" || c.Check.Measures || c.Check.EveryPair || c.Check.Explains != nil):
		return errors.New("it has fix=, explains=, measures or everypair, and is not a check: finds= is missing")
	}
	return nil
}

// checkRole is about one of several scripts. Each but the last is waited for, so that what
// comes after it finds it there; the last, which the others are ended after, is not, unless
// it is a server that stands alone.
func checkRole(role steps.Role, of int, last bool) error {
	switch ready := role.Ready != (steps.Ready{}); {
	case of > 1 && role.Name == "":
		return errors.New("it has several scripts, and one of them has no role=")
	case role.On == steps.OnAll && of > 1:
		return errors.New("it is on=all, has several scripts and is not a change: what asks every node has one")
	case of > 1 && role.On == steps.OnBoth:
		return fmt.Errorf("the role %q is on=both beside another role", role.Name)
	case !ready && (!last || role.Name == "server"):
		return fmt.Errorf("the role %q is waited for and has no ready=", role.Name)
	case ready && last && of > 1:
		return fmt.Errorf("nothing waits for the role %q, which has a ready=", role.Name)
	}
	return nil
}

// checkChange is what keeps a cell from being a change and the looks at what it did.
func checkChange(c steps.Cell) error {
	if len(c.Roles) == 0 || c.Roles[0].On != steps.OnBoth && c.Roles[0].On != steps.OnAll || !c.Roles[0].Root {
		return errors.New("a change is on=both or on=all, and root: it happens on each of the nodes or on none")
	}
	if _, ok := c.Forgets(); ok != c.Change.Tries {
		return errors.New("a change that tries has a script role=back, and no other has one")
	}
	for i, role := range c.Roles {
		switch {
		case (role.On == steps.OnAll) != (c.Roles[0].On == steps.OnAll):
			return fmt.Errorf("the role %q of a change is on=%s, and the first one on=%s", role.Name, role.On, c.Roles[0].On)
		case role.Ready != (steps.Ready{}):
			return fmt.Errorf("the role %q of a change has a ready=: they run one after the other", role.Name)
		case len(c.Roles) > 1 && role.Name == "":
			return errors.New("it has several scripts, and one of them has no role=")
		case i > 0 && c.Roles[i-1].Name == role.Name:
			return fmt.Errorf("it has the role %q twice", role.Name)
		}
	}
	return nil
}
