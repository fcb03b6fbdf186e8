package tui

import (
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/ink"
	"github.com/railbench/railbench/tui/stage"
)

// An Onlooker is somebody who sees the stage and has none of its keys: values in, lines out.
type Onlooker struct {
	Book          steps.Notebook
	Board         meter.Board
	View          stage.View
	Width, Height int
	Simulated     bool
	Now           time.Time // the nodes'
	Foot          string
}

// Lines are the stage as he sees it.
func (o Onlooker) Lines(k *ink.Ink) []string {
	names := namesIn(o.Book.Rig)
	s := stage.Screen{
		Width: o.Width, Height: o.Height, Dials: stage.NewDials(o.Book.Rig, o.Board), View: o.View,
		Names: [2]string{names[steps.Here], names[steps.Peer]}, Simulated: o.Simulated || o.Book.Rig.Simulated,
		Cell: stageCell(o.Book, o.Now, ""), Foot: " " + k.Dim.Render(ink.Clean(o.Foot)),
	}
	if alerts := hardwareAlerts(o.Board, trouble(o.Book)); len(alerts) > 0 {
		s.Alert, s.Warned = alerts[0].text, alerts[0].mild
	}
	return s.Lines(k)
}
