package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// The pages that railbench carries, such as its glossary, are read in place of the
// notebook: a list of them, and each as a page that scrolls.

// A Doc is one page.
type Doc struct {
	Name, About string // About is what is in it, in a line
	Text        string // Markdown
}

// docs is what is read of them.
type docs struct {
	open bool
	all  []Doc // asked for when they are opened for the first time
	item int   // the selected one
	page bool  // it is shown, and not the list
	top  int   // the first line of it that is seen
	// lines is the page, set in so many columns, and chapters where its chapters begin; all are
	// empty until it is drawn.
	lines    []string
	chapters []docChapter
	width    int
	chapter  int // the one that w is about
}

// A docChapter is a chapter of a page.
type docChapter struct {
	title  string
	line   int      // its heading
	checks []string // that confirm it, by their ids
}

// docsWidth is the widest that a page is set.
const docsWidth = 100

// docsKeys work while the pages are on the screen.
func docsKeys() []chapter {
	reading := func(m *Model) bool { return m.docs.page }
	listed := func(m *Model) bool { return !m.docs.page }
	return []chapter{
		{"pages", []binding{
			on("enter, space, pgdn, ctrl+f",
				"open the selected page; in a page, a screen down",
				"enter", "space", "pgdown", "ctrl+f").
				to((*Model).readOn).brief(1, "enter", "open").only(listed),
			on("↓, j", "next page of the list; in a page, a line down", "down", "j").
				to(func(m *Model) tea.Cmd { return m.turnDocs(1) }).brief(3, "↑↓", "move"),
			on("↑, k", "previous page of the list; in a page, a line up", "up", "k").
				to(func(m *Model) tea.Cmd { return m.turnDocs(-1) }),
			on("pgup, ctrl+b", "a screen up", "pgup", "ctrl+b").
				to(func(m *Model) tea.Cmd { return m.turnDocs(1 - m.docsRoom()) }).
				brief(4, "space", "screen down").only(reading),
			on("ctrl+d", "half a screen down", "ctrl+d").
				to(func(m *Model) tea.Cmd { return m.turnDocs(m.docsRoom() / 2) }),
			on("ctrl+u", "half a screen up", "ctrl+u").
				to(func(m *Model) tea.Cmd { return m.turnDocs(-m.docsRoom() / 2) }),
			on("home", "the beginning", "home").to(func(m *Model) tea.Cmd { return m.turnDocs(-m.docsEnd()) }),
			on("end, G", "the end", "end", "G").to(func(m *Model) tea.Cmd { return m.turnDocs(m.docsEnd()) }),
			on("tab, →, l, ]", "the page after this one", "tab", "right", "l", "]").
				to(func(m *Model) tea.Cmd { return m.otherDoc(1) }).brief(5, "tab", "next page").only(reading),
			on("shift+tab, ←, h, [", "the page before it", "shift+tab", "left", "h", "[").
				to(func(m *Model) tea.Cmd { return m.otherDoc(-1) }),
			on("n", "the next chapter of a page", "n").
				to(func(m *Model) tea.Cmd { return m.nextChapter(1) }).only(reading),
			on("N", "the chapter before it", "N").
				to(func(m *Model) tea.Cmd { return m.nextChapter(-1) }).only(reading),
			on("w", "runs the checks that the chapter names, as troubleshooting does", "w").
				to((*Model).proveChapter).brief(1, "w", "run its checks").
				only(func(m *Model) bool { return m.docs.page && len(m.chapter().checks) > 0 }),
			on("esc", "back to the list, and from there to where you were", "esc").
				to((*Model).leaveDocs).brief(2, "esc", "back"),
		}},
		everywhere(),
	}
}

// toggleDocs opens the pages where they were left, and closes them.
func (m *Model) toggleDocs() tea.Cmd {
	d := &m.docs
	if d.open {
		d.open = false
		return nil
	}
	m.loadDocs()
	if len(d.all) == 0 {
		m.notice = "there are no pages here"
		return nil
	}
	d.open = true
	return nil
}

// differencesPage is the page of what the source documents say otherwise.
const differencesPage = "differences"

