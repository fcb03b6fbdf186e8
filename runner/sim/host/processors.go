package host

import (
	"fmt"
	"math"
)

// What traffic takes of the processors, in seconds of one core for 10^9 bits. TCP is copied and checked by
// the kernel at both ends, and more of it where it arrives: one stream fills a core at some 34 Gb/s (the
// tutorial's 33.7). With RDMA only the poster has work: perftest polls for its completions, which takes a
// core at any rate. It is counted by the bytes of a link's rate, because the waiting process isn't known
// here.
const (
	coreTCPSend    = 1.0 / 45
	coreTCPReceive = 1.0 / 34
	coreRDMASend   = 1.0 / 95

	cores = 20
	// An idle desktop, in cores.
	coresIdle = 0.12
)

// procStat is the first lines of /proc/stat, in ticks of a hundredth of a second. What ran is
// worked out of the bytes that moved: they are what keeps this node busy.
func (n *Node) procStat() string {
	n.Fabric.Advance()
	up := n.Uptime().Seconds()
	user, kernel := coresIdle*up/2, coresIdle*up/2
	for _, d := range n.Netdevs {
		if d.Kind == "bond" {
			continue // its slaves have counted it
		}
		kernel += float64(d.TxBytes)*8/1e9*coreTCPSend + float64(d.RxBytes)*8/1e9*coreTCPReceive
	}
	for _, f := range n.Functions {
		user += float64(f.Port.Xmit) * 8 / 1e9 * coreRDMASend
	}
	total := up * cores
	idle := math.Max(0, total-user-kernel)
	tick := func(v float64) int64 { return int64(v * 100) }
	return fmt.Sprintf("cpu  %d 0 %d %d 0 0 0 0 0 0\nctxt 0\nprocesses %d",
		tick(user), tick(kernel), tick(idle), n.NextPID)
}
