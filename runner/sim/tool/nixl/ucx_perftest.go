package nixl

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/network"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// ucxPerftest is one end of a test of UCX by itself. The client chooses what is measured and reports the server,
// which is why that one alone prints it.
type ucxPerftest struct {
	c          *host.Call
	proc       *host.Process
	host       string
	port       int
	test       string
	size       int
	count      int
	warmup     int
	send, recv string // kinds of memory
	ucx        *ucxContext
	held       int64 // bytes
}

// What the client's test names mean, as the server reports them. Others exist.
var ucxPerftests = map[string]string{
	"ucp_put_bw": "put bandwidth", "tag_bw": "tag match bandwidth", "ucp_get": "get latency / bandwidth / message rate",
}

// A ucxPerftestServer waits for one client.
type ucxPerftestServer struct {
	accept chan *ucxMeeting
	end    *ucxPerftest
}

// A ucxMeeting is a client that has found its server, which looks at what it left there when
// done is closed.
type ucxMeeting struct {
	client, server     *ucxPerftest
	ready              chan struct{} // the server has opened its UCX and its memory, or not
	serverCode         int
	done, gone         chan struct{} // closed by the client at its end, and by the server at its
	code               int           // the client's
	leave, leaveClient func()
}

// ucxFailed is the status of an end whose test came to nothing.
const ucxFailed = 255

func runUcxPerftest(ctx context.Context, c *host.Call) int {
	// The defaults of init_test_params in perftest_params.c.
	p := &ucxPerftest{c: c, port: 13337, size: 8, count: 1_000_000, warmup: 10_000, send: "host", recv: "host"}
	if code, ok := p.parse(); !ok {
		return code
	}
	c.Locked(func() { p.proc = c.Node.Spawn(c.Args, c.Root) })
	defer c.Locked(func() { delete(c.Node.Procs, p.proc.PID) })
	defer func() { c.Locked(func() { c.Node.Held -= p.held }) }()
	code := 0
	if p.host == "" {
		code = p.serve(ctx)
	} else {
		code = p.connect(ctx)
	}
	if ctx.Err() != nil {
		return host.Terminated
	}
	return code
}

// flags are the options, in front of the address and behind it, as getopt takes them.
func (p *ucxPerftest) flags() (set host.Flags, ok bool) {
	const letters = "tsmnwcOiRpPDWHATMrEbgGK"
	set, rest, ok := p.c.Flags(letters)
	if !ok || len(rest) == 0 {
		return set, ok
	}
	p.host = rest[0]
	sub := *p.c
	sub.Args = append([]string{p.c.Args[0]}, rest[1:]...)
	more, rest, ok := sub.Flags(letters)
	if ok {
		for k, v := range more {
			set[k] = append(set[k], v...)
		}
	}
	return set, ok && len(rest) == 0
}

// parse reads the command line: what isn't an option is the server's address.
func (p *ucxPerftest) parse() (code int, ok bool) {
	c := p.c
	set, ok := p.flags()
	last := func(letter byte, to *string) {
		if v := set[letter]; len(v) > 0 {
			*to = v[len(v)-1]
		}
	}
	numbers := map[byte]*int{'s': &p.size, 'n': &p.count, 'w': &p.warmup, 'p': &p.port}
	for letter, to := range numbers {
		text := strconv.Itoa(*to)
		last(letter, &text)
		n, err := strconv.Atoi(text)
		*to, ok = n, ok && err == nil && n >= 0
	}
	last('t', &p.test)
	last('m', &p.send)
	p.recv = p.send
	for i := range p.send {
		if p.send[i] == ',' {
			p.send, p.recv = p.send[:i], p.send[i+1:]
			break
		}
	}
	switch {
	case !ok:
		c.Println("  Usage: ucx_perftest [ server-address ] [ options ]")
		return ucxFailed, false
	case p.test != "" && ucxPerftests[p.test] == "":
		return p.fail("perftest_params.c:421", "Invalid option argument for -t"), false
	}
	for _, memory := range []string{p.send, p.recv} {
		if memory != "host" && memory != "cuda" {
			return p.fail("perftest_params.c:180", fmt.Sprintf("unsupported memory type: %q", memory)), false
		}
	}
	return 0, true
}

// fail prints a line of UCX's log, which goes to stdout.
func (p *ucxPerftest) fail(where, text string) int {
	pid := 0
	if p.proc != nil {
		pid = p.proc.PID
	}
	p.c.Println(ucxLog(p.c.Node, pid, where, "ERROR", text))
	p.c.Out.Flush()
	return ucxFailed
}

