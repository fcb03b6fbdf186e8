// Package runbook reads a tutorial: Markdown files whose fenced blocks are the
// scripts of cells. What a file has to look like is told at Parse.
//
// It knows the form only. Which parsers and judges there are is the catalog's
// (Check compares), and what a script does is the node's business.
package runbook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/railbench/railbench/steps"
)

// Load reads every Markdown file in dir, in the order of their names; each is
// one part. The tutorial's title is what the first file says in a comment above
// its heading: <!-- tutorial: Title -->.
func Load(fsys fs.FS, dir string) (steps.Tutorial, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return steps.Tutorial{}, fmt.Errorf("read the tutorial: %w", err)
	}
	var t steps.Tutorial
	parts, cells := map[string]string{}, map[string]string{}
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".md" {
			continue
		}
		name := path.Join(dir, e.Name())
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return steps.Tutorial{}, fmt.Errorf("read the tutorial: %w", err)
		}
		p, err := Parse(name, src)
		if err != nil {
			return steps.Tutorial{}, err
		}
		if t.Title == "" {
			t.Title = Title(src)
		}
		if other, ok := parts[p.ID]; ok {
			return steps.Tutorial{}, fmt.Errorf("%s: the part %q is in %s already", name, p.ID, other)
		}
		parts[p.ID] = name
		for _, c := range p.Cells {
			if other, ok := cells[c.ID]; ok {
				return steps.Tutorial{}, fmt.Errorf("%s: the cell %q is in %s already", name, c.ID, other)
			}
			cells[c.ID] = name
		}
		t.Parts = append(t.Parts, p)
	}
	if len(t.Parts) == 0 {
		return steps.Tutorial{}, fmt.Errorf("read the tutorial: no Markdown file in %s", dir)
	}
	// A cell and a part can be selected by their ids in one list.
	for id, name := range cells {
		if other, ok := parts[id]; ok {
			return steps.Tutorial{}, fmt.Errorf("%s: the cell %q has the id of the part in %s", name, id, other)
		}
	}
	return t, nil
}

var titleComment = regexp.MustCompile(`(?s)\A\s*<!--\s*tutorial:\s*(.*?)\s*-->`)

// Title is what the comment above a file's first heading calls the tutorial;
// empty where there is none.
func Title(src []byte) string {
	if m := titleComment.FindSubmatch(src); m != nil {
		return string(m[1])
	}
	return ""
}

// Parse reads one part. name stands in front of errors, as in name:line.
//
//	# Title {#part-id}
//	prose
//	## Title of a cell {#cell-id}
//	prose
//	```sh cell=cell-id role=server on=peer ready=port:$PORT
//	script
//	```
//
// A fence with cell= is one role of that cell, in the order of the file; other
// fences are prose. Text after a cell's last fence is its Tail, text between two
// fences belongs to its prose. The attributes, each NAME=VALUE with a value in
// quotes where it has spaces, or a bare NAME:
//
//	cell=ID       the cell; the same as its heading's
//	role=NAME     needed where a cell has several
//	on=PLACE      here, peer or both; here where it is missing
//	ready=port:N  the next role may start once a TCP port listens; N may be a variable
//	ready=line:RE … once a line of output matches the regular expression
//	root          this role runs as root
//
// and for the whole cell, on any one of its fences:
//
//	each=rail     repeat it for every pair of rails
//	parse=NAME    the parser of its output
//	judge=NAME    the judge of its result
//	counters      count every rail's bytes around it
//	needs=A,B     commands without which it is SKIPPED
//	limit=2m      how long one role may take
//	stall=200s    end it when nothing was printed for so long
//	together      every role has to end by itself, soon after the first
//	rails=2       it needs two pairs of rails; halves: one across the PCIe halves
//	unbonded      refused while a bond holds a rail
//	change=A,B    it changes the network: the variables that hold the interfaces
//	undoes=ID     it takes back what that cell changed
//	with=A,B      the services that railbench runs for it
//	asks          the user confirms its scripts first: they change no network, and
//	              can't be taken back
//
// A cell with one of the first two is a check, an entry of the checklist:
//
//	finds=A,B     the simulated rig's faults that it has to see
//	symptoms="A; B"  phrases that a user sees or pastes; * stands for anything
//	explains=A,B  the cells whose FAIL it may explain; * stands for anything
//	fix=ID        the cell that puts it right
//	measures      it moves data over the rails: it runs alone
//
// A fence of the language railbench in place of sh holds the name of what
// railbench does itself: summary.
func Parse(name string, src []byte) (steps.Part, error) {
	// A carriage return would become a part of the shell's words.
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	md := goldmark.New(goldmark.WithParserOptions(parser.WithHeadingAttribute()))
	doc := md.Parser().Parse(text.NewReader(src))
	r := reader{name: name, src: src, cells: map[string]bool{}}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		var err error
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level <= 2 {
				err = r.heading(n)
			}
		case *ast.FencedCodeBlock:
			err = r.fence(n)
		}
		if err != nil {
			return steps.Part{}, err
		}
	}
	if err := r.endCell(len(src)); err != nil {
		return steps.Part{}, err
	}
	if r.part.ID == "" {
		return steps.Part{}, fmt.Errorf("%s: there is no heading of a part: # Title {#id}", name)
	}
	return r.part, nil
}

