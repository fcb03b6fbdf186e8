package fault

import (
	"slices"

	"github.com/railbench/railbench/runner/sim/net"
)

// linkFaults are the faults of cables, ports and what they carry.
// What a cable's end does is put on one node, and its other end sees it by the fabric (Ends): a switch's end
// sees nothing.
func linkFaults() []Fault {
	return []Fault{
		{
			Name: "link-down", Title: "Rail 2's interface is down",
			Report: "ib_write_bw on the second rail ends at once: Port number 1 state is Down",
			Doc: "On {node} enp1s0f1np1 is administratively down. Its RDMA port is DOWN, and a test on it ends at " +
				"once with \"Port number 1 state is Down\".",
			Do: func(s Spot) func() {
				// It looks itself at who has a path.
				s.rail2().Netdev.SetUp(false)
				return func() { s.rail2().Netdev.SetUp(true) }
			},
		},
		{
			Name: "cable-unplugged", Title: "Port 0's cable is out", Where: OnCable,
			Report: "a colleague tidied up behind the rack, and now tests on port 0 end with transport retry counter exceeded",
			Doc: "The cable of {node}'s QSFP port 0 is out: both functions of the port have no carrier, and " +
				"neither have those at its other end, unless that is a switch. A test that runs stalls, and fails " +
				"with \"transport retry counter exceeded\" unless the cable comes back in time.",
			Do: func(s Spot) func() {
				pull := func(out bool) {
					// On one node: with a direct cable its other end sees that, by Ends.
					s.Node.Pulled[0] = out
					// Both functions of a port have one cable, and lose their carrier together.
					s.carrierChanged(func(f *net.Function) bool { return f.QSFP == 0 })
				}
				pull(true)
				return func() { pull(false) }
			},
		},
		{
			Name: "crossed", Title: "{node}'s cables are crossed",
			Report: "since the machines were moved every ping passes, and RDMA hangs on all rails",
			Doc: "At {node} each cable is in the other's port: port 0 leads to port 1 of {peer}. Linux answers for each of " +
				"its addresses on every interface, so pings and TCP pass, by the wrong ports; RDMA hangs.",
			Do: func(s Spot) func() {
				plug := func(exchanged bool) {
					s.Node.Exchanged = exchanged
					s.carrierChanged(func(*net.Function) bool { return true })
					s.Node.Fabric.Allocate()
				}
				plug(true)
				return func() { plug(false) }
			},
		},
		{
			Name: "bad-cable", Title: "Port 0's cable makes errors", Where: OnCable,
			Report: "it works, and ethtool counts symbol errors and CRC errors all the time",
			Doc: "The cable in QSFP port 0 is bad where it ends on {node}: symbol_error, rx_crc_errors_phy and " +
				"rx_symbol_err_phy grow there all the time, whether anything is sent or not.",
			Do: func(s Spot) func() {
				wear := func(worn bool) {
					for _, f := range s.Node.Functions {
						if f.QSFP == 0 {
							// Errors are counted from now on, and are gone with the fault: the
							// counter starts again, as after the cable was changed.
							f.Worn, f.WornAt = worn, s.Node.Fabric.Now()
						}
					}
				}
				wear(true)
				return func() { wear(false) }
			},
		},
		{
			Name: "peer-dead", Title: "{node} is dead",
			Report: "I can not log in to the other node any more",
			Doc:    "{node} refuses and ends SSH connections, and answers nothing on the rails.",
			Do: func(s Spot) func() {
				die := func(dead bool) {
					// SSH connections are ended by Inject, which sees it.
					s.Node.Dead = dead
					s.carrierChanged(func(*net.Function) bool { return true })
				}
				die(true)
				return func() { die(false) }
			},
		},
		{
			Name: "retransmits", Title: "Packets are sent again", Where: OnAll,
			Report: "RDMA is slower than last week, and out_of_sequence grows with each test",
			Doc: "3 to 6 % of the packets from {node} and to it are lost. An adapter goes back to each of them and sends all " +
				"that came behind it again, so less than a tenth of RDMA's rate is left, and the wire carries more than the " +
				"test; out_of_sequence and packet_seq_err grow. TCP is slow, too.",
			Do: switched(func(s Spot) *bool { return &s.Node.Resends }),
		},
		{
			Name: "pauses", Title: "A receiver pauses who sends", Where: OnAll,
			Report: "the rate is fine, and the switch's people say that one of our nodes keeps sending pause frames",
			Doc: "{node} pauses who sends to it by RDMA, as its buffers run full: tx_global_pause grows there with " +
				"each test, and rx_global_pause at the other end (ethtool -S). The rate is still what it was.",
			Do: switched(func(s Spot) *bool { return &s.Node.Pauses }),
		},
		{
			Name: "slow-cable", Title: "Port 1 has a cable for 100 Gb/s", Where: OnCable,
			Report: "two cables give less than twice what one gives",
			Doc: "The cable in QSFP port 1 of {node} is of 5 m and was made for 100 Gb/s: the links of rail 2 and of its " +
				"twin came up with half of what the port can do, and everything works.",
			Do: func(s Spot) func() {
				// On one node: with a direct cable its other end sees the same, by Ends.
				set := func(c net.Cable) {
					s.Node.Cables[1] = c
					s.Node.Fabric.Allocate()
				}
				// 100GBASE-CR4 reaches 5 m over copper with 25 Gb/s a lane; with 50 Gb/s a lane 3 m are the most.
				set(net.Cable{
					Rate: 100e9, Vendor: "Mellanox", PN: "MCP1600-C005", Length: "5m",
					Type: "100G Ethernet: 100G Base-CR4 or 25G Base-CR CA-L",
				})
				return func() { set(net.Cable{}) }
			},
		},
		{
			Name: "slow-rail", Title: "Rail 1 is slow",
			Report: "one rail is slower than the others, always the same",
			Doc:    "Rail 1 of {node} moves 60 Gb/s instead of 92, and nothing says why.",
			Do:     capped("slow", slowRailRate, func(f *net.Function) bool { return f.No == 0 }),
		},
		{
			Name: "degraded-adapter", Title: "The adapter runs at 13 Gb/s",
			Report: "after a power cut we get about 13 Gb/s, whatever we try",
			Doc: "{node}'s adapter moves about 13 Gb/s a function although link and PCIe width look right, as " +
				"after a bad power state. Only a power cycle helps.",
			Do: capped("degraded", degradedRate, func(*net.Function) bool { return true }),
		},
		{
			Name: "pcie-x2", Title: "A PCIe half runs at x2",
			Report: "since the machine was moved, two of the rails take twice as long",
			Doc: "The second PCIe half (domain 0002) of {node}'s adapter came up with two lanes instead of four: " +
				"its rails stop at about 55 Gb/s, and current_link_width says 2.",
			Do: func(s Spot) func() {
				width := func(lanes int) {
					for _, f := range s.Node.Functions {
						if f.Half == 1 {
							f.Lanes = lanes
						}
					}
				}
				width(2)
				return func() { width(4) }
			},
		},
		{
			Name: "hog", Title: "Other traffic uses rail 2",
			Report: "my figures on rail 2 are slower than yesterday, and the counters move before I start anything",
			Doc: "Other RDMA traffic of 20 Gb/s runs on rail 2 from {peer} to {node}. The counters move before a " +
				"test starts.",
			Do: func(s Spot) func() {
				f := s.Node.Fabric
				hog := &net.Flow{
					// It has neither an end nor a length, and takes 20 Gb/s of what it finds.
					From: s.Peer.Functions[1], To: s.rail2(), MTU: 1024, Message: 65536, Demand: 20e9, Share: 1,
				}
				f.Add(hog)
				return func() { f.Stop(hog) }
			},
		},
		{
			Name: "counter-missing", Title: "The port counters are missing",
			Report: "the script that reads port_xmit_data finds no file",
			Doc: "{node}'s RDMA devices have no ports/1/counters directory, as with soft-RoCE. How much a rail " +
				"moved is unknown there.",
			Do: switched(func(s Spot) *bool { return &s.Node.Uncounted }),
		},
		{
			Name: "counter-reset", Title: "Counters drop to zero", Where: OnAll,
			Report: "the counter after the test is smaller than before it",
			Doc: "Halfway through each test the port counters of {node} start again at zero, as after a reload of " +
				"the driver.",
			Do: switched(func(s Spot) *bool { return &s.Node.Resets }),
		},
	}
}

