package notebook

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

var began = time.Date(2026, 3, 4, 5, 6, 7, 891234567, time.UTC)

// lesson is a tutorial with every kind of cell.
func lesson() steps.Tutorial {
	return steps.Tutorial{
		Title: "Two rails & <one> bond",
		Parts: []steps.Part{
			{
				ID: "look", Title: "Looking",
				Prose: "Prose with **bold**, `code` and a [link](https://example.org).\n\n```sh\nls\n```" +
					"\n\n> **The tutorial** has one. **In fact** it is <two>.\n>\n> And more.\n\nGo on.",
				Cells: []steps.Cell{
					{
						ID: "hosts", Part: "look", Title: "Who is there",
						Prose: "> **The tutorial** begins so. **In fact** it doesn't.\n\nBoth nodes.",
						Roles: []steps.Role{{On: steps.OnBoth, Script: "uname -a\nprintf '%s\\n' \"<b>\"\n"}},
						Tail:  "And so on.\n\n> A quotation.\n\n> **The report** says more. **In fact** less.",
					},
					{
						ID: "bw", Part: "look", Title: "Bandwidth", EachRail: true,
						Roles: []steps.Role{
							{Name: "server", On: steps.OnPeer, Script: "serve"},
							{Name: "client", On: steps.OnHere, Script: "go \"$PEER\"", Root: true},
						},
					},
				},
			},
			{
				ID: "end", Title: "Results",
				Cells: []steps.Cell{
					{ID: "summary", Part: "end", Title: "Summary", Own: "summary"},
					{ID: "never", Part: "end", Title: "Never run", Roles: []steps.Role{{Script: "false"}}},
				},
			},
		},
		Checklist: []steps.Part{{ID: "checks", Title: "Checks", Prose: "The list.", Cells: []steps.Cell{
			{
				ID: "mtu-equal", Part: "checks", Title: "MTUs",
				Roles: []steps.Role{{On: steps.OnBoth, Script: "ip link"}},
				Check: steps.Check{Finds: []string{"slow"}},
			},
			{
				ID: "mtu-other", Part: "checks", Title: "Other MTUs",
				Roles: []steps.Role{{On: steps.OnBoth, Script: "ip link"}},
				Check: steps.Check{Finds: []string{"slow"}},
			},
		}}},
	}
}

func rig(sim bool) steps.Rig {
	r := steps.NewRig("lab", sim, 2)
	r.Probed = began
	for _, e := range steps.Ends {
		n := steps.Node{No: int(e), Name: fmt.Sprintf("spark-0%d", 2-e), Where: "nvidia@10.0.0." +
			fmt.Sprint(e), Host: "h", Kernel: "6.14", Arch: "aarch64", OS: "Ubuntu", Adapter: "ConnectX-7"}
		n.Tools = map[string]steps.Tool{
			"ib_write_bw": {Path: "ib_write_bw", Version: "6.12"},
			"iperf3":      {Path: "iperf3"},
		}
		for i := range 2 {
			n.Rails = append(n.Rails,
				steps.Rail{
					Dev: fmt.Sprintf("rocep%ds0f0", i), Port: 1,
					Netdev: steps.Netdev{Name: fmt.Sprintf("enp%d", i), MTU: 1500}, Addr: "192.168.1.1", Prefix: 24,
					GIDIndex: 3, MTU: 1024, RateGbps: 200, State: "ACTIVE", PhysPort: i,
					PCI: steps.PCI{Addr: "0000:01:00.0", GTps: 32, Width: 4},
				})
		}
		r.Nodes[e] = n
	}
	r.Pairs = []steps.Pair{{Rails: [2]int{0, 0}, Subnet: "192.168.1.0/24"}, {Rails: [2]int{1, 1}}}
	return r
}

