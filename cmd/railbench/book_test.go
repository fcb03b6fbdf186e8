package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/tui/screen"
)

// The book of screens is what a person sees, as text that is read: each part of the tutorial
// and each of the other screens is a file, and whatever changes a screen changes a file here.
// It is this package's and not tui's because only cmd may know the simulated rig.
const bookPath = "testdata/book"

// bookSizes are the terminals that are looked at: the smallest that many have, one of a
// laptop, and one of a large monitor.
var bookSizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// TestBook compares what is seen with the book; go test ./cmd/railbench -run Book -update writes it again, for a user
// to read the difference.
func TestBook(t *testing.T) {
	t.Parallel()
	whole := recordedWhole(t)
	pages := map[string]string{}
	for i, part := range whole.options.Tutorial.Parts {
		pages[fmt.Sprintf("%02d-%s.txt", i+1, part.ID)] = partPages(t, whole, i)
	}
	broken := record(t, []string{"pcie-x2"}, "ib-write-bw", "pcie-link")
	comparePictures(t, drawPictures(t, whole))
	for name, scene := range scenes(whole, broken) {
		pages[name+".txt"] = scenePages(t, scene)
	}
	old, err := filepath.Glob(filepath.Join(bookPath, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if _, ok := pages[filepath.Base(path)]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s is of a screen that there is no more", path)
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range pages {
		path := filepath.Join(bookPath, name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		has, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v (go test ./cmd/railbench -run Book -update writes the book)", err)
			continue
		}
		if d := cmp.Diff(strings.Split(string(has), "\n"), strings.Split(text, "\n")); d != "" {
			t.Errorf("%s: another screen (go test ./cmd/railbench -run Book -update writes the book; read the difference): %s",
				path, d)
		}
	}
}

// An album collects frames and what is seen by scrolling, each under a line that says which
// it is.
type album struct{ strings.Builder }

func (c *album) page(title string, lines []string) {
	fmt.Fprintf(c, "%s %s\n", strings.Repeat("═", 3), title)
	for _, line := range lines {
		c.WriteString(strings.TrimRight(uncounted(ansi.Strip(line)), " ") + "\n")
	}
	c.WriteString("\n")
}

// The counters that a new cell would change in every frame behind it: how often something ran, and how many of a part's
// cells have, and the numbers of processes.
var (
	runCount  = regexp.MustCompile(`\[\d{2,}\] `)
	runOnce   = regexp.MustCompile(`\[\d\] `)
	blanks    = regexp.MustCompile(` {2,}`)
	process   = regexp.MustCompile(`\[(spark-\d+):\d+ `)
	partCount = regexp.MustCompile(` (\d+)/(\d+) │`)
)

// uncounted is a line without these counters, as wide as before.
func uncounted(line string) string {
	line = runOnce.ReplaceAllString(line, "[n] ")
	for at := runCount.FindStringIndex(line); at != nil; at = runCount.FindStringIndex(line) {
		more := at[1] - at[0] - len("[n] ")
		rest := line[at[1]:]
		gaps := blanks.FindAllStringIndex(rest, -1)
		if len(gaps) > 0 { // the room of the digits goes to the widest gap, where it moves nothing else
			widest := slices.MaxFunc(gaps, func(a, b []int) int { return (a[1] - a[0]) - (b[1] - b[0]) })
			rest = rest[:widest[0]] + strings.Repeat(" ", more) + rest[widest[0]:]
		}
		line = line[:at[0]] + "[n] " + rest
	}
	line = process.ReplaceAllString(line, "[$1:PID ")
	return partCount.ReplaceAllStringFunc(line, func(count string) string {
		return strings.Repeat(" ", len(count)-len("n/m │")) + "n/m │"
	})
}

func (c *album) frame(p *player, title string) {
	c.page(title, strings.Split(p.View().Content, "\n"))
}

// partPages are a part as it is opened; on the smallest terminal, what is seen after enter on
// each of its cells; and all of its lines once all have run.
func partPages(t *testing.T, tp *tape, part int) string {
	t.Helper()
	var c album
	for _, size := range bookSizes {
		synctest.Test(t, func(t *testing.T) {
			p := play(t, tp, size[0], size[1], nil)
			defer p.quit()
			at := fmt.Sprintf("%dx%d", size[0], size[1])
			parts := tp.options.Tutorial.Parts
			for _, before := range parts[:part] {
				for _, cell := range before.Cells {
					p.tell(tp.runs[cell.ID]...)
				}
			}
			p.press(fmt.Sprint(min(part+1, 9)))
			for range part - 8 { // keys lead to nine parts
				p.press("tab")
			}
			c.frame(p, at+", opened")
			p.press("home") // where all has room, the first cell is selected
			for _, cell := range parts[part].Cells {
				p.press("down")
				if ran := p.run(tp, "enter"); !cell.Note() && !slices.Equal(ran, []string{cell.ID}) {
					t.Errorf("%s: enter on %s runs %v", at, cell.ID, ran)
				}
				if size == bookSizes[0] {
					c.frame(p, at+", enter on "+cell.ID)
				}
			}
			if len(parts[part].Cells) > 0 && size != bookSizes[0] {
				c.frame(p, at+", the last cell has run")
			}
			c.page(at+", all of it", p.Spread())
		})
	}
	return c.String()
}

// A scene is how one gets to a screen that is not a part of the tutorial.
type scene struct {
	tape  *tape
	opts  func(*screen.Options)
	steps func(p *player, frame func(title string))
}

func scenePages(t *testing.T, s scene) string {
	t.Helper()
	var c album
	for _, size := range bookSizes {
		synctest.Test(t, func(t *testing.T) {
			p := play(t, s.tape, size[0], size[1], s.opts)
			defer p.quit()
			s.steps(p, func(title string) { c.frame(p, fmt.Sprintf("%dx%d, %s", size[0], size[1], title)) })
		})
	}
	return c.String()
}

// scenes are the screens next to the parts.
func scenes(whole, broken *tape) map[string]scene {
	return map[string]scene{
		"first": {tape: whole, steps: func(p *player, frame func(string)) {
			frame("the first screen")
		}},
		"help": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("?")
			frame("?")
			p.press("pgdown")
			frame("pgdn in the help")
		}},
		"form": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down", "p")
			frame("p on ib-write-bw")
		}},
		"palette": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("ctrl+p", "m", "t", "u")
			frame("ctrl+p, mtu")
		}},
		"sessions": {tape: broken, opts: withSessions(whole, broken), steps: func(p *player, frame func(string)) {
			p.press(":")
			p.press(typedKeys("saved lab")...)
			frame(": saved lab")
			p.press("esc", "4", "home", "down")
			p.run(broken, "enter")
			p.tell(steps.Saved{Path: "/sessions/sim-2026-03-01.ipynb"})
			p.press(":")
			p.press(typedKeys("compare lab")...)
			p.press("enter")
			frame("compared with a saved session")
		}},
		"editor": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down", "E")
			frame("E on ib-write-bw")
			p.press(typedKeys("echo ")...)
			p.press("esc")
			frame("esc keeps what was typed")
		}},
		"drill": {tape: broken, opts: drilled, steps: func(p *player, frame func(string)) {
			frame("it begins")
			p.press("h")
			frame("h: a hint")
			p.run(broken, "A")
			frame("A, as far as it was recorded")
		}},
		"search": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("/")
			p.press(typedKeys("cudaHostAlloc")...)
			frame("/ cudaHostAlloc")
			p.press("enter", "n")
			frame("n")
			p.press("N", "N")
			frame("N before the first")
		}},
		"stage": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down", "enter")
			began, rest := midRun(whole.runs["ib-write-bw"])
			p.tell(began...)
			p.now = p.now.Add(2300e6)
			p.board(whole, true)
			p.press("ctrl+g")
			frame("ctrl+g while ib-write-bw runs")
			p.board(whole, false)
			p.tell(rest...)
			frame("it has ended")
		}},
		"output": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("2", "home", "down", "down")
			p.run(whole, "enter")
			p.press("O")
			frame("O on devices")
			p.press("/")
			p.press(typedKeys("active")...)
			p.press("enter", "n", "n")
			frame("n n in it")
		}},
		"pages": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("D")
			frame("D")
			p.press("ctrl+p")
			p.press(typedKeys("page troubleshooting")...)
			p.press("enter", "n", "n")
			frame("n n in troubleshooting")
			p.press("w")
			frame("w")
		}},
		"changed": {tape: whole, opts: changedOnDisk(), steps: func(p *player, frame func(string)) {
			frame("the runbook has changed on disk")
		}},
		"followed": {tape: whole, opts: func(o *screen.Options) {
			o.ReadOnly = followed(fmt.Errorf("%s, has it open",
				notebook.Owner{PID: 4711, Host: "spark-02", Since: time.Date(2026, 3, 1, 9, 12, 44, 0, time.Local)}))
		}, steps: func(p *player, frame func(string)) {
			frame("a second railbench")
			p.press("4", "home", "down", "enter")
			frame("enter in it")
		}},
		"question": {tape: whole, steps: func(p *player, frame func(string)) {
			for _, id := range []string{"mtu", "bond-setup"} {
				for _, q := range whole.asked[id] {
					p.wall = q.Deadline.Add(-2 * 60e9)
					answered := false
					p.told.questions <- steps.Question{Change: &q, Answer: func(string, bool) { answered = true }}
					p.send(nil)
					frame("before the answer to " + id)
					if !q.Keep {
						p.press("pgdown")
						frame("pgdn in it")
					}
					p.press("y")
					if !answered {
						p.t.Errorf("y does not answer the question about %s", id)
					}
				}
				p.tell(whole.runs[id]...)
			}
		}},
		"running": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down", "enter")
			began, _ := midRun(whole.runs["ib-write-bw"])
			p.tell(began...)
			p.now = p.now.Add(2300e6)
			p.board(whole, true)
			frame("ib-write-bw runs")
			p.press("g")
			frame("g: the gauges")
		}},
		"interrupted": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down", "enter")
			_, ended := cutRun(whole.runs["ib-write-bw"])
			began, _ := midRun(whole.runs["ib-write-bw"])
			p.tell(began...)
			p.now = p.now.Add(2300e6)
			p.press("i", "i")
			frame("i i while ib-write-bw runs")
			ended.Verdict = steps.Verdict{Grade: steps.Inconclusive, Reason: "Interrupted before it was done."}
			ended.Bytes, ended.HasExit, ended.Elapsed = nil, false, 2600e6
			p.tell(ended)
			frame("it has ended")
		}},
		"failed": {tape: broken, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down")
			p.run(broken, "enter")
			frame("enter on ib-write-bw, whose slot is half as wide as it should be")
			p.press("e")
			frame("e: its evidence")
		}},
		"checklist": {tape: broken, steps: func(p *player, frame func(string)) {
			p.press("C")
			frame("C")
			p.run(broken, "A")
			frame("A, as far as it was recorded")
		}},
	}
}

