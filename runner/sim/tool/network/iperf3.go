package network

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// IperfPort is where iperf3's two ends meet.
const IperfPort = 5201

const (
	iperfBlock = 131072 // bytes that it writes at once
	iperfRule  = "-----------------------------------------------------------"
	iperfDash  = "- - - - - - - - - - - - - - - - - - - - - - - - -"
)

// iperf is one end of a test.
type iperf struct {
	c      *host.Call
	server bool
	// -1: it ends after its first client.
	once bool
	host string
	// -B: the address that it listens on, or sends from.
	bind    string
	port    int
	seconds int
	streams int
	reverse bool
	silent  bool // no line for each second
	json    bool
}

// An iperfServer is a server that listens.
type iperfServer struct {
	addr netip.Addr // invalid where it listens on all
	busy bool
	// With room for one; busy keeps a second client away until the first has been reported.
	accept chan *iperfTest
}

// BusyIperf is a server that informs every client that it is busy.
func BusyIperf() any { return &iperfServer{busy: true} }

// An iperfTest is a client that has found its server.
// Both ends print it, each from its own side: the client lets it run and closes over.
type iperfTest struct {
	client, server netip.Addr
	// From an even one on: the kernel deals out every other.
	ports []int // the client's, the control connection's first
	port  int
	// MTU less 52: 20 bytes each of IP and TCP, and 12 of time stamps.
	mss int
	// In bytes. One segment, where each has to be sent again.
	cwnd    float64
	reverse bool
	seconds int
	streams []*iperfStream
	over    chan struct{} // closed when the client is done
}

// A stream is one flow, or one for each link that its packets are dealt out to.
type iperfStream struct {
	// Several by balance-rr alone.
	flows   []*net.Flow
	retrans int
}

// runIperf3 is both ends.
func runIperf3(ctx context.Context, c *host.Call) int {
	// iperf3's own defaults.
	p := &iperf{c: c, port: IperfPort, seconds: 10, streams: 1}
	if code, ok := p.parse(); !ok {
		return code
	}
	var proc *host.Process
	c.Locked(func() { proc = c.Node.Spawn(c.Args, c.Root) })
	defer c.Locked(func() { delete(c.Node.Procs, proc.PID) })
	code := 0
	if p.server {
		code = p.serve(ctx, proc)
	} else {
		code = p.connect(ctx)
	}
	if ctx.Err() != nil {
		c.Out.Reset(c.Raw)
		return 143
	}
	return code
}

// usage is the end of a command line that isn't one.
func (p *iperf) usage(why string) (code int, ok bool) {
	return p.c.Fail(1, "iperf3: parameter error - %s\n\nUsage: iperf3 [-s|-c host] [options]\n"+
		"       iperf3 [-h|--help] [-v|--version]\n", why), false
}

// iperfLong are the letters of the long options.
func iperfLong(option string) (letter string) {
	return map[string]string{
		"--server": "-s", "--client": "-c", "--one-off": "-1", "--bind": "-B", "--port": "-p", "--time": "-t",
		"--parallel": "-P", "--reverse": "-R", "--json": "-J", "--version": "-v",
		"--interval": "-i", "--forceflush": "+", "--format": "-f", "--verbose": "-V",
	}[option]
}

// parse reads the options in iperf3's manner: letters may stand together, and the first mistake ends it with
// status 1.
func (p *iperf) parse() (code int, ok bool) {
	for args := p.c.Args[1:]; len(args) > 0; {
		var option, value, why string
		if option, value, args, why = iperfOption(args); why != "" {
			return p.usage(why)
		}
		if option == "-v" {
			p.c.Printf("iperf 3.16 (cJSON 1.7.15)\n%s\nOptional features available: "+
				"CPU affinity setting, IPv6 flow label, SCTP, TCP congestion algorithm setting, sendfile / zerocopy, "+
				"socket pacing, authentication, bind to device, support IPv4 don't fragment, POSIX threads\n", p.system())
			return 0, false
		}
		switch known, good := p.set(option, value); {
		case !known:
			return p.usage("unrecognized option '" + option + "'")
		case !good:
			return p.usage("bad value " + strconv.Quote(value) + " for " + option)
		}
	}
	switch {
	// Both or neither.
	case p.server == (p.host != ""):
		return p.usage("must either be a client (-c) or server (-s)")
	case p.server && (p.reverse || p.streams != 1):
		return p.usage("some option you are trying to set is client only")
	case !p.server && p.once:
		return p.usage("some option you are trying to set is server only")
	}
	return 0, true
}