func verdict() steps.Verdict {
	return steps.Verdict{
		Grade: steps.Warn, Reason: "It <works>, *and* is |slow|: see ib_write_bw.",
		Evidence: []steps.Evidence{
			{
				Name: "rail 1 bandwidth", Value: 92.62, Unit: "Gb/s",
				Expected: &steps.Expected{Min: new(87.97), Max: new(107.91), From: "one half"},
			},
			{Name: "message", Value: "no <such> device"},
			{Name: "retransmits", Value: 3.0, Unit: "segments", Expected: &steps.Expected{Max: new(0.0)}},
			{Name: "one memory", Value: true},
		},
		Figures: []steps.Figure{
			{
				What: steps.Throughput, Value: 92.62, Unit: "Gb/s",
				Rails: []int{1}, MessageBytes: 65536, MTU: 1024, Memory: "DRAM",
			},
			{What: steps.Latency, Value: 11.1, P95: 166.6, P99: 170, Unit: "us", Rails: []int{2}},
			{What: steps.BondMode, Words: "balance-xor"},
		},
		Tables: []steps.Table{{
			Title: "Rates", Columns: []steps.Column{{Name: "rail"}, {Name: "Gb/s", Number: true}},
			Rows: [][]string{{"1 | <a>", "92.6"}, {"2", "91.0"}}, Note: "Payload.",
		}},
		Charts: []steps.Chart{
			{
				Title: "Bars", Shape: steps.Bars, Unit: "Gb/s",
				Series: []steps.Series{{
					Name:   "now",
					Points: []steps.Point{{Label: "rail <1>", Y: 92.6}, {Label: "rail 2", Y: 0}},
				}},
				Limits: []steps.Limit{{Name: "link", Value: 200}},
			},
			{
				Title: "Times", Shape: steps.LogBars, Unit: "us",
				Series: []steps.Series{
					{Name: "a", Points: []steps.Point{{Y: 1.9}}},
					{Name: "b", Points: []steps.Point{{Y: 640}}},
				},
			},
			{
				Title: "Blocks", Shape: steps.Lines, Unit: "Gb/s", XUnit: "bytes",
				Series: []steps.Series{{
					Name:   "dram",
					Points: []steps.Point{{X: 4096, Y: 3}, {X: 65536, Y: 40}, {X: 1 << 20, Y: 92}},
				}},
				Limits: []steps.Limit{{Name: "PCIe", Value: 112}},
			},
		},
	}
}

func out(from, role, text string) steps.OutputLine {
	return steps.OutputLine{From: from, Role: role, Text: text}
}

// The lesson's scripts, as they run.
var (
	hostScripts = []string{"uname -a\nprintf '%s\\n' \"<b>\"\n"}
	bwScripts   = []string{"serve", "go \"$PEER\""}
)

// story is what happens in a session with the lesson, event by event.
func story(sim bool) []steps.Event {
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
	return []steps.Event{
		steps.RigProbed{Rig: rig(sim)},
		steps.NodeChanged{Node: 1, State: runner.Connected},
		steps.CellQueued{Cell: "hosts"},
		steps.CellQueued{Cell: "bw"},
		steps.CellStarted{Run: 1, Cell: "hosts", At: at(1), Scripts: hostScripts},
		steps.CellPrinted{Run: 1, Cell: "hosts", Lines: []steps.OutputLine{
			out("spark-02", "", "Linux <b>"),
			out("spark-01", "", "Linux"),
			{Kind: steps.FromStderr, From: "spark-01", Text: "oh"},
		}},
		steps.CellPrinted{
			Run: 1, Cell: "hosts", Dropped: 7,
			Lines: []steps.OutputLine{
				{Kind: steps.Note, Text: "server on spark-01: exit 0"},
				{
					From: "spark-02", Text: "a red word",
					Spans: []steps.Span{
						{At: 2, Style: steps.Style{Attr: steps.Bold, Fg: runner.Indexed(1)}},
						{At: 5},
						{At: 6, Style: steps.Style{Bg: runner.RGB(1, 2, 3), Fg: runner.Indexed(200)}},
					},
				},
				out("spark-02", "", ""),
			},
		},
		steps.CellEnded{
			Run: 1, Cell: "hosts", At: at(2), Elapsed: 1234567891, Exit: runner.Exit{Elapsed: time.Second},
			HasExit: true, Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine.", Evidence: []steps.Evidence{}},
			Log: "/logs/001-hosts.log",
		},
		steps.ParamsSet{Params: steps.Settings{
			All:   map[string]string{"SIZE": "4096"},
			Cells: map[string]map[string]string{"hosts": {"SIZE": "1"}},
		}},
		steps.CellStarted{Run: 2, Cell: "bw", At: at(3), Scripts: bwScripts},
		steps.CellPrinted{Run: 2, Cell: "bw", Lines: []steps.OutputLine{
			out("spark-01", "server", "waiting"),
			out("spark-02", "client", "spark-01 │ 92.62"),
		}},
		steps.CellMeasured{
			Run: 2, Cell: "bw",
			Table: steps.Table{Columns: []steps.Column{{Name: "size"}}, Rows: [][]string{{"4096"}}},
		},
		steps.CellEnded{
			Run: 2, Cell: "bw", At: at(9), Elapsed: 6 * time.Second,
			Exit: runner.Exit{Code: 1, Why: runner.TimedOut}, HasExit: true, Verdict: verdict(),
			Bytes: []steps.RailBytes{
				{
					End: steps.Peer, Dev: "rocep0s0f0", Rail: 1, Test: 2, Tx: math.MaxUint64, Rx: 2, Known: true,
					Source: "port_xmit_data", IPTx: 3, IPRx: 4, IPKnown: true, IdleGbps: 0.1,
					Errors: map[string]uint64{"out_of_sequence": 2},
				},
				{End: steps.Here, Dev: "rocep1s0f0", Why: "it went backwards", IPWhy: "missing"},
			},
		},
		steps.CellStarted{Run: 3, Cell: "summary", At: at(10), Scripts: []string{}},
		steps.CellEnded{
			Run: 3, Cell: "summary", At: at(10),
			Verdict: steps.Verdict{Grade: steps.Inconclusive, Reason: "Nothing."},
		},
		steps.CellStarted{Run: 4, Cell: "hosts", At: at(11), Scripts: hostScripts},
		steps.CellPrinted{Run: 4, Cell: "hosts", Lines: []steps.OutputLine{out("spark-02", "", "again")}},
		steps.CellEnded{
			Run: 4, Cell: "hosts", At: at(12), Elapsed: time.Second,
			Verdict: steps.Verdict{Grade: steps.Inconclusive, Reason: "spark-01 can't be reached."},
		},
		steps.CellStarted{Run: 5, Cell: "mtu-equal", At: at(13), Scripts: []string{"ip link"}},
		steps.CellEnded{
			Run: 5, Cell: "mtu-equal", At: at(14), Elapsed: time.Second,
			HasExit: true, Verdict: steps.Verdict{Grade: steps.Fail, Reason: "They differ."},
		},
		steps.CellStarted{Run: 6, Cell: "bw", At: at(15), Scripts: bwScripts},
		steps.CellPrinted{Run: 6, Cell: "bw", Lines: []steps.OutputLine{out("spark-01", "server", "waiting")}},
		steps.CellMeasured{Run: 6, Cell: "bw", Table: steps.Table{
			Title:   "so far",
			Columns: []steps.Column{{Name: "size", Number: true}}, Rows: [][]string{{"4096"}},
		}},
	}
}

