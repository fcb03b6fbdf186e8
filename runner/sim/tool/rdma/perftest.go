package rdma

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/network"
)

// PerftestPort is where perftest's two ends meet.
const PerftestPort = 18515

// resultLine is RESULT_LINE of perftest_parameters.h.
const resultLine = "---------------------------------------------------------------------------------------"

// SetupTime is what two ends take to make their queue pairs and to meet, in node time.
const SetupTime = 100 * time.Millisecond

// Garbles is the flaw of a node whose ib_write_bw cuts its result.
const Garbles host.Flaw = "perftest's rows break off"

// perftest is one end of a test: ib_write_bw and its relatives.
// Its options are those of perftest_parameters.c; a zero value is not one, newPerftest sets the
// defaults.
type perftest struct {
	c    *host.Call
	tool string
	// By the program's name, as perftest itself goes by it.
	verb    string // write, read or send
	latency bool

	host   string
	dev    string
	gidSet bool
	gid    int
	size   int
	// Of each queue pair.
	iters   int
	qps     int
	port    int
	mtu     int // 0 is the device's
	seconds int // -D; 0 where iterations count
	// -f, in seconds at both ends of a test by time; -1 until settle.
	margin int
	all    bool
	both   bool
	gbits  bool
	// -R. The two ends must agree in it; here it only changes what is printed.
	rdmaCM  bool
	txDepth int
	version string
	noPeak  bool

	// What open has found: its function, and the numbers that it sends to the other end.
	fn   *net.Function
	addr net.GID // its GID when it was set up
	qpn  int
	// 24 bits.
	psn  uint32
	rkey int
	va   uint64
}

// A perftestServer waits for one client.
type perftestServer struct {
	test *perftest
	// With room for one: the client leaves itself there, and takes the listener away.
	accept chan *rendezvous
}

// A rendezvous is a client that has found its server.
type rendezvous struct {
	client, server *perftest
	outcome        outcome
	mtu            int
	garbled        bool
	// Written by the client alone, before done is closed; read by the server after it.
	rows []string
	err  error // of the transfer
	// Closed by the client once outcome and mtu are set.
	met chan struct{}
	// Closed by the client at its end, whatever that is; err then says how the transfer ended.
	done chan struct{}
	// Each is closed by its own end's leave, once.
	clientGone, serverGone chan struct{}
	leaveClient, leave     func()
}

// outcome is what comes of two ends that have met.
type outcome int

const (
	works   outcome = iota
	noRTR           // a queue pair cannot be made ready: the GID slot is empty
	gidMix          // IPv4 on one end and IPv6 on the other
	hangs           // nothing arrives, without an error
	badSize         // the client writes past the server's buffer
	badTool         // a read against a write
	noPath          // packets leave and nothing answers
)

// runPerftest is both ends: with a host it is the client.
func runPerftest(ctx context.Context, c *host.Call) int {
	p, code, ok := parsePerftest(c)
	if !ok {
		return code
	}
	if code := p.open(); code != 0 {
		return code
	}
	var proc *host.Process
	// It is in the lists of processes and ports from here on, as long as it runs.
	c.Locked(func() { proc = c.Node.Spawn(c.Args, c.Root) })
	defer c.Locked(func() { delete(c.Node.Procs, proc.PID) })
	if p.host == "" {
		code = p.serve(ctx, proc)
	} else {
		code = p.connect(ctx)
	}
	if ctx.Err() != nil {
		// A process that is killed takes what it had not flushed with it.
		c.Out.Reset(c.Raw)
		return 143
	}
	return code
}

// newPerftest is a test as its tool does it where nothing is asked for.
func newPerftest(c *host.Call) *perftest {
	tool := c.Program()
	// 65,536 bytes and 5,000 iterations; reads, sends and latencies 1,000; a latency is of 2 bytes.
	p := &perftest{
		c: c, tool: tool, latency: strings.HasSuffix(tool, "_lat"), size: 65536, iters: 5000, qps: 1,
		port: PerftestPort, txDepth: 128, margin: -1, version: "6.06",
	}
	p.verb = strings.Split(tool, "_")[1]
	// The depth of a ping-pong is one.
	if p.latency {
		p.size, p.iters, p.txDepth = 2, 1000, 1
	} else if p.verb != "write" {
		p.iters = 1000
	}
	c.Locked(func() {
		// 24.07 calls itself 6.22, and is the first that says MiB/sec; 4.5+0.17, of Debian 12, is 6.06.
		if strings.HasPrefix(c.Node.Versions["perftest"], "24.07") {
			p.version = "6.22"
		}
	})
	return p
}

