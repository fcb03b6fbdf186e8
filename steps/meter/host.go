package meter

import (
	"errors"
	"math"
	"strings"

	"github.com/railbench/railbench/steps/strictnum"
)

// ticksPerSecond is the unit of /proc/stat: USER_HZ, which is 100 on every Linux that railbench
// runs on (kernel: include/asm-generic/param.h, man 5 proc).
const ticksPerSecond = 100

// A load is what the first line of /proc/stat says: ticks of all processors together.
type load struct {
	clock       float64 // seconds on the node
	busy, total float64
}

// parseLoad reads "C", the node's clock and user, nice, system, idle, iowait, irq, softirq and
// steal. What follows them, guest and guest_nice, is in user already.
func parseLoad(line string) (load, error) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[0] != "C" {
		return load{}, errors.New("no line of /proc/stat")
	}
	var v [9]float64
	for i := range v {
		n, ok := strictnum.Number(fields[i+1])
		if !ok {
			return load{}, errors.New("no line of /proc/stat: " + fields[i+1] + " is not a number")
		}
		v[i] = n
	}
	l := load{clock: v[0]}
	for _, n := range v[1:] {
		l.total += n
	}
	l.busy = l.total - v[4] - v[5] // but idle and iowait
	return l, nil
}

// addLoad turns two readings into how busy the host is.
func (n *Node) addLoad(line string) error {
	l, err := parseLoad(line)
	if err != nil {
		return err
	}
	before := n.load
	n.load = l
	seconds, total := l.clock-before.clock, l.total-before.total
	if before.clock == 0 || seconds <= 0 || total <= 0 {
		n.host.Known = false
		return nil
	}
	cores := total / ticksPerSecond / seconds
	if n.host.Cores == 0 || math.Abs(cores-float64(n.host.Cores)) > 1 {
		n.host.Cores = max(1, int(math.Round(cores)))
	}
	// A share of the ticks, because a tick that is late is late in both.
	n.host.Busy, n.host.Known = float64(n.host.Cores)*max(0, l.busy-before.busy)/total, true
	return nil
}

// Host is how busy the node is. It is not Known where the node's load could not be read, or where why says
// that there are no samples.
func (n *Node) Host(why string) Host {
	h := n.host
	h.Known = h.Known && why == ""
	return h
}

// same reports whether two hosts are drawn alike. Some process always runs, and must not have an
// idle screen drawn again and again.
func (h Host) same(o Host) bool {
	return h.Node == o.Node && h.Known == o.Known && h.Cores == o.Cores &&
		math.Abs(h.Busy-o.Busy) < max(0.1, 0.02*float64(h.Cores))
}
