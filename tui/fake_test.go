package tui

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/tui/screen"
)

// fakeSession records what it is asked for and says what a test sends.
type fakeSession struct {
	mu        sync.Mutex
	calls     []string
	events    chan []steps.Event
	boards    chan meter.Board
	questions chan steps.Question
	onRun     func(ids []string)
	onStop    func()
	refuses   error // what SetParam answers
}

func newFake() *fakeSession {
	return &fakeSession{
		events:    make(chan []steps.Event, 64),
		boards:    make(chan meter.Board, 1),
		questions: make(chan steps.Question, 4),
	}
}

func (f *fakeSession) call(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeSession) Run(ids ...string) {
	f.call("run %s", strings.Join(ids, " "))
	if f.onRun != nil {
		f.onRun(ids)
	}
}

func (f *fakeSession) Interrupt() {
	f.call("interrupt")
	if f.onStop != nil {
		f.onStop()
	}
}
func (f *fakeSession) Clear(id string) { f.call("clear %s", id) }
func (f *fakeSession) Trust(id string) error {
	f.call("trust %s", id)
	return nil
}

func (f *fakeSession) Edit(part string, cells []steps.Cell) {
	var all []string
	for _, c := range cells {
		all = append(all, c.ID)
	}
	f.call("edit %s: %s", part, strings.Join(all, " "))
}

func (f *fakeSession) SetLink(l steps.Link) error {
	f.call("link %d:%d", l.Here, l.Peer)
	return f.refuses
}

func (f *fakeSession) SetParam(cell, name, value string) error {
	f.call("set %s.%s=%s", cell, name, value)
	return f.refuses
}
func (f *fakeSession) ResetPeaks()                      { f.call("reset") }
func (f *fakeSession) Boards() <-chan meter.Board       { return f.boards }
func (f *fakeSession) Questions() <-chan steps.Question { return f.questions }

func (f *fakeSession) Next(ctx context.Context) ([]steps.Event, bool) {
	select {
	case e, ok := <-f.events:
		return e, ok
	case <-ctx.Done():
		return nil, false
	}
}

func (f *fakeSession) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// driven drives a Model as Bubble Tea would, without a terminal or a clock.
type driven struct {
	*Model
	t    testing.TB
	fake *fakeSession
	now  time.Time
}