// perftestLong are the letters of the long options. Those that have none begin with a plus,
// and a value follows +=.
// Dashes in some and underscores in others are perftest's own: getopt_long knows no other spelling.
func perftestLong(option string) (key string) {
	return map[string]string{
		"--ib-dev": "d", "--ib-port": "i", "--mtu": "m", "--iters": "n", "--port": "p", "--qp": "q", "--size": "s",
		"--tx-depth": "t", "--gid-index": "x", "--duration": "D", "--margin": "f", "--all": "a",
		"--bidirectional": "b", "--CPU-freq": "F", "--rdma_cm": "R", "--version": "V", "--help": "h",
		"--connection": "c", "--qp-timeout": "u", "--inline_size": "I", "--cq-mod": "Q", "--tclass": "T", "--sl": "S",
		"--report_gbits": "+gbits", "--report-both": "+", "--out_json": "+", "--use_old_post_send": "+",
		"--run_infinitely": "+forever", "--cpu_util": "+", "--output": "+=", "--out_json_file": "+=",
		"--source_ip": "+=", "--bind_source_ip": "+=", "--noPeak": "N", "--use_hugepages": "+",
	}[option]
}

// perftestOption is an option's letter, empty for an unknown option, and the value that is joined to it.
func perftestOption(a string) (key, value string, hasValue bool) {
	if strings.HasPrefix(a, "--") {
		key, value, hasValue = strings.Cut(a, "=")
		return perftestLong(key), value, hasValue
	}
	return a[1:min(2, len(a))], a[min(2, len(a)):], len(a) > 2
}

// perftestTakes reports whether an option has a value.
func perftestTakes(key string) bool {
	// Also of letters that set leaves alone: the value would be taken for the server's name otherwise.
	return key != "" && strings.Contains("dimnpqstxDfcuIQTSlorwy", key) || key == "+="
}

// parsePerftest reads the command line; where that is the end of it there is a status.
func parsePerftest(c *host.Call) (p *perftest, code int, ok bool) {
	p = newPerftest(c)
	for args := c.Args[1:]; len(args) > 0; {
		a := args[0]
		if args = args[1:]; a == "" || a[0] != '-' {
			p.host = a
			continue
		}
		key, value, hasValue := perftestOption(a)
		switch takes := perftestTakes(key); {
		case key == "", takes && !hasValue && len(args) == 0:
			return nil, p.usage(a), false
		case takes && !hasValue:
			// The value may stand in the next argument, whatever it looks like.
			value, args = args[0], args[1:]
		case !takes && hasValue && !strings.HasPrefix(a, "--"):
			// Letters without values may stand together.
			args = append([]string{"-" + value}, args...)
		}
		if code, ok := p.take(a, key, value); !ok {
			return nil, code, false
		}
	}
	if code, ok := p.settle(); !ok {
		return nil, code, false
	}
	return p, 0, true
}

// usage is the end of a command line that isn't one: getopt's complaint, the help on stdout, and then
// perftest's own words.
func (p *perftest) usage(bad string) int {
	c, tool := p.c, p.tool
	if strings.HasPrefix(bad, "--") {
		c.Fail(1, "%s: unrecognized option '%s'", tool, bad)
	} else {
		c.Fail(1, "%s: invalid option -- '%s'", tool, strings.TrimPrefix(bad, "-"))
	}
	p.help()
	c.Out.Flush()
	c.Fail(1, " Invalid Command or flag.\n Please check command line and run again.\n")
	return c.Fail(1, " Parser function exited with Error")
}

func (p *perftest) help() {
	p.c.Printf("Usage:\n  %s            start a server and wait for connection\n"+
		"  %s <host>     connect to server at <host>\n\n", p.tool, p.tool)
}

// take takes one option; it is false where the program ends with that, with a status.
func (p *perftest) take(option, key, value string) (code int, ok bool) {
	switch key {
	// 1, though nothing is wrong: perftest's parser ends with it.
	case "V":
		p.c.Printf("Version: %s\n", p.version)
		return 1, false
	case "h":
		p.help()
		return 1, false
	}
	known, good := p.set(key, value)
	switch {
	case !known:
		return p.usage(option), false
	case !good && key == "D":
		p.c.Fail(1, " Duration period argument %s should be int", value)
	}
	if !good || p.size < 1 || p.iters < 1 || p.qps < 1 {
		return p.c.Fail(1, " Parser function exited with Error"), false
	}
	return 0, true
}

