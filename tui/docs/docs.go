// Package docs is the pages that railbench carries, such as its glossary. They are read in place of the notebook: a
// list of them, and each as a page that scrolls. Where the pages come from is not known here.
package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Pages is what is read of them.
type Pages struct {
	*screen.Shared
	screen.Tabled
	prove func(ids []string, why string) tea.Cmd // runs checks in the checklist, in place of the pages

	All  []screen.Doc // asked for when they are opened for the first time
	Item int          // the selected one
	page bool         // it is shown, and not the list
	top  int          // the first line of it that is seen
	// lines is the page, set in so many columns, and chapters where its chapters begin; all are
	// empty until it is drawn.
	lines    []string
	chapters []heading
	width    int
	current  int         // the chapter that w is about
	line     screen.Line // what is typed to be looked for
	words    find.Words  // that are looked for in all pages
	Found    int         // the line of the page where they were found last; -1 for none
}

// A heading begins a chapter of a page.
type heading struct {
	title  string
	line   int      // its heading
	checks []string // that confirm it, by their ids
}

// New reads none yet. prove runs checks that a page names.
func New(sh *screen.Shared, prove func(ids []string, why string) tea.Cmd) *Pages {
	return &Pages{Shared: sh, prove: prove}
}

// docsWidth is the widest that a page is set.
const docsWidth = 100

// Toggle opens the pages where they were left, and closes them.
func (pg *Pages) Toggle() tea.Cmd {
	if pg.Layers.Has(screen.Docs) {
		pg.Layers.Drop(screen.Docs)
		return nil
	}
	pg.Load()
	if len(pg.All) == 0 {
		return pg.Say("no pages here")
	}
	pg.Layers.Push(screen.Docs)
	return nil
}

// differencesPage is the page of what the source documents say otherwise.
const differencesPage = "differences"

// Load asks for the pages. That of the differences is of the tutorial that is open, whose
// numbers stand in the margin.
func (pg *Pages) Load() {
	if pg.All != nil || pg.Opts.Docs == nil {
		return
	}
	pg.All = slices.Clone(pg.Opts.Docs())
	for i := range pg.All {
		if own := pg.Opts.Tutorial.DifferencesPage(); own != "" && pg.All[i].Name == differencesPage {
			pg.All[i].Text = own
		}
	}
}

// Open shows a page by its place in the list.
func (pg *Pages) Open(i int) tea.Cmd {
	pg.Layers.Push(screen.Docs)
	pg.chooseDoc(i)
	pg.page = true
	return nil
}

// explanation is the page of what follows from a pasted text.
const explanation = "explanation"

// Explained shows a page that was made for a text.
func (pg *Pages) Explained(text string) tea.Cmd {
	pg.Load()
	i := slices.IndexFunc(pg.All, func(d screen.Doc) bool { return d.Name == explanation })
	if i < 0 {
		i = len(pg.All)
		pg.All = append(pg.All, screen.Doc{Name: explanation, About: "of the last text that was looked at"})
	}
	pg.All[i].Text, pg.Dirty = text, true
	pg.Layers.Drop(screen.Symptom)
	return pg.Open(i)
}

// Add shows a page behind all others.
func (pg *Pages) Add(d screen.Doc) tea.Cmd {
	pg.Load()
	pg.All = append(pg.All, d)
	return pg.Open(len(pg.All) - 1)
}

// Restyle draws the page again with the terminal's styles.
func (pg *Pages) Restyle() { pg.lines = nil }

// Glossary is what the glossary says of a text's words.
func (pg *Pages) Glossary(text string) string {
	pg.Load()
	if i := slices.IndexFunc(pg.All, func(d screen.Doc) bool { return d.Name == glossaryPage }); i >= 0 {
		return wordsOf(pg.All[i].Text, text)
	}
	return ""
}

func (pg *Pages) chooseDoc(i int) {
	pg.Item = max(0, min(i, len(pg.All)-1))
	if now := pg.All[pg.Item].Now; now != nil {
		pg.All[pg.Item].Text = now()
	}
	pg.top, pg.lines, pg.current, pg.Found = 0, nil, 0, -1
}

// readOn opens the page, or goes on in it.
func (pg *Pages) readOn() tea.Cmd {
	if pg.page {
		return pg.turn(pg.room() - 1)
	}
	return pg.Open(pg.Item)
}

// turn scrolls in the page, or selects another one of the list.
func (pg *Pages) turn(lines int) tea.Cmd {
	if !pg.page {
		pg.chooseDoc(pg.Item + lines)
		return nil
	}
	pg.top = max(0, min(pg.top+lines, pg.end()))
	pg.chapterInSight()
	return nil
}

