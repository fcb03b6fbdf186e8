package tui

// A layer is one thing of the screen that a key, a paste, a click or the wheel can be meant for. Several may be open;
// only the top one is asked. The order is written in
// topLayer and screenLayer, and nowhere else.
type layer uint8

const (
	// What is seen without anything in front of it.
	notebookLayer layer = iota
	wordsLayer          // words that are looked for in the notebook are typed
	checklistLayer
	symptomLayer // a symptom is typed for the checklist
	outputLayer
	searchLayer // words that are looked for in an output are typed
	gaugesLayer // the gauges have the whole screen
	presentationLayer
	docsLayer
	editorLayer
	formLayer
	paletteLayer
	helpLayer
	quitLayer
	drillLayer // the end of a drill
	questionLayer
	smallLayer // the terminal is too small to show anything
)

// topLayer is the layer that is asked.
func (m *Model) topLayer() layer {
	switch {
	case m.questioned():
		return questionLayer
	case m.width > 0 && m.layout().small:
		return smallLayer
	case m.drillDone:
		return drillLayer
	case m.quitting:
		return quitLayer
	case m.help:
		return helpLayer
	case m.palette.open:
		return paletteLayer
	case m.form != nil:
		return formLayer
	}
	return m.screenLayer()
}

// screenLayer is what has the whole screen, below the boxes that may stand over it.
func (m *Model) screenLayer() layer {
	switch {
	case m.editor != nil:
		return editorLayer
	case m.docs.open:
		return docsLayer
	case m.stage.open:
		return presentationLayer
	case m.gauges == gaugeFull:
		return gaugesLayer
	case m.page != nil && m.page.search.typing:
		return searchLayer
	case m.page != nil:
		return outputLayer
	case m.list.open && m.list.typing:
		return symptomLayer
	case m.list.open:
		return checklistLayer
	case m.lookup.typing:
		return wordsLayer
	}
	return notebookLayer
}

// boxed reports whether a layer is a box over the screen, which has the keys and says which.
func (l layer) boxed() bool {
	switch l {
	case formLayer, paletteLayer, helpLayer, quitLayer, drillLayer, questionLayer:
		return true
	case notebookLayer, wordsLayer, checklistLayer, symptomLayer, outputLayer, searchLayer, gaugesLayer,
		presentationLayer, docsLayer, editorLayer, smallLayer:
	}
	return false
}
