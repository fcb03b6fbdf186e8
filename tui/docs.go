package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// The pages that railbench carries, such as its glossary, are read in place of the
// notebook: a list of them, and each as a page that scrolls.

// docs is what is read of them.
type docs struct {
	*screen.Shared
	screen.Tabled
	list *checklist

	all  []screen.Doc // asked for when they are opened for the first time
	item int          // the selected one
	page bool         // it is shown, and not the list
	top  int          // the first line of it that is seen
	// lines is the page, set in so many columns, and chapters where its chapters begin; all are
	// empty until it is drawn.
	lines    []string
	chapters []docChapter
	width    int
	current  int         // the chapter that w is about
	line     screen.Line // what is typed to be looked for
	words    searchWords // that are looked for in all pages
	found    int         // the line of the page where they were found last; -1 for none
}

// A docChapter is a chapter of a page.
type docChapter struct {
	title  string
	line   int      // its heading
	checks []string // that confirm it, by their ids
}

// docsWidth is the widest that a page is set.
const docsWidth = 100

// toggleDocs opens the pages where they were left, and closes them.
func (pg *docs) toggleDocs() tea.Cmd {
	if pg.Layers.Has(screen.Docs) {
		pg.Layers.Drop(screen.Docs)
		return nil
	}
	pg.loadDocs()
	if len(pg.all) == 0 {
		pg.Notice = "no pages here"
		return nil
	}
	pg.Layers.Push(screen.Docs)
	return nil
}

// differencesPage is the page of what the source documents say otherwise.
const differencesPage = "differences"

// loadDocs asks for the pages. That of the differences is of the tutorial that is open, whose
// numbers stand in the margin.
func (pg *docs) loadDocs() {
	if pg.all != nil || pg.Opts.Docs == nil {
		return
	}
	pg.all = slices.Clone(pg.Opts.Docs())
	for i := range pg.all {
		if own := pg.Opts.Tutorial.DifferencesPage(); own != "" && pg.all[i].Name == differencesPage {
			pg.all[i].Text = own
		}
	}
}

// openDoc shows a page by its place in the list.
func (pg *docs) openDoc(i int) tea.Cmd {
	pg.Layers.Push(screen.Docs)
	pg.chooseDoc(i)
	pg.page = true
	return nil
}

// explained shows a page that was made for a text.
func (pg *docs) explained(text string) tea.Cmd {
	pg.loadDocs()
	i := slices.IndexFunc(pg.all, func(d screen.Doc) bool { return d.Name == explanation })
	if i < 0 {
		i = len(pg.all)
		pg.all = append(pg.all, screen.Doc{Name: explanation, About: "of the last text that was looked at"})
	}
	pg.all[i].Text, pg.Dirty = text, true
	pg.Layers.Drop(screen.Symptom)
	return pg.openDoc(i)
}

func (pg *docs) chooseDoc(i int) {
	pg.item = max(0, min(i, len(pg.all)-1))
	if now := pg.all[pg.item].Now; now != nil {
		pg.all[pg.item].Text = now()
	}
	pg.top, pg.lines, pg.current, pg.found = 0, nil, 0, -1
}

// readOn opens the page, or goes on in it.
func (pg *docs) readOn() tea.Cmd {
	if pg.page {
		return pg.turnDocs(pg.docsRoom() - 1)
	}
	return pg.openDoc(pg.item)
}

// turnDocs scrolls in the page, or selects another one of the list.
func (pg *docs) turnDocs(lines int) tea.Cmd {
	if !pg.page {
		pg.chooseDoc(pg.item + lines)
		return nil
	}
	pg.top = max(0, min(pg.top+lines, pg.docsEnd()))
	pg.chapterInSight()
	return nil
}

// chapterInSight chooses the first chapter whose heading is seen; where none is, the one whose
// text is.
func (pg *docs) chapterInSight() {
	pg.docLines(pg.Layout().NoteWidth)
	for i, c := range pg.chapters {
		if c.line > pg.top && (i == 0 || c.line >= pg.top+pg.docsRoom()) {
			break
		}
		pg.current = i
		if c.line >= pg.top {
			break
		}
	}
}

// chapter is the one that w is about; the zero one where a page has none.
func (pg *docs) chapter() docChapter {
	if d := pg; d.page && d.current < len(d.chapters) {
		return d.chapters[d.current]
	}
	return docChapter{}
}

// nextChapter goes to another chapter, and shows its heading.
func (pg *docs) nextChapter(way int) tea.Cmd {
	if !pg.page {
		pg.Notice = "enter opens the page first"
		return nil
	}
	pg.docLines(pg.Layout().NoteWidth)
	to := pg.current + way
	if to < 0 || to >= len(pg.chapters) {
		pg.Notice = map[bool]string{true: "this is the last chapter", false: "this is the first chapter"}[way > 0]
		return nil
	}
	pg.current = to
	pg.top = max(0, min(pg.chapters[to].line, pg.docsEnd()))
	return nil
}

// proveChapter runs the checks that the chapter names, in the checklist.
func (pg *docs) proveChapter() tea.Cmd {
	c := pg.chapter()
	if len(c.checks) == 0 {
		pg.Notice = "no check is named here: n goes on to the next chapter"
		return nil
	}
	cmd := pg.list.openChecklist()
	pg.Layers.Drop(screen.Docs)
	pg.list.showOnly(c.checks, c.title, "")
	return tea.Batch(cmd, pg.list.checkAll())
}

