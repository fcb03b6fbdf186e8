package network

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// StreamPort is where railbench stream receives by itself.
const StreamPort = 12377

// streamHeader goes before each block on the wire, bytes.
const streamHeader = 24

// streamBlockRate is how many blocks of a few bytes a stream sends in a second at most, each with a call of the
// kernel's: measured over loopback on two shared cores.
const streamBlockRate = 8e5

// streamGrace is how long the block that is under way may take once the time is over, seconds.
const streamGrace = 10

// runRailbench is railbench's own program, as far as cells call it on nodes: stream receive and
// stream send.
func runRailbench(ctx context.Context, c *host.Call) int {
	// railbench stream's own defaults: 64 MiB a block, as the COTS report's programs have it.
	s := &streamEnd{c: c, streams: 1, block: 1 << 26}
	args := c.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "--version":
		c.Println("railbench simulated")
		return 0
	case len(args) < 2 || args[0] != "stream":
		return c.Fail(2, "railbench: the simulated railbench knows only: railbench stream receive, railbench stream send")
	}
	if why := s.parse(args[2:]); why != "" {
		return c.Fail(2, "railbench: %s", why)
	}
	var proc *host.Process
	c.Locked(func() { proc = c.Node.Spawn(c.Args, c.Root) })
	defer c.Locked(func() { delete(c.Node.Procs, proc.PID) })
	switch {
	case args[1] == "receive" && len(s.to) == 0:
		return s.receive(ctx, proc)
	case args[1] == "send" && len(s.to) > 0 && (len(s.from) == 0 || len(s.from) == len(s.to)):
		return s.send(ctx)
	}
	return c.Fail(2, "railbench: wrong usage of railbench stream %s", args[1])
}

// A streamEnd is one end of a stream.
type streamEnd struct {
	c        *host.Call
	at       []string // --listen
	to, from []string
	streams  int
	seconds  float64 // --for; 0 where blocks end it
	block    int
	blocks   int // of each stream; 0 where the time ends it
	once     bool
	json     bool
}

// parse reads the options; why says what is wrong with them.
func (s *streamEnd) parse(args []string) (why string) {
	for len(args) > 0 {
		a := args[0]
		if args = args[1:]; !strings.HasPrefix(a, "--") {
			s.to = append(s.to, a)
			continue
		}
		name, value, has := strings.Cut(a, "=")
		switch name {
		case "--once":
			s.once = true
			continue
		case "--json":
			s.json = true
			continue
		case "--zero-copy": // an adapter reads the same bytes either way
			continue
		}
		if !has {
			if len(args) == 0 {
				return "flag needs an argument: " + name
			}
			value, args = args[0], args[1:]
		}
		if why := s.set(name, value); why != "" {
			return why
		}
	}
	return ""
}

// set takes an option with its value; why is what the real program says of one that is wrong.
func (s *streamEnd) set(name, value string) (why string) {
	var err error
	switch name {
	case "--listen":
		s.at = strings.Split(value, ",")
	case "--from":
		s.from = strings.Split(value, ",")
	case "--streams":
		if s.streams, err = strconv.Atoi(value); err == nil && (s.streams < 1 || s.streams > 128) {
			return fmt.Sprintf("--streams %d: it goes from 1 to 128", s.streams)
		}
	case "--bytes":
		if s.block, err = strconv.Atoi(value); err == nil && (s.block < 1 || s.block > 1<<30) {
			return fmt.Sprintf("--bytes %s: it is a size from 1 byte to 1G", value)
		}
	case "--blocks":
		s.blocks, err = strconv.Atoi(value)
	case "--for":
		var d time.Duration
		d, err = time.ParseDuration(value)
		s.seconds = d.Seconds()
	case "--gauge": // no one has to listen there
	default:
		return "unknown flag: " + name
	}
	if err != nil {
		return fmt.Sprintf("invalid argument %q for %q flag", value, name)
	}
	return ""
}