// loadDocs asks for the pages. That of the differences is of the tutorial that is open, whose
// numbers stand in the margin.
func (m *Model) loadDocs() {
	if m.docs.all != nil || m.opts.Docs == nil {
		return
	}
	m.docs.all = slices.Clone(m.opts.Docs())
	for i := range m.docs.all {
		if own := m.opts.Tutorial.DifferencesPage(); own != "" && m.docs.all[i].Name == differencesPage {
			m.docs.all[i].Text = own
		}
	}
}

// openDoc shows a page by its place in the list.
func (m *Model) openDoc(i int) tea.Cmd {
	m.docs.open = true
	m.chooseDoc(i)
	m.docs.page = true
	return nil
}

func (m *Model) chooseDoc(i int) {
	m.docs.item = max(0, min(i, len(m.docs.all)-1))
	m.docs.top, m.docs.lines, m.docs.chapter = 0, nil, 0
}

// readOn opens the page, or goes on in it.
func (m *Model) readOn() tea.Cmd {
	if m.docs.page {
		return m.turnDocs(m.docsRoom() - 1)
	}
	return m.openDoc(m.docs.item)
}

// turnDocs scrolls in the page, or selects another one of the list.
func (m *Model) turnDocs(lines int) tea.Cmd {
	if !m.docs.page {
		m.chooseDoc(m.docs.item + lines)
		return nil
	}
	m.docs.top = max(0, min(m.docs.top+lines, m.docsEnd()))
	m.chapterInSight()
	return nil
}

// chapterInSight chooses the first chapter whose heading is seen; where none is, the one whose
// text is.
func (m *Model) chapterInSight() {
	m.docLines(m.layout().noteWidth)
	d := &m.docs
	for i, c := range d.chapters {
		if c.line > d.top && (i == 0 || c.line >= d.top+m.docsRoom()) {
			break
		}
		d.chapter = i
		if c.line >= d.top {
			break
		}
	}
}

// chapter is the one that w is about; the zero one where a page has none.
func (m *Model) chapter() docChapter {
	if d := &m.docs; d.page && d.chapter < len(d.chapters) {
		return d.chapters[d.chapter]
	}
	return docChapter{}
}

// nextChapter goes to another chapter, and shows its heading.
func (m *Model) nextChapter(way int) tea.Cmd {
	d := &m.docs
	if !d.page {
		m.notice = "enter opens the page first"
		return nil
	}
	m.docLines(m.layout().noteWidth)
	to := d.chapter + way
	if to < 0 || to >= len(d.chapters) {
		m.notice = map[bool]string{true: "this is the last chapter", false: "this is the first chapter"}[way > 0]
		return nil
	}
	d.chapter = to
	d.top = max(0, min(d.chapters[to].line, m.docsEnd()))
	return nil
}

// proveChapter runs the checks that the chapter names, in the checklist.
func (m *Model) proveChapter() tea.Cmd {
	c := m.chapter()
	if len(c.checks) == 0 {
		m.notice = "no check is named here: n goes on to the next chapter"
		return nil
	}
	cmd := m.openChecklist()
	m.docs.open = false
	m.list.only, m.list.words, m.list.item, m.list.top = c.checks, "", 0, 0
	m.list.why, m.list.whose = c.title, ""
	return tea.Batch(cmd, m.survey())
}

// otherDoc shows the page after this one, or before it.
func (m *Model) otherDoc(way int) tea.Cmd {
	page := m.docs.page
	m.chooseDoc(m.docs.item + way)
	m.docs.page = page
	return nil
}

func (m *Model) leaveDocs() tea.Cmd {
	if !m.docs.page {
		m.docs.open = false
	}
	m.docs.page = false
	return nil
}

// docsHead is how many lines stand above the list or the page.
const docsHead = 2

func (m *Model) docsRoom() int { return max(1, m.layout().noteHeight-docsHead) }

// docsEnd is how far one can go: lines of a page, or pages of the list.
func (m *Model) docsEnd() int {
	if !m.docs.page {
		return len(m.docs.all)
	}
	return max(0, len(m.docLines(m.layout().noteWidth))-m.docsRoom())
}