// A reader walks through one file.
type reader struct {
	name string
	src  []byte
	part steps.Part
	// prose is where the text begins that belongs to what is open.
	prose   int
	started bool            // the part's heading was seen
	cell    *steps.Cell     // the open cell
	line    int             // of its heading
	given   map[string]bool // attributes of the cell that were given
	cells   map[string]bool
}

func (r *reader) errorf(offset int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.name, r.lineAt(offset), fmt.Errorf(format, args...))
}

func (r *reader) lineAt(offset int) int {
	return 1 + bytes.Count(r.src[:min(offset, len(r.src))], []byte("\n"))
}

// lineStart is the offset of the first byte of the line that offset is on.
func (r *reader) lineStart(offset int) int {
	return bytes.LastIndexByte(r.src[:offset], '\n') + 1
}

// nextLine is the offset of the first byte of the line after it.
func (r *reader) nextLine(offset int) int {
	if i := bytes.IndexByte(r.src[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(r.src)
}

// text is the source between two offsets, without blank lines around it.
func (r *reader) text(from, to int) string {
	if from >= to {
		return ""
	}
	return strings.Trim(string(r.src[from:to]), "\r\n\t ")
}

func (r *reader) heading(h *ast.Heading) error {
	if h.Lines().Len() == 0 {
		return fmt.Errorf("%s: a heading without a text", r.name)
	}
	at := h.Lines().At(0).Start
	title := strings.TrimSpace(string(h.Lines().Value(r.src)))
	// The attributes are a part of the line that goldmark has taken off already,
	// except where they are no attributes: # Title {#part id}
	if strings.HasSuffix(title, "}") && strings.Contains(title, "{#") {
		return r.errorf(at, "the id of %q can't be read: letters, digits, - and _ only", title)
	}
	id := ""
	if v, ok := h.AttributeString("id"); ok {
		if b, ok := v.([]byte); ok {
			id = string(b)
		}
	}
	for _, a := range h.Attributes() {
		if string(a.Name) != "id" {
			return r.errorf(at, "a heading has an id and no other attribute: %s", a.Name)
		}
	}
	what, mark := "part", "#"
	if h.Level == 2 {
		what, mark = "cell", "##"
	}
	if id == "" {
		return r.errorf(at, "the %s %q has no id: %s %s {#id}", what, title, mark, title)
	}
	if !idForm.MatchString(id) {
		return r.errorf(at, "the id %q of a %s: small letters, digits and - only", id, what)
	}
	start := r.lineStart(at)
	end := r.nextLine(h.Lines().At(h.Lines().Len() - 1).Stop)
	if len(bytes.TrimLeft(r.src[start:at], " ")) == 0 {
		end = r.nextLine(end) // underlined
	}
	if h.Level == 1 {
		if r.started {
			return r.errorf(at, "a file is one part, and %q is the second", title)
		}
		r.started = true
		r.part.ID, r.part.Title = id, title
		r.prose = end
		return nil
	}
	if !r.started {
		return r.errorf(at, "the cell %q stands before the part's heading: # Title {#id}", title)
	}
	if err := r.endCell(start); err != nil {
		return err
	}
	if r.cells[id] || id == r.part.ID {
		return r.errorf(at, "the id %q is taken already", id)
	}
	r.cells[id] = true
	r.cell = &steps.Cell{ID: id, Part: r.part.ID, Title: title}
	r.line = at
	r.given = map[string]bool{}
	r.prose = end
	return nil
}

var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// endCell closes the open cell, or the part's own prose.
func (r *reader) endCell(to int) error {
	if r.cell == nil {
		r.part.Prose = r.text(r.prose, to)
		return nil
	}
	c := r.cell
	r.cell = nil
	if len(c.Roles) == 0 && c.Own == "" {
		return r.errorf(r.line, "the cell %q has no script: ```sh cell=%s", c.ID, c.ID)
	}
	c.Tail = r.text(r.prose, to)
	if err := checkRoles(*c); err != nil {
		return r.errorf(r.line, "the cell %q: %w", c.ID, err)
	}
	r.part.Cells = append(r.part.Cells, *c)
	return nil
}

// checkRoles says whether the session can run them in order.
func checkRoles(c steps.Cell) error {
	if c.Own != "" && len(c.Roles) > 0 {
		return errors.New("what railbench does itself is the only script of its cell")
	}
	switch {
	case c.Change.Undoes != "" && !c.Change.Any():
		return errors.New("it has undoes= and no change=")
	case c.Asks && c.Change.Any():
		return errors.New("it has asks and change=: a change asks anyway")
	case !c.Check.Any() && (c.Check.Fix != "" || c.Check.Measures || c.Check.Explains != nil):
		return errors.New("it has fix=, explains= or measures, and is no check: finds= or symptoms= is missing")
	}
	if c.Change.Any() {
		return checkChange(c)
	}
	names := map[string]bool{}
	for i, role := range c.Roles {
		last := i == len(c.Roles)-1
		switch ready := role.Ready != (steps.Ready{}); {
		case len(c.Roles) > 1 && role.Name == "":
			return errors.New("it has several scripts, and one of them has no role=")
		case names[role.Name]:
			return fmt.Errorf("it has the role %q twice", role.Name)
		case len(c.Roles) > 1 && role.On == steps.OnBoth:
			return fmt.Errorf("the role %q is on=both beside another role", role.Name)
		case !ready && (!last || role.Name == "server"):
			return fmt.Errorf("the role %q is waited for and has no ready=", role.Name)
		case ready && last && len(c.Roles) > 1:
			return fmt.Errorf("nothing waits for the role %q, which has a ready=", role.Name)
		}
		names[role.Name] = true
	}
	return nil
}

// checkChange says whether a cell's first script is a change, and the others look
// at what it did.
func checkChange(c steps.Cell) error {
	if len(c.Roles) == 0 || c.Roles[0].On != steps.OnBoth || !c.Roles[0].Root {
		return errors.New("a change is on=both and root: it happens on both nodes or on neither")
	}
	for i, role := range c.Roles {
		switch {
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

func (r *reader) fence(f *ast.FencedCodeBlock) error {
	if f.Info == nil {
		return nil
	}
	info := string(f.Info.Segment.Value(r.src))
	at := f.Info.Segment.Start
	if !cellFence.MatchString(info) {
		return nil
	}
	start := r.lineStart(at)
	end := r.nextLine(at)
	if n := f.Lines().Len(); n > 0 {
		end = f.Lines().At(n - 1).Stop
	}
	if !closed(r.src, end) {
		return r.errorf(at, "the script has no closing ```")
	}
	end = r.nextLine(end)
	language, attrs, err := attributes(info)
	if err != nil {
		return r.errorf(at, "%w", err)
	}
	if r.cell == nil {
		return r.errorf(at, "a script before the first cell's heading: ## Title {#id}")
	}
	role, err := r.role(attrs)
	if err != nil {
		return r.errorf(at, "%w", err)
	}
	role.Script = string(f.Lines().Value(r.src))
	if strings.TrimSpace(role.Script) == "" {
		return r.errorf(at, "the script is empty")
	}
	if before := r.text(r.prose, start); before != "" {
		r.cell.Prose = strings.TrimLeft(r.cell.Prose+"\n\n"+before, "\n")
	}
	r.prose = end
	if language == own {
		if len(r.cell.Roles) > 0 || r.cell.Own != "" {
			return r.errorf(at, "what railbench does itself is the only script of its cell")
		}
		r.cell.Own = strings.TrimSpace(role.Script)
		return nil
	}
	r.cell.Roles = append(r.cell.Roles, role)
	return nil
}

// own is the language of what railbench does itself.
const own = "railbench"

var cellFence = regexp.MustCompile(`(^|\s)cell(=|\s|$)`)

// closed says whether the line at offset closes a fence: goldmark ends one that
// is never closed with the file.
func closed(src []byte, offset int) bool {
	line, _, _ := bytes.Cut(src[min(offset, len(src)):], []byte("\n"))
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~"))
}

// An attribute is NAME or NAME=VALUE of a fence.
type attribute struct {
	name, value string
	bare        bool
}

// attributes splits an info string. Its first word is the language.
func attributes(info string) (language string, all []attribute, err error) {
	rest := strings.TrimSpace(info)
	language, rest, _ = strings.Cut(rest, " ")
	if language != "sh" && language != own {
		return "", nil, fmt.Errorf("a cell's script is sh or %s, not %q", own, language)
	}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		i := strings.IndexAny(rest, "= \t")
		if i < 0 || rest[i] != '=' {
			if i < 0 {
				i = len(rest)
			}
			all = append(all, attribute{name: rest[:i], bare: true})
			rest = rest[i:]
			continue
		}
		a := attribute{name: rest[:i]}
		rest = rest[i+1:]
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			end := strings.IndexByte(rest[1:], rest[0])
			if end < 0 {
				return "", nil, fmt.Errorf("the value of %s= has no closing quote", a.name)
			}
			a.value, rest = rest[1:end+1], rest[end+2:]
			if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return "", nil, fmt.Errorf("%q stands right after the quoted value of %s=", rest, a.name)
			}
		} else {
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			a.value, rest = rest[:end], rest[end:]
		}
		if a.value == "" {
			return "", nil, fmt.Errorf("%s= has no value", a.name)
		}
		all = append(all, a)
	}
	return language, all, nil
}

var (
	valued = []string{"cell", "role", "on", "ready", "each", "parse", "judge", "needs", "limit", "stall", "change", "undoes", "with", "rails", "finds", "symptoms", "explains", "fix"}
	bare   = []string{"counters", "root", "together", "unbonded", "asks", "measures"}
)

// role reads a fence's attributes: those of the cell into the open cell.
func (r *reader) role(attrs []attribute) (steps.Role, error) {
	var role steps.Role
	seen := map[string]bool{}
	for _, a := range attrs {
		switch {
		case a.bare && slices.Contains(valued, a.name):
			return role, fmt.Errorf("%s needs a value: %s=…", a.name, a.name)
		case !a.bare && slices.Contains(bare, a.name):
			return role, fmt.Errorf("%s has no value", a.name)
		case seen[a.name]:
			return role, fmt.Errorf("%s is there twice", a.name)
		}
		seen[a.name] = true
		if err := r.attribute(&role, a); err != nil {
			return role, err
		}
	}
	return role, nil
}

func (r *reader) attribute(role *steps.Role, a attribute) error {
	c := r.cell
	switch a.name {
	case "cell":
		if a.value != c.ID {
			return fmt.Errorf("cell=%s under the heading of %q%s", a.value, c.ID, steps.DidYouMean(a.value, []string{c.ID}))
		}
		return nil
	case "role":
		role.Name = a.value
		return nil
	case "root":
		role.Root = true
		return nil
	case "on":
		on, err := where(a.value)
		role.On = on
		return err
	case "ready":
		ready, err := readiness(a.value)
		role.Ready = ready
		return err
	}
	if r.given[a.name] {
		return fmt.Errorf("%s is given on another script of the cell already", a.name)
	}
	r.given[a.name] = true
	switch a.name {
	case "each":
		if a.value != "rail" {
			return fmt.Errorf("each=%s is unknown%s", a.value, steps.DidYouMean(a.value, []string{"rail"}))
		}
		c.EachRail = true
	case "parse":
		c.Parser = a.value
	case "judge":
		c.Judge = a.value
	case "counters":
		c.Counters = true
	case "together":
		c.Together = true
	case "unbonded":
		c.Unbonded = true
	case "rails":
		if a.value != "2" && a.value != "halves" {
			return fmt.Errorf("rails=%s is unknown: 2 or halves", a.value)
		}
		c.Rails = a.value
	case "undoes":
		c.Change.Undoes = a.value
	case "needs":
		return list(a, ",", &c.Needs)
	case "change":
		return list(a, ",", &c.Change.Set)
	case "with":
		return list(a, ",", &c.With)
	case "asks":
		c.Asks = true
	case "measures":
		c.Check.Measures = true
	case "fix":
		c.Check.Fix = a.value
	case "finds":
		return list(a, ",", &c.Check.Finds)
	case "explains":
		return list(a, ",", &c.Check.Explains)
	case "symptoms":
		return list(a, ";", &c.Check.Symptoms)
	case "limit":
		return duration(a, &c.Limit)
	case "stall":
		return duration(a, &c.Stall)
	default:
		return fmt.Errorf("the attribute %q is unknown%s", a.name, steps.DidYouMean(a.name, append(slices.Clone(valued), bare...)))
	}
	return nil
}

// list reads A,B, or what else stands between them.
func list(a attribute, between string, to *[]string) error {
	for item := range strings.SplitSeq(a.value, between) {
		if item = strings.TrimSpace(item); item == "" {
			return fmt.Errorf("%s=%s has an empty name", a.name, a.value)
		}
		*to = append(*to, item)
	}
	return nil
}

func duration(a attribute, to *time.Duration) error {
	d, err := time.ParseDuration(a.value)
	if err != nil || d <= 0 {
		return fmt.Errorf("%s=%s is no duration like 90s or 2m", a.name, a.value)
	}
	*to = d
	return nil
}

func where(name string) (steps.Where, error) {
	all := []steps.Where{steps.OnHere, steps.OnPeer, steps.OnBoth}
	var names []string
	for _, w := range all {
		if w.String() == name {
			return w, nil
		}
		names = append(names, w.String())
	}
	return 0, fmt.Errorf("on=%s is unknown%s: here, peer or both", name, steps.DidYouMean(name, names))
}

var portForm = regexp.MustCompile(`^(\d{1,5}|\$[A-Za-z_]\w*)$`)

func readiness(value string) (steps.Ready, error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch kind {
	case "port":
		if !portForm.MatchString(rest) {
			return steps.Ready{}, fmt.Errorf("ready=%s: a port is a number or a variable like $PORT", value)
		}
		return steps.Ready{Port: rest}, nil
	case "line":
		if rest == "" {
			return steps.Ready{}, errors.New("ready=line: has no regular expression")
		}
		if _, err := regexp.Compile(rest); err != nil {
			return steps.Ready{}, fmt.Errorf("ready=%s: %w", value, err)
		}
		return steps.Ready{Line: rest}, nil
	}
	return steps.Ready{}, fmt.Errorf("ready=%s is unknown%s: port:N or line:REGEX", value, steps.DidYouMean(kind, []string{"port", "line"}))
}

// Check says whether everything that a tutorial names is there, and each id means
// one thing.
func Check(t steps.Tutorial, c steps.Catalog) error {
	seen := map[string]bool{}
	for _, p := range slices.Concat(t.Parts, t.Checklist) {
		ids := []string{p.ID}
		for _, cell := range p.Cells {
			ids = append(ids, cell.ID)
		}
		for _, id := range ids {
			if seen[id] {
				return fmt.Errorf("the id %q is in the tutorial or the checklist twice", id)
			}
			seen[id] = true
		}
	}
	for _, cell := range slices.Concat(t.Cells(), t.Fixes(), t.Checks()) {
		if fix := cell.Check.Fix; fix != "" {
			if f, ok := t.Cell(fix); !ok || !f.Asks && !f.Change.Any() {
				return fmt.Errorf("the check %q: fix=%s names no cell that changes anything", cell.ID, fix)
			}
		}
		if _, ok := c.Own[cell.Own]; !ok && cell.Own != "" {
			return fmt.Errorf("the cell %q: railbench does no %q%s", cell.ID, cell.Own, steps.DidYouMean(cell.Own, names(c.Own)))
		}
		if u := cell.Change.Undoes; u != "" && u != steps.Everything {
			if undone, ok := t.Cell(u); !ok || !undone.Change.Any() {
				return fmt.Errorf("the cell %q: undoes=%s names no cell that changes anything", cell.ID, u)
			}
		}
		if _, ok := c.Parsers[cell.Parser]; !ok && cell.Parser != "" {
			return fmt.Errorf("the cell %q: there is no parser %q%s", cell.ID, cell.Parser, steps.DidYouMean(cell.Parser, names(c.Parsers)))
		}
		if _, ok := c.Judges[cell.Judge]; !ok && cell.Judge != "" {
			return fmt.Errorf("the cell %q: there is no judge %q%s", cell.ID, cell.Judge, steps.DidYouMean(cell.Judge, names(c.Judges)))
		}
	}
	return nil
}

func names[V any](m map[string]V) []string {
	var all []string
	for name := range m {
		if name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