func newScreen(t testing.TB, tutorial steps.Tutorial, width, height int) *driven {
	t.Helper()
	s := &driven{t: t, fake: newFake(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.Model = New(s.fake, screen.Options{
		Tutorial: tutorial,
		Params:   sampleParams(),
		Rig:      screen.Rig{Simulated: true, Name: "sim", Hint: "Your own rig: railbench --peer USER@HOST."},
		Terminal: screen.Terminal{Background: screen.Dark},
		Clock:    screen.Clock{Now: func() time.Time { return s.now }},
	})
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// send updates with a message and runs the calls to the session that come of it.
// Commands that wait (for events, boards, time) are left alone.
func (s *driven) send(msg tea.Msg) tea.Cmd {
	s.t.Helper()
	_, cmd := s.Update(msg)
	for s.Asking && cmd != nil {
		_, cmd = s.Update(cmd())
	}
	return cmd
}

// press sends keys by name: "enter", "ctrl+c", "shift+enter", "x".
func (s *driven) press(names ...string) tea.Cmd {
	s.t.Helper()
	var cmd tea.Cmd
	for _, n := range names {
		cmd = s.send(keyPress(n))
	}
	return cmd
}

func keyPress(name string) tea.KeyPressMsg {
	var k tea.Key
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok || rest == "" {
			break
		}
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "shift": tea.ModShift, "alt": tea.ModAlt}[mod]
		name = rest
	}
	special := map[string]rune{
		"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape,
		"space": tea.KeySpace, "backspace": tea.KeyBackspace,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "delete": tea.KeyDelete, "home": tea.KeyHome, "end": tea.KeyEnd,
	}
	if code, ok := special[name]; ok {
		if k.Code = code; code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
		return tea.KeyPressMsg(k)
	}
	k.Code = []rune(name)[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return tea.KeyPressMsg(k)
}

// report folds events and lets the frame's pace pass.
func (s *driven) tell(events ...steps.Event) {
	s.t.Helper()
	s.Update(eventsMsg(events))
	s.Update(paceMsg{})
}

func (s *driven) view() string { return s.View().Content }

// sampleParams are one of each kind; ib-write-bw reads the first two.
func sampleParams() []steps.Param {
	return []steps.Param{
		{
			Name: "SIZE", Default: "65536", Unit: "bytes", Does: "size of one message",
			Kind: steps.Size, Min: 1, Max: 1 << 30, Cells: []string{"ib-write-bw", "ib-write-lat"},
		},
		{
			Name: "ITERATIONS", Empty: "chosen for each rail", Unit: "messages", Does: "how many messages",
			Kind: steps.Number, Min: 5, Max: 1000, Cells: []string{"ib-write-bw"},
		},
		{
			Name: "BOND_MODE", Default: "balance-xor", Does: "how a bond spreads packets", Kind: steps.Choice,
			Choices: []string{"balance-xor", "active-backup"}, Cells: []string{"fix-mtu"},
		},
		{Name: "PYTHON", Default: "python3", Does: "a command"},
		{
			Name: "NIXL_REGISTER_BYTES", Default: "4096", Unit: "bytes", Does: "size of a block",
			Kind: steps.Size, Min: 1, Max: 1 << 20, PowerOfTwo: true,
		},
		{Name: "KV_CACHE_GB", Default: "1,4", Unit: "GB", Does: "sizes", Kind: steps.NumberList, Most: 3, Max: 100},
	}
}

// sampleTutorial is four parts, of which the fourth has the benchmarks.
func sampleTutorial() steps.Tutorial {
	cell := func(part, id, title, script string, on steps.Where) steps.Cell {
		return steps.Cell{ID: id, Part: part, Title: title, Roles: []steps.Role{{On: on, Script: script}}}
	}
	baseline := steps.Cell{
		ID: "ib-write-bw", Part: "baseline", Title: "Bandwidth of one rail",
		Prose:    "Reads `#bytes`, *BW average* and the counters of **every rail**.",
		Counters: true, EachRail: true,
		Roles: []steps.Role{
			{
				Name: "server", On: steps.OnPeer,
				Script: "ib_write_bw -d \"$PEER_RAIL1_DEV\" -x \"$PEER_RAIL1_GID\" -F\n",
			},
			{
				Name: "client", On: steps.OnHere,
				Script: "ib_write_bw -d \"$RAIL1_DEV\" -x \"$RAIL1_GID\" -F \"$PEER_RAIL1_IP\"\n",
			},
		},
		Tail: "The tutorial says 93.4 Gb/s; in fact MB/sec is MiB/s.",
	}
	return steps.Tutorial{
		Title: "multi-rail",
		Parts: []steps.Part{
			{ID: "setup", Title: "Set-up", Prose: longProse, Cells: []steps.Cell{
				cell("setup", "nodes", "The two nodes", "hostname; uname -sr\n", steps.OnBoth),
				cell("setup", "tools", "Tools",
					strings.Repeat("command -v ibv_devices ibv_devinfo ib_write_bw ethtool lspci || echo missing\n",
						20), steps.OnBoth),
			}},
			{ID: "devices", Title: "Device discovery", Prose: "What the kernel sees.", Cells: []steps.Cell{
				cell("devices", "interfaces", "Interfaces", "ip -br link\n", steps.OnBoth),
				cell("devices", "devices", "RDMA devices", "ibv_devices\n", steps.OnHere),
				cell("devices", "rail-map", "The rail map", "ls -l /sys/class/infiniband/*/device\n", steps.OnBoth),
			}},
			{
				ID: "gids", Title: "GID check",
				Cells: []steps.Cell{cell("gids", "gids", "GID tables", "show_gids\n", steps.OnBoth)},
			},
			{
				ID: "baseline", Title: "RDMA baseline",
				Prose: "One link, no kernel in the way: every write goes from one node's memory to the other's.",
				Cells: []steps.Cell{
					baseline,
					cell("baseline", "ib-write-lat", "Latency of one rail",
						"ib_write_lat -d \"$RAIL1_DEV\" -x \"$RAIL1_GID\" -F \"$PEER_RAIL1_IP\"\n", steps.OnHere),
				},
			},
		},
	}
}

const longProse = `# What this is

A **workbench** for a two-node RDMA rig. Every step can be run with ` + "`enter`" + `, on either node, and says
whether what was measured is what the hardware can do.

- *rails* are places, not names
- numbers come from the rail:
  1. link rate
  2. PCIe ceiling
  3. MTU efficiency

> The tutorial says index 3; in fact it is resolved for each rail and node.

| counter | unit | where |
|---|---|---|
| port_xmit_data | 4-byte words | ports/1/counters |
| tx_bytes | bytes | net/IF/statistics |

` + "```sh\nibv_devices\n# a line of shell that is rather long, so that it does not fit in a narrow pane and has to be broken somewhere\n```" + `

See <https://example.com/a/rather/long/address/that/does/not/end/soon/0123456789/0123456789/0123456789> and [the manual](https://example.com).
`

func sampleRig() steps.Rig {
	return steps.Rig{Name: "sim", Simulated: true, Nodes: []steps.Node{{Name: "spark-02"}, {No: 1, Name: "spark-01"}}}
}

// connected is what a session reports first.
func connected() []steps.Event {
	return []steps.Event{
		steps.NodeChanged{Node: 0, State: 1},
		steps.NodeChanged{Node: 1, State: 1},
		steps.RigProbed{Rig: sampleRig()},
	}
}

// sampleBoard has n rails on each node; the first carries RDMA, the second IP.
func sampleBoard(n int, phase float64) meter.Board {
	var b meter.Board
	for end, node := range []string{"spark-02", "spark-01"} {
		for i := range n {
			g := meter.Gauge{
				Node: node, No: end, Dev: []string{"rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"}[i%4],
				Netdev: fmt.Sprintf("enp1s0f%dnp%d", i, i), LinkGbps: 200, CeilingGbps: 126,
				RoCE: rate.Headers{Payload: 1024, Counted: 58}, TCP: rate.Headers{Payload: 1448, Counted: 66},
				Down: i >= 2,
			}
			var history []float64
			for j := range meter.HistoryLen {
				history = append(history, 92*float64((j+int(phase))%20)/20)
			}
			busy := meter.Flow{RDMA: 92.5 + phase, Peak: 92.7, Avg: 90.1, History: history}
			if i == 1 {
				busy = meter.Flow{RDMA: 12, IP: 9.3 + phase, Peak: 23, Avg: 8, History: history}
			}
			if g.Down {
				busy = meter.Flow{}
			}
			if end == 0 {
				g.Tx = busy
			} else {
				g.Rx = busy
			}
			b.Gauges = append(b.Gauges, g)
		}
	}
	return b
}

func lines(n int, text string) []steps.OutputLine {
	out := make([]steps.OutputLine, n)
	for i := range out {
		out[i] = steps.OutputLine{From: "spark-01", Text: fmt.Sprintf("%6d %s", i, text)}
	}
	return out
}

func passed(run steps.RunID, cell string) steps.CellEnded {
	low, high := 88.0, 92.6
	return steps.CellEnded{
		Run: run, Cell: cell, Elapsed: 6200 * time.Millisecond, HasExit: true,
		Verdict: steps.Verdict{
			Grade: steps.Pass,
			Reason: "92.5 Gb/s: all that MTU 1024 allows (92.6). Rail 1 carried 100 %: 0.35 GB on the wire," +
				" 0.35 predicted. (The tutorial calls this 93.4 Gb/s: perftest's MB are MiB.)",
			Evidence: []steps.Evidence{
				{
					Name: "rocep1s0f0 bandwidth", Value: 92.5, Unit: "Gb/s",
					Expected: &steps.Expected{Min: &low, Max: &high, From: "link 200, MTU 1024"},
				},
				{Name: "wire bytes", Value: 350123456, Unit: "bytes"},
			},
		},
		Bytes: []steps.RailBytes{{Dev: "rocep1s0f0", Tx: 350123456, Known: true, Source: "port_xmit_data"}},
	}
}

// fresh sets a pointer of a struct whose type's package tui doesn't import.
func fresh[T any](p **T) *T {
	*p = new(T)
	return *p
}
