// Command flood is railbench's screen and session with a cell that prints $LINES lines on this machine; its log
// goes to $LOGS.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/render"
	"github.com/railbench/railbench/tui/screen"
)

func main() {
	o := session.Options{
		Rig: "flood", Speed: 1, Logs: os.Getenv("LOGS"),
		Nodes: []runner.Node{runner.NewLocal("spark-02", runner.NoAsker{}), runner.NewLocal("spark-01", runner.NoAsker{})},
		Where: []string{"made for a benchmark", "made for a benchmark"},
	}
	script := "seq -f '65536      5000             11032.64            11032.34            0.%010.0f' 1 " +
		os.Getenv("LINES")
	o.Tutorial = steps.Tutorial{Title: "flood", Parts: []steps.Part{{ID: "load", Title: "Load", Cells: []steps.Cell{{
		ID: "flood", Part: "load", Title: "Flood", Judge: "exit", Limit: time.Minute,
		Roles: []steps.Role{{Script: script}},
	}}}}}
	o.Catalog.Judges = map[string]steps.Judge{"exit": func(steps.Cell, steps.Result) steps.Verdict {
		return steps.Verdict{Grade: steps.Pass, Reason: "flood is over"}
	}}
	s := session.New(o)
	s.Open()
	model := tui.New(s, screen.Options{
		Tutorial: o.Tutorial, Rig: screen.Rig{Name: "flood"}, Terminal: screen.Terminal{Background: screen.Dark},
	})
	err := render.Show(context.Background(), model, os.Stdout, os.Environ(), nil)
	s.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
