package tui

import (
	"fmt"
	"testing"

	"github.com/railbench/railbench/steps"
)

// BenchmarkMillionLines folds a million lines in events of a thousand, with a frame
// after each thirtieth of them, about as a second of a busy cell brings.
func BenchmarkMillionLines(b *testing.B) {
	batch := lines(1000, "65536   5000         11032.64         11032.34            0.176518")
	for b.Loop() {
		s := start(b, 120, 40)
		s.press("3")
		s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
		for i := range 1000 {
			s.Update(eventsMsg{steps.CellPrinted{Run: 1, Cell: "gids", Lines: batch}})
			if i%33 == 0 {
				s.Update(paceMsg{})
			}
			s.View()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/line")
}

// BenchmarkBoard10Hz is a second of gauges: ten boards of two nodes with four rails
// each, every bar moving.
func BenchmarkBoard10Hz(b *testing.B) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			s := start(b, size[0], size[1])
			phase := 0.0
			for b.Loop() {
				for range 10 {
					phase++
					board := sampleBoard(4, float64(int(phase)%30))
					for i := range board.Gauges {
						board.Gauges[i].Down = false
					}
					s.Update(snapshotMsg(board))
					s.Update(paceMsg{})
					s.View()
				}
			}
		})
	}
}

// BenchmarkFirstFrame is what stands between the size and the first picture.
func BenchmarkFirstFrame(b *testing.B) {
	for b.Loop() {
		s := newScreen(b, sampleTutorial(), 120, 40)
		s.View()
	}
}