// iperfOption takes the first option off, with its value; why says what is wrong with it.
func iperfOption(args []string) (option, value string, rest []string, why string) {
	const withValue = "cBptPif"
	a, rest := args[0], args[1:]
	has := false
	switch {
	case strings.HasPrefix(a, "--"):
		name, v, cut := strings.Cut(a, "=")
		if value, has, a = v, cut, iperfLong(name); a == "" {
			return "", "", rest, "unrecognized option '" + name + "'"
		}
	case len(a) > 2 && a[0] == '-' && strings.Contains(withValue, a[1:2]):
		value, has, a = a[2:], true, a[:2]
	case len(a) > 2 && a[0] == '-':
		rest, a = append([]string{"-" + a[2:]}, rest...), a[:2]
	}
	if len(a) != 2 || has || !strings.Contains(withValue, a[1:]) {
		return a, value, rest, ""
	}
	if len(rest) == 0 {
		return a, "", rest, "option requires an argument -- '" + a[1:] + "'"
	}
	return a, rest[0], rest[1:], ""
}

// set does what an option says: it may be unknown, or have a value that isn't good.
func (p *iperf) set(option, value string) (known, good bool) {
	// What is out of range is as bad as what is not a number. A day and 128 streams are its own limits (MAX_TIME and
	// MAX_STREAMS in iperf_api.h).
	number := func(into *int, high int) bool {
		v, err := strconv.Atoi(value)
		*into = v
		return err == nil && v >= 1 && v <= high
	}
	switch option {
	case "-s":
		p.server = true
	case "-1":
		p.once = true
	case "-c":
		p.host = value
	case "-B":
		p.bind = value
	case "-p":
		return true, number(&p.port, 65535)
	case "-t":
		return true, number(&p.seconds, 86400)
	case "-P":
		return true, number(&p.streams, 128)
	case "-R":
		p.reverse = true
	case "-J":
		p.json = true
	case "-i":
		p.silent = value == "0"
	case "-f", "-V", "+":
	default:
		return false, true
	}
	return true, true
}

func (p *iperf) system() string {
	return fmt.Sprintf("Linux %s %s #13-Ubuntu SMP PREEMPT_DYNAMIC aarch64", p.c.Node.Name, p.c.Node.Release())
}

// failed says what went wrong: with -J on stdout, and with status 0.
// A caller that looks at the status alone takes it for a success: a judge has to look for "error"
// in it.
func (p *iperf) failed(why string) int {
	if !p.json {
		text := "iperf3: error - " + why
		if p.server {
			text += "\niperf3: exiting"
		}
		return p.c.Fail(1, "%s", text)
	}
	p.print(JSONObject{
		{"start", JSONObject{{"connected", []any{}}, {"version", "iperf 3.16"}, {"system_info", p.system()}}},
		{"intervals", []any{}},
		{"end", JSONObject{}},
		{"error", why},
	})
	return 0
}

func (p *iperf) print(o JSONObject) {
	b, err := json.MarshalIndent(o, "", "\t")
	if err != nil {
		p.c.Fail(1, "iperf3: %v", err)
		return
	}
	p.c.Println(string(b))
}

// flush shows what there is where a user watches; a pipe waits for the exit.
func (p *iperf) flush() {
	if p.c.Live {
		p.c.Out.Flush()
	}
}

