package tui

import "github.com/railbench/railbench/tui/gauges"

// The smallest terminal in which the workbench can be used.
const (
	leastWidth  = 60
	leastHeight = 20
)

// A layout says where everything is. It depends on the size, the gauges and what
// there is to warn of, and on nothing else.
type layout struct {
	small      bool // too small to be used
	bodyTop    int  // first row under the header
	bodyHeight int
	partsWidth int // without the line next to it
	noteLeft   int
	noteWidth  int
	noteHeight int
	strip      int // rows of gauges below
	side       int // columns of gauges on the right
	keep       int // lines of output under a cell
	rule       bool
}

// Where the notebook keeps so many columns and there are so many lines, the gauges stand on
// the right, each with its history, and the notebook has the whole height. In a narrower one
// prose would be set in shorter lines than on a smaller screen, and tables lose columns.
const (
	besideGauges = 128
	sideLeast    = 60
	sideHeight   = 30
)

// checklistGauges is the height from which the checklist leaves room for the gauges.
const checklistGauges = 44

// layout shares the screen out. The narrower it is, the less of it have gauges and the
// names of parts; the checklist and the pages take all of the latter.
func (sh *shared) layout() layout {
	l := layout{small: sh.width < leastWidth || sh.height < leastHeight}
	l.rule = sh.height >= 28
	l.bodyTop = 1 + len(sh.alertLines())
	if l.rule {
		l.bodyTop++
	}
	l.bodyHeight = max(1, sh.height-l.bodyTop-1)
	l.partsWidth = sh.partsWidth()
	switch {
	case sh.noGauges && !sh.layers.has(gaugesLevel):
	case sh.layers.has(docsLevel): // a reader needs the room
	case sh.layers.has(checklistLevel) && sh.height < checklistGauges: // the checks need the room, and most move nothing
	case sh.width-l.partsWidth-besideGauges-3 >= sideLeast && sh.height >= sideHeight:
		l.side = min(84, sh.width-l.partsWidth-besideGauges-3)
	default:
		most := sh.height * 2 / 5
		if sh.height < sideHeight {
			most = sh.height / 4 // a cell's verdict needs the room
		}
		l.strip = min(gauges.Height(sh.snapshot, max(3, most)), max(0, l.bodyHeight-5))
		if sh.foldGauges && len(sh.snapshot.Gauges) > 0 {
			l.strip = 1
		}
	}
	if l.partsWidth > 0 {
		l.noteLeft = l.partsWidth + 1
	}
	l.noteWidth = sh.width - l.noteLeft - 1 // the last column is the scroll bar's
	if l.side > 0 {
		l.noteWidth -= l.side + 1
	}
	l.noteWidth = max(1, l.noteWidth)
	l.noteHeight = max(1, l.bodyHeight-l.strip)
	l.keep = max(5, min(20, l.noteHeight*2/5))
	return l
}

// partsWidth is how much of the screen the list of parts has; 0 where it isn't shown.
func (sh *shared) partsWidth() int {
	switch {
	case sh.layers.has(checklistLevel) || sh.layers.has(docsLevel) || sh.noParts:
		return 0
	case sh.width < 72:
		return 8
	case sh.width < 100:
		return 22
	case sh.width < 140:
		return 27
	default:
		return 32
	}
}