// set does what an option says: it may be unknown, or have a value that isn't good.
func (p *perftest) set(key, value string) (known, good bool) {
	numbers := map[string]*int{
		// Every number is an int here; what of them is out of range is looked at when all are read.
		"x": &p.gid, "s": &p.size, "n": &p.iters, "q": &p.qps, "p": &p.port, "m": &p.mtu, "t": &p.txDepth,
		"D": &p.seconds, "f": &p.margin,
	}
	if into := numbers[key]; into != nil {
		v, err := strconv.Atoi(value)
		if err == nil {
			*into = v
		}
		p.gidSet = p.gidSet || key == "x"
		return true, err == nil
	}
	switches := map[string]*bool{"a": &p.all, "b": &p.both, "R": &p.rdmaCM, "N": &p.noPeak, "+gbits": &p.gbits}
	if on := switches[key]; on != nil {
		*on = true
		return true, true
	}
	switch key {
	case "d":
		p.dev = value
	case "+forever":
		// Twelve days: as good as for ever.
		p.seconds = 1 << 20
	case "i", "c", "u", "I", "Q", "T", "S", "l", "o", "r", "w", "y", "F", "H", "U", "z", "e", "g", "C", "+", "+=":
	default:
		return false, true
	}
	return true, true
}

// settle looks at what the options are together.
func (p *perftest) settle() (code int, ok bool) {
	c := p.c
	if p.seconds > 0 && p.all {
		c.Fail(1, "Duration mode currently doesn't support running on all sizes.")
		c.Println(resultLine)
		return 1, false
	}
	// perftest leaves out the first and the last quarter by itself.
	if p.margin < 0 {
		p.margin = p.seconds / 4
	}
	if p.seconds > 0 && p.seconds <= 2*p.margin {
		c.Println(resultLine)
		return c.Fail(1, "please check that DURATION > 2*MARGIN"), false
	}
	// The peak is the shortest time between two completions, of which perftest keeps no more than
	// so many.
	if p.iters > 20000 && p.seconds == 0 && !p.latency && !p.noPeak {
		c.Println(resultLine)
		c.Println(" WARNING: BW peak won't be measured in this run.")
		p.noPeak = true
	}
	if p.seconds == 0 && !p.latency {
		p.txDepth = min(p.txDepth, p.iters)
	}
	return 0, true
}

// open finds the device, as ibv_open_device and the first checks of a test do.
func (p *perftest) open() int {
	c := p.c
	var state string
	c.Locked(func() {
		n := c.Node
		// The first device in the kernel's list, without -d.
		p.fn = n.Functions[0]
		if p.dev != "" {
			p.fn = n.Function(p.dev)
		}
		if p.fn == nil {
			state = "missing"
			return
		}
		if !p.fn.Live() {
			state = "down"
			return
		}
		p.dev = p.fn.Dev
		active := p.fn.ActiveMTU()
		switch {
		case p.mtu > active:
			// perftest prints ibv_mtu's number here, and not the bytes.
			names := map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
			c.Printf("Requested mtu is higher than active mtu \nChanging to active mtu - %d\n", names[active])
			p.mtu = active
		case p.mtu == 0:
			p.mtu = active
		}
		// -x has no default: perftest looks for the best entry itself.
		if !p.gidSet {
			p.gid = p.fn.BestGID()
		}
		// What is beyond the table is taken for its last entry, which is as empty.
		p.gid = max(0, min(p.gid, len(p.fn.GIDs)-1))
		p.addr = p.fn.GIDs[p.gid]
		rnd := n.Random(p.tool + p.dev)
		p.qpn = n.NextQPN
		n.NextQPN += p.qps
		p.psn = rnd.Uint32() & 0xffffff
		// What registering memory gives: it looks like the real thing, and means nothing.
		p.rkey = 0x180000 + rnd.IntN(0x7ffff)
		p.va = 0xffff_0000_0000 + uint64(rnd.IntN(1<<20))<<12
	})
	switch state {
	case "missing":
		return c.Fail(1, "IB device %s not found\n Unable to find the Infiniband/RoCE device", p.dev)
	case "down":
		return c.Fail(1, " Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device")
	}
	return 0
}