// A streamServer receives at some addresses of its node.
type streamServer struct {
	node   *host.Node
	addrs  []netip.Addr
	accept chan *streamWay
}

// A streamWay is all streams to one address.
type streamWay struct {
	at    string // ADDRESS:PORT
	flows []*net.Flow
	block int
	cut   int
	// In seconds of the nodes' time.
	began, ended float64
	over         chan struct{} // closed when the sender is done
}

// moved is what came through: whole blocks, where nothing was cut. The flows that make up one are fractions.
func (w *streamWay) moved() (bytes float64, blocks int) {
	sum := 0.0
	for _, fl := range w.flows {
		sum += fl.Sent
	}
	sent, unit := int(math.Round(sum)), w.block+streamHeader
	blocks = sent / unit
	return float64(blocks*w.block + max(sent%unit-streamHeader, 0)), blocks
}

// receive accepts connections, one after the other, until it is ended; with --once until each of its
// addresses has had its streams. A report has the ways in the order of the addresses.
func (s *streamEnd) receive(ctx context.Context, proc *host.Process) int {
	c := s.c
	if len(s.at) == 0 {
		s.at = []string{fmt.Sprintf(":%d", StreamPort)}
	}
	// With room for one of each address and more: who connects holds the rig's lock, and can't wait.
	server := &streamServer{node: c.Node, accept: make(chan *streamWay, 16)}
	ports := map[int]*host.Listener{}
	why := ""
	c.Locked(func() { why = s.listen(server, proc, ports) })
	defer c.Locked(func() {
		for port, l := range ports {
			if c.Node.Listeners[port] == l {
				delete(c.Node.Listeners, port)
			}
		}
	})
	if why != "" {
		return c.Fail(2, "railbench: %s", why)
	}
	for _, at := range s.at {
		fmt.Fprintf(c.Err, "receives at %s\n", at)
	}
	var ways []*streamWay
	// With --once each address has to have had its streams.
	for left := slices.Clone(s.at); !s.once || len(left) > 0; {
		if !clock.Wait(ctx, c.Node.Rack.Clock, server.accept) {
			return host.Terminated
		}
		w := <-server.accept
		if !clock.Wait(ctx, c.Node.Rack.Clock, w.over) {
			// The sender's connections end with their server.
			c.Locked(func() { w.stop(c.Node.Rack.Fabric) })
			return host.Terminated
		}
		ways = append(ways, w)
		left = slices.DeleteFunc(left, func(at string) bool { return at == w.at })
	}
	slices.SortStableFunc(ways, func(a, b *streamWay) int { return slices.Index(s.at, a.at) - slices.Index(s.at, b.at) })
	return s.report(ways, true)
}

// listen opens all addresses; why says why it can't. Callers hold the lock.
func (s *streamEnd) listen(server *streamServer, proc *host.Process, ports map[int]*host.Listener) (why string) {
	n := s.c.Node
	for _, at := range s.at {
		address, port, ok := splitPort(at)
		if !ok {
			return fmt.Sprintf("listen at %s: listen tcp: address %s: missing port in address", at, at)
		}
		if address != "" {
			a, known := n.Resolve(address)
			if !known || !n.Has(a) {
				return fmt.Sprintf("listen at %[1]s: listen tcp %[1]s: bind: cannot assign requested address", at)
			}
			server.addrs = append(server.addrs, a)
		}
		// Two addresses of the node may have one port: that is one entry, which knows them all.
		if ports[port] != nil {
			continue
		}
		if n.Listeners[port] != nil || port == 22 {
			return fmt.Sprintf("listen at %[1]s: listen tcp %[1]s: bind: address already in use", at)
		}
		ports[port] = &host.Listener{Port: port, Proc: proc, Serves: server}
		n.Listeners[port] = ports[port]
	}
	return ""
}

