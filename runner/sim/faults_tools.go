package sim

// toolFaults are the faults of the programs that measure, and of who may run them.
func toolFaults() []Fault {
	return []Fault{
		{
			Name: "port-busy", Title: "Port 18515 is taken",
			Doc: "A forgotten ib_write_bw on {node} listens on TCP port 18515. A new server there fails with \"Couldn't listen to port 18515\".",
			Do: func(s Spot) func() {
				s.Node.forget(defaultPort, nil, "ib_write_bw", "-d", s.rail1().OwnName, "-x", "3")
				return func() { s.Node.unforget(defaultPort) }
			},
		},
		{
			Name: "iperf-stuck", Title: "iperf3 is busy for ever",
			Doc: "On {node} an iperf3 server listens on port 5201 and tells every client that it \"is busy running a test\". The client that it waits for is long gone.",
			Do: func(s Spot) func() {
				s.Node.forget(iperfPort, &iperfServer{busy: true}, "iperf3", "-s")
				return func() { s.Node.unforget(iperfPort) }
			},
		},
		{
			Name: "tool-missing", Title: "perftest is not installed",
			Doc: "ib_write_bw and ib_write_lat do not exist on {node}: the server ends with status 127.",
			Do:  lacking("perftest", "ib_write_bw", "ib_write_lat"),
		},
		{
			Name: "tool-differs", Title: "Different perftest releases",
			Doc: "{node} has perftest 24.07 (6.21, \"MiB/sec\") and {peer} has 4.5 (6.06, \"MB/sec\"). Both print MiB a second, under different headers.",
			Do: func(s Spot) func() {
				s.Node.versions["perftest"] = "24.07.0+0.44-1"
				return func() { delete(s.Node.versions, "perftest") }
			},
		},
		{
			Name: "garbled-output", Title: "A result row is cut", Where: OnAll,
			Doc: "The result row of ib_write_bw on {node} breaks off in the middle, as when a connection breaks. There is no result in it.",
			Do:  flawedBy(garbles),
		},
		{
			Name: "sudo-password", Title: "sudo asks for a password", Where: OnAll,
			Doc: "On {node} sudo wants a password (it is \"engineer\"). Steps that need root fail until it is given.",
			Do: func(s Spot) func() {
				s.Node.password = "engineer"
				return func() { s.Node.password = "" }
			},
		},
	}
}

// flawedBy is a fault that some program minds.
func flawedBy(f flaw) func(Spot) func() {
	return func(s Spot) func() {
		s.Node.flaws[f] = true
		return func() { delete(s.Node.flaws, f) }
	}
}

// lacking is a package of which programs are missing; an empty one is not known at all.
func lacking(pkg string, programs ...string) func(Spot) func() {
	return func(s Spot) func() {
		n := s.Node
		for _, p := range programs {
			n.absent[p] = true
		}
		if pkg != "" {
			n.versions[pkg] = ""
		}
		n.changed()
		return func() {
			for _, p := range programs {
				delete(n.absent, p)
			}
			delete(n.versions, pkg)
			n.changed()
		}
	}
}
