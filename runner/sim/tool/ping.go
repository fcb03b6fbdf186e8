package tool

import (
	"context"
	"math"
	"net/netip"
	"strconv"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// runPing sends echoes: -c -i -W -w -s -I -M -q. A frame that is larger than the
// other end's MTU is lost there, whatever the sender thinks of it.
func runPing(ctx context.Context, c *host.Call) int {
	// ping also takes options behind the host.
	var options []string
	host := ""
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		if a == "" || a[0] != '-' {
			host = a
			continue
		}
		options = append(options, a)
		if len(a) == 2 && i+1 < len(c.Args) && byteIn("ciWwsIMtQlp", a[1]) {
			i++
			options = append(options, c.Args[i])
		}
	}
	sub := *c
	sub.Args = append([]string{"ping"}, options...)
	set, _, ok := sub.Flags("ciWwsIMtQlp")
	if !ok {
		return 2
	}
	if host == "" {
		return c.Fail(2, "ping: usage error: Destination address required")
	}
	count, _ := strconv.Atoi(set.Last('c', "0"))
	size, err := strconv.Atoi(set.Last('s', "56"))
	if err != nil || size < 0 || size > 65507 {
		return c.Fail(2, "ping: invalid -s value: '%s': out of range: 0 <= value <= 2147483647", set.Last('s', ""))
	}
	interval, _ := seconds(set.Last('i', "1"))
	wait, _ := seconds(set.Last('W', "10"))
	deadline, _ := seconds(set.Last('w', "0"))
	dontFragment := set.Last('M', "") == "do"

	var target netip.Addr
	var w net.Way
	var state string
	var mtu, theirs int
	var from netip.Addr
	c.Locked(func() {
		if target, ok = c.Node.Resolve(host); !ok {
			state = "name"
			return
		}
		if w, ok = c.Node.Route(target); !ok {
			state = "route"
			return
		}
		if out := set.Last('I', ""); out != "" && !w.Local {
			if a, err := netip.ParseAddr(out); err == nil {
				from = a
			} else if d := c.Node.Netdev(out); d == nil {
				state = "device"
				return
			} else if d != w.Out {
				w.Out, w.Source = d, d.IPv4().Addr()
				if w.Peer = c.Node.Answers(d, target); !d.Up {
					w.Peer = nil
				}
			}
		}
		mtu, theirs = w.Out.MTU, w.Out.MTU
		if w.Peer != nil && !w.Local {
			theirs = w.Peer.MTU
		}
	})
	switch state {
	case "name":
		return c.Fail(2, "ping: %s: Temporary failure in name resolution", host)
	case "route":
		return c.Fail(2, "ping: connect: Network is unreachable")
	case "device":
		return c.Fail(2, "ping: SO_BINDTODEVICE %s: Invalid argument", set.Last('I', ""))
	}
	if from.IsValid() {
		w.Source = from
	}
	packet := size + 28
	tooLong := dontFragment && packet > mtu
	lost := w.Peer == nil || min(packet, mtu) > theirs || min(packet, theirs) > mtu
	quiet := set.Has("q")
	if out := set.Last('I', ""); out != "" {
		c.Printf("PING %s (%s) from %s %s: %d(%d) bytes of data.\n", host, target, w.Source, w.Out.Name, size, packet)
	} else {
		c.Printf("PING %s (%s) %d(%d) bytes of data.\n", host, target, size, packet)
	}
	c.Out.Flush()
	clock := c.Node.Rack.Clock
	var rnd interface{ Float64() float64 }
	c.Locked(func() { rnd = c.Node.Random("ping") })
	sent, received, errs := 0, 0, 0
	var times []float64
	var elapsed time.Duration
	for {
		sent++
		switch {
		case tooLong:
			errs++
			c.Out.Flush()
			c.Fail(0, "ping: local error: message too long, mtu=%d", mtu)
		case lost:
			// Without an answer to ARP the kernel says so after three seconds.
			if w.Peer == nil && wait >= 3*time.Second && !quiet {
				errs++
				c.Printf("From %s icmp_seq=%d Destination Host Unreachable\n", w.Source, sent)
			}
			c.Locked(func() { w.Out.Count(uint64(packet+14), 1, 0, 0) })
		default:
			received++
			ms := 0.35 + 0.5*rnd.Float64()
			if w.Local {
				ms /= 10
			}
			times = append(times, ms)
			c.Locked(func() {
				octets := uint64(packet + 14)
				w.Out.Count(octets, 1, octets, 1)
				if !w.Local {
					w.Peer.Count(octets, 1, octets, 1)
				}
			})
			if !quiet {
				c.Printf("%d bytes from %s: icmp_seq=%d ttl=64 time=%.3g ms\n", size+8, target, sent, ms)
			}
		}
		c.Out.Flush()
		if count > 0 && sent >= count {
			if received < sent && !tooLong && !clock.Sleep(ctx, min(wait, 3*time.Second)) {
				return 143
			}
			break
		}
		if deadline > 0 && elapsed+interval >= deadline {
			break
		}
		if !clock.Sleep(ctx, interval) {
			return 143
		}
		elapsed += interval + 12*time.Millisecond
	}
	extra := ""
	if errs > 0 {
		extra = "+" + strconv.Itoa(errs) + " errors, "
	}
	c.Printf("\n--- %s ping statistics ---\n%d packets transmitted, %d received, %s%.6g%% packet loss, time %dms\n",
		host, sent, received, extra, float64(sent-received)*100/float64(sent), elapsed.Milliseconds())
	if received == 0 {
		c.Println("")
		return 1
	}
	low, high, sum, square := math.Inf(1), 0.0, 0.0, 0.0
	for _, t := range times {
		low, high = min(low, t), max(high, t)
		sum += t
		square += t * t
	}
	mean := sum / float64(len(times))
	c.Printf("rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n",
		low, mean, high, math.Sqrt(max(0, square/float64(len(times))-mean*mean)))
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