// splitPort takes ADDRESS:PORT apart.
func splitPort(at string) (address string, port int, ok bool) {
	i := strings.LastIndexByte(at, ':')
	if i < 0 {
		return "", 0, false
	}
	port, err := strconv.Atoi(at[i+1:])
	return strings.Trim(at[:i], "[]"), port, err == nil && port > 0 && port < 1<<16
}

func (w *streamWay) stop(f *net.Fabric) {
	for _, fl := range w.flows {
		f.Stop(fl)
	}
}

// send connects to all addresses, and sends over all of them at once.
func (s *streamEnd) send(ctx context.Context) int {
	c := s.c
	r := c.Node.Rack
	ways, why, late := s.meet()
	if why != "" {
		if late && !r.Clock.Sleep(ctx, 3*time.Second) {
			return host.Terminated
		}
		return c.Fail(3, "railbench: %s", why)
	}
	defer func() {
		for _, w := range ways {
			close(w.over)
		}
	}()
	if !s.wait(ctx, ways) || !s.finish(ctx, ways) {
		return host.Terminated
	}
	return s.report(ways, false)
}

// wait waits for all flows; it is false where the program was ended.
func (s *streamEnd) wait(ctx context.Context, ways []*streamWay) bool {
	r := s.c.Node.Rack
	for _, w := range ways {
		for _, fl := range w.flows {
			// What ends a flow early leaves a block that is cut: finish reports.
			if err := r.Fabric.Wait(ctx, fl); err != nil && ctx.Err() != nil {
				s.c.Locked(func() {
					for _, w := range ways {
						w.stop(r.Fabric)
					}
				})
				return false
			}
		}
	}
	return true
}

// finish sends what is missing of the blocks that are under way.
func (s *streamEnd) finish(ctx context.Context, ways []*streamWay) bool {
	r := s.c.Node.Rack
	var rests []*streamWay
	s.c.Locked(func() {
		for _, w := range ways {
			rest := &streamWay{}
			for _, fl := range w.flows {
				// Over a bond that deals packets out each link has its own flow, and so a rest of its own.
				unit := float64(s.block + streamHeader)
				if part := unit - math.Mod(fl.Sent, unit); part < unit {
					more := &net.Flow{
						From: fl.From, To: fl.To, TCP: true, MTU: fl.MTU, Message: fl.Message, Payload: part, Until: streamGrace,
						Demand: fl.Demand, Share: fl.Share,
					}
					rest.flows = append(rest.flows, more)
				}
			}
			rests = append(rests, rest)
			r.Fabric.Add(rest.flows...)
		}
	})
	if !s.wait(ctx, rests) {
		return false
	}
	s.c.Locked(func() {
		for i, w := range ways {
			w.flows = append(w.flows, rests[i].flows...)
			for _, fl := range rests[i].flows {
				if fl.Sent < fl.Payload {
					w.cut++
				}
			}
			for _, fl := range w.flows {
				w.began, w.ended = min(w.began, fl.Begin), max(w.ended, fl.End)
			}
		}
	})
	return true
}

