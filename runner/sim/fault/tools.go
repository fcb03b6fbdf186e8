package fault

import (
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/network"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// toolFaults are the faults of the programs that measure, and of who may run them.
// A forgotten server holds its port under its own name, as ss and pgrep show it.
func toolFaults() []Fault {
	return []Fault{
		{
			Name: "port-busy", Title: "Port 18515 is taken",
			Report: "ib_write_bw says Couldn't listen to port 18515",
			Doc: "A forgotten ib_write_bw on {node} listens on TCP port 18515. A new server there fails with " +
				"\"Couldn't listen to port 18515\".",
			Do: func(s Spot) func() {
				// It serves no one: a client is refused as if nothing listened, and a new server can't have the port.
				s.Node.Forget(rdma.PerftestPort, nil, "ib_write_bw", "-d", s.rail1().OwnName, "-x", "3")
				return func() { s.Node.Unforget(rdma.PerftestPort) }
			},
		},
		{
			Name: "iperf-stuck", Title: "iperf3 is busy for ever",
			Report: "iperf3 says: the server is busy running a test. It has said so all day",
			Doc: "On {node} an iperf3 server listens on port 5201 and reports to every client that it \"is busy running " +
				"a test\". The client that it waits for is long gone.",
			Do: func(s Spot) func() {
				// It answers, unlike a forgotten perftest: that is what reports one from the other.
				s.Node.Forget(network.IperfPort, network.BusyIperf(), "iperf3", "-s")
				return func() { s.Node.Unforget(network.IperfPort) }
			},
		},
		{
			Name: "stream-busy", Title: "Port 12377 is taken",
			Report: "railbench stream receive says: address already in use",
			Doc: "A forgotten railbench stream receive on {node} listens on TCP port 12377. A new one there fails with " +
				"\"address already in use\".",
			Do: func(s Spot) func() {
				s.Node.Forget(network.StreamPort, nil, "railbench", "stream", "receive")
				return func() { s.Node.Unforget(network.StreamPort) }
			},
		},
		{
			Name: "tool-missing", Title: "perftest is not installed",
			Report: "ib_write_bw: command not found, on one of them",
			Doc:    "ib_write_bw and ib_write_lat do not exist on {node}: the server ends with status 127.",
			Do:     lacking("perftest", "ib_write_bw", "ib_write_lat"),
		},
		{
			Name: "tool-differs", Title: "Different perftest releases",
			Report: "the same test shows MB/sec here and MiB/sec there",
			Doc: "{node} has perftest 24.07 (6.22, \"MiB/sec\") and {peer} has 4.5 (6.06, \"MB/sec\"). Both print " +
				"MiB a second, under different headers.",
			Do: func(s Spot) func() {
				// The program looks at what dpkg says of it, as its output goes by its release.
				s.Node.Versions["perftest"] = "24.07.0+0.44-1"
				return func() { delete(s.Node.Versions, "perftest") }
			},
		},
		{
			Name: "garbled-output", Title: "A result row is cut", Where: OnAll,
			Report: "railbench finds no result in what ib_write_bw printed",
			Doc: "The result rows of ib_write_bw from {node} and to it break off in the middle, as when a " +
				"connection breaks. The result is missing.",
			Do: flawedBy(rdma.Garbles),
		},
		{
			Name: "sudo-password", Title: "sudo asks for a password", Where: OnAll,
			Report: "steps that need root say: a password is required",
			Doc:    "On {node} sudo wants a password (it is \"engineer\"). Steps that need root fail until it is given.",
			Do: func(s Spot) func() {
				s.Node.Password = "engineer"
				return func() { s.Node.Password = "" }
			},
		},
	}
}

// flawedBy is a fault that some program minds.
func flawedBy(f host.Flaw) func(Spot) func() {
	return func(s Spot) func() {
		s.Node.Flaws[f] = true
		return func() { delete(s.Node.Flaws, f) }
	}
}

// lacking is a package of which programs are missing; an empty one is not known at all.
func lacking(pkg string, programs ...string) func(Spot) func() {
	return func(s Spot) func() {
		n := s.Node
		for _, p := range programs {
			n.Absent[p] = true
		}
		if pkg != "" {
			// An empty version: dpkg-query reports that there is no such package.
			n.Versions[pkg] = ""
		}
		n.Changed()
		return func() {
			for _, p := range programs {
				delete(n.Absent, p)
			}
			delete(n.Versions, pkg)
			n.Changed()
		}
	}
}
