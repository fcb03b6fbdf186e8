package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui"
)

// README's recording is frames of the book one after the other, in one SVG that moves by itself:
// what doesn't change from frame to frame is drawn once.

// A still is a frame, and how long it is seen.
type still struct {
	frame   string
	seconds float64
}

// filmed are the stills: a cell is run, looked into, and another one found by its words.
func filmed(t *testing.T, whole *tape, background tui.Background) (film []still) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := play(t, whole, pictureColumns, pictureLines, func(o *tui.Options) { o.Background = background })
		defer p.quit()
		see := func(seconds float64) { film = append(film, still{p.View().Content, seconds}) }
		p.press("4", "home")
		see(2)
		p.press("down", "enter")
		began, ended := cutRun(whole.runs["ib-write-bw"])
		early, late := halved(began)
		p.tell(early...)
		p.now = p.now.Add(2300e6)
		p.board(whole, true)
		see(2)
		p.tell(late...)
		see(1.5)
		p.tell(ended)
		p.board(whole, false)
		see(4)
		p.press("e")
		see(4)
		p.press("e", "ctrl+p")
		p.press(typedKeys("latency")...)
		see(2.5)
		p.press("enter")
		see(1.5)
		p.run(whole, "enter")
		see(4)
	})
	return film
}

// halved is what a run told until half of its lines were printed, and the rest. How many lines an
// event brings, and how often a table is measured meanwhile, is the machine's business: neither may
// be seen in a picture.
func halved(events []steps.Event) (early, late []steps.Event) {
	lines := 0
	for _, e := range events {
		if e, ok := e.(steps.CellPrinted); ok {
			lines += len(e.Lines)
		}
	}
	told := 0
	for _, e := range events {
		switch e := e.(type) {
		case steps.CellPrinted:
			cut := min(max(0, lines/2-told), len(e.Lines))
			told += len(e.Lines)
			first, second := e, e
			if first.Lines = e.Lines[:cut]; cut > 0 {
				early = append(early, first)
			}
			if second.Lines = e.Lines[cut:]; cut < len(e.Lines) {
				late = append(late, second)
			}
		case steps.CellMeasured:
			late = append(late, e)
		default:
			if told < lines/2 {
				early = append(early, e)
			} else {
				late = append(late, e)
			}
		}
	}
	return early, late
}

// animated is a film as one SVG. A line that several stills have in one place is drawn once, and
// seen as long as they are.
func animated(film []still, dark bool) string {
	ground, text := shades(dark)
	frames := make([][]string, len(film))
	starts := make([]float64, len(film)+1)
	for i, s := range film {
		frames[i] = strings.Split(s.frame, "\n")
		starts[i+1] = starts[i] + s.seconds
	}
	all := starts[len(film)]
	percent := func(i int) float64 { return 100 * starts[i] / all }
	lines := &strings.Builder{}
	var spans [][2]int
	for row := range frames[0] {
		for from := 0; from < len(film); {
			to := from + 1
			for to < len(film) && frames[to][row] == frames[from][row] {
				to++
			}
			span := [2]int{from, to}
			if from > 0 || to < len(film) {
				fmt.Fprintf(lines, `<g class="s%d-%d">`+"\n", from, to)
				if !slices.Contains(spans, span) {
					spans = append(spans, span)
				}
			}
			drawLine(lines, frames[from][row], row, ground, text)
			if from > 0 || to < len(film) {
				lines.WriteString("</g>\n")
			}
			from = to
		}
	}
	b := canvas(len(frames[0]), ground)
	fmt.Fprintf(b, "<style>g{animation:%.1fs step-end infinite}\n", all)
	for _, s := range spans {
		fmt.Fprintf(b, ".s%[1]d-%[2]d{animation-name:k%[1]d-%[2]d}@keyframes k%[1]d-%[2]d{", s[0], s[1])
		if s[0] > 0 {
			b.WriteString("0%{visibility:hidden}")
		}
		fmt.Fprintf(b, "%.2f%%{visibility:visible}", percent(s[0]))
		if s[1] < len(film) {
			fmt.Fprintf(b, "%.2f%%{visibility:hidden}", percent(s[1]))
		}
		b.WriteString("}\n")
	}
	// Whoever wants nothing to move sees how it ends.
	b.WriteString("@media(prefers-reduced-motion){g{animation:none;visibility:hidden}")
	for _, s := range spans {
		if s[1] == len(film) {
			fmt.Fprintf(b, ".s%d-%d{visibility:visible}", s[0], s[1])
		}
	}
	b.WriteString("}</style>\n" + lines.String() + "</svg>\n")
	return b.String()
}

// A film's lines are seen when their stills are, and at no other time.
func TestRecordingMoves(t *testing.T) {
	t.Parallel()
	got := animated([]still{{"one\nsame", 1}, {"two\nsame", 3}}, true)
	for _, want := range []string{
		"g{animation:4.0s step-end infinite}",
		"k0-1{0.00%{visibility:visible}25.00%{visibility:hidden}}", "k1-2{0%{visibility:hidden}25.00%{visibility:visible}}",
		".s1-2{visibility:visible}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if strings.Count(got, ">same<") != 1 || strings.Count(got, ">one<") != 1 ||
		strings.Count(got, "<g ") != strings.Count(got, "</g>") {
		t.Errorf("not each line once:\n%s", got)
	}
}

// However many lines came at once, the same ones are early.
func TestHalved(t *testing.T) {
	t.Parallel()
	line := func(texts ...string) steps.Event {
		var e steps.CellPrinted
		for _, text := range texts {
			e.Lines = append(e.Lines, steps.OutputLine{Text: text})
		}
		return e
	}
	for _, events := range [][]steps.Event{
		{steps.CellStarted{}, line("a", "b", "c", "d")},
		{steps.CellStarted{}, line("a"), steps.CellMeasured{}, line("b", "c", "d")},
		{steps.CellStarted{}, line("a", "b"), line("c"), steps.CellMeasured{}, line("d"), steps.CellMeasured{}},
	} {
		early, late := halved(events)
		said := func(events []steps.Event) (all string) {
			for _, e := range events {
				if e, ok := e.(steps.CellPrinted); ok {
					for _, l := range e.Lines {
						all += l.Text
					}
				}
			}
			return all
		}
		if _, started := early[0].(steps.CellStarted); !started || said(early) != "ab" || said(late) != "cd" {
			t.Errorf("%q and %q", said(early), said(late))
		}
	}
}