// open starts UCX and takes the memory of one end.
func (p *ucxPerftest) open(memory string) int {
	var lines []string
	started, fits, gpu, cannot := false, false, false, ""
	p.c.Locked(func() {
		n := p.c.Node
		p.ucx = openUCX(n, p.c.Env)
		lines, started = p.ucx.logged(p.proc.PID)
		gpu = n.GPU
		// One buffer to send from, and one to receive into.
		size := 2 * int64(p.size)
		// For cuda, too: a Spark's GPU has no memory of its own.
		if fits = size <= n.Available(); fits {
			p.held = size
			n.Held += size
		}
		if memory == "host" && !n.Lockable(size, p.c.Root) {
			cannot = cannotLock(n, p.proc.PID, size)
		}
	})
	if memory == "cuda" && !gpu {
		return p.fail("libperf.c:1580", fmt.Sprintf("Unsupported memory types %s<->%s", p.send, p.recv))
	}
	for _, l := range lines {
		p.c.Println(l)
	}
	switch {
	case !started:
		return p.fail("perftest_run.c:334", "Failed to run test: No such device")
	case !fits:
		return p.fail("libperf.c:1025", "ucp_mem_map() failed: Out of memory")
	case cannot != "":
		p.c.Println(cannot)
		return p.fail("libperf.c:1025", "ucp_mem_map() failed: Input/output error")
	}
	return 0
}

// serve waits for one client, and then does what that one says.
func (p *ucxPerftest) serve(ctx context.Context) int {
	c := p.c
	s := &ucxPerftestServer{make(chan *ucxMeeting, 1), p}
	l := &host.Listener{Port: p.port, Proc: p.proc, Serves: s}
	busy := false
	c.Locked(func() {
		if busy = c.Node.Listeners[p.port] != nil || p.port == 22; !busy {
			c.Node.Listeners[p.port] = l
		}
	})
	if busy {
		return p.fail("sock.c:314", fmt.Sprintf("bind(fd=3 addr=0.0.0.0:%d) failed: Address already in use", p.port))
	}
	defer c.Locked(func() {
		if c.Node.Listeners[p.port] == l {
			delete(c.Node.Listeners, p.port)
		}
	})
	c.Println("Waiting for connection...")
	c.Out.Flush()
	r := c.Node.Rack
	if !clock.Wait(ctx, r.Clock, s.accept) {
		return host.Terminated
	}
	m := <-s.accept
	defer m.leave()
	from := m.client
	p.size, p.send, p.recv = from.size, from.send, from.recv
	c.Println("Accepted connection from " + from.address() + ":50094")
	p.head(from.test)
	// The server learns from the client what to make room for: a server that can't reports it by going.
	m.serverCode = p.open(p.recv)
	close(m.ready)
	if m.serverCode != 0 {
		return m.serverCode
	}
	if !clock.Wait(ctx, r.Clock, m.done) {
		return host.Terminated
	}
	if m.code != 0 {
		return p.fail("perftest_run.c:334", "Failed to run test: Connection reset by remote peer")
	}
	return 0
}

// address is that of the client, as its server sees it.
func (p *ucxPerftest) address() (from string) {
	p.c.Locked(func() {
		if addr, ok := p.c.Node.Resolve(p.host); ok {
			if way, ok := p.c.Node.Route(addr); ok && way.Out != nil {
				from = way.Out.IPv4().Addr().String()
			}
		}
	})
	return from
}

// head is what a server prints of the test.
func (p *ucxPerftest) head(test string) {
	const edge = "+----------------------------------------------------------------------------------------------------------+"
	p.c.Println(edge)
	for _, row := range [][2]string{
		{"API:", "protocol layer"},
		{"Test:", ucxPerftests[test]},
		{"Data layout:", "(automatic)"},
		{"Send memory:", p.send},
		{"Recv memory:", p.recv},
		{"Message size:", strconv.Itoa(p.size)},
		{"Window size:", "32"},
	} {
		p.c.Printf("| %-13s %-60s                               |\n", row[0], row[1])
	}
	p.c.Println(edge)
	p.c.Out.Flush()
}