// serve waits for one client, for ever if need be.
func (p *perftest) serve(ctx context.Context, proc *host.Process) int {
	c := p.c
	c.Printf("\n************************************\n" +
		"* Waiting for client to connect... *\n" +
		"************************************\n")
	s := &perftestServer{p, make(chan *rendezvous, 1)}
	l := &host.Listener{Port: p.port, Proc: proc, Serves: s}
	busy := false
	c.Locked(func() {
		// sshd has 22 on every node, and is not among the listeners.
		if busy = c.Node.Listeners[p.port] != nil || p.port == 22; !busy {
			c.Node.Listeners[p.port] = l
		}
	})
	if busy {
		return c.Fail(1, "Couldn't listen to port %d\n"+
			// The middle one has no line end in perftest, so that the third is glued to it.
			"Unable to open file descriptor for socket connection Unable to init the socket connection", p.port)
	}
	// A client has taken it away already where there was one.
	defer c.Locked(func() {
		if c.Node.Listeners[p.port] == l {
			delete(c.Node.Listeners, p.port)
		}
	})
	p.flush()
	r := c.Node.Rack
	if !clock.Wait(ctx, r.Clock, s.accept) {
		return 143
	}
	rv := <-s.accept
	defer rv.leave()
	if !clock.Wait(ctx, r.Clock, rv.met) {
		return 143
	}
	p.header(rv.mtu)
	if code := p.refused(rv); code != 0 {
		return code
	}
	p.addresses(rv.client)
	p.flush()
	done := clock.Happened(rv.done)
	// The client goes on alone: a server's processor has no part in a write.
	// A client that is killed says nothing: its socket is closed.
	r.Clock.Park(ctx, clock.Never, func() bool { return done() || clock.Happened(rv.clientGone)() })
	switch {
	case done():
	case ctx.Err() != nil:
		return 143
	default:
		return p.lost()
	}
	if rv.err != nil {
		return p.lost()
	}
	return p.print(rv)
}

func (p *perftest) lost() int {
	return p.c.Fail(1, "ethernet_read_keys: Couldn't read remote address\n"+
		" Unable to read to socket/rdma_cm\n Failed to exchange data between server and clients")
}

// connect finds the server and runs the test; the client measures.
func (p *perftest) connect(ctx context.Context) int {
	c := p.c
	rv, refused := p.meet()
	switch refused {
	case "":
	case "name":
		return c.Fail(1, "Temporary failure in name resolution for %s:%d\nProblem in resolving basic address and port\n"+
			"Unable to open file descriptor for socket connection Unable to init the socket connection", p.host, p.port)
	default:
		// The kernel asks three times by ARP, a second apart, before it reports no answer.
		if refused == "unreachable" && !c.Node.Rack.Clock.Sleep(ctx, 3*time.Second) {
			return 143
		}
		return c.Fail(1, "Couldn't connect to %s:%d\n"+
			"Unable to open file descriptor for socket connection Unable to init the socket connection", p.host, p.port)
	}
	defer rv.leaveClient()
	// In this order: done before leave, so the server finds out how it ended, and not only that.
	defer close(rv.done)
	// Until the transfer is through.
	rv.err = errors.New("the client left")
	rv.decide()
	close(rv.met)
	p.header(rv.mtu)
	if code := p.refused(rv); code != 0 {
		return code
	}
	p.addresses(rv.server)
	p.flush()
	if !c.Node.Rack.Clock.Sleep(ctx, SetupTime) {
		return 143
	}
	if rv.outcome != works {
		return p.fails(ctx, rv)
	}
	return p.transfer(clock.Until(ctx, rv.serverGone), rv)
}

// fails is the end of a client whose test comes to nothing.
func (p *perftest) fails(ctx context.Context, rv *rendezvous) int {
	c := p.c
	switch rv.outcome {
	// Neither end gets an error. They wait until one of them is ended.
	case hangs:
		if !clock.Wait(ctx, c.Node.Rack.Clock, rv.serverGone) {
			return host.Terminated
		}
		return p.lost()
	case badSize, badTool:
		// Of enum ibv_wc_status: IBV_WC_REM_ACCESS_ERR and IBV_WC_REM_INV_REQ_ERR.
		status := map[outcome]int{badSize: 10, badTool: 9}[rv.outcome]
		return p.completionError(fmt.Sprintf("Failed status %d: wr_id 0 syndrom 0x0", status), 0)
	default:
		if !c.Node.Rack.Clock.Sleep(ctx, time.Duration(net.RetryTime*float64(time.Second))) {
			return host.Terminated
		}
		return p.completionError(retryText, 0)
	}
}