// otherDoc shows the page after this one, or before it.
func (pg *docs) otherDoc(way int) tea.Cmd {
	page := pg.page
	pg.chooseDoc(pg.item + way)
	pg.page = page
	return nil
}

func (pg *docs) leaveDocs() tea.Cmd {
	if pg.words.text != "" && pg.page {
		pg.words = searchWords{}
		return nil
	}
	if !pg.page || pg.all[pg.item].Name == explanation {
		pg.Layers.Drop(screen.Docs)
	}
	pg.page = false
	return nil
}

// docsHead is how many lines stand above the list or the page.
const docsHead = 2

func (pg *docs) docsRoom() int { return max(1, pg.Layout().NoteHeight-docsHead) }

// docsEnd is how far one can go: lines of a page, or pages of the list.
func (pg *docs) docsEnd() int {
	if !pg.page {
		return len(pg.all)
	}
	return max(0, len(pg.docLines(pg.Layout().NoteWidth))-pg.docsRoom())
}

// docLines is the page, set once for each width.
func (pg *docs) docLines(width int) []string {
	if pg.lines != nil && pg.width == width {
		return pg.lines
	}
	pg.width = width
	pg.lines, pg.chapters = pg.setDoc(pg.item, width)
	return pg.lines
}

// setDoc is a page, set in so many columns, and its chapters.
func (pg *docs) setDoc(item, width int) (lines []string, chapters []docChapter) {
	for _, text := range chaptersOf(pg.all[item].Text) {
		if title, ok := strings.CutPrefix(text, "## "); ok {
			title, _, _ = strings.Cut(title, "\n")
			chapters = append(chapters, docChapter{title, len(lines), pg.checksNamed(text)})
		}
		lines = append(lines, cells.Prose(text, pg.Styles, min(width, docsWidth))...)
		lines = append(lines, "")
	}
	return lines, chapters
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
func (pg *docs) checksNamed(text string) []string {
	var ids []string
	for _, found := range doctored.Regexp().FindAllStringSubmatch(text, -1) {
		for id := range strings.FieldsSeq(found[1]) {
			if c, ok := pg.Book.Tutorial.Cell(id); ok && c.Check.Any() && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Draw is the list or a page, exactly height lines of width columns.
func (pg *docs) Draw(width, height int) screen.Picture {
	k := pg.Styles
	room := max(1, height-docsHead)
	left, right := k.Focus.Render("railbench's pages"), ""
	body := pg.docList(width - 1)
	top := max(0, min(pg.item-room/2, len(body)-room))
	if pg.page {
		body = pg.docLines(width - 1)
		pg.top = max(0, min(pg.top, len(body)-room))
		top = pg.top
		body = pg.docMarked(body)
		left = k.Focus.Render(theme.Clean(pg.all[pg.item].Name))
		right = k.Dim.Render(fmt.Sprintf("%d–%d of %d ", top+1, min(len(body), top+room), len(body)))
	}
	bar := screen.ScrollBar(pg.Styles, top, len(body), room)
	switch {
	case pg.Layers.Has(screen.DocsWords):
		left = k.Accent.Render("/") + pg.line.View(k, k.Accent, width/2)
	case pg.page && pg.words.text != "":
		left += "  " + k.Accent.Render("/"+theme.Clean(pg.words.text))
	}
	lines := []string{theme.Sides(" "+left, right, width), strings.Repeat(" ", width)}
	for i := range room {
		text := ""
		if at := top + i; at < len(body) {
			text = body[at]
			if pg.page {
				text = pg.words.marked(pg.Styles, text)
			}
		}
		lines = append(lines, theme.Pad(text, width-1)+bar[i])
	}
	return screen.Picture{Lines: lines[:min(len(lines), height)]}
}

// docMarked has a sign before the heading of the chapter that w is about, and its checks
// behind it.
func (pg *docs) docMarked(lines []string) []string {
	c := pg.chapter()
	if len(c.checks) == 0 {
		return lines
	}
	lines = slices.Clone(lines)
	heading := strings.TrimRight(ansi.Strip(lines[c.line]), " ")
	lines[c.line] = pg.Styles.Accent.Render("▸") + strings.TrimPrefix(strings.TrimRight(lines[c.line], " "), " ") +
		pg.Styles.Dim.Render(ansi.Truncate("   w: "+strings.Join(c.checks, " "), max(0, pg.width-2-ansi.StringWidth(heading)),
			"…"))
	return lines
}

// docList is a line for each page.
func (pg *docs) docList(width int) []string {
	k := pg.Styles
	names := 0
	for _, d := range pg.all {
		names = max(names, len(d.Name))
	}
	var lines []string
	for i, d := range pg.all {
		mark, style := "  ", k.Strong
		if i == pg.item {
			mark, style = k.Accent.Render("▸ "), k.Focus
		}
		line := " " + mark + style.Render(theme.Pad(theme.Clean(d.Name), names)) + "  " + k.Dim.Render(theme.Clean(d.About))
		lines = append(lines, ansi.Truncate(line, width, "…"))
	}
	return lines
}

// Wheel scrolls.
func (pg *docs) Wheel(lines int) tea.Cmd { return pg.turnDocs(lines) }