// serve waits for clients, for ever unless it is to end after the first.
func (p *iperf) serve(ctx context.Context, proc *host.Process) int {
	c := p.c
	s := &iperfServer{accept: make(chan *iperfTest, 1)}
	why := ""
	l := &host.Listener{Port: p.port, Proc: proc, Serves: s}
	c.Locked(func() {
		// iperf3 resolves it first, so a name will do.
		if p.bind != "" {
			a, ok := c.Node.Resolve(p.bind)
			if s.addr = a; !ok || !c.Node.Has(a) {
				why = "Cannot assign requested address"
				return
			}
		}
		if c.Node.Listeners[p.port] != nil || p.port == 22 {
			why = "Address already in use"
			return
		}
		c.Node.Listeners[p.port] = l
	})
	if why != "" {
		return p.failed("unable to start listener for connections: " + why)
	}
	defer c.Locked(func() {
		if c.Node.Listeners[p.port] == l {
			delete(c.Node.Listeners, p.port)
		}
	})
	// It serves one after the other, for ever.
	for no := 1; ; no++ {
		if !p.json {
			c.Printf("%s\nServer listening on %d (test #%d)\n%s\n", iperfRule, p.port, no, iperfRule)
		}
		p.flush()
		if !clock.Wait(ctx, c.Node.Rack.Clock, s.accept) {
			return 143
		}
		t := <-s.accept
		if !clock.Wait(ctx, c.Node.Rack.Clock, t.over) {
			// A server that dies takes the test with it.
			c.Locked(func() { t.stop(c.Node.Rack.Fabric) })
			return 143
		}
		code := p.report(t)
		// After the report: a client that connects before gets the answer that the server is busy.
		c.Locked(func() { s.busy = false })
		if p.once {
			return code
		}
	}
}

func (t *iperfTest) stop(f *net.Fabric) {
	for _, s := range t.streams {
		for _, fl := range s.flows {
			f.Stop(fl)
		}
	}
}

// connect finds the server and runs the test; the streams' sender measures.
func (p *iperf) connect(ctx context.Context) int {
	c := p.c
	r := c.Node.Rack
	t, why, late := p.meet()
	if why != "" {
		// As long as the kernel asks by ARP for who isn't there.
		if late && !r.Clock.Sleep(ctx, 3*time.Second) {
			return 143
		}
		return p.failed(why)
	}
	// The server reports what it saw up to here, also where the client was ended.
	defer close(t.over)
	for _, fl := range t.flows() {
		if err := r.Fabric.Wait(ctx, fl); err != nil {
			c.Locked(func() { t.stop(r.Fabric) })
			if ctx.Err() != nil {
				return 143
			}
			return p.failed("control socket has closed unexpectedly")
		}
	}
	return p.report(t)
}

// reach looks the server up. Callers hold the lock.
func (p *iperf) reach() (s *iperfServer, r tcpReach) {
	if r = reachTCP(p.c.Node, p.host, p.bind, p.port); r.why != "" {
		r.why = "unable to connect to server: " + r.why
		return nil, r
	}
	s, ok := r.served.(*iperfServer)
	switch {
	// A server that is bound to another of the node's addresses is as closed as none.
	case !ok || s.addr.IsValid() && s.addr != r.addr:
		r.why = "unable to connect to server: Connection refused"
	case s.busy:
		r.why = "the server is busy running a test. try again later"
	}
	return s, r
}

// meet finds the server and starts the flows.
func (p *iperf) meet() (t *iperfTest, why string, late bool) {
	p.c.Locked(func() {
		server, r := p.reach()
		if why, late = r.why, r.late; why != "" {
			return
		}
		way := r.way
		// Under the lock, with the test in the channel: two clients can't both find it free.
		server.busy = true
		n := p.c.Node
		rnd := n.Random("iperf3")
		// Even, and of ip_local_port_range, which begins there.
		port := 32768 + 2*rnd.IntN(14000)
		mtu := min(way.Out.MTU, way.Peer.MTU)
		t = &iperfTest{
			client: r.src, server: r.addr, port: p.port, mss: mtu - 52, reverse: p.reverse, seconds: p.seconds,
			ports: []int{port}, cwnd: (1.2 + 0.6*rnd.Float64()) * 1e6, over: make(chan struct{}),
		}
		demand, resent := tcpDemand(way, t.mss, p.streams)
		// A window of one segment is what shows that MTUs differ: each large one is lost.
		if resent > 0 {
			t.cwnd = float64(t.mss)
		}
		for range p.streams {
			port += 2 // the kernel gives every other port to connections that go out
			t.ports = append(t.ports, port)
			t.streams = append(t.streams, p.stream(t, way.Lanes(port/2), demand, resent, rnd))
		}
		n.Rack.Fabric.Add(t.flows()...)
		server.accept <- t
	})
	return t, why, late
}

