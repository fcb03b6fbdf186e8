package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

func (s *driven) script(id string) string {
	c, ok := s.Book.Tutorial.Cell(id)
	if !ok || len(c.Roles) == 0 {
		return ""
	}
	return c.Roles[0].Script
}

func TestEditAScript(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3", "E")
	s.sees("GID tables · edit", "show_gids", "esc keep")
	s.types("timeout 5 ")
	s.sees("timeout 5 show_gids", "changed")
	s.press("esc")
	s.asked("edit gids: gids")
	if got := s.script("gids"); got != "timeout 5 show_gids\n" {
		t.Errorf("the script is %q", got)
	}
	if c, _ := s.Book.Tutorial.Cell("gids"); !c.Edited {
		t.Error("it is not marked as edited")
	}
	s.press("z")
	s.asked("edit gids: gids")
	if got := s.script("gids"); got != "show_gids\n" {
		t.Errorf("after z: %q", got)
	}
	s.press("z")
	s.sees("no cell was edited")
	s.asked()
}

// Leaving without a change changes nothing; esc and ctrl+c keep what was typed.
func TestEditThatChangesNothing(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3", "E", "esc", "E")
	s.types("rm -rf / ")
	s.press("ctrl+c")
	s.asked("edit gids: gids")
	if got := s.script("gids"); got != "rm -rf / show_gids\n" {
		t.Errorf("the script is %q", got)
	}
	s.press("z")
	s.asked("edit gids: gids")
	s.press("1", "home", "E")
	s.sees("select a cell first")
}

// What the text area can't show as it is stays as it was, unless something is typed; and what it would cut off isn't
// opened, nor taken from another editor.
func TestEditKeepsWhatIsNotShown(t *testing.T) {
	long := strings.Repeat("x", maxScript+1) + "\n"
	for name, script := range map[string]string{"tabs": "printf 'a\tb'\n\tx\n", "long": long} {
		tutorial := sampleTutorial()
		for i, p := range tutorial.Parts {
			for j, c := range p.Cells {
				if c.ID == "gids" {
					tutorial.Parts[i].Cells[j] = c.WithScript(0, script)
				}
			}
		}
		s := newScreen(t, tutorial, 100, 40)
		if s.press("3", "end", "E"); (!s.Layers.Has(screen.Editor)) != (name == "long") {
			t.Fatalf("%s: is it open? %t", name, s.Layers.Has(screen.Editor))
		}
		if name == "long" {
			s.sees("too long to be edited here")
			continue
		}
		s.seesNot("changed")
		s.send(editedMsg{func() string { return long }, nil})
		s.sees("it is as it was")
		s.press("esc")
		if c, _ := s.Book.Tutorial.Cell("gids"); c.Edited || c.Roles[0].Script != script {
			t.Errorf("%s: edited %t: %q", name, c.Edited, c.Roles[0].Script)
		}
	}
}

func TestEditAndRun(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3", "E")
	s.send(tea.PasteMsg{Content: "date\n"})
	s.press("ctrl+r")
	s.asked("edit gids: gids", "run gids")
	if got := s.script("gids"); got != "date\nshow_gids\n" {
		t.Errorf("the script is %q", got)
	}
}

// A cell's scripts are edited one by one, and keep their indentation.
func TestEditTheOtherScript(t *testing.T) {
	tt := sampleTutorial()
	tt.Parts[3].Cells[0].Roles[1].Script = "if true; then\n\tib_write_bw \\\n\t\t-F\nfi\n"
	s := newScreen(t, tt, 100, 40)
	s.notebook.Show("ib-write-bw")
	s.press("E")
	s.sees("server")
	s.press("ctrl+t")
	s.sees("client", "if true")
	s.types("set -e; ")
	s.press("esc")
	c, _ := s.Book.Tutorial.Cell("ib-write-bw")
	if got := c.Roles[1].Script; got != "set -e; if true; then\n\tib_write_bw \\\n\t\t-F\nfi\n" {
		t.Errorf("the script is %q", got)
	}
	if c.Roles[0].Script != tt.Parts[3].Cells[0].Roles[0].Script {
		t.Error("the server's script is another")
	}
}