// docLines is the page, set once for each width.
func (m *Model) docLines(width int) []string {
	d := &m.docs
	if d.lines != nil && d.width == width {
		return d.lines
	}
	d.lines, d.chapters, d.width = nil, nil, width
	for _, text := range chaptersOf(d.all[d.item].Text) {
		if title, ok := strings.CutPrefix(text, "## "); ok {
			title, _, _ = strings.Cut(title, "\n")
			d.chapters = append(d.chapters, docChapter{title, len(d.lines), m.checksNamed(text)})
		}
		d.lines = append(d.lines, cells.Prose(text, m.ink, min(width, docsWidth))...)
		d.lines = append(d.lines, "")
	}
	return d.lines
}

// chaptersOf cuts a page before each heading of a chapter.
func chaptersOf(text string) []string {
	var all []string
	from, at, fenced := 0, 0, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if strings.HasPrefix(line, "## ") && !fenced && at > from {
			all, from = append(all, text[from:at]), at
		}
		at += len(line)
	}
	return append(all, text[from:])
}

// doctored are the checks that a text says doctor should run.
var doctored = lazyregexp.New("railbench doctor((?:\\s+[a-z][a-z0-9-]*)+)`")

// checksNamed are the checks that a chapter's commands name, each once.
func (m *Model) checksNamed(text string) []string {
	var ids []string
	for _, found := range doctored.Regexp().FindAllStringSubmatch(text, -1) {
		for id := range strings.FieldsSeq(found[1]) {
			if c, ok := m.book.Tutorial.Cell(id); ok && c.Check.Any() && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// docPane is the list or a page, exactly height lines of width columns.
func (m *Model) docPane(width, height int) []string {
	k, d := m.ink, &m.docs
	room := max(1, height-docsHead)
	left, right := k.Focus.Render("railbench's pages"), ""
	body := m.docList(width - 1)
	top := max(0, min(d.item-room/2, len(body)-room))
	if d.page {
		body = m.docLines(width - 1)
		d.top = max(0, min(d.top, len(body)-room))
		top = d.top
		body = m.docMarked(body)
		left = k.Focus.Render(theme.Clean(d.all[d.item].Name))
		right = k.Dim.Render(fmt.Sprintf("%d–%d of %d ", top+1, min(len(body), top+room), len(body)))
	}
	bar := m.scrollBar(top, len(body), room)
	lines := []string{theme.Sides(" "+left, right, width), strings.Repeat(" ", width)}
	for i := range room {
		text := ""
		if at := top + i; at < len(body) {
			text = body[at]
		}
		lines = append(lines, theme.Pad(text, width-1)+bar[i])
	}
	return lines[:min(len(lines), height)]
}

// docMarked has a sign before the heading of the chapter that w is about, and its checks
// behind it.
func (m *Model) docMarked(lines []string) []string {
	c := m.chapter()
	if len(c.checks) == 0 {
		return lines
	}
	lines = slices.Clone(lines)
	heading := strings.TrimRight(ansi.Strip(lines[c.line]), " ")
	lines[c.line] = m.ink.Accent.Render("▸") + strings.TrimPrefix(strings.TrimRight(lines[c.line], " "), " ") +
		m.ink.Dim.Render(ansi.Truncate("   w: "+strings.Join(c.checks, " "), max(0, m.docs.width-2-ansi.StringWidth(heading)),
			"…"))
	return lines
}

// docList is a line for each page.
func (m *Model) docList(width int) []string {
	k := m.ink
	names := 0
	for _, d := range m.docs.all {
		names = max(names, len(d.Name))
	}
	var lines []string
	for i, d := range m.docs.all {
		mark, style := "  ", k.Strong
		if i == m.docs.item {
			mark, style = k.Accent.Render("▸ "), k.Focus
		}
		line := " " + mark + style.Render(theme.Pad(theme.Clean(d.Name), names)) + "  " + k.Dim.Render(theme.Clean(d.About))
		lines = append(lines, ansi.Truncate(line, width, "…"))
	}
	return lines
}