// stream is one of a test's, over its lanes; resent is the share of it that is sent again.
func (p *iperf) stream(
	t *iperfTest, lanes [][2]*net.Function, demand, resent float64, rnd *rand.Rand,
) *iperfStream {
	s := &iperfStream{}
	for _, l := range lanes {
		if p.reverse {
			l[0], l[1] = l[1], l[0]
		}
		// Message is a write of iperf3's, which says nothing of packets: those are of the segment's
		// size.
		fl := &net.Flow{
			From: l[0], To: l[1], TCP: true, MTU: t.mss, Message: iperfBlock, Until: float64(p.seconds),
			Demand: demand / float64(len(lanes)), Share: 1 - net.NoiseSpan*rnd.Float64(),
		}
		// So that what had arrived by each second is known afterwards: a line a second, and the intervals of -J.
		for s := 1; s < p.seconds; s++ {
			fl.Marks = append(fl.Marks, net.Mark{At: float64(s)})
		}
		s.flows = append(s.flows, fl)
	}
	// How many it would send, at the rate that it asks for.
	segments := demand / 8 / float64(t.mss) * float64(p.seconds)
	switch {
	case resent > 0:
		s.retrans = int(resent * segments)
	case len(lanes) > 1:
		// Packets that overtake each other look like lost ones.
		for _, fl := range s.flows {
			fl.Demand *= net.Disordered
		}
		s.retrans = int(net.DisorderedResent * segments)
	// Streams that share a way lose a few packets to each other.
	case p.streams > 1:
		s.retrans = rnd.IntN(40)
	}
	return s
}

// flows are those of all streams.
func (t *iperfTest) flows() []*net.Flow {
	var all []*net.Flow
	for _, s := range t.streams {
		all = append(all, s.flows...)
	}
	return all
}

// sent is what a stream has sent until now.
func (s *iperfStream) sent() float64 {
	sum := 0.0
	for _, fl := range s.flows {
		sum += fl.Sent
	}
	return sum
}

// at is what a stream had sent by the end of a second.
func (s *iperfStream) at(second int) float64 {
	if second == 0 {
		return 0
	}
	sum := 0.0
	for _, fl := range s.flows {
		// The last second has no mark: the flow's end is its.
		if second <= len(fl.Marks) {
			sum += fl.Marks[second-1].Sent
		} else {
			sum += fl.Sent
		}
	}
	return sum
}

// socket is the number that iperf3 calls a stream by.
func (t *iperfTest) socket(i int, server bool) int {
	if i > 0 && server {
		// They are descriptors: a server with four streams has 5, 8, 10 and 12, a client 5, 7, 9 and 11.
		return 6 + 2*i
	}
	return 5 + 2*i
}

// report prints what an end saw.
func (p *iperf) report(t *iperfTest) int {
	sends := p.server == t.reverse
	if p.json {
		p.print(p.object(t, sends))
		return 0
	}
	p.text(t, sends)
	return 0
}

