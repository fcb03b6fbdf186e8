package screen

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/theme"
)

// Press finds the binding of a key and acts. ok is false where there is none.
func Press(chapters []Chapter, msg tea.KeyPressMsg) (cmd tea.Cmd, ok bool) {
	for _, c := range chapters {
		for _, b := range c.Bindings {
			switch {
			case !key.Matches(msg, b.Binding):
			case b.Digit != nil:
				return b.Digit(int(msg.String()[0] - '1')), true
			default:
				return b.Act(), true
			}
		}
	}
	return nil, false
}

// A Binding is keys and what they do. Help and the pages show the text of the key.Binding, the footer a
// shorter one.
type Binding struct {
	key.Binding
	Foot key.Help // empty where it isn't there
	// Rank orders the footer: the lowest stay longest when it gets narrow.
	Rank int
	Act  func() tea.Cmd
	// Jupyter is what the key does there, where that is something else.
	Jupyter string
	// Digit acts in place of act where the key is a number.
	Digit func(int) tea.Cmd
	When  func() bool   // the footer has it then; nil = always
	Does  func() string // what the footer says of it, where that changes
	Acts  bool          // it does nothing on a screen that only follows
}

// On begins a line of a table: it names keys as help and the pages do, and as Bubble Tea does. What follows says the
// rest of a binding.
func On(shown, does string, keys ...string) Binding {
	return Binding{Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))}
}

// To says what is done.
func (b Binding) To(act func() tea.Cmd) Binding {
	b.Act = act
	return b
}

// By says what is done, by how much.
func (b Binding) By(act func(int) tea.Cmd, n int) Binding {
	return b.To(func() tea.Cmd { return act(n) })
}

// ToNumber says what is done with a digit.
func (b Binding) ToNumber(act func(int) tea.Cmd) Binding {
	b.Digit = act
	return b
}

// Unlike says what Jupyter does with the key.
func (b Binding) Unlike(jupyter string) Binding {
	b.Jupyter = jupyter
	return b
}

// Brief puts it into the footer.
func (b Binding) Brief(rank int, name, does string) Binding {
	b.Rank, b.Foot = rank, key.Help{Key: name, Desc: does}
	return b
}

// Says is brief for a key that does one thing or another.
func (b Binding) Says(rank int, name string, does func() string) Binding {
	b.Does = does
	return b.Brief(rank, name, "…")
}

// Runs marks what only who may run something can do: a follower's footer doesn't have it.
func (b Binding) Runs() Binding {
	b.Acts = true
	return b
}

// Only has the footer show it where it does something.
func (b Binding) Only(when func() bool) Binding {
	b.When = when
	return b
}

// A Chapter is the bindings of one screen under one heading.
type Chapter struct {
	Title    string
	Bindings []Binding
}

// A Layer is one thing of the screen that a key, a paste, a click or the wheel can be meant for.
type Layer interface {
	// Key is a key that was pressed while the layer is on top.
	Key(msg tea.KeyPressMsg) tea.Cmd
	// Paste is a text that the terminal pastes.
	Paste(text string) tea.Cmd
	// Click is one of the left button, in a column and in a row of the body.
	Click(x, row int) tea.Cmd
	// Wheel is so many lines down, or up where it is less than 0.
	Wheel(lines int) tea.Cmd
	// Bindings are the keys that help, footer and palette name; nil for a box, which names its own.
	Bindings() []Chapter
	// Draw draws it in so much room.
	Draw(width, height int) Picture
}

// Common is what keys of several layers do.
type Common struct {
	CopyOutput, CopyScript, OpenPager func() tea.Cmd // of the cell that keys are about
	ToggleGauges, HideGauges          func() tea.Cmd
	Everywhere                        Chapter // the keys that work in all of them
}

// Hints are keys and what each does in turn, in one line.
func Hints(k *theme.Styles, gap string, pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, k.Focus.Render(pairs[i])+" "+pairs[i+1])
	}
	return strings.Join(all, gap)
}