func told(t *testing.T, events ...steps.Event) *Document {
	t.Helper()
	d := New("v1.2.3", lesson(), began)
	for _, e := range events {
		d.seq++
		d.Apply(e)
	}
	return d
}

// measured adds what the gauges showed of the cell that runs.
func measured(d *Document) {
	for i := range 8 {
		d.Sample(meter.Board{Gauges: []meter.Gauge{
			{Node: "spark-02", Dev: "rocep0s0f0", LinkGbps: 200, Tx: meter.Flow{RDMA: 10 * float64(i)}},
			{
				Node: "spark-01", Dev: "rocep0s0f0", Rx: meter.Flow{IP: float64(i)},
				Stale: map[bool]string{true: "no connection"}[i == 4],
			},
		}}, began.Add(15*time.Second+time.Duration(i)*600*time.Millisecond))
	}
}

// page is a state as it can be compared.
type page struct {
	steps.CellState
	Lines   []steps.OutputLine
	Dropped int
	Roles   []steps.Role
	Rig     rigWire
}

func pages(d *Document) map[string]page {
	all := map[string]page{}
	for id, s := range d.Book.Cells {
		p := page{
			CellState: s, Lines: s.Output.Lines(0, s.Output.Len()),
			Dropped: s.Output.Dropped(), Roles: d.ran[id].Roles, Rig: wireRig(s.Rig),
		}
		p.Output, p.CellState.Rig = steps.Scroll{}, steps.Rig{}
		if len(p.Params) == 0 {
			p.Params = nil
		}
		for i := range p.Roles {
			p.Roles[i].Ready = steps.Ready{} // of no use for what is over
		}
		if p.Verdict.Evidence == nil {
			p.Verdict.Evidence = []steps.Evidence{}
		}
		if !p.Running {
			p.Live = steps.Table{} // what became of it is in the verdict
		}
		all[id] = p
	}
	return all
}

// samePages compares everything that a screen shows of the cells.
func samePages(t *testing.T, want, got *Document) {
	t.Helper()
	if d := cmp.Diff(pages(want), pages(got), cmp.AllowUnexported(steps.Scroll{}),
		cmpopts.IgnoreUnexported(steps.CellState{})); d != "" {
		t.Errorf("the cells differ: %s", d)
	}
}

func encoded(t *testing.T, d *Document) []byte {
	t.Helper()
	b, err := d.Encode(began.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sessionPath(t *testing.T) string { return filepath.Join(t.TempDir(), "s.ipynb") }

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var options = Options{Railbench: "v1.2.3", Rig: "lab", Now: func() time.Time { return began.Add(time.Hour) }}

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, lesson(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.journal.Close() })
	return s
}

// killed is a store whose process is gone: the system closes its files.
func killed(s *Store) { s.journal.Close() }
