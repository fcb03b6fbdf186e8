package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// counting is a node whose counters are what the test sets.
type counting struct {
	runner.Node
	downs, boots atomic.Int64
	began        time.Time
	words        int64 // port_xmit_data a second
}

func (c *counting) Run(_ context.Context, _ runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	at := time.Now().UnixMilli()
	sent := 7 + c.words*int64(time.Since(c.began)/time.Second)
	for line := range strings.Lines(fmt.Sprintf("%d.%03d\n/sys/class/infiniband/rocep1s0f1/ports/1/counters/port_xmit_data:%d\n"+
		"/sys/class/infiniband/rocep1s0f1/ports/1/counters/port_rcv_data:7\n/sys/class/net/enp1s0f1np1/statistics/tx_bytes:7\n"+
		"/sys/class/net/enp1s0f1np1/statistics/rx_bytes:7\n/sys/class/net/enp1s0f1np1/carrier_changes:%d\n"+
		"/proc/sys/kernel/random/boot_id:%d\n", at/1000, at%1000, sent, c.downs.Load(), c.boots.Load())) {
		emit(runner.Line{Text: strings.TrimRight(line, "\n")})
	}
	return runner.Exit{}, nil
}

// A link that goes down ends a run that prints nothing within seconds, and not after its stall
// limit; one that the run doesn't lead over ends nothing. A run that prints nothing and whose rails carry something
// is not ended.
func TestLinkThatWentDown(t *testing.T) {
	rig := kindtest.Netdevs(kindtest.Spark())
	for e := range rig.Nodes {
		rig.Nodes[e].No = e
	}
	for name, c := range map[string]struct {
		script string
		want   error
		after  time.Duration
		within time.Duration
		words  int64
	}{
		"over both rails": {script: "$RAIL1_DEV:1,$RAIL2_DEV:1", want: errLinkDown, within: 30 * time.Second},
		"over the other":  {script: "$RAIL1_DEV:1", want: errStalled, within: 210 * time.Second},
		"over both, and it moves": {
			script: "$RAIL1_DEV:1,$RAIL2_DEV:1", want: errLinkDown, within: 30 * time.Second, words: 1e9,
		},
		"over the other, and what moves": {
			script: "$RAIL1_DEV:1", want: errStalled, within: 210 * time.Second, words: 1e9,
		},
		"it moves": {
			script: "$RAIL1_DEV:1,$RAIL2_DEV:1", want: errLinkDown, words: 1e9,
			after: time.Hour, within: time.Hour + 30*time.Second,
		},
		"somebody's chatter": {
			script: "$RAIL1_DEV:1,$RAIL2_DEV:1", want: errStalled, after: time.Hour, within: 210 * time.Second, words: 1e5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := &counting{began: time.Now(), words: c.words}
				node.downs.Store(4)
				cell := steps.Cell{ID: "c", Counters: true, Stall: 200 * time.Second, Roles: []steps.Role{{Script: c.script}}}
				r := &run{s: &Session{o: Options{Nodes: []runner.Node{node, node}}, clock: runner.WallClock{}}, cell: cell}
				r.before = r.counters(t.Context(), rig, -1)
				began := time.Now()
				ctx, stop := r.watch(t.Context(), r.vitals(rig, -1), noneStopped)
				defer stop()
				time.Sleep(15 * time.Second)
				if ctx.Err() != nil {
					t.Fatalf("ended while all was well: %v", context.Cause(ctx))
				}
				select {
				case <-ctx.Done():
				case <-time.After(c.after):
					node.downs.Add(1)
				}
				<-ctx.Done()
				if took := time.Since(began); !errors.Is(context.Cause(ctx), c.want) || took > c.within {
					t.Errorf("%v after %s", context.Cause(ctx), took)
				}
			})
		})
	}
}

