package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/dialog"
)

func typed(s *driven, text string) {
	for _, r := range text {
		s.press(string(r))
	}
}

func TestParametersOfACell(t *testing.T) {
	s := start(t, 150, 40)
	s.press("4", "home", "j", "p")
	s.sees("Parameters of ib-write-bw", "● this cell", "SIZE", "65536", "64 KiB", "ITERATIONS", "chosen for each rail",
		"Size of one message.", "By default 64 KiB. It is a size from 1 byte to 1 GiB")
	s.seesNot("BOND_MODE", "PYTHON")
	// What is typed is read as it is typed.
	s.press("ctrl+u")
	s.sees("✗ SIZE is \"\": it is a size")
	typed(s, "1M")
	s.sees("the scripts get 1048576", "1 MiB")
	typed(s, "B")
	s.sees("✗ SIZE is \"1MB\"", "write 1M or 1MiB")
	// Nothing is set as long as something is wrong: the cursor goes there.
	s.press("tab", "7", "enter")
	s.asked()
	s.press("backspace", "enter")
	s.asked("set ib-write-bw.SIZE=1048576", "set ib-write-bw.ITERATIONS=7")
	s.seesNot("Parameters of")
	s.sees("SIZE is 1 MiB, ITERATIONS is 7 messages for ib-write-bw")
	// What will run stands under the cell's head, and nowhere else.
	s.tell(steps.ParamsSet{Params: steps.Settings{}.With("ib-write-bw",
		"SIZE", "1048576").With("ib-write-bw", "ITERATIONS", "7")})
	s.sees("SIZE=1 MiB (default 64 KiB)  ITERATIONS=7 messages (default chosen for each rail)")
	if n := strings.Count(s.plain(), "(default"); n != 2 {
		t.Errorf("%d parameters are said to be changed", n)
	}
	// The form has them now; taken back, it is as before.
	s.press("p")
	s.sees("1048576")
	s.press("ctrl+r", "enter")
	s.asked("set ib-write-bw.SIZE=65536")
	s.tell(steps.ParamsSet{Params: steps.Settings{}.With("ib-write-bw", "ITERATIONS", "7")})
	s.seesNot("SIZE=1 MiB")
}

func TestParametersForAllCells(t *testing.T) {
	s := start(t, 100, 40)
	s.tell(steps.ParamsSet{Params: steps.Settings{}.With("", "SIZE", "4096").With("ib-write-lat", "SIZE", "2048")})
	s.press("4", "end", "p")
	s.sees("Parameters of ib-write-lat", "2048", "2 KiB", "For all cells: 4 KiB.")
	s.press("ctrl+g")
	s.sees("● all cells", "4096", "This cell has its own, 2 KiB, and keeps it.")
	// What was typed stays when it is meant for others.
	s.press("backspace", "ctrl+g", "ctrl+g")
	s.sees("409 bytes")
	s.press("enter")
	s.asked("set .SIZE=409")
	s.sees("SIZE is 409 bytes")
	// On an introduction it is all of them, for all cells.
	s.press("home", "p")
	s.sees("Parameters ", "for all cells", "KV_CACHE_GB", "PYTHON", "With its own: ib-write-lat (2 KiB).")
	s.seesNot("this cell")
	s.press("ctrl+g")
	s.sees("4 KiB")
	s.press("down", "down", "ctrl+u")
	typed(s, "active")
	s.sees("did you mean")
	typed(s, "-backup")
	s.press("pgdown")
	s.press("home", "3", "delete", "end", "delete", "enter")
	s.asked("set .BOND_MODE=active-backup", "set .KV_CACHE_GB=3,4")
}

func TestTheFormLeavesEverything(t *testing.T) {
	s := start(t, 100, 40)
	s.press("4", "home", "j", "p", "9", "esc")
	s.asked()
	s.seesNot("Parameters of")
	s.press("p", "9", "ctrl+c", "p", "enter")
	s.asked()
	s.sees("no parameter was changed")
	// A value that is what holds anyway is none that was changed.
	s.press("p", "1", "backspace", "enter")
	s.asked()
	s.press("p", "ctrl+u")
	typed(s, "64K")
	s.press("enter")
	s.asked()
	s.press("3", "p")
	s.sees("no parameter changes this cell")
	// Keys of the notebook are text in it.
	s.press("4", "home", "j", "p", "q", "A", "?", "esc")
	s.asked()
	s.seesNot("Parameters of")
	// What is shown only can't be set.
	s.Opts.ReadOnly = "shown only"
	s.press("p")
	s.sees("shown only")
	s.seesNot("Parameters of")
	s.Opts.ReadOnly = ""
	// The session has the last word.
	s.fake.refuses = errors.New("SIZE is \"9\": not today")
	s.press("p", "9", "enter")
	s.asked("set ib-write-bw.SIZE=655369")
	s.sees("not today")
}

func TestTheFormWhileACellRuns(t *testing.T) {
	s := start(t, 100, 40)
	s.press("4", "home", "j", "p", "9")
	s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "ib-write-bw", Lines: lines(5, "x")})
	s.sees("655369")
	// A question waits until the form is left: what is typed is not an answer.
	s.send(questionMsg(secret(func(string, bool) {}, false)))
	s.seesNot("sudo password")
	s.sees("1 question waits", "655369")
	s.press("enter")
	s.asked("set ib-write-bw.SIZE=655369")
	s.sees("sudo password")
	s.press("esc")
	s.seesNot("sudo password")
}

func TestEditingAField(t *testing.T) {
	s := start(t, 100, 40)
	s.press("p", "down", "down", "down")
	s.send(tea.PasteMsg{Content: " /opt/my\npython\t3\r\n"})
	s.press("home", "right", "delete", "end", "left", "backspace", "é", "漢", "ctrl+a", "X", "ctrl+e", "Y")
	f := s.form.Fields[3]
	if got := f.Line.Text(); got != "Xpthon3/opt/my pythoné漢3Y" {
		t.Errorf("the text is %q", got)
	}
	s.send(tea.PasteMsg{Content: strings.Repeat("long", 5000)})
	if n := len([]rune(s.form.Fields[3].Line.Text())); n != dialog.MaxField {
		t.Errorf("%d runes", n)
	}
	s.press("ctrl+u", "enter")
	s.asked()
	s.sees("✗ PYTHON is")
}

func TestParametersOfACheck(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 40)
	s.press("C", "p")
	s.sees("Parameters of fix-mtu", "BOND_MODE")
	s.press("ctrl+u")
	typed(s, "active-backup")
	s.press("enter")
	s.asked("set fix-mtu.BOND_MODE=active-backup")
	s.press("end", "p")
	s.sees("no parameter changes this cell")
}

// What stands over the screen has the keys: the line below offers none that would do something else.
func TestABoxHasTheKeys(t *testing.T) {
	for name, keys := range map[string][]string{"form": {"p"}, "help": {"?"}, "palette": {"ctrl+p"}} {
		s := start(t, 100, 40)
		s.press("4", "home", "down")
		s.sees("enter run")
		s.press(keys...)
		if rows := strings.Split(ansi.Strip(s.view()), "\n"); strings.Contains(rows[len(rows)-1], "enter run") {
			t.Errorf("%s: %s", name, rows[len(rows)-1])
		}
		s.press("esc")
		s.sees("enter run")
	}
}