// text is the table for people: a line a second, and below it one or two of each stream. A server's sums are
// those of its own side.
func (p *iperf) text(t *iperfTest, sends bool) {
	c := p.c
	p.greeting(t)
	head := "[ ID] Interval           Transfer     Bitrate"
	if sends {
		c.Println(head + "         Retr  Cwnd")
	} else {
		c.Println(head)
	}
	for second := 1; second <= t.seconds && !p.silent; second++ {
		p.second(t, second, sends)
	}
	c.Println(iperfDash)
	c.Println(head + map[bool]string{true: "         Retr"}[sends || !p.server])
	total, all := 0.0, 0
	// The client reports both ends, since the server has sent it its account; a server of itself alone.
	ends := func(id string, bytes float64, n int) {
		if sends || !p.server {
			p.row(id, 0, t.seconds, bytes, resentText(n)+"             sender")
		}
		if !sends || !p.server {
			p.row(id, 0, t.seconds, bytes, "                  receiver")
		}
	}
	for i, s := range t.streams {
		total, all = total+s.sent(), all+s.retrans
		ends(fmt.Sprintf("%3d", t.socket(i, p.server)), s.sent(), s.retrans)
	}
	if len(t.streams) > 1 {
		ends("SUM", total, all)
	}
	if !p.server {
		c.Printf("\niperf Done.\n")
	}
}

// greeting is what is said of the connections.
func (p *iperf) greeting(t *iperfTest) {
	local, remote := t.client, t.server
	if p.server {
		p.c.Printf("Accepted connection from %s, port %d\n", t.client, t.ports[0])
		local, remote = remote, local
	} else {
		p.c.Printf("Connecting to host %s, port %d\n", p.host, t.port)
		if t.reverse {
			p.c.Printf("Reverse mode, remote host %s is sending\n", p.host)
		}
	}
	for i := range t.streams {
		mine, theirs := t.ports[i+1], t.port
		if p.server {
			mine, theirs = theirs, mine
		}
		p.c.Printf("[%3d] local %s port %d connected to %s port %d\n", t.socket(i, p.server), local, mine, remote, theirs)
	}
}

// row is one line of the table, from a second to another.
func (p *iperf) row(id string, from, to int, bytes float64, tail string) {
	span := float64(max(1, to-from))
	p.c.Printf("[%s] %6s-%-6s sec  %s  %s%s\n",
		id, fmt.Sprintf("%d.00", from), fmt.Sprintf("%d.00", to), octets(bytes), bits(bytes*8/span), tail)
}

func resentText(n int) string { return fmt.Sprintf("  %3d", n) }

// second is the lines of one second.
func (p *iperf) second(t *iperfTest, second int, sends bool) {
	total, all := 0.0, 0
	for i, s := range t.streams {
		bytes := s.at(second) - s.at(second-1)
		// Spread over the seconds, so that they add up to the whole.
		n := s.retrans*second/t.seconds - s.retrans*(second-1)/t.seconds
		total, all = total+bytes, all+n
		tail := "                  "
		if sends {
			tail = resentText(n) + "   " + octets(t.cwnd) + "       "
		}
		p.row(fmt.Sprintf("%3d", t.socket(i, p.server)), second-1, second, bytes, tail)
	}
	if len(t.streams) == 1 {
		return
	}
	tail := "                  "
	if sends {
		tail = resentText(all) + "             "
	}
	p.row("SUM", second-1, second, total, tail)
	if second < t.seconds {
		p.c.Println(iperfDash)
	}
}

// octets and bits are iperf3's figures of three digits: bytes by 1024 and
// bits by 1000.
func octets(v float64) string { return threeDigits(v, 1024) + "Bytes" }
func bits(v float64) string   { return threeDigits(v, 1000) + "bits/sec" }