// transfer measures every size.
func (p *perftest) transfer(ctx context.Context, rv *rendezvous) int {
	sizes := []int{p.size}
	if p.all {
		sizes = nil
		// -a goes from 2 bytes to 8 MiB.
		for s := 2; s <= 1<<23; s *= 2 {
			sizes = append(sizes, s)
		}
	}
	for _, size := range sizes {
		var row string
		var done int
		var err error
		if p.latency {
			row, err = p.measureLatency(ctx, rv, size)
		} else {
			row, done, err = p.measure(ctx, rv, size)
		}
		if err != nil {
			return p.completionError(retryText, done)
		}
		// The server prints the same rows: it gets them from the client, and measures nothing.
		rv.rows = append(rv.rows, row)
	}
	rv.err = nil
	return p.print(rv)
}

// retryText is for IBV_WC_RETRY_EXC_ERR; 0x81 is what an mlx5 has for it.
const retryText = "Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81"

// completionError is the end of a test that had begun: the columns stand there, and no row below them. scnt and
// ccnt are what was sent and what has arrived of it.
func (p *perftest) completionError(status string, done int) int {
	c := p.c
	c.Println(p.columns())
	c.Out.Flush()
	return c.Fail(1, " Completion with error at client\n %s\n scnt=%d, ccnt=%d\n"+
		" Failed to complete run_iter_bw function successfully", status, done+p.txDepth, done)
}

// meet looks the server up: over TCP, so by routes and listeners.
func (p *perftest) meet() (rv *rendezvous, refused string) {
	c := p.c
	c.Locked(func() {
		addr, ok := c.Node.Resolve(p.host)
		if !ok {
			refused = "name"
			return
		}
		way, ok := c.Node.Route(addr)
		switch {
		case !ok:
			refused = "no route"
			return
		case way.Peer == nil:
			refused = "unreachable"
			return
		case network.Rejects(c.Node.Rack.Of(way.Peer), way.Peer, p.port):
			refused = "rejected"
			return
		}
		far := c.Node.Rack.Of(way.Peer)
		s, ok := far.Served(p.port).(*perftestServer)
		if !ok {
			refused = "refused"
			return
		}
		// The exchange of keys over TCP: some packets of some 100 bytes. So the interface's
		// counters move a little with every test.
		way.Out.Count(1460, 14, 1388, 12)
		way.Peer.Count(1388, 12, 1460, 14)
		// perftest listens for one client and closes the port.
		delete(far.Listeners, p.port)
		rv = &rendezvous{
			client: p, server: s.test, met: make(chan struct{}), done: make(chan struct{}),
			clientGone: make(chan struct{}), serverGone: make(chan struct{}),
		}
		rv.leave = sync.OnceFunc(func() { close(rv.serverGone) })
		rv.leaveClient = sync.OnceFunc(func() { close(rv.clientGone) })
		s.accept <- rv
	})
	return rv, refused
}

// decide says what comes of the two ends' settings.
func (rv *rendezvous) decide() {
	cl, sv := rv.client, rv.server
	cl.c.Locked(func() {
		rv.mtu = min(cl.mtu, sv.mtu)
		rv.outcome = rv.judge()
		rv.garbled = cl.c.Node.Flawed(Garbles) || sv.c.Node.Flawed(Garbles)
	})
}

// judge works out from both ends' GIDs, cables and options what will happen. Callers hold the rig's lock.
func (rv *rendezvous) judge() outcome {
	cl, sv := rv.client, rv.server
	a, b := cl.addr, sv.addr
	switch {
	case a.Family() == 0 && b.Family() == 0:
		return noRTR
	case a.Family() == 0 || b.Family() == 0 || a.Family() != b.Family():
		return gidMix
	case !rv.joined():
		return hangs
	// After joined: one end's packets are UDP, and the other's an Ethernet type of their own.
	case a.V2 != b.V2:
		return noPath
	// A client of another program gets as far as the exchange.
	// Releases before 26.01 don't compare their settings: what differs shows once data moves.
	case cl.tool != sv.tool:
		return badTool
	case cl.verb == "write" && !cl.all && cl.size > sv.size && !sv.all:
		return badSize
	default:
		return works
	}
}

// joined reports whether packets of one end's queue pair arrive at the other's: on another
// node, at the same cable, in a subnet that both are in, and not by a bond.
func (rv *rendezvous) joined() bool {
	cl, sv := rv.client, rv.server
	a, b := cl.addr, sv.addr
	bonded := strings.HasPrefix(a.Netdev, "bond") || strings.HasPrefix(b.Netdev, "bond")
	if bonded || cl.fn.Stack == sv.fn.Stack || cl.fn.Wire() != sv.fn.Wire() {
		return false
	}
	// IPv6's are link-local here, and so in one subnet wherever the cable leads.
	return a.Family() != 4 || slices.ContainsFunc(cl.fn.Netdev.Addrs, net.PrefixContains(b)) &&
		slices.ContainsFunc(sv.fn.Netdev.Addrs, net.PrefixContains(a))
}

