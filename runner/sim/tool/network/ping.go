package network

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

// An echoing is one run of ping.
type echoing struct {
	c   *host.Call
	set host.Flags
	// As it was given; target is its address.
	host   string
	target netip.Addr
	// Peer is nil where no one answers.
	way    net.Way
	size   int
	packet int // on the wire, without Ethernet's header
	mtu    int
	count  int // 0 is without an end
	quiet  bool
	// A frame that is too long is not sent; one that gets lost is.
	tooLong, lost bool
	// What the path loses, it loses of pings, too: one in 25.
	resends bool
	// queued is what the queues that a user has set at both ends do to a ping and its answer.
	queued net.Queue

	interval, wait, deadline time.Duration // -i, -W and -w; a deadline of 0 is none

	sent, received, errs int
	ahead                int       // how many of the next ones are sent without a pause
	times                []float64 // in milliseconds
	// What ping prints as its time: the pauses, and some 12 ms each for itself.
	elapsed time.Duration
}

// runPing sends echoes: -c -i -W -w -s -I -M -q. A frame that is larger than the
// other end's MTU is lost there, whatever the sender thinks of it.
func runPing(ctx context.Context, c *host.Call) int {
	p := &echoing{c: c}
	if !p.parse() {
		return 2
	}
	if p.host == "" {
		return c.Fail(2, "ping: usage error: Destination address required")
	}
	p.count, _ = strconv.Atoi(p.set.Last('c', "0"))
	// 65507 is what an IPv4 packet holds at most behind both headers.
	size, err := strconv.Atoi(p.set.Last('s', "56"))
	if err != nil || size < 0 || size > 65507 {
		return c.Fail(2, "ping: invalid -s value: '%s': out of range: 0 <= value <= 2147483647", p.set.Last('s', ""))
	}
	// IPv4's header of 20 bytes and ICMP's of 8.
	p.size, p.packet, p.quiet = size, size+28, p.set.Has("q")
	if code := p.timing(); code != 0 {
		return code
	}
	if code := p.find(); code != 0 {
		return code
	}
	out := p.set.Last('I', "")
	if out != "" {
		out = fmt.Sprintf("from %s %s: ", p.way.Source, p.way.Out.Name)
	}
	c.Printf("PING %s (%s) %s%d(%d) bytes of data.\n", p.host, p.target, out, p.size, p.packet)
	c.Out.Flush()
	if !p.run(ctx) {
		return host.Terminated
	}
	return p.report()
}

// parse takes the options apart, which may stand behind the host, too.
func (p *echoing) parse() (ok bool) {
	var options []string
	for i := 1; i < len(p.c.Args); i++ {
		a := p.c.Args[i]
		if a == "" || a[0] != '-' {
			p.host = a
			continue
		}
		options = append(options, a)
		if len(a) == 2 && i+1 < len(p.c.Args) && byteIn("ciWwsIMtQlp", a[1]) {
			i++
			options = append(options, p.c.Args[i])
		}
	}
	sub := *p.c
	sub.Args = append([]string{"ping"}, options...)
	p.set, _, ok = sub.Flags("ciWwsIMtQlp")
	return ok
}

// leastInterval is what a user may not go below (MIN_USER_INTERVAL_MS of iputils' ping.h).
const leastInterval = 2 * time.Millisecond

// timing reads the times. No one may send without a pause here, root neither: the nodes' time would stand still.
func (p *echoing) timing() (code int) {
	for _, t := range []struct {
		letter    byte
		otherwise string
		into      *time.Duration
		bad       string
	}{
		{'i', "1", &p.interval, "bad timing interval"},
		{'W', "10", &p.wait, "bad linger time"},
		{'w', "0", &p.deadline, "bad wait time"},
	} {
		text, ok := p.set.Last(t.letter, t.otherwise), false
		if *t.into, ok = linux.Seconds(text); !ok {
			return p.c.Fail(2, "ping: %s: %s", t.bad, text)
		}
	}
	if p.interval < leastInterval && !p.c.Root {
		return p.c.Fail(2, "ping: cannot flood, minimal interval for user must be >= 2 ms, use -i 0.002 (or higher)")
	}
	p.interval = max(p.interval, leastInterval)
	return 0
}

// find looks for the way to the target.
func (p *echoing) find() (code int) {
	c, out := p.c, p.set.Last('I', "")
	var from netip.Addr
	c.Locked(func() {
		var ok bool
		if p.target, ok = c.Node.Resolve(p.host); !ok {
			code = c.Fail(2, "ping: %s: Temporary failure in name resolution", p.host)
			return
		}
		if p.way, ok = c.Node.Route(p.target); !ok {
			code = c.Fail(2, "ping: connect: Network is unreachable")
			return
		}
		if out != "" && !p.way.Local {
			if a, err := netip.ParseAddr(out); err == nil {
				from = a
			} else if d := c.Node.Netdev(out); d == nil {
				code = c.Fail(2, "ping: SO_BINDTODEVICE %s: Invalid argument", out)
				return
			} else if d != p.way.Out {
				p.leaveBy(d)
			}
		}
		p.mtu = p.way.Out.MTU
		theirs := p.mtu
		if p.way.Peer != nil && !p.way.Local {
			theirs = p.way.Peer.MTU
		}
		p.tooLong = p.set.Last('M', "") == "do" && p.packet > p.mtu
		// A frame that this end sends and the other's MTU doesn't hold is dropped there; and so is
		// the answer, the other way round. Without -M do it goes in fragments of this end's MTU.
		p.lost = p.way.Peer == nil || min(p.packet, p.mtu) > theirs || min(p.packet, theirs) > p.mtu
	})
	if from.IsValid() {
		p.way.Source = from
	}
	if p.way.Peer != nil && !p.way.Local {
		p.resends = c.Node.Resends || p.way.Peer.Stack.Resends
		there, back := p.way.Out.Queue, p.way.Peer.Queue
		p.queued = net.Queue{Loss: 1 - (1-there.Loss)*(1-back.Loss), Delay: there.Delay + back.Delay}
	}
	return code
}