// typedKeys are the keys of a text.
func typedKeys(text string) (keys []string) {
	for _, r := range text {
		if r == ' ' {
			keys = append(keys, "space")
		} else {
			keys = append(keys, string(r))
		}
	}
	return keys
}

// withSessions has two saved sessions: in one of them ran the cells of before, and in this one
// those of now.
func withSessions(before, now *tape) func(*screen.Options) {
	return func(o *screen.Options) {
		o.Saved.List = func() []screen.SessionFile {
			return []screen.SessionFile{
				{Path: "/sessions/lab-2026-02-28.ipynb", Name: "lab-2026-02-28", About: "saved 28 Feb 2026 17:02"},
				{Path: "/sessions/sim-2026-02-27.ipynb", Name: "sim-2026-02-27", About: "saved 27 Feb 2026 09:40"},
			}
		}
		o.Saved.Check = func(string) error { return nil }
		o.Saved.Compare = func(open, other string) (string, error) {
			return notebook.ComparisonPage(before.document("ib-write-bw"), now.document("ib-write-bw"), other, open)
		}
	}
}

func drilled(o *screen.Options) {
	o.Drill = screen.Drill{
		Fault: "pcie-x2", Title: "A slot at half its width",
		Report: "Since the machine was moved, transfers take twice as long.",
		Hints:  []string{"It is no cable.", "Ask how wide the way from the adapter to the processor is."},
	}
}

