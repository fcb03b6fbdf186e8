package presenter

import (
	"fmt"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/tui/presentation"
)

// results are what the slides of a presentation reached. A cell may run in several slides, and the notebook has its
// last run only.
type results struct {
	slides  map[steps.RunID]int // the slide that asked for a run
	Reached map[int]presentation.Result
	most    presentation.Result // what the gauges showed at most of the cell that runs
	since   time.Time           // when that began, by our own clock
}

// settled is how long gauges may show what moved before a cell began: their window, and the cell's own start.
const settled = 2 * time.Second

// All are the results in the order of so many slides.
func (rs *results) All(slides int) (all []presentation.Result) {
	for i := range slides {
		if r, ok := rs.Reached[i]; ok {
			all = append(all, r)
		}
	}
	return all
}

// Reach notes what the cells of the slides came to. A run belongs to the slide that asked for it, also where it ends
// in the next one.
func (pr *Screen) Reach(events []steps.Event) {
	s := &pr.Progress
	for _, e := range events {
		switch e := e.(type) {
		case steps.CellStarted:
			if s.Slide < 0 || e.Cell != s.ran || pr.slideShows(s.Slide) {
				continue
			}
			if pr.Results.slides == nil {
				pr.Results.slides, pr.Results.Reached = map[steps.RunID]int{}, map[int]presentation.Result{}
			}
			pr.Results.slides[e.Run] = s.Slide
			pr.Results.most, pr.Results.since = presentation.Result{}, pr.Opts.Clock.Now()
		case steps.CellEnded:
			slide, ok := pr.Results.slides[e.Run]
			if !ok {
				continue
			}
			r := pr.resultOf(slide, e)
			// A check next to a load, and a second visit that was cut short, take no rate away.
			if before, again := pr.Results.Reached[slide]; !again || !r.Weaker(before) {
				pr.Results.Reached[slide] = r
			}
		}
	}
}

// slideShows reports whether a slide shows the results: its own cells are none of them.
func (pr *Screen) slideShows(slide int) bool {
	for _, a := range pr.Opts.Presentation.Script.Slides[slide].Actions {
		if a.View == presentation.Results.String() {
			return true
		}
	}
	return false
}

func (pr *Screen) resultOf(slide int, e steps.CellEnded) presentation.Result {
	scene := pr.Opts.Presentation.Script.Slides[slide]
	r := presentation.Result{Name: scene.Title, Grade: e.Verdict.Grade, Code: e.Verdict.Code, Cell: e.Cell}
	for _, a := range scene.Actions {
		r.Pulled = r.Pulled || a.Kind == script.Pull
	}
	if all := e.Verdict.Measured(steps.Throughput); len(all) > 0 {
		r.Gbps, r.TCP, r.Why = all[0].Value, all[0].Streams > 0, why(pr.Book.Rig, all[0])
	}
	if r.Gbps == 0 && r.Code == steps.Interrupted {
		r.Stopped, r.Gbps, r.TCP = true, pr.Results.most.Gbps, pr.Results.most.TCP
	}
	return r
}

// Gauge notes what a slide's cell moves, in case it is stopped before it has a figure.
func (pr *Screen) Gauge() {
	if _, ok := pr.Results.slides[pr.Book.Cells[pr.Book.Running].Run]; !ok || pr.Book.Running == "" ||
		pr.Opts.Clock.Now().Sub(pr.Results.since) < settled {
		return
	}
	if gbps, ip := presentation.NewDials(pr.Book.Rig, pr.Snapshot).Moves(); gbps > pr.Results.most.Gbps {
		pr.Results.most.Gbps, pr.Results.most.TCP = gbps, ip
	}
}

// why says what a rate is of, and what limits it.
func why(rig steps.Rig, f steps.Figure) string {
	if f.Staged {
		return "host-staged: a processor copies"
	}
	var parts []string
	if f.Streams > 0 {
		parts = append(parts, steps.Counted(f.Streams, "stream"))
	}
	switch len(f.Rails) {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("rail %d", f.Rails[0]))
	default:
		var numbers []string
		links := 0
		for i, n := range f.Rails {
			numbers = append(numbers, fmt.Sprint(n))
			alone := rig.HasPair(n - 1)
			for _, m := range f.Rails[:i] {
				alone = alone && rig.HasPair(m-1) && !rig.SharesHalf(rig.Pairs[n-1], rig.Pairs[m-1])
			}
			if alone {
				links++
			}
		}
		parts = append(parts, "rails "+strings.Join(numbers, ", "))
		if links > 0 {
			parts = append(parts, steps.Counted(links, "PCIe link"))
		}
	}
	return strings.Join(parts, ", ")
}