// refused is the exit status where the ends could not be joined; 0 where they were.
func (p *perftest) refused(rv *rendezvous) int {
	switch rv.outcome {
	case noRTR:
		p.c.Out.Flush()
		return p.c.Fail(1, "Failed to modify QP %d to RTR\n Unable to Connect the HCA's through the link", p.qpn)
	case gidMix:
		p.c.Out.Flush()
		return p.c.Fail(1, "\n Found Incompatibility issue with GID types.\n Please Try to use a different IP version.\n")
	default:
		return 0
	}
}

// flush shows the output on a terminal; a pipe waits for the exit.
func (p *perftest) flush() {
	if p.c.Live {
		p.c.Out.Flush()
	}
}

func (p *perftest) old() bool { return p.version == "6.06" }

// header is all that stands above the addresses, of 6.06 and of 24.07 alike; 24.10 has more in it. What a
// server leaves out, as its depth of sending, it leaves out here.
func (p *perftest) header(mtu int) {
	c := p.c
	title := map[string]string{"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send"}[p.verb]
	kind := "BW"
	if p.latency {
		kind = "Latency"
	}
	// As perftest prints its switches.
	onOff := map[bool]string{true: "ON", false: "OFF"}
	c.Println(resultLine)
	if p.both && !p.latency {
		c.Printf("                    %s Bidirectional %s Test\n", title, kind)
	} else {
		c.Printf("                    %s %s Test\n", title, kind)
	}
	c.Printf(" Dual-port       : OFF\t\tDevice         : %s\n", p.dev)
	c.Printf(" Number of qps   : %d\t\tTransport type : IB\n", p.qps)
	c.Printf(" Connection type : RC\t\tUsing SRQ      : OFF\n")
	c.Printf(" PCIe relax order: %s\n ibv_wr* API     : ON\n", onOff[!p.latency])
	p.depths()
	c.Printf(" Mtu             : %d[B]\n Link type       : Ethernet\n GID index       : %d\n", mtu, p.gid)
	switch {
	case p.verb == "read":
		c.Printf(" Outstand reads  : 16\n")
	// DEF_INLINE_SEND_RC_UC and DEF_INLINE_WRITE of perftest_parameters.h. Only where latency counts is anything
	// inline.
	case p.latency && p.verb == "send":
		c.Printf(" Max inline data : 236[B]\n")
	case p.latency:
		c.Printf(" Max inline data : 220[B]\n")
	default:
		c.Printf(" Max inline data : 0[B]\n")
	}
	method := map[bool]string{true: "rdma_cm", false: "Ethernet"}[p.rdmaCM]
	c.Printf(" rdma_cm QPs\t : %s\n Data ex. method : %s\n", onOff[p.rdmaCM], method)
	c.Println(resultLine)
}

// depths prints how long the queues are.
func (p *perftest) depths() {
	c := p.c
	if p.host != "" || p.both {
		c.Printf(" TX depth        : %d\n", p.txDepth)
	}
	if p.verb == "send" && (p.host == "" || p.both) {
		// DEF_RX_SEND, or as many as there are messages, and an even number (force_dependecies).
		depth := 512
		if p.seconds == 0 && p.iters < depth {
			depth = p.iters + p.iters%2
		}
		c.Printf(" RX depth        : %d\n", depth)
	}
	if !p.latency {
		// -Q is 100 by default, and 1 for large messages (perftest_parameters.c).
		moderation := 1
		if p.size <= 8192 && !p.all {
			moderation = min(100, p.iters)
		}
		c.Printf(" CQ Moderation   : %d\n", moderation)
	}
}