// changedOnDisk reports once that a file has changed.
func changedOnDisk() func(*screen.Options) {
	return func(o *screen.Options) {
		told := false
		o.Runbook.Changed = func() string {
			if told {
				return ""
			}
			told = true
			return "lab.md"
		}
	}
}

// midRun is what has come of a run while its first rail is measured, and the rest of it.
func midRun(events []steps.Event) (began, rest []steps.Event) {
	lines := 0
	for _, e := range events {
		if e, ok := e.(steps.CellPrinted); ok {
			lines += len(e.Lines)
		}
	}
	left := lines * 15 / 100 // four rails, one after the other
	for i, e := range events {
		switch e := e.(type) {
		case steps.CellEnded:
			return began, events[i:]
		case steps.CellPrinted:
			if len(e.Lines) >= left {
				// How many lines one event has is a matter of when they were handed over.
				first, then := e, e
				first.Lines, then.Lines = e.Lines[:left], e.Lines[left:]
				return append(began, first), append([]steps.Event{then}, events[i+1:]...)
			}
			left -= len(e.Lines)
		}
		began = append(began, e)
	}
	return began, nil
}

// cutRun is a run up to its end, and that.
func cutRun(events []steps.Event) (began []steps.Event, ended steps.CellEnded) {
	for i, e := range events {
		if e, ok := e.(steps.CellEnded); ok {
			return events[:i], e
		}
	}
	return events, ended
}
