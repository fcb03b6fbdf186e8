package tui

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
	editorLevel
	// What follows stands over the screen.
	formLevel
	paletteLevel
	helpLevel
	quitLevel
	drillLevel // the end of a drill
	smallLevel // the terminal is too small to show anything
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

// typing reports whether the user is typing: what is typed is no answer to a question that comes meanwhile.
func (s *stack) typing() bool {
	return s.has(editorLevel, formLevel, paletteLevel, symptomLevel, wordsLevel, searchLevel)
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