// addresses prints both ends' queue pairs. A queue pair that isn't written to has neither key nor address.
func (p *perftest) addresses(remote *perftest) {
	c := p.c
	for _, end := range []struct {
		name string
		*perftest
	}{{"local", p}, {"remote", remote}} {
		for q := range p.qps {
			c.Printf(" %s address: LID 0000 QPN 0x%04x PSN 0x%x", end.name, end.qpn+q, (end.psn+uint32(q)*7919)&0xffffff)
			if p.verb == "read" {
				c.Printf(" OUT 0x10")
			}
			if p.verb != "send" && !p.rdmaCM {
				c.Printf(" RKey 0x%06x VAddr 0x%014x", end.rkey, end.va+uint64(q*max(p.size, 4096)))
			}
			c.Println("")
			var parts []string
			for _, b := range end.addr.Bytes() {
				// In decimal: perftest prints its GIDs so.
				parts = append(parts, fmt.Sprintf("%02d", b))
			}
			c.Printf(" GID: %s\n", strings.Join(parts, ":"))
		}
	}
	c.Println(resultLine)
}

// columns is the line above the results.
func (p *perftest) columns() string {
	switch {
	case p.latency && p.seconds > 0:
		return " #bytes        #iterations       t_avg[usec]    tps average"
	case p.latency:
		return " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]" +
			"   99% percentile[usec]   99.9% percentile[usec] "
	}
	// The older releases say MB and count in MiB; the newer ones say what they count.
	unit := "MB/sec"
	if !p.old() {
		unit = "MiB/sec"
	}
	if p.gbits {
		unit = "Gb/sec"
	}
	return fmt.Sprintf(" #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]", unit, unit)
}

func (p *perftest) print(rv *rendezvous) int {
	c := p.c
	c.Println(p.columns())
	for _, row := range rv.rows {
		if rv.garbled && p.tool == "ib_write_bw" {
			// No line end, and status 0: what a connection that breaks leaves.
			c.Out.WriteString(row[:len(row)/2])
			return 0
		}
		c.Println(p.convert(row))
	}
	c.Println(resultLine)
	return 0
}

// convert lets each end print the row in its own release's width.
func (p *perftest) convert(row string) string {
	if p.old() || p.latency {
		return row
	}
	return strings.Replace(row, "\t\t   ", "\t\t     ", 1)
}

// newFlow is one direction of a test.
func (p *perftest) newFlow(rv *rendezvous, size int, back bool) *net.Flow {
	src, dst := rv.client.fn, rv.server.fn
	if back {
		src, dst = dst, src
	}
	// By the device, so that two rails side by side differ a little, and the same way each time.
	rnd := p.c.Node.Random("rate" + p.tool + p.dev)
	return &net.Flow{
		From: src, To: dst, MTU: rv.mtu, Message: float64(size),
		Op:     map[string]net.Op{"write": net.Write, "read": net.Read, "send": net.Send}[p.verb],
		Demand: net.MessageDemand(size, p.qps), Share: 1 - net.NoiseSpan*rnd.Float64(),
	}
}

// measure runs one size and returns its row, and how many messages had arrived
// where it failed.
func (p *perftest) measure(ctx context.Context, rv *rendezvous, size int) (string, int, error) {
	r := p.c.Node.Rack
	// A read's bytes go from the server to the client.
	directions := []bool{p.verb == "read"}
	// Bandwidths of both directions are added up.
	if p.both {
		directions = []bool{false, true}
	}
	var flows []*net.Flow
	p.c.Locked(func() {
		for _, back := range directions {
			fl := p.newFlow(rv, size, back)
			if p.seconds > 0 {
				fl.Until = float64(p.seconds)
				// In seconds from the flow's start.
				fl.Marks = []net.Mark{{At: float64(p.margin)}, {At: float64(p.seconds - p.margin)}}
			} else {
				fl.Payload = float64(size) * float64(p.iters) * float64(p.qps)
			}
			r.Fabric.Add(fl)
			flows = append(flows, fl)
		}
	})
	var rate, peak float64
	iters := p.iters * p.qps
	for _, fl := range flows {
		if err := r.Fabric.Wait(ctx, fl); err != nil {
			for _, other := range flows {
				p.c.Locked(func() { r.Fabric.Stop(other) })
			}
			return "", int(fl.Sent / float64(size)), err
		}
		if p.seconds > 0 {
			// The middle part counts: the margins are for warming up and for the end.
			moved := fl.Marks[1].Sent - fl.Marks[0].Sent
			iters = int(moved/float64(size) + 1e-6)
			rate += moved * 8 / (fl.Marks[1].At - fl.Marks[0].At)
		} else {
			rate += fl.Average()
			// The peak is a little above the average, and never above the ceiling.
			peak += max(fl.Average(), min(fl.Alloc, fl.Average()*1.0015))
		}
	}
	if p.noPeak {
		peak = 0
	}
	return p.row(size, iters, peak, rate), 0, nil
}

