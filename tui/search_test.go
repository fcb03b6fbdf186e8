package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/output"
	"github.com/railbench/railbench/tui/screen"
)

// printed is a screen with the opened output of a cell that printed these lines.
func printed(t testing.TB, w, h int, texts ...string) *driven {
	t.Helper()
	s := start(t, w, h)
	s.press("3")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.prints(texts...)
	s.press("O", "home")
	return s
}

func (s *driven) prints(texts ...string) {
	s.t.Helper()
	var out []steps.OutputLine
	for _, text := range texts {
		out = append(out, steps.OutputLine{From: "spark-01", Text: text})
	}
	s.tell(steps.CellPrinted{Run: 1, Cell: "gids", Lines: out})
}

func (s *driven) types(text string) {
	s.t.Helper()
	for _, r := range text {
		s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// rows are lines of which each seventh has a word.
func rows(n int, word string) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("row %d", i)
		if i%7 == 3 {
			texts[i] += " " + word
		}
	}
	return texts
}

func TestSearch(t *testing.T) {
	s := printed(t, 100, 30, rows(1000, "Error")...)
	s.press("/")
	s.sees("esc leave", "enter done")
	s.types("err")
	s.sees("/err", "1 of 143", "row 3 Error")
	s.press("n") // a letter of it
	s.sees("/errn", "nothing found")
	s.press("backspace", "enter", "n", "n")
	s.sees("3 of 143", "row 17 Error", "n next")
	for range 10 {
		s.press("n")
	}
	s.sees("13 of 143", "row 87 Error")
	s.press("N")
	s.sees("12 of 143")
	// From where one has gone to.
	s.press("end", "N")
	s.sees("143 of 143", "row 997 Error")
	s.press("n")
	s.sees("1 of 143", "on from the beginning", "row 3 Error")
	s.press("N")
	s.sees("143 of 143", "on from the end")
	// A capital counts, and so does what stands between words.
	s.press("/")
	s.types("ERR")
	s.sees("nothing found")
	s.press("ctrl+u")
	s.types("7 Err")
	s.sees("/7 Err", "of 15")
	s.press("enter", "esc")
	s.seesNot("/7 Err", "of 15")
	s.sees("GID tables · output")
	s.press("n")
	s.sees("/ looks for something")
	s.press("esc")
	s.seesNot("GID tables · output")
	s.asked()
}

// Leaving a search shows what was seen before it.
func TestLeavingASearch(t *testing.T) {
	s := printed(t, 100, 30, rows(1000, "x")...)
	s.press("pgdown", "pgdown", "/")
	before := s.output.Page.Top
	s.types("row 900")
	s.sees("row 900", "1 of 1")
	s.press("esc")
	if !s.Layers.Has(screen.Output) || s.output.Page.Top != before {
		t.Errorf("it doesn't show what was seen before: %+v", s.output.Page)
	}
	// What was found stays in place of it when one is done.
	s.press("/")
	s.types("ROW 900")
	s.press("backspace", "ctrl+u")
	s.types("row 900")
	s.press("enter")
	s.sees("row 900", "1 of 1")
	// Without a word it is the last one's.
	s.press("home", "/", "enter")
	s.sees("/row 900", "1 of 1", "row 900")
	s.press("/", "backspace")
	s.seesNot("/row")
	s.sees("GID tables · output")
}

// A paste is typed, too, and only its first line.
func TestPastingWhatIsLookedFor(t *testing.T) {
	s := printed(t, 100, 30, rows(20, "Device not found")...)
	s.press("/")
	s.send(tea.PasteMsg{Content: "\nnot\x1b found\r\nsecond line"})
	s.sees("/not found  1 of 3")
	s.press("ctrl+u")
	s.send(tea.PasteMsg{Content: strings.Repeat("漢", 9999)})
	if n := len([]rune(s.output.Page.Search.Words.Text)); n > find.Most {
		t.Errorf("%d characters are looked for", n)
	}
}