// connect finds the server and measures.
func (p *ucxPerftest) connect(ctx context.Context) int {
	c := p.c
	m, refused := p.meet()
	if refused != "" {
		return p.fail("sock.c:323", fmt.Sprintf("client failed. connect() failed: %s", refused))
	}
	defer m.leaveClient()
	m.code = ucxFailed // until the test is through
	const edge = "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+"
	c.Println("+--------------+--------------+------------------------------+---------------------+-----------------------+")
	c.Println("|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate " +
		"(msg/s) |")
	c.Println(edge)
	c.Println("|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  " +
		"overall  |")
	c.Println(edge)
	c.Out.Flush()
	if code := p.open(p.send); code != 0 {
		return code
	}
	if !clock.Wait(ctx, c.Node.Rack.Clock, m.ready) {
		return host.Terminated
	}
	if m.serverCode != 0 {
		return p.fail("perftest_run.c:334", "Failed to run test: Connection reset by remote peer")
	}
	var l link
	var told []string
	c.Locked(func() {
		// UCX of another release packs its addresses otherwise.
		if ucxRelease(c.Node) == ucxRelease(m.server.c.Node) {
			l = p.ucx.connect(m.server.ucx)
			told = p.ucx.chosen(p.proc.PID, l)
		}
	})
	for _, line := range told {
		c.Println(line)
	}
	if len(l.lanes) == 0 {
		p.fail("libperf.c:1080", "ucp_ep_create() failed: Destination is unreachable")
		return p.fail("perftest_run.c:334", "Failed to run test: Destination is unreachable")
	}
	if !c.Node.Rack.Clock.Sleep(ctx, rdma.SetupTime) {
		return host.Terminated
	}
	if err := p.measure(clock.Until(ctx, m.gone), l); err != nil {
		return p.fail("rc_iface.c:412", "Transport retry count exceeded on "+l.lanes[0].Near.Dev+
			":1/RoCE (synd 0x15 vend 0x81)")
	}
	m.code = 0
	return 0
}

// meet looks the server up: over TCP, so by routes and listeners.
func (p *ucxPerftest) meet() (m *ucxMeeting, refused string) {
	c := p.c
	c.Locked(func() {
		addr, ok := c.Node.Resolve(p.host)
		way, routed := c.Node.Route(addr)
		switch {
		case !ok:
			refused = "Name or service not known"
		case !routed:
			refused = "Network is unreachable"
		case way.Peer == nil:
			refused = "No route to host"
		case network.Rejects(c.Node.Rack.Of(way.Peer), way.Peer, p.port):
			refused = "Connection refused"
		}
		if refused != "" {
			return
		}
		far := c.Node.Rack.Of(way.Peer)
		s, ok := far.Served(p.port).(*ucxPerftestServer)
		if !ok {
			refused = "Connection refused"
			return
		}
		// It accepts one client and closes its port.
		delete(far.Listeners, p.port)
		m = &ucxMeeting{
			client: p, server: s.end, ready: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}),
		}
		m.leave = sync.OnceFunc(func() { close(m.gone) })
		m.leaveClient = sync.OnceFunc(func() { close(m.done) })
		s.accept <- m
	})
	return m, refused
}

// measure sends the messages, and prints a row for each second and one for all.
func (p *ucxPerftest) measure(ctx context.Context, l link) error {
	c, r := p.c, p.c.Node.Rack
	share := 0.0
	c.Locked(func() { share = 1 - net.NoiseSpan*c.Node.Random("ucx_perftest").Float64() })
	send := func(n int) (seconds float64, err error) {
		// The window of 32 messages that its head reports.
		k := transfer{link: l, block: float64(p.size), count: float64(n), most: 1, post: 32, share: share}
		if p.send == "cuda" || p.recv == "cuda" {
			k.staged, k.limit = true, stagedRate(len(l.lanes), k.block)
		}
		k.back = p.test == "ucp_get"
		return carry(ctx, r, k)
	}
	// A tenth of the test at most, and then a message that says that it is over.
	warm := min(p.warmup, (p.count+9)/10)
	seconds, err := send(warm + 1)
	if err != nil {
		return err
	}
	// As many as take a second: it reports once in each.
	stretch := max(1, int(float64(warm+1)/seconds))
	sum := 0.0
	for done := 0; done < p.count; {
		n := min(stretch, p.count-done)
		more := 0
		// The last stretch carries the message that ends the test.
		if done+n == p.count {
			more = 1
		}
		if seconds, err = send(n + more); err != nil {
			return err
		}
		done, sum = done+n, sum+seconds
		p.row(done == p.count, done, n, seconds, sum)
	}
	return nil
}

// row prints the figures up to a moment: messages and seconds since the row before, and in all.
func (p *ucxPerftest) row(final bool, done, n int, seconds, sum float64) {
	stage := "[thread 0]"
	if final {
		stage = "Final:    "
	}
	rate, overall := float64(n)/seconds, float64(done)/sum
	// The median is a little below the mean; MB/s are 2^20 bytes.
	p.c.Printf("%s%18d %10.3f %9.3f %9.3f %11.2f %10.2f %11.0f %11.0f\n", stage, done, 0.997e6/overall, 1e6/rate,
		1e6/overall,
		rate*float64(p.size)/(1<<20), overall*float64(p.size)/(1<<20), math.Round(rate), math.Round(overall))
	p.c.Out.Flush()
}
