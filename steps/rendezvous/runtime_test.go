package rendezvous_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rendezvous"
	"github.com/railbench/railbench/steps/session"
)

// pretend is this machine as a node with another nixlbench and other ports.
type pretend struct {
	runner.Forwarder
	help, ports string
	err         error
}

func (p pretend) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	text := ""
	switch s.Name {
	case "look at nixlbench":
		text = p.help
	case "look at the ports":
		text = p.ports
	default:
		return p.Forwarder.Run(ctx, s, emit)
	}
	for line := range strings.Lines(text) {
		emit(runner.Line{Text: strings.TrimSuffix(line, "\n")})
	}
	return runner.Exit{}, p.err
}

// rig is two nodes with one rail between them.
func rig() steps.Rig {
	r := steps.NewRig("", false, 2)
	r.Pairs = []steps.Pair{{}}
	for _, e := range steps.Ends {
		r.Nodes[e].Name = []string{"spark-02", "spark-01"}[e]
		r.Nodes[e].Rails = []steps.Rail{{
			Dev: "rocep1s0f0", Addr: []string{"192.168.100.11", "192.168.100.10"}[e],
			Netdev: steps.Netdev{Name: "enp1s0f0np0"},
		}}
	}
	return r
}

const (
	old    = "    -etcd_endpoints (ETCD)\n    -benchmark_group (x)\n    -config_file (x)\n"
	middle = old + "    -recreate_xfer (x)\n    -asio_address (x)\n"
	young  = middle + "    -pipeline_depth (x)\n    -prepared_xfer (x)\n"
	busy   = "   3: 00000000:3039 00000000:0000 0A 0:0 0:0 0 1000 0 1\n   4: 0100007F:303A 00000000:0000 0A 0:0 0:0 0 " +
		"1000 0 1\n   5: 0100007F:303B 0100007F:1234 01 0:0 0:0 0 1000 0 1\n"
)

func TestRuntime(t *testing.T) {
	local := runner.NewLocal("spark-02", runner.NoAsker{})
	t.Cleanup(func() { local.Close() })
	for _, c := range []struct {
		name       string
		here, peer pretend
		asked      string // of NIXL_RUNTIME
		port       string // of ASIO_PORT
		noPath     bool
		want       string // the runtime and, for ASIO, the port
		told       string
		fails      string
	}{
		{name: "both can", here: pretend{help: middle}, peer: pretend{help: middle}, want: "ASIO 12345"},
		{
			name: "one can't", here: pretend{help: middle}, peer: pretend{help: old}, want: "ETCD",
			told: "nixlbench on spark-01 has no ASIO (0.10.0): its two ends find each other through etcd",
		},
		{
			name: "none is there", here: pretend{help: "no nixlbench"}, peer: pretend{help: old}, want: "ETCD",
			told: "nixlbench is missing on spark-02",
		},
		{
			name: "silent", here: pretend{}, peer: pretend{help: old}, want: "ETCD",
			told: "nixlbench on spark-02 does not print its flags (it prints nothing)",
		},
		{
			name: "they differ", here: pretend{help: young}, peer: pretend{help: middle}, want: "ASIO 12345",
			told: "1.3.0, 1.3.1 or 1.4.0 on spark-02, 1.1.0 on spark-01",
		},
		{
			name: "ports are taken", here: pretend{help: middle, ports: busy}, peer: pretend{help: middle}, want: "ASIO 12347",
			told: "something listens on port 12345 of spark-02",
		},
		{
			name: "a port was asked for", here: pretend{help: middle}, peer: pretend{help: middle}, port: "4000",
			want: "ASIO 4000",
		},
		{name: "a bad port", here: pretend{help: middle}, peer: pretend{help: middle}, port: "x", fails: "ASIO_PORT"},
		{
			name: "no path", here: pretend{help: middle}, peer: pretend{help: middle}, noPath: true, want: "ETCD",
			told: "no two addresses",
		},
		{name: "asked for ETCD", here: pretend{help: middle}, peer: pretend{help: middle}, asked: "etcd", want: "ETCD"},
		{name: "asked for ASIO", here: pretend{help: old}, peer: pretend{help: old}, asked: "ASIO", want: "ASIO 12345"},
		{
			name: "asked for ASIO without a path", here: pretend{help: middle}, peer: pretend{help: middle}, asked: "ASIO",
			noPath: true, fails: "give NIXL_RUNTIME=ETCD",
		},
		{name: "asked for auto", here: pretend{help: middle}, peer: pretend{help: middle}, asked: "auto", want: "ASIO 12345"},
		{
			name: "asked for nonsense", here: pretend{help: middle}, peer: pretend{help: middle}, asked: "MPI",
			fails: "auto, ASIO or ETCD",
		},
		{
			name: "an answer without an end",
			here: pretend{help: middle, ports: strings.Repeat(busy, runner.MaxAnswer/len(busy)+1)}, peer: pretend{help: middle},
			fails: "longer than 4 MiB",
		},
		{
			name: "a node is gone", here: pretend{help: middle, err: errors.New("gone")}, peer: pretend{help: middle},
			fails: "gone",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.here.Forwarder, c.peer.Forwarder = local, local
			d := newDesk("rb-a", [2]runner.Node{named{c.here, "spark-02"}, named{c.peer, "spark-01"}})
			d.Rig = rig()
			if c.noPath {
				d.Rig.Pairs = nil
			}
			d.Params = map[string]string{"NIXL_RUNTIME": c.asked, "ASIO_PORT": c.port}
			vars, stop, err := rendezvous.NewRuntime(service(t, "")).Start(t.Context(), d.Request)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if stop != nil {
				defer stop()
			}
			for _, e := range steps.Ends {
				v := vars[e]
				got := v["NIXL_RUNTIME"]
				if got == rendezvous.ASIO {
					got += " " + v["ASIO_PORT"]
				}
				if got != c.want || (got == "ETCD") == (v["ETCD"] == "") || (got == "ETCD") == (v["ASIO_IP"] == "192.168.100.11") {
					t.Errorf("%s: %v", e, v)
				}
			}
			if !strings.Contains(d.words(), c.told) || c.told == "" && d.words() != "" {
				t.Errorf("told %q", d.words())
			}
		})
	}
}

// named is a node by another name.
type named struct {
	pretend
	name string
}

func (n named) Name() string { return n.name }

func TestRuntimePlan(t *testing.T) {
	r := rendezvous.NewRuntime(service(t, ""))
	got := r.Plan(session.Request{Rig: rig(), Params: map[string]string{"ASIO_PORT": "4000"}})
	for name, want := range map[string]string{
		"NIXL_RUNTIME": "ASIO", "ASIO_IP": "192.168.100.11", "ASIO_PORT": "4000", "ETCD": "http://127.0.0.1:2379",
		"ETCD_PORT": "2379",
	} {
		if got[name] != want {
			t.Errorf("%s=%q, want %q", name, got[name], want)
		}
	}
	if got := r.Plan(session.Request{Params: map[string]string{"NIXL_RUNTIME": "ETCD"}}); got["NIXL_RUNTIME"] != "ETCD" {
		t.Errorf("%v", got)
	}
}