// Every letter is one of the words while they are typed, whatever else it does.
func TestLettersAreNoCommandsWhileTyping(t *testing.T) {
	s := printed(t, 100, 30, "something")
	s.press("O", "/", "q", "A", "i", "c", "o", "space", "?", "g", "1", "|", "y", "Y", "/")
	s.asked()
	s.sees("/qAico ?g1|yY/")
	// And the next cell of the queue does not take the output away from under them.
	s.tell(passed(1, "gids"), steps.CellStarted{Run: 2, Cell: "ib-write-bw", At: s.now})
	s.press("A")
	s.asked()
	s.sees("/qAico ?g1|yY/A")
}

func TestSearchFromTheNotebook(t *testing.T) {
	s := start(t, 100, 40)
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.prints("one", "two nodes", "three")
	s.press("/")
	s.types("nodes")
	s.sees("/nodes", "1 of 2", "two-node")
	s.press("enter", "n")
	if c, _ := s.notebook.Selected(); c.ID != "gids" {
		t.Errorf("%s is selected, and not the cell that printed it", c.ID)
	}
	s.sees("in its output; O opens it there")
	s.press("O")
	s.sees("/nodes  1 of 1")
	s.press("esc", "esc", "n")
	s.sees("on from the beginning")
	s.press("/")
	s.types("show_gids")
	s.press("esc")
	if s.notebook.open().ID != "setup" || s.finder.finding() {
		t.Errorf("the search was left, and the screen is at %s", s.notebook.open().ID)
	}
	s.press("n")
	s.sees("/ looks for something")
}

// What was found is highlighted, and the place where one stands is another colour.
func TestWhatWasFoundIsHighlighted(t *testing.T) {
	s := printed(t, 100, 30, "a needle and a needle", "NEEDLE")
	s.press("/")
	s.types("needle")
	v := s.view()
	for text, times := range map[string]int{
		s.Styles.FoundHere.Render("needle"): 1,
		s.Styles.Found.Render("needle"):     1, s.Styles.Found.Render("NEEDLE"): 1,
	} {
		if n := strings.Count(v, text); n != times {
			t.Errorf("%q is there %d times", text, n)
		}
	}
	s.press("esc")
	if strings.Contains(s.view(), s.Styles.Found.Render("needle")) {
		t.Error("it is highlighted after the search was left")
	}
}

// What was found far to the right is slid to.
func TestSearchShowsWhatIsFarToTheRight(t *testing.T) {
	wide := strings.Repeat("漢字", 200)
	s := printed(t, 80, 24, "short", wide+"needle"+wide, "needle")
	s.press("/")
	s.types("needle")
	s.sees("needle", "1 of 2", "from column")
	if !strings.Contains(s.view(), s.Styles.FoundHere.Render("needle")) {
		t.Error("it isn't in view")
	}
	s.press("enter", "n")
	s.sees("2 of 2")
	s.seesNot("from column")
}

// While a cell goes on printing, what comes is counted and what is dropped isn't.
func TestSearchInAFlood(t *testing.T) {
	s := printed(t, 100, 30, rows(700, "x")...)
	s.press("/")
	s.types("x")
	s.press("enter", "n")
	s.sees("2 of 100", "row 10 x")
	s.prints(rows(700, "x")...)
	s.sees("2 of 200", "row 10 x")
	for range 20 {
		s.prints(rows(700, "x")...)
	}
	out := s.output.PageState().Output
	want := 0
	for _, l := range out.Lines(0, out.Len()) {
		if strings.HasSuffix(l.Text, " x") {
			want++
		}
	}
	if out.Dropped() == 0 || s.output.Page.Search.Total != want {
		t.Errorf("%d found, there are %d; %d lines were dropped", s.output.Page.Search.Total, want, out.Dropped())
	}
	s.press("n")
	s.sees(fmt.Sprintf("1 of %d,%03d", want/1000, want%1000))
	s.sees("are in the log")
	s.tell(passed(1, "gids"))
	s.sees("are not kept") // there was no log
	// Another run is searched from its beginning.
	s.tell(steps.CellStarted{Run: 2, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 2, Cell: "gids", Lines: lines(3, "x")})
	s.sees("/x", "3 found")
}

