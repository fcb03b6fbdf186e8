package tui

import (
	tea "charm.land/bubbletea/v2"
)

// A layer is one thing of the screen that a key, a paste, a click or the wheel can be meant for.
type layer interface {
	// Key is a key that was pressed while the layer is on top.
	Key(msg tea.KeyPressMsg) tea.Cmd
	// Paste is a text that the terminal pastes.
	Paste(text string) tea.Cmd
	// Click is one of the left button, in a column and in a row of the body.
	Click(x, row int) tea.Cmd
	// Wheel is so many lines down, or up where it is less than 0.
	Wheel(lines int) tea.Cmd
	// Bindings are the keys that help, footer and palette name; nil for a box, which names its own.
	Bindings() []chapter
	// Draw draws it in so much room.
	Draw(width, height int) picture
}

// A picture is what a layer looks like: of a box the text in it, and else lines that fill its room.
type picture struct {
	lines   []string
	title   string // in a box's upper edge
	more    string // in its lower one
	columns int    // of the text in a box
}

// boxWidth is the widest that a box's text gets, but for help.
const boxWidth = 76

// inert is what most layers do with a paste, a click and the wheel: nothing.
type inert struct{}

func (inert) Paste(string) tea.Cmd   { return nil }
func (inert) Click(int, int) tea.Cmd { return nil }
func (inert) Wheel(int) tea.Cmd      { return nil }
func (inert) Bindings() []chapter    { return nil }

// tabled is a layer whose keys are in a table.
type tabled struct {
	inert
	keys    []chapter
	unknown string // the last key, if the table does not have it
}

// unknownKey is the last key, if the layer has none like it.
func (t *tabled) unknownKey() string { return t.unknown }

func (t *tabled) Bindings() []chapter { return t.keys }

func (t *tabled) Key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := press(t.keys, msg)
	t.unknown = ""
	if !ok {
		t.unknown = msg.String()
	}
	return cmd
}

// A level is where a layer stands in the stack, from the notebook up. Several layers may be open; only the top one is
// asked. The order is written here, and nowhere else.
type level uint8

const (
	// What is seen without anything in front of it.
	notebookLevel level = iota
	wordsLevel          // words that are looked for in the notebook are typed
	checklistLevel
	symptomLevel // a symptom is typed for the checklist
	outputLevel
	searchLevel // words that are looked for in an output are typed
	gaugesLevel // the gauges have the whole screen
	presentationLevel
	docsLevel
	docsFindLevel // words that are looked for in the pages are typed
	editorLevel
	// What follows stands over the screen.
	formLevel
	paletteLevel
	helpLevel
	quitLevel
	saveAsLevel // a file is named for a session that is not saved
	drillLevel  // the end of a drill
	smallLevel  // the terminal is too small to show anything
	questionLevel
	levels // how many there are
)

// A stack is the layers that are open. The notebook always is.
type stack struct{ open [levels]bool }

func (s *stack) push(l level) { s.open[l] = true }

// drop closes layers, and what is typed at them.
func (s *stack) drop(all ...level) {
	for _, l := range all {
		s.open[l] = false
		switch l {
		case checklistLevel:
			s.open[symptomLevel] = false
		case outputLevel:
			s.open[searchLevel] = false
		case docsLevel:
			s.open[docsFindLevel] = false
		default:
		}
	}
}

// has reports whether one of some layers is open.
func (s *stack) has(some ...level) bool {
	for _, l := range some {
		if s.open[l] {
			return true
		}
	}
	return false
}

// typing reports whether the user is typing: a question that comes meanwhile must not take the keys as its
// answer.
func (s *stack) typing() bool {
	return s.has(editorLevel, formLevel, paletteLevel, symptomLevel, wordsLevel, searchLevel, docsFindLevel,
		saveAsLevel)
}

// top is the layer that is asked.
func (s *stack) top() level {
	if s.has(questionLevel) && !s.typing() {
		return questionLevel
	}
	return s.below(questionLevel)
}

// screen is what has the whole screen, below the boxes that may stand over it.
func (s *stack) screen() level { return s.below(formLevel) }

// below is the highest layer that is open below another one.
func (s *stack) below(l level) level {
	for l--; l > notebookLevel && !s.open[l]; l-- {
	}
	return l
}

// boxed reports whether a layer is a box over the screen, which has the keys and says which.
func (l level) boxed() bool { return l >= formLevel && l != smallLevel }
