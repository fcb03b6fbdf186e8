package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/traffic"
)

// The first cause in time explains the others, whatever both ends say afterwards.
func TestFirst(t *testing.T) {
	rig := kindtest.Spark()
	port := traffic.Port{Node: steps.Here}
	down := []steps.RailBytes{{End: steps.Here, Known: true, Errors: map[string]uint64{"link_downed": 1}}}
	ran := func(code int, why runner.Why) steps.Output {
		return steps.Output{Role: "client", End: steps.Here, Ran: true, Exit: runner.Exit{Code: code, Why: why}}
	}
	server := func(o steps.Output) steps.Output { o.Role, o.End = "server", steps.Peer; return o }
	said := func(code int, text string) steps.Stage {
		o := ran(code, runner.Ended)
		o.Text = text
		return steps.Stage{Outputs: []steps.Output{o, server(ran(143, runner.Cancelled))}}
	}
	late := func(bytes uint64, errors map[string]uint64) steps.Stage {
		o := ran(143, runner.TimedOut)
		o.Exit.Elapsed = 10 * time.Second
		return steps.Stage{
			Outputs: []steps.Output{o, server(ran(143, runner.Cancelled))},
			Bytes:   []steps.RailBytes{{End: steps.Here, Known: true, Tx: bytes, Seconds: 10, Errors: errors}},
		}
	}
	for name, c := range map[string]struct {
		stage steps.Stage
		says  string // empty where none of it happened
	}{
		"well": {
			steps.Stage{Outputs: []steps.Output{ran(0, runner.Ended), server(ran(0, runner.Ended))}, Bytes: down},
			"",
		},
		"killed": {
			steps.Stage{Outputs: []steps.Output{ran(137, runner.Ended), server(ran(1, runner.Ended))}, Bytes: down},
			"the client on spark-02 was killed",
		},
		"crashed": {
			steps.Stage{Outputs: []steps.Output{ran(1, runner.Ended), server(ran(139, runner.Ended))}},
			"the server on spark-01 crashed",
		},
		"illegal": {
			steps.Stage{Outputs: []steps.Output{ran(132, runner.Ended), server(ran(1, runner.Ended))}},
			"(exit 132)",
		},
		"a bus": {
			steps.Stage{Outputs: []steps.Output{ran(1, runner.Ended), server(ran(135, runner.Ended))}},
			"/dev/shm",
		},
		"ours": {steps.Stage{Outputs: []steps.Output{ran(135, runner.Cancelled), server(ran(132, runner.TimedOut))}}, ""},
		"at work": {
			late(120e9, nil), "10s while still working: its ports carried 120.00 GB (96.0 Gb/s",
		},
		"at work for two thirds":         {late(80e9, nil), ""},
		"at work, and packets were lost": {late(120e9, map[string]uint64{"out_of_sequence": 9}), ""},
		"told": {
			steps.Stage{Outputs: []steps.Output{ran(1, runner.Ended), server(ran(143, runner.Ended))}},
			"the server on spark-01 was ended by a signal (exit 143, SIGTERM",
		},
		"hung up":  {steps.Stage{Outputs: []steps.Output{ran(129, runner.Ended), server(ran(1, runner.Ended))}}, "SIGHUP"},
		"too long": {said(152, ""), "ulimit -t"},
		"a library": {
			said(127, "/opt/ib_x: error while loading shared libraries: libibverbs.so.1: cannot open shared object file\n"),
			"ib_x on spark-02 does not start: library libibverbs.so.1",
		},
		"a newer libc": {
			said(1, "iperf3: /lib/libc.so.6: version `GLIBC_2.38' not found (required by iperf3)\n"),
			"iperf3 on spark-02 does not start (version `GLIBC_2.38' not found)",
		},
		"a symbol": {
			said(127, "x: symbol lookup error: x: undefined symbol: ucp_y\n"),
			"x on spark-02 does not start (symbol lookup error)",
		},
		"a format": {
			said(126, "sh: 12: /usr/bin/ib_x: Exec format error\n"),
			"ib_x on spark-02 cannot be executed (Exec format error)",
		},
		"no loader": {
			said(127, "bash: line 3: /opt/x: cannot execute: required file not found\n"),
			"x on spark-02 cannot be executed",
		},
		"not allowed": {said(126, "sh: 12: /tmp/x: Permission denied\n"), "x on spark-02 may not be executed"},
		"refused":     {said(1, "ib_x: /dev/infiniband/uverbs0: Permission denied\n"), ""},
		"full": {
			said(1, "sh: 3: printf: write error: No space left on device\n"),
			"the client on spark-02 could not write (No space left on device)",
		},
		"full, a page": {said(1, "sh: 3: cannot create /tmp/x: Read-only file system\n"), "Read-only file system"},
		"ended":        {steps.Stage{Outputs: []steps.Output{ran(137, runner.Cancelled), server(ran(1, runner.Ended))}}, ""},
		"a flap": {steps.Stage{
			Outputs: []steps.Output{ran(1, runner.Ended), server(ran(0, runner.Ended))},
			Bytes:   down,
		}, "went down during the test"},
		"a stall": {
			steps.Stage{Err: "nothing was printed", Outputs: []steps.Output{ran(0, runner.Ended)}, Bytes: down},
			"went down during the test",
		},
		"a service that ended": {
			steps.Stage{
				Err: "a service of this test ended: etcd", Service: "a service of this test ended: etcd",
				Outputs: []steps.Output{ran(143, runner.Cancelled), server(ran(1, runner.Ended))}, Bytes: down,
			},
			"a service of this test ended: etcd. Rerun the test",
		},
		"a process that is stopped": {
			steps.Stage{
				Err: "a process of this test is stopped: x", Halted: "a process of this test is stopped: x",
				Outputs: []steps.Output{ran(137, runner.Cancelled), server(ran(1, runner.Ended))},
			},
			"a process of this test is stopped: x. Find what stopped it",
		},
		"lost": {
			steps.Stage{Outputs: []steps.Output{
				ran(0, runner.TimedOut),
				server(steps.Output{Err: "the connection was lost"}),
			}},
			"the server on spark-01 did not run to its end: the connection was lost",
		},
		"too late": {steps.Stage{Outputs: []steps.Output{ran(0, runner.TimedOut), server(ran(0, runner.Cancelled))}}, ""},
		"unready": {steps.Stage{
			Err:     "port 18515 is in use",
			Outputs: []steps.Output{server(steps.Output{})},
		}, ""},
		"alone": {steps.Stage{Outputs: []steps.Output{{Role: "client", Err: "the connection was lost"}}}, ""},
	} {
		f, ok := First(rig, c.stage, port)
		if ok != (c.says != "") || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s: %v, %q", name, ok, f.Text)
		}
	}
}