// A search finds what no screen shows just now: lines of an output that is folded away, columns that
// have no room, values of evidence; and says how to see them.
func TestSearchFindsWhatIsFolded(t *testing.T) {
	s := start(t, 80, 24)
	ended := passed(1, "gids")
	ended.Verdict.Evidence = []steps.Evidence{{Name: "rail 1", Value: 4711.5, Unit: "parsecs"}}
	ended.Verdict.Tables = []steps.Table{{Title: "wide", Columns: []steps.Column{
		{Name: strings.Repeat("a", 40)}, {Name: strings.Repeat("b", 40)}, {Name: "farthest"},
	}, Rows: [][]string{{"1", "2", "beyond"}}}}
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: append(lines(200, "row"), lines(1, "needle")...)}, ended)
	s.press("3", "o", "1")
	for words, says := range map[string]string{
		"needle": "in its output; O opens it there", "4711.5": "folded: e shows it", "parsecs": "folded: e shows it",
		"farthest": "", "beyond": "folded: W shows it",
	} {
		s.press("/")
		for _, r := range words {
			s.press(string(r))
		}
		s.press("enter")
		if c, _ := s.notebook.Selected(); c.ID != "gids" {
			t.Errorf("%q leads to %q", words, c.ID)
		}
		if says != "" {
			s.sees(says)
		}
		s.press("esc", "1")
	}
}

// Random keys over a hostile output: the search never stands outside of what is there.
func TestSearchSweep(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	texts := []string{
		strings.Repeat("漢字かな", 90), strings.Repeat("👩‍👩‍👧‍👦🇩🇪", 60),
		"e\u0301\u0323 \u200b", "tab\ttab\x1b[31mé", "\xff\xfe", "", strings.Repeat("x", 400),
	}
	keys := []string{
		"n", "N", "/", "enter", "esc", "backspace", "ctrl+u", "end",
		"home", "pgdown", "right", "left", "x", "é", "漢", "\xff", "space", "O",
	}
	screens := 8
	if testform.Full() {
		screens = 20
	}
	for range screens {
		s := printed(t, 60+r.IntN(80), 20+r.IntN(20), texts...)
		for range 60 {
			switch k := keys[r.IntN(len(keys))]; {
			case r.IntN(4) == 0:
				s.prints(texts[r.IntN(len(texts))], texts[r.IntN(len(texts))])
			case !s.Layers.Has(screen.Output):
				s.press("O")
			default:
				s.press(k)
			}
			fits(t, s, [2]int{s.Width, s.Height})
			if !s.Layers.Has(screen.Output) {
				continue
			}
			total := 0
			for _, h := range s.output.Page.Search.Hits {
				total += h.Times
			}
			f := &s.output.Page.Search
			if f.Total != total || f.At != output.Nowhere && (f.Number() < 1 || f.Number() > total) {
				t.Fatalf("%d found, %d counted, at %v", f.Total, total, f.At)
			}
			if f.At == output.Nowhere && f.Total > 0 && !s.Layers.Has(screen.OutputWords) &&
				strings.Contains(ansi.Strip(s.view()), " of 0 ") {
				t.Fatal("it counts to nothing")
			}
		}
	}
}

// BenchmarkSearch is a letter more in a search through all lines that are kept.
func BenchmarkSearch(b *testing.B) {
	row := "65536      5000             11032.64            11032.34            0.176518"
	for name, words := range map[string][2]string{"ascii": {"1103", "11032"}, "other": {"ä", "äö"}} {
		b.Run(name, func(b *testing.B) {
			s := printed(b, 120, 40, "first")
			for range steps.KeepLines / 1000 {
				s.tell(steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(1000, row)})
			}
			s.press("/")
			for b.Loop() {
				s.output.Seek(words[0])
				s.view()
				s.output.Seek(words[1])
				s.view()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/2/1e3, "ms/key")
		})
	}
}