// leaveBy sends by an interface that the routes don't lead to.
func (p *echoing) leaveBy(d *net.Netdev) {
	p.way.Out, p.way.Source = d, d.IPv4().Addr()
	if p.way.Peer = p.c.Node.Answers(d, p.target); !d.Up {
		p.way.Peer = nil
	}
}

// send sends one packet, which may get an answer.
func (p *echoing) send(rnd interface{ Float64() float64 }) {
	p.sent++
	switch {
	case p.tooLong:
		p.errs++
		p.c.Out.Flush()
		p.c.Fail(0, "ping: local error: message too long, mtu=%d", p.mtu)
	case p.lost || p.resends && p.sent%25 == 0 || p.queued.Loss > 0 && rnd.Float64() < p.queued.Loss:
		p.lose()
	default:
		// Two Sparks were seen to take 0.44 to 0.89 ms.
		p.echo(0.35 + 0.5*rnd.Float64() + p.queued.Delay.Seconds()*1e3)
	}
}

// run sends until all is sent or the time is over; it is false where ctx ended first.
func (p *echoing) run(ctx context.Context) bool {
	c := p.c
	clock := c.Node.Rack.Clock
	var rnd interface{ Float64() float64 }
	c.Locked(func() { rnd = c.Node.Random("ping") })
	for {
		p.send(rnd)
		c.Out.Flush()
		// Under a deadline it goes on until so many were answered, or could not be sent (iputils' main_loop).
		if p.count > 0 && p.sent >= p.count && (p.deadline == 0 || p.received+p.errs >= p.count) {
			// A lost last one is waited for.
			// What was never sent has no answer to wait for.
			return p.received == p.sent || p.tooLong || p.deadline > 0 || clock.Sleep(ctx, min(p.wait, 3*time.Second))
		}
		if p.deadline > 0 && p.elapsed+p.interval >= p.deadline {
			return p.count == 0 || clock.Sleep(ctx, p.deadline-p.elapsed)
		}
		if !p.pause(ctx) {
			return false
		}
		p.elapsed += p.interval + sendTime
	}
}

// sendTime is what ping's clock says that one echo takes next to the interval.
const sendTime = 12 * time.Millisecond

// pause waits for the instant of the next echo. Where no one sees them one by one, the instants of several are waited
// for at once: each would be an event for all that waits on the rig, and the checks send hundreds over each link.
func (p *echoing) pause(ctx context.Context) bool {
	if p.ahead > 0 {
		p.ahead--
		return true
	}
	n := 1
	for p.quiet && n < 32 && (p.count == 0 || n < p.count-p.sent) &&
		(p.deadline == 0 || p.elapsed+time.Duration(n)*(p.interval+sendTime)+p.interval < p.deadline) {
		n++
	}
	p.ahead = n - 1
	return p.c.Node.Rack.Clock.Sleep(ctx, time.Duration(n)*p.interval)
}

// lose sends what no one answers. Without an answer to ARP the kernel says so after three seconds.
func (p *echoing) lose() {
	if p.way.Peer == nil && p.wait >= 3*time.Second && !p.quiet {
		p.errs++
		p.c.Printf("From %s icmp_seq=%d Destination Host Unreachable\n", p.way.Source, p.sent)
	}
	p.c.Locked(func() { p.way.Out.Count(uint64(p.packet+14), 1, 0, 0) })
}

// echo sends what is answered after so many milliseconds.
func (p *echoing) echo(ms float64) {
	p.received++
	if p.way.Local {
		ms /= 10
	}
	p.times = append(p.times, ms)
	p.c.Locked(func() {
		octets := uint64(p.packet + 14)
		p.way.Out.Count(octets, 1, octets, 1)
		if !p.way.Local {
			p.way.Peer.Count(octets, 1, octets, 1)
		}
	})
	if !p.quiet {
		p.c.Printf("%d bytes from %s: icmp_seq=%d ttl=64 time=%.3g ms\n", p.size+8, p.target, p.sent, ms)
	}
}

// report is what stands below the echoes, and the status: 1 where nothing came back. mdev is the deviation from
// the mean, as iputils works it out of the sums.
func (p *echoing) report() int {
	extra := ""
	if p.errs > 0 {
		extra = "+" + strconv.Itoa(p.errs) + " errors, "
	}
	p.c.Printf("\n--- %s ping statistics ---\n%d packets transmitted, %d received, %s%.6g%% packet loss, time %dms\n",
		p.host, p.sent, p.received, extra, float64(p.sent-p.received)*100/float64(p.sent), p.elapsed.Milliseconds())
	if p.received == 0 {
		p.c.Println("")
		return 1
	}
	low, high, sum, square := math.Inf(1), 0.0, 0.0, 0.0
	for _, t := range p.times {
		low, high = min(low, t), max(high, t)
		sum += t
		square += t * t
	}
	mean := sum / float64(len(p.times))
	p.c.Printf("rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n",
		low, mean, high, math.Sqrt(max(0, square/float64(len(p.times))-mean*mean)))
	return 0
}

func byteIn(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}
