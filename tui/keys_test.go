package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

func start(t testing.TB, w, h int) *driven {
	s := newScreen(t, sampleTutorial(), w, h)
	s.tell(connected()...)
	s.send(snapshotMsg(sampleBoard(4, 0)))
	return s
}

func TestKeysAskTheSession(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want []string
	}{
		{"enter runs the selected cell", []string{"3", "enter"}, []string{"run gids"}},
		{"enter on the introduction goes to the first cell", []string{"1", "enter", "enter"}, []string{"run nodes"}},
		{
			"shift+enter runs and goes on",
			[]string{"3", "shift+enter", "shift+enter", "enter"},
			[]string{"run gids", "run ib-write-bw"},
		},
		{"alt+enter does, too", []string{"2", "alt+enter", "enter"}, []string{"run interfaces", "run devices"}},
		{
			"and so does the space bar",
			[]string{"2", "space", "space", "enter"},
			[]string{"run interfaces", "run devices", "run rail-map"},
		},
		{
			"A runs everything",
			[]string{"A"},
			[]string{"run nodes tools interfaces devices rail-map gids ib-write-bw ib-write-lat"},
		},
		{"P runs the part", []string{"2", "P"}, []string{"run interfaces devices rail-map"}},
		{"F runs from here", []string{"2", "j", "F"}, []string{"run devices rail-map gids ib-write-bw ib-write-lat"}},
		{
			"R runs what is left",
			[]string{"2", "R"},
			[]string{"run interfaces devices rail-map gids ib-write-bw ib-write-lat"},
		},
		{"delete clears", []string{"3", "delete"}, []string{"clear gids"}},
		{"0 resets peaks", []string{"0"}, []string{"reset"}},
		{"i with nothing running", []string{"i"}, nil},
		{"the wheel asks nothing", []string{"?", "A"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, 100, 40)
			s.press(c.keys...)
			s.asked(c.want...)
		})
	}
}

func TestACellIsNotQueuedTwice(t *testing.T) {
	s := start(t, 100, 40)
	s.press("3")
	s.tell(steps.CellQueued{Cell: "gids"})
	s.press("enter")
	s.asked()
	s.sees("waits for its turn already")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.press("enter")
	s.asked()
	s.sees("i interrupts it")
}

// What a user asks for arrives in the order of the keys, although commands run
// side by side.
func TestAsksKeepTheirOrder(t *testing.T) {
	s := start(t, 100, 40)
	s.press("3")
	_, first := s.Update(keyPress("enter"))
	_, second := s.Update(keyPress("delete"))
	if second != nil {
		t.Fatal("a second call to the session started before the first had returned")
	}
	for cmd := first; cmd != nil; {
		_, cmd = s.Update(cmd())
	}
	s.asked("run gids", "clear gids")
}

func TestControlCInterruptsThenAsks(t *testing.T) {
	s := start(t, 100, 40)
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.press("ctrl+c")
	s.asked("interrupt")
	s.sees("interrupting")
	s.press("ctrl+c")
	s.asked()
	s.sees("Quit?", "GID tables")
	s.press("n")
	s.seesNot("Quit?")
	if isQuit(s.press("q")) {
		t.Error("q quits at once although a cell runs")
	}
	if !isQuit(s.press("y")) {
		t.Error("y doesn't quit")
	}
}

func TestQuit(t *testing.T) {
	if s := start(t, 100, 40); !isQuit(s.press("q")) {
		t.Error("q doesn't quit an idle screen")
	}
	s := start(t, 100, 40)
	if isQuit(s.press("ctrl+c")) {
		t.Error("ctrl+c quits without asking")
	}
	if !isQuit(s.press("y")) {
		t.Error("y doesn't quit")
	}
}

