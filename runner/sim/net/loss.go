package net

import "math"

// What losing packets costs. None of it is what a verdict reckons with: it is what an adapter and a kernel do.
const (
	// lossLeast and lossSpan are the share of the packets of a node that loses some: 3 to 6 %.
	lossLeast, lossSpan = 0.03, 0.03

	// A reliable connection goes back to the packet that was lost (go-back-N): the receiver drops what
	// follows it, and all of that is sent again. A write of two bytes takes 1.96 us one way on these
	// machines, so that is how long unwanted packets go on coming.
	roundTrip = 4e-6 // seconds
	// From the packet that is missing until the sender begins again the adapter's firmware does the work. What is known
	// is that the throughput is next to nothing from 1 % of loss on (Wang and others, "Error Recovery of RDMA Packets in
	// Data Center Networks", ICCCN 2019); this much makes a quarter of it at 1 %, and some 8 % at 4.5 %.
	turnAround = 20e-6 // seconds

	// AckTimeout is how long an adapter waits for an answer where nothing came behind the packet that was lost, which the
	// receiver could ask again by: perftest's time-out of 14, which is 67 ms, doubled by the adapter. Seconds.
	AckTimeout = 0.134

	// A kernel's round trip, and Mathis' formula (Mathis, Semke, Mahdavi and Ott, 1997): what a TCP that halves its window
	// with each loss comes to is 1.22 segments by the round trip and the root of the share that is lost.
	tcpRoundTrip = 50e-6 // seconds
	mathis       = 1.22

	// tcpWindow is what is on the way at most: half of what the kernel's buffer for receiving grows to by itself
	// (6 MiB, the third of tcp_rmem), since the other half is for its bookkeeping. Bytes.
	tcpWindow = 3 << 20
)

// loses reports whether packets from the node and to it get lost.
func (n *Stack) loses(other *Stack) bool { return n.Resends || other.Resends }

// Losing is the share of the packets of RDMA that get lost between two nodes.
func Losing(a, b *Stack) float64 {
	if !a.loses(b) {
		return 0
	}
	return lossLeast + lossSpan/2
}

// lose has a flow of RDMA lose packets, where one of its ends does. A run of its own has a share of its own, out of the
// noise that it has anyway: no further random number is drawn, which would change all that are drawn after it.
func (fl *Flow) lose() {
	if fl.TCP || !fl.From.Stack.loses(fl.To.Stack) {
		return
	}
	fl.lost = lossLeast + lossSpan*min(1, (1-fl.Share)/NoiseSpan)
	packet := min(float64(fl.MTU), fl.Message)
	// Packets a second, as long as none is lost.
	rate := min(fl.Demand, halfRate, functionPackets*8*packet) / (8 * packet)
	if fl.Alone {
		fl.again = fl.lost
		fl.extra += fl.again
		return
	}
	fl.again = fl.lost * (1 + rate*roundTrip)
	fl.extra += fl.again
	fl.Demand = min(fl.Demand, rate*8*packet/(1+fl.lost*rate*(roundTrip+turnAround)))
}

// Loss is what a stream of TCP comes to where packets get lost or wait on its way, bits a second, and the share of its
// segments that is sent again; +Inf and 0 where nothing of that is.
func (w Way) Loss(segment int) (limit, resent float64) {
	limit = math.Inf(1)
	if w.Local || w.Peer == nil || len(w.Out.rdma()) == 0 {
		return limit, 0
	}
	wait := (w.Out.Queue.Delay + w.Peer.Queue.Delay).Seconds()
	if wait > 0 {
		limit = 8 * tcpWindow / (tcpRoundTrip + wait)
	}
	lost := Losing(w.Out.Stack, w.Peer.Stack)
	if lost = 1 - (1-lost)*(1-w.Out.Queue.Loss); lost > 0 {
		limit = min(limit, mathis*8*float64(segment)/((tcpRoundTrip+wait)*math.Sqrt(lost)))
	}
	return limit, lost
}