func TestScratchCells(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3", "b")
	s.sees("Scratch · edit")
	s.types("uptime")
	s.press("ctrl+r")
	s.asked("edit gids: gids scratch-1", "edit gids: gids scratch-1", "run scratch-1")
	s.notebook.Show("scratch-1")
	if got := s.script("scratch-1"); got != "uptime\n" {
		t.Errorf("the script is %q", got)
	}
	place := func() steps.Where {
		c, _ := s.Book.Tutorial.Cell("scratch-1")
		return c.Roles[0].On
	}
	for _, want := range []steps.Where{steps.OnPeer, steps.OnBoth, steps.OnHere} {
		s.press("t")
		if place() != want {
			t.Errorf("it runs on %s, want %s", place(), want)
		}
	}
	s.press("m")
	if c, _ := s.Book.Tutorial.Cell("scratch-1"); !c.Note() || c.Prose != "uptime\n" {
		t.Errorf("no note: %+v", c)
	}
	s.fake.took()
	s.press("enter") // a note has nothing to run
	s.asked()
	s.notebook.Show("scratch-1")
	s.press("m")
	if s.script("scratch-1") != "uptime\n" {
		t.Error("the note is no script again")
	}
	s.press("a", "esc")
	ids := func() (all []string) {
		for _, c := range s.notebook.open().Cells {
			all = append(all, c.ID)
		}
		return all
	}
	if got := ids(); !slices.Equal(got, []string{"gids", "scratch-2", "scratch-1"}) {
		t.Errorf("cells: %q", got)
	}
	s.press("d", "j", "d")
	if len(ids()) != 3 {
		t.Error("d, something else and d removed a cell")
	}
	s.notebook.Show("scratch-2")
	s.press("e", "d", "d", "d")
	if got := ids(); !slices.Equal(got, []string{"gids", "scratch-1"}) {
		t.Errorf("after d d: %q", got)
	}
	s.press("z")
	if got := ids(); !slices.Equal(got, []string{"gids", "scratch-2", "scratch-1"}) {
		t.Errorf("after z: %q", got)
	}
	s.notebook.Show("gids")
	s.press("m")
	s.sees("only a scratch cell")
}

// A cell of the tutorial is hidden with its result, which counts and can be shown again.
func TestHide(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("4", "home", "j")
	s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now}, passed(1, "ib-write-bw"))
	s.press("d", "d")
	s.sees("(1 hidden)")
	s.seesNot("Bandwidth of one rail")
	if s.Book.Cells["ib-write-bw"].Verdict.Grade != steps.Pass {
		t.Error("its result is gone")
	}
	if slices.ContainsFunc(s.Book.Tutorial.Main(), func(c steps.Cell) bool { return c.ID == "ib-write-bw" }) {
		t.Error("A would run it")
	}
	// A cell that is added stands where it would without the hidden one.
	s.press("home", "b", "esc")
	var ids []string
	for _, c := range s.Book.Tutorial.CellsOf("baseline") {
		ids = append(ids, c.ID)
	}
	if !slices.Equal(ids, []string{"ib-write-bw", "scratch-1", "ib-write-lat"}) {
		t.Errorf("cells %v", ids)
	}
	s.press("U")
	s.sees("Bandwidth of one rail")
	s.seesNot("hidden)")
	s.press("U")
	s.sees("no cell of this part is hidden")
}

// What runs or waits stays.
func TestRemoveWhatRuns(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.press("d", "d")
	s.asked()
	s.sees("i interrupts")
}

func TestStaleIsShown(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now, Scripts: []string{"show_gids\n"}},
		steps.CellEnded{Run: 1, Cell: "gids", Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine."}})
	s.seesNot("stale")
	s.press("E")
	s.types("time ")
	s.press("esc")
	s.sees("stale: its script was changed after it ran")
}

func TestRestart(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.tell(steps.CellStarted{Run: 1, Cell: "gids"},
		steps.CellEnded{Run: 1, Cell: "gids", Verdict: steps.Verdict{Grade: steps.Pass}})
	s.press("0")
	s.asked("reset")
	s.press("j", "0")
	s.asked("reset")
	s.press("0")
	s.asked("clear gids")
}

// A script is shown whole before it can be trusted, and the one that was shown is.
func TestTrust(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	s.press("3")
	c, ok := s.Model.notebook.Selected()
	if !ok {
		t.Fatal("no cell is selected")
	}
	s.press("T")
	s.asked()
	if !s.Model.Scripts[c.ID] {
		t.Error("its script is folded still")
	}
	s.press("s", "T") // another key in between: it is shown again
	s.asked()
	s.press("T")
	s.asked("trust " + c.ID)
}

// A paste of any size and content stays in its bounds.
func TestEditorTakesAnything(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 80, 24)
	s.press("3", "E")
	s.send(tea.PasteMsg{Content: strings.Repeat("x\x1b[31m\x00\t漢字\r\n", 20_000)})
	fits(t, s, [2]int{80, 24})
	s.press("esc")
	if n := len(s.script("gids")); n > 8*maxScript {
		t.Errorf("the script has %d bytes", n)
	}
}

