package meter

// A burst is a stretch of traffic as the samples see it.
type burst struct {
	intervals  int        // between two samples, in which something moved
	bits       [2]float64 // RDMA and IP, in all of them
	seconds    float64
	head, last [2]float64 // bits of the first interval, and of the latest
	// The samples after the first interval and before the latest: between them the traffic
	// never stopped.
	from, to    stamped
	first, tail float64 // seconds of those two intervals
}

// least is the shortest time between two samples that give a rate, as a share of the sampler's interval: a
// sample may be a little early.
const least = 0.9

// add takes what moved between two samples.
func (b *burst) add(before, after stamped, bits [2]float64) {
	seconds := after.Clock - before.Clock
	if b.intervals == 0 {
		b.head, b.first, b.from = bits, seconds, after
	}
	b.intervals++
	b.last, b.tail, b.to = bits, seconds, before
	b.seconds += seconds
	for i := range bits {
		b.bits[i] += bits[i]
	}
}

// run reports a burst, and proven the rate that was reached for sure, 0 where that is unknown. every is the shortest
// interval of the node's sampler, in its seconds.
func (b *burst) run(every float64) (r Run, proven float64) {
	total := b.bits[0] + b.bits[1]
	if b.intervals == 0 || b.seconds <= 0 || total <= 0 {
		return Run{}, 0
	}
	r = Run{Bytes: total / 8, Seconds: b.seconds, Gbps: total / b.seconds / 1e9, Least: true, RDMA: b.bits[0] / total}
	inner := total - b.head[0] - b.head[1] - b.last[0] - b.last[1]
	if seconds := b.to.Clock - b.from.Clock; b.intervals > 2 && seconds >= least*every && sharp(b.from, b.to) {
		r.Gbps, r.Least = inner/seconds/1e9, false
		proven = inner / longest(b.from, b.to) / 1e9
	}
	return r, proven
}
