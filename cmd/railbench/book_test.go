package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui"
)

// The book of screens is what a person sees, as text that is read: each part of the tutorial
// and each of the other screens is a file, and whatever changes a screen changes a file here.
// It is this package's and not tui's because only cmd may know the simulated rig.
const bookPath = "testdata/book"

// bookSizes are the terminals that are looked at: the smallest that many have, one of a
// laptop, and one of a large monitor.
var bookSizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// TestBook compares what is seen with the book; go test ./cmd/railbench -run Book -update
// writes it anew, for somebody to read the difference.
func TestBook(t *testing.T) {
	t.Parallel()
	whole := record(t, nil)
	pages := map[string]string{}
	for i, part := range whole.options.Tutorial.Parts {
		pages[fmt.Sprintf("%02d-%s.txt", i+1, part.ID)] = partPages(t, whole, i)
	}
	broken := record(t, []string{"pcie-x2"}, "ib-write-bw", "pcie-link")
	comparePictures(t, drawPictures(t, whole, broken))
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
		c.WriteString(strings.TrimRight(ansi.Strip(line), " ") + "\n")
	}
	c.WriteString("\n")
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
			p.press(fmt.Sprint(part+1), "home")
			c.frame(p, at+", opened")
			for _, cell := range parts[part].Cells {
				p.press("down")
				p.run(tp, "enter")
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

// A scene is how one gets to a screen that is no part of the tutorial.
type scene struct {
	tape  *tape
	opts  func(*tui.Options)
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

// scenes are the screens beside the parts.
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
			p.press("4", "down", "p")
			frame("p on ib-write-bw")
		}},
		"palette": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("ctrl+p", "m", "t", "u")
			frame("ctrl+p, mtu")
		}},
		"question": {tape: whole, steps: func(p *player, frame func(string)) {
			for _, id := range []string{"mtu", "bond-setup"} {
				for _, q := range whole.asked[id] {
					p.now = q.Deadline.Add(-2 * 60e9)
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
			began, _ := cutRun(whole.runs["ib-write-bw"])
			p.tell(began...)
			p.now = p.now.Add(2300e6)
			p.board(whole, true)
			frame("ib-write-bw runs")
			p.press("g")
			frame("g: the gauges")
		}},
		"interrupted": {tape: whole, steps: func(p *player, frame func(string)) {
			p.press("4", "home", "down", "enter")
			began, ended := cutRun(whole.runs["ib-write-bw"])
			p.tell(began...)
			p.press("i", "i")
			frame("i i while ib-write-bw runs")
			ended.Verdict = steps.Verdict{Grade: steps.Inconclusive, Reason: "Interrupted before it was done."}
			ended.Bytes, ended.HasExit = nil, false
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

// cutRun is a run up to its end, and that.
func cutRun(events []steps.Event) (began []steps.Event, ended steps.CellEnded) {
	for i, e := range events {
		if e, ok := e.(steps.CellEnded); ok {
			return events[:i], e
		}
	}
	return events, ended
}