// chapterInSight chooses the first chapter whose heading is seen; where none is, the one whose
// text is.
func (pg *Pages) chapterInSight() {
	pg.set(pg.Layout().NoteWidth)
	for i, c := range pg.chapters {
		if c.line > pg.top && (i == 0 || c.line >= pg.top+pg.room()) {
			break
		}
		pg.current = i
		if c.line >= pg.top {
			break
		}
	}
}

// chapter is the one that w is about; the zero one where a page has none.
func (pg *Pages) chapter() heading {
	if d := pg; d.page && d.current < len(d.chapters) {
		return d.chapters[d.current]
	}
	return heading{}
}

// nextChapter goes to another chapter, and shows its heading.
func (pg *Pages) nextChapter(way int) tea.Cmd {
	if !pg.page {
		return pg.Say("enter opens the page first")
	}
	pg.set(pg.Layout().NoteWidth)
	to := pg.current + way
	if to < 0 || to >= len(pg.chapters) {
		return pg.Say(map[bool]string{true: "this is the last chapter", false: "this is the first chapter"}[way > 0])
	}
	pg.current = to
	pg.top = max(0, min(pg.chapters[to].line, pg.end()))
	return nil
}

// proveChapter runs the checks that the chapter names, in the checklist.
func (pg *Pages) proveChapter() tea.Cmd {
	c := pg.chapter()
	if len(c.checks) == 0 {
		return pg.Say("no check is named here: n goes on to the next chapter")
	}
	return pg.prove(c.checks, c.title)
}

// other shows the page after this one, or before it.
func (pg *Pages) other(way int) tea.Cmd {
	page := pg.page
	pg.chooseDoc(pg.Item + way)
	pg.page = page
	return nil
}

func (pg *Pages) leave() tea.Cmd {
	if pg.words.Text != "" && pg.page {
		pg.words = find.Words{}
		return nil
	}
	if !pg.page || pg.All[pg.Item].Name == explanation {
		pg.Layers.Drop(screen.Docs)
	}
	pg.page = false
	return nil
}

// docsHead is how many lines stand above the list or the page.
const docsHead = 2

func (pg *Pages) room() int { return max(1, pg.Layout().NoteHeight-docsHead) }

// end is how far one can go: lines of a page, or pages of the list.
func (pg *Pages) end() int {
	if !pg.page {
		return len(pg.All)
	}
	return max(0, len(pg.set(pg.Layout().NoteWidth))-pg.room())
}

// set is the page, set once for each width.
func (pg *Pages) set(width int) []string {
	if pg.lines != nil && pg.width == width {
		return pg.lines
	}
	pg.width = width
	pg.lines, pg.chapters = pg.setDoc(pg.Item, width)
	return pg.lines
}