// WheelStep is how many lines a notch of the wheel scrolls.
const WheelStep = 3

// A Picture is what a layer looks like: of a box the text in it, and else lines that fill its room.
type Picture struct {
	Lines   []string
	Title   string // in a box's upper edge
	More    string // in its lower one
	Columns int    // of the text in a box
}

// BoxWidth is the widest that a box's text gets, but for help.
const BoxWidth = 76

// Inert is what most layers do with a paste, a click and the wheel: nothing.
type Inert struct{}

// Paste does nothing.
func (Inert) Paste(string) tea.Cmd { return nil }

// Click does nothing.
func (Inert) Click(int, int) tea.Cmd { return nil }

// Wheel does nothing.
func (Inert) Wheel(int) tea.Cmd { return nil }

// Bindings are none.
func (Inert) Bindings() []Chapter { return nil }

// Tabled is a layer whose keys are in a table.
type Tabled struct {
	Inert
	Keys    []Chapter
	unknown string // the last key, if the table does not have it
}

// UnknownKey is the last key, if the layer has none like it.
func (t *Tabled) UnknownKey() string { return t.unknown }

// Bindings are those of the table.
func (t *Tabled) Bindings() []Chapter { return t.Keys }

// Key does what the table says.
func (t *Tabled) Key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := Press(t.Keys, msg)
	t.unknown = ""
	if !ok {
		t.unknown = msg.String()
	}
	return cmd
}

// A Level is where a layer stands in the stack, from the notebook up. Several layers may be open; only the top one is
// asked. The order is written here, and nowhere else.
type Level uint8

// The levels.
const (
	// What is seen without anything in front of it.
	Notebook Level = iota
	Words          // words that are looked for in the notebook are typed
	Checklist
	Symptom // a symptom is typed for the checklist
	Output
	OutputWords // words that are looked for in an output are typed
	Gauges      // the gauges have the whole screen
	Presenting
	Docs
	DocsWords // words that are looked for in the pages are typed
	Editor
	// What follows stands over the screen.
	Form
	Palette
	Help
	Quit
	SaveAs   // a file is named for a session that is not saved
	DrillEnd // the end of a drill
	TooSmall // the terminal is too small to show anything
	Question
	Levels // how many there are
)

// A stack is the layers that are open. The notebook always is.
type stack struct{ open [Levels]bool }

// Push opens a layer.
func (s *stack) Push(l Level) { s.open[l] = true }

// Drop closes layers, and what is typed at them.
func (s *stack) Drop(all ...Level) {
	for _, l := range all {
		s.open[l] = false
		switch l {
		case Checklist:
			s.open[Symptom] = false
		case Output:
			s.open[OutputWords] = false
		case Docs:
			s.open[DocsWords] = false
		default:
		}
	}
}

// Has reports whether one of some layers is open.
func (s *stack) Has(some ...Level) bool {
	for _, l := range some {
		if s.open[l] {
			return true
		}
	}
	return false
}

// Typing reports whether the user is typing: a question that comes meanwhile must not take the keys as its
// answer.
func (s *stack) Typing() bool {
	return s.Has(Editor, Form, Palette, Symptom, Words, OutputWords, DocsWords, SaveAs)
}

// Top is the layer that is asked.
func (s *stack) Top() Level {
	if s.Has(Question) && !s.Typing() {
		return Question
	}
	return s.below(Question)
}

// Screen is what has the whole screen, below the boxes that may stand over it.
func (s *stack) Screen() Level { return s.below(Form) }

// below is the highest layer that is open below another one.
func (s *stack) below(l Level) Level {
	for l--; l > Notebook && !s.open[l]; l-- {
	}
	return l
}

// Boxed reports whether a layer is a box over the screen, which has the keys and says which.
func (l Level) Boxed() bool { return l >= Form && l != TooSmall }