func isQuit(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

func TestKeyTableIsTheKeymap(t *testing.T) {
	table := KeyTables()[0].Rows
	s := newScreen(t, sampleTutorial(), 200, 160) // all of the help at once
	s.press("?")
	seen := map[string]bool{}
	for _, row := range table {
		if row[0] == "" || row[1] == "" {
			t.Errorf("a row without text: %q", row)
		}
		s.sees(row[0])
		if seen[row[0]] {
			t.Errorf("%q is in the table twice", row[0])
		}
		seen[row[0]] = true
	}
	// What works while one types what is looked for has a table, too.
	search := func(x KeyTable) bool { return x.Screen == "search" && len(x.Rows) > 0 }
	if all := KeyTables(); !slices.ContainsFunc(all, search) {
		t.Errorf("the notebook's search is in none of %d tables", len(all))
	}
	for _, l := range []screen.Layer{s.notebook, s.list, s.output, s.gauges, s.docs} {
		bound := map[string]string{}
		for _, c := range l.Bindings() {
			for _, b := range c.Bindings {
				if b.Act == nil && b.Digit == nil {
					t.Errorf("%q is in help and does nothing", b.Help().Key)
				}
				for _, k := range b.Keys() {
					if bound[k] != "" {
						t.Errorf("%q is bound to %q and to %q", k, bound[k], b.Help().Desc)
					}
					bound[k] = b.Help().Desc
				}
			}
		}
	}
}

// A key that the footer names is one that works where it is shown.
func TestFooterFitsAndNamesBoundKeys(t *testing.T) {
	s := start(t, 200, 60)
	for width := screen.LeastWidth; width <= 200; width++ {
		if f := s.footer(width); ansi.StringWidth(f) > width {
			t.Errorf("%d wide: %q", width, ansi.Strip(f))
		}
	}
	if f := ansi.Strip(s.footer(screen.LeastWidth)); !strings.Contains(f, "enter run") || !strings.Contains(f, "? help") {
		t.Errorf("the narrow footer leaves out what matters: %q", f)
	}
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	if f := ansi.Strip(s.footer(screen.LeastWidth)); !strings.Contains(f, "i interrupt") {
		t.Errorf("a running cell can't be seen to be interruptible: %q", f)
	}
}

func TestNoColourHasNoColour(t *testing.T) {
	for name, build := range states() {
		s := build(t, 120, 40)
		s.Opts.Terminal.NoColor = true
		s.restyle()
		if bad := colourCodes(s.view()); len(bad) > 0 {
			t.Errorf("%s: %q", name, bad)
		}
	}
	s := start(t, 120, 40)
	if len(colourCodes(s.view())) == 0 {
		t.Error("the test sees no colours where there are some")
	}
	s.setProfile(colorprofile.ASCII)
	if bad := colourCodes(s.view()); len(bad) > 0 {
		t.Errorf("a terminal without colours gets %q", bad)
	}
}

// colourCodes gives the SGR parameters that set a colour.
func colourCodes(s string) []string {
	var bad []string
	for _, part := range strings.Split(s, "\x1b[")[1:] {
		params, _, ok := strings.Cut(part, "m")
		if !ok {
			continue
		}
		for p := range strings.SplitSeq(params, ";") {
			if len(p) >= 2 && strings.ContainsAny(p[:1], "3491") {
				bad = append(bad, params)
			}
		}
	}
	return bad
}

func TestBackgroundAndProfile(t *testing.T) {
	s := start(t, 100, 30)
	s.Opts.Terminal.Background = screen.Ask
	dark := s.view()
	s.send(tea.BackgroundColorMsg{Color: ansi.BrightWhite})
	light := s.view()
	if dark == light {
		t.Error("light and dark look the same")
	}
	s.setProfile(colorprofile.ANSI)
	if v := s.view(); strings.Contains(v, "38;2;") {
		t.Error("24-bit colours on a terminal of 16")
	}
	s.setProfile(colorprofile.TrueColor)
	s.Opts.Terminal.Background = screen.Light
	s.send(tea.BackgroundColorMsg{Color: ansi.Black})
	if s.Dark {
		t.Error("what the user chose gives way to what the terminal says")
	}
}

func TestQuestionsAreAnsweredOnce(t *testing.T) {
	var answers []string
	note := func(text string, ok bool) {
		if !ok {
			text = "declined"
		}
		answers = append(answers, text)
	}
	do := func(s *driven, keys ...string) {
		for _, k := range keys {
			if cmd := s.press(k); cmd != nil {
				cmd()
			}
		}
	}
	s := start(t, 100, 30)
	s.send(questionMsg(hostKey(note)))
	s.send(questionMsg(secret(note, false)))
	s.send(questionMsg(secret(note, true)))
	s.send(questionMsg(hostKey(note)))
	s.send(questionMsg(hostKey(note)))
	s.sees("Is this the right host?", "SHA256:abcdef", "then 4 more questions")

	do(s, "enter", "q", "A")
	if len(answers) > 0 {
		t.Fatalf("a key that is no answer answered %q", answers)
	}
	do(s, "y")
	s.sees("sudo password")
	s.seesNot("was wrong")
	// Output streams in meanwhile.
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(5, "x")})
	do(s, "h", "u", "n", "t", "e", "x", "backspace", "r", "2", "space")
	s.send(tea.PasteMsg{Content: "!?\n"})
	s.seesNot("hunter2")
	s.sees("••••••••••")
	do(s, "enter")
	s.sees("The last one was wrong.")
	do(s, "z", "esc", "n", "ctrl+c")
	s.asked() // none of the keys went through to the notebook
	if want := []string{"yes", "hunter2 !?", "declined", "no", "declined"}; !slices.Equal(answers, want) {
		t.Errorf("the answers are %q, not %q", answers, want)
	}
	s.seesNot("Is this the right host?")
}

// R goes on after a failure: what passed is not run again, unless it is stale.
func TestRunWhatIsLeft(t *testing.T) {
	s := start(t, 100, 40)
	for i, g := range []steps.Grade{steps.Pass, steps.Warn, steps.Fail, steps.Skipped, steps.Inconclusive} {
		id := []string{"interfaces", "devices", "rail-map", "gids", "ib-write-bw"}[i]
		s.ends(steps.RunID(i+1), id, steps.Verdict{Grade: g, Reason: "so"})
	}
	s.notebook.Show("interfaces")
	s.press("R")
	s.asked("run rail-map ib-write-bw ib-write-lat")
	s.notebook.Show("gids")
	s.press("E")
	s.types("date; ")
	s.press("esc")
	s.fake.took()
	s.tell(steps.CellStarted{Run: 9, Cell: "gids", Scripts: []string{"other\n"}},
		steps.CellEnded{Run: 9, Cell: "gids", Verdict: steps.Verdict{Grade: steps.Pass}})
	s.press("R")
	s.asked("run gids ib-write-bw ib-write-lat")
}

func TestFoldedOutput(t *testing.T) {
	s := start(t, 100, 40)
	s.press("3")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids"},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(12, "some output")},
		steps.CellEnded{Run: 1, Cell: "gids", Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine."}})
	s.sees("some output")
	s.press("o")
	s.seesNot("some output")
	s.sees("12 lines, o shows them", "Fine.")
	s.press("o")
	s.sees("some output")
}