// meet finds the servers and starts the flows.
func (s *streamEnd) meet() (ways []*streamWay, why string, late bool) {
	n := s.c.Node
	s.c.Locked(func() {
		rnd := n.Random("railbench stream")
		// Of Linux's own range for connections that go out, 32768 to 60999.
		port := 32768 + 2*rnd.IntN(14000)
		var servers []*streamServer
		for i, to := range s.to {
			address, at, ok := splitPort(to)
			bind := ""
			if len(s.from) > 0 {
				bind = s.from[i]
			}
			if !ok {
				why = "dial tcp: address " + to + ": missing port in address"
				return
			}
			r := reachTCP(n, address, bind, at)
			server, serves := r.served.(*streamServer)
			if r.why == "" && (!serves || len(server.addrs) > 0 && !slices.Contains(server.addrs, r.addr)) {
				r.why = "Connection refused"
			}
			if r.why != "" {
				why, late = dialed(bind, to, r.why), r.late
				return
			}
			w := &streamWay{at: to, block: s.block, over: make(chan struct{}), began: math.Inf(1)}
			// 20 bytes are IP's, 20 TCP's, and 12 its timestamps'.
			mss := min(r.way.Out.MTU, r.way.Peer.MTU) - 52
			demand, _ := tcpDemand(r.way, mss, s.streams)
			demand = min(demand, 8*streamBlockRate*float64(s.block+streamHeader))
			for range s.streams {
				// The kernel gives every other port to connections that go out; a bond's policy hashes them.
				port += 2
				for _, l := range r.way.Lanes(port / 2) {
					fl := &net.Flow{
						From: l[0], To: l[1], TCP: true, MTU: mss, Message: 131072, Demand: demand,
						Share: 1 - net.NoiseSpan*rnd.Float64(),
					}
					if fl.Until = s.seconds; s.blocks > 0 {
						fl.Until, fl.Payload = math.Inf(1), float64(s.blocks)*float64(s.block+streamHeader)
					}
					w.flows = append(w.flows, fl)
				}
			}
			ways, servers = append(ways, w), append(servers, server)
		}
		for i, w := range ways {
			n.Rack.Fabric.Add(w.flows...)
			servers[i].accept <- w
		}
	})
	return ways, why, late
}

// dialed is a connection that was not made, as Go's library says it.
func dialed(bind, to, why string) string {
	if bind != "" {
		bind += ":0->"
	}
	if why == "Connection refused" {
		return fmt.Sprintf("dial tcp %s%s: connect: connection refused: is railbench stream receive running there?", bind, to)
	}
	if why == "Cannot assign requested address" {
		return fmt.Sprintf("dial tcp %s%s: bind: cannot assign requested address", bind, to)
	}
	return fmt.Sprintf("dial tcp %s%s: connect: %s", bind, to, strings.ToLower(why))
}

// report prints what an end saw, and gives its status.
func (s *streamEnd) report(ways []*streamWay, received bool) int {
	c := s.c
	var objects []JSONObject
	sum, blocks, cuts, began, ended := 0.0, 0, 0, math.Inf(1), 0.0
	for _, w := range ways {
		bytes, whole := w.moved()
		cut := w.cut
		if !received {
			cut = 0 // who sends doesn't know
		}
		o := JSONObject{{"at", w.at}}
		o = append(o, streamMoved(bytes, whole, cut, w.ended-w.began)...)
		o = append(o, JSONField{"stalls", 0})
		if !received {
			o = append(o, JSONField{"streams", s.streams})
		}
		objects = append(objects, o)
		sum, blocks, cuts = sum+bytes, blocks+whole, cuts+cut
		began, ended = min(began, w.began), max(ended, w.ended)
	}
	if s.json {
		o := append(JSONObject{{"railbench", "simulated"}}, streamMoved(sum, blocks, cuts, ended-began)...)
		o = append(o, JSONField{"stalls", 0}, JSONField{"ways", objects})
		b, err := json.MarshalIndent(o, "", "  ")
		if err != nil {
			return c.Fail(1, "railbench: %v", err)
		}
		c.Println(string(b))
	} else {
		c.Printf("%.0f bytes in %d blocks and %.2f s: %.2f Gb/s; 0 lost, 0 corrupt, %d cut off, 0 stalls\n",
			sum, blocks, ended-began, sum*8/(ended-began)/1e9, cuts)
	}
	// stdout first: what failed stands below its figures.
	if cuts > 0 {
		c.Out.Flush()
		return c.Fail(1, "railbench: not all of it arrived as it was sent")
	}
	return 0
}

func streamMoved(bytes float64, blocks, cut int, seconds float64) JSONObject {
	return JSONObject{
		{"bytes", uint64(bytes)},
		{"blocks", blocks},
		{"lost", 0},
		{"corrupt", 0},
		{"cut", cut},
		{"seconds", seconds},
		{"gbps", bytes * 8 / seconds / 1e9},
	}
}