// setDoc is a page, set in so many columns, and its chapters.
func (pg *Pages) setDoc(item, width int) (lines []string, chapters []heading) {
	for _, text := range chaptersOf(pg.All[item].Text) {
		if title, ok := strings.CutPrefix(text, "## "); ok {
			title, _, _ = strings.Cut(title, "\n")
			chapters = append(chapters, heading{title, len(lines), pg.checksNamed(text)})
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
func (pg *Pages) checksNamed(text string) []string {
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
func (pg *Pages) Draw(width, height int) screen.Picture {
	k := pg.Styles
	room := max(1, height-docsHead)
	left, right := k.Focus.Render("railbench's pages"), ""
	body := pg.index(width - 1)
	top := max(0, min(pg.Item-room/2, len(body)-room))
	if pg.page {
		body = pg.set(width - 1)
		pg.top = max(0, min(pg.top, len(body)-room))
		top = pg.top
		body = pg.marked(body)
		left = k.Focus.Render(theme.Clean(pg.All[pg.Item].Name))
		right = k.Dim.Render(fmt.Sprintf("%d–%d of %d ", top+1, min(len(body), top+room), len(body)))
	}
	bar := screen.ScrollBar(pg.Styles, top, len(body), room)
	switch {
	case pg.Layers.Has(screen.DocsWords):
		left = k.Accent.Render("/") + pg.line.View(k, k.Accent, width/2)
	case pg.page && pg.words.Text != "":
		left += "  " + k.Accent.Render("/"+theme.Clean(pg.words.Text))
	}
	lines := []string{theme.Sides(" "+left, right, width), strings.Repeat(" ", width)}
	for i := range room {
		text := ""
		if at := top + i; at < len(body) {
			text = body[at]
			if pg.page {
				text = pg.words.Marked(pg.Styles, text)
			}
		}
		lines = append(lines, theme.Pad(text, width-1)+bar[i])
	}
	return screen.Picture{Lines: lines[:min(len(lines), height)]}
}

// marked has a sign before the heading of the chapter that w is about, and its checks
// behind it.
func (pg *Pages) marked(lines []string) []string {
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

// index is a line for each page.
func (pg *Pages) index(width int) []string {
	k := pg.Styles
	names := 0
	for _, d := range pg.All {
		names = max(names, len(d.Name))
	}
	var lines []string
	for i, d := range pg.All {
		mark, style := "  ", k.Strong
		if i == pg.Item {
			mark, style = k.Accent.Render("▸ "), k.Focus
		}
		line := " " + mark + style.Render(theme.Pad(theme.Clean(d.Name), names)) + "  " + k.Dim.Render(theme.Clean(d.About))
		lines = append(lines, ansi.Truncate(line, width, "…"))
	}
	return lines
}

// Wheel scrolls.
func (pg *Pages) Wheel(lines int) tea.Cmd { return pg.turn(lines) }

// glossaryPage explains words.
const glossaryPage = "glossary"

// glossed begins an entry of the glossary: **a word, another one**: what they mean.
var glossed = regexp.MustCompile(`(?m)^\*\*([^*]+)\*\*:? `)

// wordsOf are the entries of the glossary whose words a text has.
func wordsOf(glossary, text string) string {
	var found []string
	for entry := range strings.SplitSeq(glossary, "\n\n") {
		m := glossed.FindStringSubmatchIndex(entry)
		if m == nil || m[0] != 0 {
			continue
		}
		for term := range strings.SplitSeq(entry[m[2]:m[3]], ", ") {
			word := regexp.MustCompile(`(?i)(^|[^\w-])` + regexp.QuoteMeta(term) + `s?([^\w-]|$)`)
			if word.MatchString(text) {
				found = append(found, strings.TrimSpace(entry))
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}

// Bind has the keys that work while the pages are on the screen.
func (pg *Pages) Bind(everywhere screen.Chapter) {
	on := screen.On
	reading := func() bool { return pg.page }
	listed := func() bool { return !pg.page }
	pg.Keys = []screen.Chapter{
		{Title: "pages", Bindings: []screen.Binding{
			on("enter, space, pgdn, ctrl+f",
				"open the selected page; in a page, a screen down",
				"enter", "space", "pgdown", "ctrl+f").To(pg.readOn).Brief(1, "enter", "open").Only(listed),
			on("↓, j", "next page of the list; in a page, a line down", "down", "j").By(pg.turn, 1).Brief(3, "↑↓", "move"),
			on("↑, k", "previous page of the list; in a page, a line up", "up", "k").By(pg.turn, -1),
			on("pgup, ctrl+b", "a screen up", "pgup", "ctrl+b").
				To(func() tea.Cmd { return pg.turn(1 - pg.room()) }).Brief(4, "space", "screen down").Only(reading),
			on("ctrl+d", "half a screen down", "ctrl+d").To(func() tea.Cmd { return pg.turn(pg.room() / 2) }),
			on("ctrl+u", "half a screen up", "ctrl+u").To(func() tea.Cmd { return pg.turn(-pg.room() / 2) }),
			on("home", "the beginning", "home").To(func() tea.Cmd { return pg.turn(-pg.end()) }),
			on("end, G", "the end", "end", "G").To(func() tea.Cmd { return pg.turn(pg.end()) }),
			on("tab, →, l, ]", "the page after this one", "tab", "right", "l", "]").
				By(pg.other, 1).Brief(5, "tab", "next page").Only(reading),
			on("shift+tab, ←, h, [", "the page before it", "shift+tab", "left", "h", "[").By(pg.other, -1),
			on("/", "look for something in all pages", "/").To(pg.typeFind).Brief(6, "/", "search"),
			on("n", "the next chapter of a page, or the next place where it was found", "n").By(pg.onward, 1).Only(reading),
			on("N", "the one before it", "N").By(pg.onward, -1).Only(reading),
			on("w", "runs the checks that the chapter names, as troubleshooting does", "w").
				To(pg.proveChapter).Brief(1, "w", "run its checks").
				Only(func() bool { return pg.page && len(pg.chapter().checks) > 0 }),
			on("esc", "leave the search; back to the list, and from there to where you were", "esc").
				To(pg.leave).Brief(2, "esc", "back"),
		}},
		everywhere,
	}
}