// threeDigits is unit_snprintf of iperf3's units.c.
func threeDigits(v, base float64) string {
	unit := 0
	for v >= base && unit < 4 {
		v /= base
		unit++
	}
	digits := 2
	switch {
	// Where rounding to one digit would give four.
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%4.*f %s", digits, v, []string{"", "K", "M", "G", "T"}[unit])
}

// object is the whole test in JSON.
// What a receiver doesn't know, as retransmits and windows, it leaves out. The processors' load and the round
// trip are always the same: no verdict rests on them.
func (p *iperf) object(t *iperfTest, sends bool) JSONObject {
	// Each end names itself first.
	local, remote := t.client, t.server
	if p.server {
		local, remote = remote, local
	}
	account := func(from, to, bytes float64, rest ...JSONField) JSONObject {
		o := JSONObject{
			{"start", from},
			{"end", to},
			{"seconds", to - from},
			{"bytes", math.Round(bytes)},
			{"bits_per_second", bytes * 8 / (to - from)},
		}
		return append(o, rest...)
	}
	var connected, intervals, ends []JSONObject
	for i := range t.streams {
		mine, theirs := t.ports[i+1], t.port
		if p.server {
			mine, theirs = theirs, mine
		}
		connected = append(connected, JSONObject{
			// Fields in iperf3's order: people read it, too.
			{"socket", t.socket(i, p.server)},
			{"local_host", local.String()},
			{"local_port", mine},
			{"remote_host", remote.String()},
			{"remote_port", theirs},
		})
	}
	retransmits := func(n int) []JSONField {
		if !sends {
			return []JSONField{{"omitted", false}, {"sender", sends}}
		}
		return []JSONField{{"retransmits", n}, {"omitted", false}, {"sender", sends}}
	}
	// A second is iperf3's interval; other ones no one asks for here.
	every := 1
	if p.silent {
		every = t.seconds // one interval, which is the whole test
	}
	for second := every; second <= t.seconds; second += every {
		var streams []JSONObject
		total, all := 0.0, 0
		from, to := float64(second-every), float64(second)
		for i, s := range t.streams {
			bytes := s.at(second) - s.at(second-every)
			n := s.retrans*second/t.seconds - s.retrans*(second-every)/t.seconds
			total, all = total+bytes, all+n
			o := account(from, to, bytes, retransmits(n)...)
			o = append(JSONObject{{"socket", t.socket(i, p.server)}}, o...)
			if sends {
				o = append(o, JSONField{"snd_cwnd", math.Round(t.cwnd)}, JSONField{"rtt", 61}, JSONField{"pmtu", t.mss + 52})
			}
			streams = append(streams, o)
		}
		intervals = append(intervals, JSONObject{
			{"streams", streams}, {"sum", account(from, to, total, retransmits(all)...)},
		})
	}
	total, all := 0.0, 0
	whole := float64(t.seconds)
	for i, s := range t.streams {
		total, all = total+s.sent(), all+s.retrans
		id := JSONField{"socket", t.socket(i, p.server)}
		sender := append(JSONObject{id}, account(0, whole, s.sent())...)
		if sends {
			sender = append(sender, JSONField{"retransmits", s.retrans}, JSONField{"max_snd_cwnd", math.Round(t.cwnd)})
		}
		sender = append(sender, JSONField{"sender", sends})
		receiver := append(append(JSONObject{id}, account(0, whole, s.sent())...), JSONField{"sender", sends})
		ends = append(ends, JSONObject{{"sender", sender}, {"receiver", receiver}})
	}
	sent := account(0, whole, total)
	if sends {
		sent = append(sent, JSONField{"retransmits", all})
	}
	wall := p.c.Node.Rack.Clock.Wall().UTC()
	return JSONObject{
		{"start", JSONObject{
			{"connected", connected},
			{"version", "iperf 3.16"},
			{"system_info", p.system()},
			{"timestamp", JSONObject{{"time", wall.Format(time.RFC1123)}, {"timesecs", wall.Unix()}}},
			{"connecting_to", JSONObject{{"host", p.host}, {"port", t.port}}},
			{"tcp_mss_default", t.mss},
			{"test_start", JSONObject{
				{"protocol", "TCP"},
				{"num_streams", len(t.streams)},
				{"blksize", iperfBlock},
				{"omit", 0},
				{"duration", t.seconds},
				{"bytes", 0},
				{"blocks", 0},
				{"reverse", map[bool]int{true: 1}[t.reverse]},
				{"tos", 0},
			}},
		}},
		{"intervals", intervals},
		{"end", JSONObject{
			{"streams", ends},
			{"sum_sent", append(sent, JSONField{"sender", sends})},
			{"sum_received", account(0, whole, total, JSONField{"sender", sends})},
			{"cpu_utilization_percent", JSONObject{{"host_total", 98.9}, {"remote_total", 71.3}}},
			{"sender_tcp_congestion", "cubic"},
			{"receiver_tcp_congestion", "cubic"},
		}},
	}
}
