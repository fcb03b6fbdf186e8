// Command load is railbench's screen and session with nodes that are made for a
// benchmark: "flood" runs a cell that prints a million lines on this machine, or $LINES,
// "wide" one that prints 320 MB in lines of 16 kB with colours, "gauges FILE FILE…" has
// nodes whose probes are in files and whose rails all move, ten samples a second. "page FILE
// FILE…" has the same nodes and no screen: it serves them to browsers, says where, and ends
// with its stdin.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/frames"
	"github.com/railbench/railbench/tui/web"
)

func main() {
	o := session.Options{Rig: "load", Speed: 1, Sample: true, Logs: os.Getenv("LOGS")}
	script := "seq -f '65536      5000             11032.64            11032.34            0.%010.0f' 1 " +
		cmp.Or(os.Getenv("LINES"), "1000000")
	switch os.Args[1] {
	case "wide":
		script = `x=0123456789abcdef
while [ ${#x} -lt 16384 ]; do x=$x$x; done
i=0
while [ $i -lt 20000 ]; do printf '\033[31m%s\033[0m\n' "$x"; i=$((i + 1)); done`
		fallthrough
	case "flood":
		o.Nodes = []runner.Node{runner.NewLocal("spark-02", runner.NoAsker{}), runner.NewLocal("spark-01", runner.NoAsker{})}
		o.Sample = false
	case "gauges", "page":
		for i, file := range os.Args[2:] {
			answer, err := os.ReadFile(file)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			o.Nodes = append(o.Nodes, mover{name: fmt.Sprintf("spark-%02d", i+1), answer: string(answer)})
		}
	}
	o.Tutorial = steps.Tutorial{Title: "load", Parts: []steps.Part{{ID: "load", Title: "Load", Cells: []steps.Cell{{
		ID: "flood", Part: "load", Title: "Flood", Judge: "exit", Limit: time.Minute,
		Roles: []steps.Role{{Script: script}},
	}}}}}
	o.Catalog.Judges = map[string]steps.Judge{"exit": func(steps.Cell, steps.Result) steps.Verdict {
		return steps.Verdict{Grade: steps.Pass, Reason: "flood is over"}
	}}
	o.Where = slices.Repeat([]string{"made for a benchmark"}, len(o.Nodes))
	s := session.New(o)
	s.Open()
	if os.Args[1] == "page" {
		if err := page(s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		s.Close()
		return
	}
	model := tui.New(s, tui.Options{Tutorial: o.Tutorial, RigName: "load", Background: tui.Dark})
	err := frames.Show(context.Background(), model, os.Stdout, os.Environ(), nil)
	s.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func page(s *session.Session) error {
	files, err := fs.Sub(assets.Web, "web")
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := web.New(web.Options{Files: files, RigName: "load"})
	go p.Run(context.Background())
	go func() { _ = p.Server().Serve(ln) }() // until the program ends
	go func() {
		for b := range s.Boards() {
			p.Board(b)
		}
	}()
	fmt.Printf("http://%s/\n", ln.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A mover is a node whose rails carry more and more.
type mover struct {
	name, answer string
}

func (m mover) Name() string { return m.name }
func (m mover) Close() error { return nil }

func (m mover) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	print := func(text string) { emit(runner.Line{At: time.Now(), Text: text}) }
	switch s.Name {
	case "probe":
		for line := range strings.Lines(m.answer) {
			print(strings.TrimSuffix(line, "\n"))
		}
	case "sampler":
		rails := len(strings.Fields(s.Vars["RAILS"]))
		print("H" + strings.Repeat(" 1 1 1 1 1", rails))
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		began, before := time.Now(), time.Now()
		words := make([]float64, rails) // of 4 bytes; a counter only ever grows
		for {
			select {
			case now := <-tick.C:
				passed := now.Sub(began).Seconds()
				line := fmt.Sprintf("S %.6f:%.6f", passed, passed)
				for i := range rails {
					// Between 40 and 90 Gb/s, and some IP beside it.
					words[i] += now.Sub(before).Seconds() * (40 + 10*float64(i) + 5*float64(now.UnixMilli()/700%3)) * 1e9 / 32
					line += fmt.Sprintf(" %.0f %.0f %.0f %.0f", words[i], words[i]/50, passed*1e8, passed*1e7)
				}
				before = now
				print(line + strings.Repeat(" 4: ACTIVE", rails))
			case <-ctx.Done():
				return runner.Exit{Why: runner.Cancelled, Code: 143}, nil
			}
		}
	}
	return runner.Exit{}, nil
}