// The user's own editor gets what was typed, and gives back what to keep.
func TestOwnEditor(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	given := ""
	s.Opts.Programs.Editor = func(text string) (tea.ExecCommand, func() string, error) {
		given = text
		return nil, func() string { return "date\n" }, nil
	}
	s.press("3", "E")
	s.types("time ")
	msg, ok := s.press("ctrl+o")().(editorMsg)
	if !ok || given != "time show_gids\n" {
		t.Fatalf("it was given %q", given)
	}
	s.send(editedMsg{msg.read, errors.New("exit status 1")})
	s.sees("the text is as it was", "time show_gids")
	s.send(editedMsg{msg.read, nil})
	s.press("esc")
	if got := s.script("gids"); got != "date\n" {
		t.Errorf("the script is %q", got)
	}
	s.send(editorMsg{err: errors.New("no vi")})
	s.sees("no vi")
	s.send(editedMsg{msg.read, nil}) // nothing is edited any more
}

// A question that comes while a user types waits: what is typed is not an answer.
func TestQuestionsWaitForTheWriter(t *testing.T) {
	for name, keys := range map[string][]string{
		"editor": {"3", "E"}, "palette": {"ctrl+p"}, "symptom": {"C", "/"},
	} {
		s := newScreen(t, withChecklist(), 100, 40)
		s.press(keys...)
		answered := false
		s.send(questionMsg(steps.Question{
			Change: &steps.ChangeQuestion{Title: "Make a bond"},
			Answer: func(string, bool) { answered = true },
		}))
		if !s.Layers.Typing() {
			t.Errorf("%s: nobody is writing", name)
		}
		s.seesNot("Change the network?")
		s.sees("1 question waits")
		if cmd := s.press("y"); cmd != nil {
			cmd()
		}
		if answered {
			t.Errorf("%s: y was taken for an answer", name)
		}
		s.press("esc")
		s.sees("Change the network?")
		if cmd := s.press("y"); cmd != nil {
			cmd()
		}
		if !answered {
			t.Errorf("%s: y was no answer afterwards", name)
		}
	}
}

// ctrl+s writes to the file of a runbook, and says what became of it.
func TestWriteToTheRunbook(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	var got []steps.Part
	var fails error
	s.Opts.Runbook.Write = func(parts []steps.Part) (string, error) {
		got = parts
		return "written to mine.md (1 cell)", fails
	}
	s.press("3", "E")
	s.types("time ")
	s.press("esc")
	s.fake.took()
	s.send(s.press("ctrl+s")())
	s.sees("written to mine.md (1 cell)")
	if c, _ := (steps.Tutorial{Parts: got}).Cell("gids"); c.Roles[0].Script != "time show_gids\n" || !c.Edited {
		t.Errorf("it got %+v", c)
	}
	fails = errors.New("mine.md: read-only")
	s.send(s.press("ctrl+s")())
	s.sees("mine.md: read-only")
}

// x, c and v are Jupyter's; what was cut comes back as it was, a copy is another cell; and
// what z brings back is selected.
func TestCutCopyAndPaste(t *testing.T) {
	s := start(t, 100, 40)
	s.press("v")
	s.sees("x cuts a cell")
	s.press("2", "j", "x")
	s.asked("edit devices: interfaces rail-map")
	s.press("end", "v")
	s.asked("edit devices: interfaces rail-map devices")
	if c, _ := s.notebook.Selected(); c.ID != "devices" || c.Scratch {
		t.Errorf("%+v is selected", c)
	}
	s.press("c", "V")
	s.asked("edit devices: interfaces rail-map scratch-1 devices")
	if c, _ := s.notebook.Selected(); c.ID != "scratch-1" || !c.Scratch || c.Roles[0].Script != s.script("devices") {
		t.Errorf("the copy is %+v", c)
	}
	s.press("home", "j", "d", "d", "end", "z")
	if c, _ := s.notebook.Selected(); c.ID != "interfaces" {
		t.Errorf("after z %s is selected", c.ID)
	}
}

// shift+enter in the editor keeps the text, runs the cell and goes on.
func TestEditRunAndGoOn(t *testing.T) {
	s := start(t, 100, 40)
	s.press("2", "E")
	s.types("true; ")
	s.press("shift+enter")
	s.asked("edit devices: interfaces devices rail-map", "run interfaces")
	if c, _ := s.notebook.Selected(); c.ID != "devices" || s.Layers.Has(screen.Editor) {
		t.Errorf("%s is selected", c.ID)
	}
}