// A line that reports no data does not count as progress: iperf3's server prints one each second.
func TestLinesWithoutLife(t *testing.T) {
	for line, dead := range map[string]bool{
		"[  5]   7.00-8.00   sec  0.00 Bytes  0.00 bits/sec":                   true,
		"[SUM]   7.00-8.00   sec  0.00 Bytes  0.00 bits/sec                  ": true,
		"[  5]   6.00-7.00   sec  4.64 GBytes  39.9 Gbits/sec":                 false,
		"[  5]   6.00-7.00   sec   128 KBytes  10.00 Mbits/sec":                false,
		"65536      5000             0.00               0.00":                  false,
	} {
		if got := nothingMoved.Regexp().MatchString(line); got != dead {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// noneStopped finds no stopped process.
func noneStopped(context.Context) string { return "" }

// A process that two looks find stopped ends the run long before its stall limit; one that goes on in between does not.
func TestProcessThatIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		looks []string
		want  error
	}{
		"stopped": {[]string{"nixlbench on a (process 7)", "nixlbench on a (process 7)"}, errHalted},
		"resumed": {[]string{"nixlbench on a (process 7)", ""}, errStalled},
		"another": {[]string{"nixlbench on a (process 7)", "nixlbench on b (process 9)"}, errStalled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &run{s: &Session{clock: runner.WallClock{}}, cell: steps.Cell{ID: "c", Stall: 200 * time.Second}}
				left := c.looks
				began := time.Now()
				ctx, stop := r.watch(t.Context(), r.vitals(kindtest.Spark(), -1), func(context.Context) (who string) {
					if len(left) > 0 {
						who, left = left[0], left[1:]
					}
					return who
				})
				defer stop()
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, c.want) || !watched(cause) {
					t.Errorf("ended by %v", cause)
				}
				if took := time.Since(began); errors.Is(c.want, errHalted) && took > 30*time.Second {
					t.Errorf("it ended after %s", took)
				}
			})
		})
	}
}

// Only a stopped process of a railbench script is found: none that runs, and none that railbench did not start.
func TestLookAtStoppedProcesses(t *testing.T) {
	rig := steps.Rig{Nodes: []steps.Node{{Name: "alpha"}}}
	r := &run{s: &Session{o: Options{Nodes: []runner.Node{runner.NewLocal("alpha", nil)}}, clock: runner.WallClock{}}}
	for name, c := range map[string]struct {
		mark, stopped bool
		ago           time.Duration // since the test began
		want          string
	}{
		"stopped":        {true, true, time.Minute, "sleep on alpha (process %d)"},
		"running":        {true, false, time.Minute, ""},
		"another's":      {false, true, time.Minute, ""},
		"of another run": {true, true, -time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := exec.Command("sleep", "60")
			if p.Env = []string{"PATH=" + os.Getenv("PATH")}; c.mark {
				p.Env = append(p.Env, "RAILBENCH_RUN=test")
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = p.Process.Kill(), p.Wait() }()
			if c.stopped {
				if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				if _, err := syscall.Wait4(p.Process.Pid, nil, syscall.WUNTRACED, nil); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if want != "" {
				want = fmt.Sprintf(want, p.Process.Pid)
			}
			// Another test's process may be stopped, too.
			got := r.halted(t.Context(), rig, time.Now().Add(-c.ago))
			if mine := fmt.Sprintf("(process %d)", p.Process.Pid); !strings.Contains(got, want) ||
				want == "" && strings.Contains(got, mine) {
				t.Errorf("found %q, not %q", got, want)
			}
		})
	}
}

// died is a service that ended at a time.
type died struct{ at time.Time }

func (d died) Failed() error {
	if time.Now().Before(d.at) {
		return nil
	}
	return errors.New("railbench-etcd: signal: killed")
}

// A service that ends takes the run with it within seconds.
func TestServiceThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := &run{
			s: &Session{clock: runner.WallClock{}}, cell: steps.Cell{ID: "c", Stall: 200 * time.Second},
			mortal: []Mortal{died{began.Add(25 * time.Second)}},
		}
		ctx, stop := r.watch(t.Context(), r.vitals(kindtest.Spark(), -1), noneStopped)
		defer stop()
		<-ctx.Done()
		cause := context.Cause(ctx)
		if !watched(cause) || !errors.Is(cause, errService) || !strings.Contains(cause.Error(), "railbench-etcd") {
			t.Errorf("ended by %v", cause)
		}
		if took := time.Since(began); took < 25*time.Second || took > 40*time.Second {
			t.Errorf("it ended after %s", took)
		}
	})
}

// A node that started again in the middle is named: its counters are those of another start.
func TestRestarted(t *testing.T) {
	rig := kindtest.Netdevs(kindtest.Spark())
	for e := range rig.Nodes {
		rig.Nodes[e].No = e
	}
	nodes := []*counting{{}, {}}
	r := &run{
		s:    &Session{o: Options{Nodes: []runner.Node{nodes[0], nodes[1]}}, clock: runner.WallClock{}},
		cell: steps.Cell{ID: "c"},
	}
	before := r.counters(t.Context(), rig, -1)
	if names := restarted(rig, before, r.counters(t.Context(), rig, -1)); names != nil {
		t.Errorf("%q restarted, and none did", names)
	}
	nodes[1].boots.Add(1)
	names := restarted(rig, before, r.counters(t.Context(), rig, -1))
	if !slices.Equal(names, []string{rig.Nodes[1].Name}) {
		t.Errorf("%q restarted", names)
	}
	// One that could not be asked before, or can't be now, reports nothing.
	if names := restarted(rig, make([]meter.Counters, 2), before); names != nil {
		t.Errorf("%q restarted, and nobody knows", names)
	}
}