// What is left of a function, in bits a second.
const (
	// Owners of DGX Sparks reported some 13 Gb/s over healthy links, until the power was taken away.
	degradedRate = 13.1e9
	// Far from the other rails, and from every known cause: x2 lanes leave 55.
	slowRailRate = 60.1e9
)

// rail1 and rail2 are the functions of the first PCIe half, at port 0 and port 1.
func (s Spot) rail1() *net.Function { return s.Node.Functions[0] }
func (s Spot) rail2() *net.Function { return s.Node.Functions[1] }

// switched is a fault that is there while a switch is on.
func switched(which func(Spot) *bool) func(Spot) func() {
	return func(s Spot) func() {
		set := func(on bool) {
			// What the tools show may be a file of the tree: it is built again.
			*which(s) = on
			s.Node.Changed()
		}
		set(true)
		return func() { set(false) }
	}
}

// capped bounds functions for a reason.
func capped(why string, rate float64, which func(*net.Function) bool) func(Spot) func() {
	return func(s Spot) func() {
		for _, f := range s.Node.Functions {
			if which(f) {
				f.Caps[why] = rate
			}
		}
		return func() {
			for _, f := range s.Node.Functions {
				// Another reason's bound stays.
				delete(f.Caps, why)
			}
		}
	}
}

// carrierChanged counts what a cable or a dead node does to the carriers at both ends of
// the cables that some functions have.
func (s Spot) carrierChanged(of func(*net.Function) bool) {
	for _, n := range s.Node.Fabric.Stacks {
		for _, f := range n.Functions {
			if !of(f) || !slices.Contains(f.Netdev.Ends(), s.Node.Stack) {
				continue
			}
			f.Netdev.Changes++
			if f.Netdev.Master != nil && !f.Netdev.Running() {
				f.Netdev.Slave.Failures++
			}
		}
		n.LinksReady()
	}
}
