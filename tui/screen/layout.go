package screen

import "github.com/railbench/railbench/tui/gauges"

// The smallest terminal in which the workbench can be used.
const (
	LeastWidth  = 60
	LeastHeight = 20
)

// A Layout says where everything is. It depends on the size, the gauges and what
// there is to warn of, and on nothing else.
type Layout struct {
	Small      bool // too small to be used
	BodyTop    int  // first row under the header
	BodyHeight int
	PartsWidth int // without the line next to it
	NoteLeft   int
	NoteWidth  int
	NoteHeight int
	Strip      int // rows of gauges below
	Side       int // columns of gauges on the right
	keep       int // lines of output under a cell
	Rule       bool
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

// Layout shares the screen out. The narrower it is, the less of it have gauges and the
// names of parts; the checklist and the pages take all of the latter.
func (sh *Shared) Layout() Layout {
	l := Layout{Small: sh.Width < LeastWidth || sh.Height < LeastHeight}
	l.Rule = sh.Height >= 28
	l.BodyTop = 1 + len(sh.AlertLines())
	if l.Rule {
		l.BodyTop++
	}
	l.BodyHeight = max(1, sh.Height-l.BodyTop-1)
	l.PartsWidth = sh.partsWidth()
	switch {
	case sh.NoGauges && !sh.Layers.Has(Gauges):
	case sh.Layers.Has(Docs): // a reader needs the room
	case sh.Layers.Has(Checklist) && sh.Height < checklistGauges: // the checks need the room, and most move nothing
	case sh.Width-l.PartsWidth-besideGauges-3 >= sideLeast && sh.Height >= sideHeight:
		l.Side = min(84, sh.Width-l.PartsWidth-besideGauges-3)
	default:
		most := sh.Height * 2 / 5
		if sh.Height < sideHeight {
			most = sh.Height / 4 // a cell's verdict needs the room
		}
		l.Strip = min(gauges.Height(sh.Snapshot, max(3, most)), max(0, l.BodyHeight-5))
		if sh.foldGauges && len(sh.Snapshot.Gauges) > 0 {
			l.Strip = 1
		}
	}
	if l.PartsWidth > 0 {
		l.NoteLeft = l.PartsWidth + 1
	}
	l.NoteWidth = sh.Width - l.NoteLeft - 1 // the last column is the scroll bar's
	if l.Side > 0 {
		l.NoteWidth -= l.Side + 1
	}
	l.NoteWidth = max(1, l.NoteWidth)
	l.NoteHeight = max(1, l.BodyHeight-l.Strip)
	l.keep = max(5, min(20, l.NoteHeight*2/5))
	return l
}

// partsWidth is how much of the screen the list of parts has; 0 where it isn't shown.
func (sh *Shared) partsWidth() int {
	switch {
	case sh.Layers.Has(Checklist) || sh.Layers.Has(Docs) || sh.NoParts:
		return 0
	case sh.Width < 72:
		return 8
	case sh.Width < 100:
		return 22
	case sh.Width < 140:
		return 27
	default:
		return 32
	}
}