func (p *perftest) row(size, iters int, peak, rate float64) string {
	// Whatever the header says, MB/sec or MiB/sec: perftest divides by 0x100000.
	unit := 8.0 * (1 << 20)
	if p.gbits {
		unit = 1e9
	}
	// Millions of messages a second, whatever unit the rates are in.
	msgs := rate / 8 / float64(size) / 1e6
	// REPORT_FMT_EXT: below 0.1 Gb/s, and with --report_gbits alone, figures have six decimals.
	if p.gbits && rate < 0.1e9 {
		return fmt.Sprintf(" %-7d    %-10d       %-7.6f            %-7.6f            %-7.6f",
			size, iters, peak/unit, rate/unit, msgs)
	}
	return fmt.Sprintf(" %-7d    %-10d       %-7.2f            %-7.2f\t\t   %-7.6f",
		size, iters, peak/unit, rate/unit, msgs)
}

// measureLatency runs one size of a ping-pong and returns its row.
func (p *perftest) measureLatency(ctx context.Context, rv *rendezvous, size int) (string, error) {
	r := p.c.Node.Rack
	iters := p.iters
	var rnd interface {
		Float64() float64
		ExpFloat64() float64
	}
	var base, losing float64
	p.c.Locked(func() {
		rnd = p.c.Node.Random("latency" + p.tool)
		losing = net.Losing(rv.client.fn.Stack, rv.server.fn.Stack)
		// Half a round trip of a small write, and the time that its bytes take at 92 Gb/s.
		// With what is added to it below the median is 1.96 us, as published of two ConnectX-7 back to back.
		base = 1.87 + float64(size)*8/92e3 // microseconds
		if p.verb == "read" {
			// A read has to come back: its whole way counts.
			base += 1.6
		}
		// A function that a fault has made slow is slow for a single message as well.
		if limit := rv.client.fn.Cap() + rv.server.fn.Cap(); limit > 0 {
			base += float64(size) * 8 / (limit / 1e6)
		}
	})
	// A long run's percentiles are those of this many samples.
	samples := make([]float64, min(iters, 20000))
	sum := 0.0
	for i := range samples {
		t := base + 0.08*rnd.Float64() + 0.03*rnd.ExpFloat64()
		switch u := rnd.Float64(); {
		case u < 0.0015:
			t += 2 + 3*rnd.ExpFloat64()
		case u < 0.02:
			t += 0.4 * rnd.ExpFloat64()
		}
		// Nothing follows the one message, so that it is not asked for again before the time-out.
		if losing > 0 && rnd.Float64() < losing {
			t += net.AckTimeout * 1e6
		}
		// Most within 0.1 us, some out of a hundred a little later, and one in a thousand by
		// microseconds: the tail that a real histogram has.
		samples[i] = t
		sum += t
	}
	mean := sum / float64(len(samples))
	if p.seconds > 0 {
		iters = int(float64(p.seconds) * 1e6 / (2 * mean))
	}
	var flows []*net.Flow
	p.c.Locked(func() {
		for _, back := range []bool{false, true} {
			fl := p.newFlow(rv, size, back)
			fl.Payload = float64(size) * float64(iters)
			// One message at a time in each direction.
			fl.Alone = true
			// One message each way in a round trip, whatever the rail could carry.
			fl.Demand = float64(size) * 8 / (2 * mean * 1e-6)
			fl.Share = 1
			r.Fabric.Add(fl)
			flows = append(flows, fl)
		}
	})
	for _, fl := range flows {
		if err := r.Fabric.Wait(ctx, fl); err != nil {
			for _, other := range flows {
				p.c.Locked(func() { r.Fabric.Stop(other) })
			}
			return "", err
		}
	}
	if p.seconds > 0 {
		// The counters see what moves within the margins, too.
		measured := iters * (p.seconds - 2*p.margin) / p.seconds
		return fmt.Sprintf(" %-7d       %-10d      %-7.2f         %-7.2f", size, measured, mean, 1e6/(2*mean)), nil
	}
	// Over the samples that there are.
	variance := 0.0
	for _, t := range samples {
		variance += (t - mean) * (t - mean)
	}
	slices.Sort(samples)
	at := func(q float64) float64 { return samples[min(len(samples)-1, int(math.Ceil(q*float64(len(samples)))))] }
	return fmt.Sprintf(
		" %-7d %-10d    %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f",
		size, iters, samples[0], samples[len(samples)-1], at(0.5), mean,
		math.Sqrt(variance/float64(len(samples))), at(0.99), at(0.999)), nil
}
