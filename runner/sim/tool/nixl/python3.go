package nixl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/network"
)

const (
	pythonVersion = "3.12.3"
	// What the pretend packages say of themselves.
	nixlVersion = "1.4.0"
	// LIMIT of the programs' own agent.py.
	// programLimit is how long railbench's programs let themselves run.
	programLimit = 60 * time.Second
	// descriptorBytes is how many bytes describe one buffer to a peer.
	descriptorBytes = 163
	// The multi-rail tutorial read 81.8 Gb/s from Python over one rail on which ib_write_bw did 92.5.
	// readShare is the part of a rail's rate that reads from Python reach.
	readShare = 0.885
	// verifyRate is how fast a program compares what it has read.
	verifyRate = 4e9
	// From the same tutorial: 67.1 MB in 152.46 ms, and 1,073.7 MB in 1,761.09 ms.
	// GPU memory over one rail and over two, bits a second.
	stagedRead, stagedReadTwo = 3.52e9, 4.88e9
)

// askedPython answers what scripts ask of Python itself.
func askedPython(c *host.Call, args []string) bool {
	switch {
	case len(args) == 1 && (args[0] == "-V" || args[0] == "--version"):
		c.Println("Python " + pythonVersion)
		return true
	case len(args) != 2 || args[0] != "-c":
		return false
	// Scripts ask so whether a package is there before they start a program that needs it.
	case args[1] == "import nixl":
		return true
	}
	return strings.Contains(args[1], "importlib.metadata") // no package that anybody asks for
}

// runPython pretends railbench's own programs, which it knows by their first line.
// It interprets no Python.
func runPython(ctx context.Context, c *host.Call) int {
	args := c.Args[1:]
	for len(args) > 0 && slices.Contains([]string{"-u", "-B", "-I"}, args[0]) {
		args = args[1:]
	}
	if askedPython(c, args) {
		return 0
	}
	if len(args) == 0 || args[0] != "-" {
		return c.Fail(2, "python3: the simulated python3 runs only railbench's own programs, from its standard input")
	}
	text, err := io.ReadAll(c.In)
	if err != nil {
		return c.Fail(1, "python3: %v", err)
	}
	// Each program names itself there, for this alone: everything else in it may change.
	first, _, _ := strings.Cut(string(text), "\n")
	name, _ := strings.CutPrefix(strings.TrimSpace(first), "# railbench: ")
	run := map[string]func(*program, context.Context) int{
		"nixl-version": (*program).version, "nixl-register": (*program).register, "nixl-transfer": (*program).meet,
		"nixl-latency": (*program).meet, "gpu-staging": (*program).staging, "gpu-load": (*program).load,
	}[name]
	if run == nil {
		return c.Fail(2, "python3: the simulated python3 runs only railbench's own programs, "+
			"and this one begins with %q", first)
	}
	p := &program{c: c, name: name, gone: make(chan struct{}), served: make(chan struct{}, 1)}
	if why := p.parse(args[1:]); why != "" {
		return c.Fail(2, "usage: - [-h]\n-: error: %s", why)
	}
	c.Locked(func() { p.proc = c.Node.Spawn(c.Args, c.Root) })
	defer c.Locked(func() { delete(c.Node.Procs, p.proc.PID) })
	defer close(p.gone)
	defer func() { c.Locked(func() { c.Node.Held -= p.held }) }()
	limited, cancel := c.Node.Rack.Clock.WithTimeout(ctx, programLimit, errLimit)
	defer cancel()
	code := run(p, limited)
	// Its own limit is another: then it says why, and ends with 1.
	if ctx.Err() != nil {
		return 143
	}
	return code
}

var errLimit = errors.New("not done after 60 s")

// A program is one of railbench's, at one end. An end finds the other by the node's listener, reads its fields and
// reports it by its channels.
type program struct {
	c    *host.Call
	name string
	proc *host.Process
	ucx  *ucxContext
	held int64

	role, device, peer string
	milliseconds       int
	// Where the target listens, and where the initiator looks for it.
	listen, port int
	// In bytes; how many reads are timed.
	size, iterations int
	// With room for one: the initiator reports and goes.
	served chan struct{} // the initiator is done with this target
	// Closed at the end of the program.
	gone chan struct{}
}

// parse is argparse as far as these programs need it; the words of its complaints are argparse's.
func (p *program) parse(args []string) string {
	numbers := map[string]*int{
		"--listen": &p.listen, "--peer-port": &p.port, "--bytes": &p.size, "--iterations": &p.iterations,
		"--milliseconds": &p.milliseconds,
	}
	texts := map[string]*string{"--role": &p.role, "--device": &p.device, "--peer": &p.peer}
	// Every option of these programs has a value.
	for i := 0; i < len(args); i += 2 {
		number, text := numbers[args[i]], texts[args[i]]
		switch {
		case number == nil && text == nil:
			return "unrecognized arguments: " + args[i]
		case i+1 == len(args):
			return "argument " + args[i] + ": expected one argument"
		case text != nil:
			*text = args[i+1]
			continue
		}
		v, err := strconv.Atoi(args[i+1])
		if err != nil {
			return fmt.Sprintf("argument %s: invalid int value: '%s'", args[i], args[i+1])
		}
		*number = v
	}
	return ""
}

// report prints the result, which is one line of JSON, with blanks where Python's json has them.
func (p *program) report(o network.JSONObject) {
	var fields []string
	for _, f := range o {
		b, err := json.Marshal(f[1])
		if err != nil {
			p.c.Fail(1, "python3: %v", err)
			return
		}
		// json.dumps has a blank behind the colon and the comma.
		fields = append(fields, fmt.Sprintf("%q: %s", f.Name(), b))
	}
	p.c.Println("{" + strings.Join(fields, ", ") + "}")
	p.c.Out.Flush()
}

// failed says why on stderr, and in the result.
func (p *program) failed(o network.JSONObject, why string) int {
	p.c.Fail(1, "%s: %s", p.name, why)
	p.report(append(o, network.JSONObject{{"error", why}}...))
	return 1
}

func (p *program) version(context.Context) int {
	p.report(network.JSONObject{
		{"test", p.name},
		{"nixl", nixlVersion},
		{"python", pythonVersion},
		{"path", "/usr/local/lib/python3.12/dist-packages/nixl/__init__.py"},
		{"error", nil},
	})
	return 0
}

// buffer makes the program's memory, and agent the NIXL agent: with UCX, whose log
// goes to stdout. They return why it isn't there.
func (p *program) buffer() string {
	why := ""
	p.c.Locked(func() {
		n := p.c.Node
		switch {
		case p.device == "cuda" && !n.GPU:
			why = "no CUDA driver: libcuda.so.1 is not there"
		case int64(p.size) > n.Available() && p.device == "cuda":
			why = "cuMemAlloc_v2 failed with CUDA error 2"
		case int64(p.size) > n.Available():
			why = "[Errno 12] Cannot allocate memory"
		default:
			p.hold(int64(p.size))
		}
	})
	return why
}

// hold takes memory until the end of the program. Callers hold the rig's lock.
func (p *program) hold(size int64) {
	p.held += size
	p.c.Node.Held += size
}

// agent has UCX's log before anything can fail, and looks last at what may be locked: UCX finds that out when
// it registers the buffer, after it has started.
func (p *program) agent() string {
	var lines []string
	started := false
	p.c.Locked(func() {
		p.ucx = openUCX(p.c.Node, p.c.Env)
		lines, started = p.ucx.logged(p.proc.PID)
	})
	for _, l := range lines {
		p.c.Println(l)
	}
	p.c.Out.Flush()
	if !started {
		return "nixlBackendError: NIXL_ERR_BACKEND"
	}
	cannot := ""
	p.c.Locked(func() {
		if p.device != "cuda" && !p.c.Node.Lockable(int64(p.size), p.c.Root) {
			cannot = cannotLock(p.c.Node, p.proc.PID, int64(p.size))
		}
	})
	if cannot != "" {
		p.c.Println(cannot)
		p.c.Out.Flush()
		return "nixlBackendError: NIXL_ERR_BACKEND"
	}
	return ""
}

// register is the program nixl-register: it registers one buffer with NIXL and says how long that took.
func (p *program) register(ctx context.Context) int {
	o := network.JSONObject{{"test", p.name}, {"device", p.device}, {"bytes", p.size}}
	not := append(slices.Clip(o), network.JSONObject{{"registered", false}}...)
	for _, step := range []func() string{p.buffer, p.agent} {
		if why := step(); why != "" {
			return p.failed(not, why)
		}
	}
	var seconds float64
	p.c.Locked(func() {
		rnd := p.c.Node.Random("register")
		// Pinning goes by pages, so it grows with the size; chosen, no verdict rests on it.
		seconds = 0.0004 + float64(p.size)/8e9*(1+0.2*rnd.Float64())
		if p.device == "cuda" {
			seconds += 0.002
		}
	})
	if !p.c.Node.Rack.Clock.Sleep(ctx, initTime+time.Duration(seconds*1e9)) {
		return p.failed(not, errLimit.Error())
	}
	p.report(append(o, network.JSONObject{
		{"registered", true},
		{"descBytes", descriptorBytes},
		{"seconds", round(seconds, 6)},
		{"nixl", nixlVersion},
	}...))
	return 0
}

// round keeps so many digits behind the point.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// meet is a program with two ends.
func (p *program) meet(ctx context.Context) int {
	if p.role == "target" {
		return p.serve(ctx)
	}
	o := network.JSONObject{{"test", p.name}, {"role", p.role}, {"op", "READ"}}
	if p.name == "nixl-transfer" {
		o = append(o, network.JSONObject{{"device", p.device}}...)
	}
	o = append(o, network.JSONObject{{"bytes", p.size}, {"iterations", p.iterations}}...)
	figures, why := p.read(ctx)
	if why != "" {
		return p.failed(append(o, network.JSONObject{{"verified", false}}...), why)
	}
	p.report(append(append(o, figures...), network.JSONObject{{"verified", true}}...))
	return 0
}

// serve offers a buffer until an initiator is done with it.
func (p *program) serve(ctx context.Context) int {
	n := p.c.Node
	o := network.JSONObject{{"test", p.name}, {"role", p.role}}
	not := append(slices.Clip(o), network.JSONObject{{"served", false}}...)
	// As require_free of agent.py does, this looks at the port and does not hold it. It comes before the
	// buffer is made, so that a port that is in use is reported at once.
	busy := false
	p.c.Locked(func() { busy = n.Listeners[p.listen] != nil || p.listen == 22 })
	if busy {
		return p.failed(not, fmt.Sprintf("port %d is in use: find who listens there (ss -ltnp), or set NIXL_PORT", p.listen))
	}
	for _, step := range []func() string{p.buffer, p.agent} {
		if why := step(); why != "" {
			return p.failed(not, why)
		}
	}
	if !n.Rack.Clock.Sleep(ctx, initTime) {
		return p.failed(not, errLimit.Error())
	}
	l := &host.Listener{Port: p.listen, Proc: p.proc, Serves: p}
	p.c.Locked(func() { n.Listeners[p.listen] = l })
	defer p.c.Locked(func() {
		if n.Listeners[p.listen] == l {
			delete(n.Listeners, p.listen)
		}
	})
	p.c.Printf("ready %d\n", p.listen)
	p.c.Out.Flush()
	if !clock.Wait(ctx, n.Rack.Clock, p.served) {
		return p.failed(not, errLimit.Error())
	}
	p.report(append(o, network.JSONObject{{"served", true}}...))
	return 0
}

// read is the initiator: it finds the target, reads its buffer and compares it.
func (p *program) read(ctx context.Context) (figures network.JSONObject, why string) {
	r := p.c.Node.Rack
	for _, step := range []func() string{p.buffer, p.agent} {
		if why := step(); why != "" {
			return nil, why
		}
	}
	if !r.Clock.Sleep(ctx, initTime) {
		return nil, errLimit.Error()
	}
	target := p.find()
	if target == nil {
		// NIXL's listener thread only logs that no one is there, and the program waits. Until the program's own
		// limit, which WithTimeout has set.
		r.Clock.Park(ctx, clock.Never, nil)
		return nil, errLimit.Error()
	}
	l, rnd, why := p.join(target)
	if why != "" {
		return nil, why
	}
	moving := clock.Until(ctx, target.gone)
	k := transfer{
		// One read at a time: the program waits for each before it asks for the next.
		link: l, back: true, block: float64(p.size), count: 1, post: 1, most: readShare,
		share: 1 - net.NoiseSpan*rnd.Float64(),
	}
	// One end in GPU memory is enough: a copy through host memory is what bounds it.
	if p.device == "cuda" || target.device == "cuda" {
		k.staged, k.limit, k.most = true, stagedRead, 1
		if len(l.lanes) > 1 {
			k.limit = stagedReadTwo
		}
	}
	measure := p.measureRate
	if p.name == "nixl-latency" {
		measure = p.measureLatency
	}
	// The first read sets up the connection. It is not a part of the figures.
	_, err := carry(moving, r, k)
	if err == nil {
		k.count = float64(p.iterations)
		figures, err = measure(moving, k, rnd)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errLimit.Error()
	case err != nil:
		return nil, "nixlRemoteDisconnectError: NIXL_ERR_REMOTE_DISCONNECT"
	}
	if !r.Clock.Sleep(ctx, time.Duration(float64(p.size)/verifyRate*1e9)) {
		return nil, errLimit.Error()
	}
	target.served <- struct{}{}
	return figures, ""
}

// join connects UCX at both ends; why says what keeps it from that.
func (p *program) join(target *program) (l link, rnd *rand.Rand, why string) {
	var told []string
	defer func() {
		for _, line := range told {
			p.c.Println(line)
		}
		p.c.Out.Flush()
	}()
	p.c.Locked(func() {
		rnd = p.c.Node.Random(p.name)
		// As where a UCX 1.16 met a 1.21: NIXL has no backend for the other end's metadata then.
		if ucxRelease(p.c.Node) != ucxRelease(target.c.Node) {
			why = "nixlNotFoundError: NIXL_ERR_NOT_FOUND"
		} else if l = p.ucx.connect(target.ucx); len(l.lanes) == 0 {
			why, told = "nixlBackendError: NIXL_ERR_BACKEND", []string{unreachable(p.c.Node, p.proc.PID)}
		} else {
			told = p.ucx.chosen(p.proc.PID, l)
		}
	})
	return l, rnd, why
}

// find looks the target up, over TCP; nil where no one listens.
func (p *program) find() *program {
	var found *program
	p.c.Locked(func() {
		addr, err := netip.ParseAddr(p.peer)
		if err != nil {
			return
		}
		way, ok := p.c.Node.Route(addr)
		if !ok || way.Peer == nil || network.Rejects(p.c.Node.Rack.Of(way.Peer), way.Peer, p.port) {
			return
		}
		if target, ok := p.c.Node.Rack.Of(way.Peer).Served(p.port).(*program); ok {
			found = target
			// Both ends' metadata: some 3 kB each way over TCP, on whatever interface leads there.
			way.Out.Count(3120, 22, 2980, 20)
			way.Peer.Count(2980, 20, 3120, 22)
		}
	})
	return found
}

func (p *program) measureRate(ctx context.Context, k transfer, _ *rand.Rand) (network.JSONObject, error) {
	seconds, err := carry(ctx, p.c.Node.Rack, k)
	if err != nil {
		return nil, err
	}
	return network.JSONObject{
		{"seconds", round(seconds, 6)},
		{"gbps", round(k.block*k.count*8/seconds/1e9, 6)},
	}, nil
}

// measureLatency times reads one by one. With two rails a few take very long: the
// mean is three times the median then.
func (p *program) measureLatency(ctx context.Context, k transfer, rnd *rand.Rand) (network.JSONObject, error) {
	// Microseconds; the shares and the lateness of those that take long.
	// Fitted to the multi-rail tutorial: of one rail the median is 16.2 us, the 95th percentile 20.8 and the mean
	// 17.4; of two 11.1, 166.6 and 58.6.
	base, often, least, late := 15.4, 0.03, 0.0, 30.0
	if len(k.link.lanes) > 1 {
		base, often, least, late = 10.2, 0.052, 150, 750
	}
	base += k.block * 8 / 92e3
	times := make([]float64, p.iterations)
	sum := 0.0
	for i := range times {
		times[i] = base + 0.25*rnd.Float64() + 0.4*rnd.ExpFloat64()
		switch u := rnd.Float64(); {
		case u < often:
			times[i] += least + late*rnd.ExpFloat64()
		case u < 0.2:
			times[i] += 3 * rnd.ExpFloat64()
		}
		sum += times[i]
	}
	mean := sum / float64(len(times))
	// So that the reads take in the rig's time what they are said to take.
	k.limit, k.most = k.block*8/(mean*1e-6), 1
	seconds, err := carry(ctx, p.c.Node.Rack, k)
	if err != nil {
		return nil, err
	}
	// A rail that is slower than that is in each of them.
	slower := max(0, seconds*1e6/float64(p.iterations)-mean*1.01)
	slices.Sort(times)
	at := func(part float64) float64 {
		return round(times[min(len(times)-1, int(part*float64(len(times))))]+slower, 2)
	}
	return network.JSONObject{
		{"avgUS", round(mean+slower, 2)},
		{"minUS", round(times[0]+slower, 2)},
		{"p50US", at(0.50)},
		{"p95US", at(0.95)},
		{"p99US", at(0.99)},
		{"maxUS", at(1)},
	}, nil
}

// load keeps the GPU busy for a while: nvidia-smi looks at that.
func (p *program) load(ctx context.Context) int {
	n := p.c.Node
	gpu := false
	p.c.Locked(func() {
		if gpu = n.GPU; gpu {
			n.Loads++
		}
	})
	if !gpu {
		p.c.Println("load: none (no CUDA driver: libcuda.so.1 is not there)")
		return 0
	}
	defer p.c.Locked(func() { n.Loads-- })
	seconds := float64(p.milliseconds) / 1000
	if !n.Rack.Clock.Sleep(ctx, time.Duration(p.milliseconds)*time.Millisecond) {
		return 143
	}
	p.c.Printf("load: %.0f launches in %.2f s\n", 180*seconds, seconds+0.01)
	return 0
}

// staging watches host memory while a GPU buffer is made, copied to the host and
// back. The two share their memory: the buffer alone already shows.
func (p *program) staging(ctx context.Context) int {
	// The steps are those of the tutorial's run with 512 MiB: 523 more with the buffer, 511 with its copy on
	// the host, 9 with the copy back, and 11 that stay.
	const mb = 1 << 20
	r := p.c.Node.Rack
	gpu, fits := false, false
	p.c.Locked(func() {
		gpu = p.c.Node.GPU
		fits = 2*int64(p.size)+20*mb <= p.c.Node.Available()
	})
	// Not nil: JSON has an empty list, where nil would be null.
	samples := []network.JSONObject{}
	result := func(name any, unified bool, direct, dmaBuf, failure any) {
		p.report(network.JSONObject{
			{"test", p.name},
			{"gpu", name},
			{"unified", unified},
			{"gpuDirectRDMA", direct},
			{"dmaBuf", dmaBuf},
			{"samples", samples},
			{"error", failure},
		})
	}
	if !gpu {
		p.c.Println("no GPU: no CUDA driver: libcuda.so.1 is not there")
		result(nil, false, nil, nil, nil)
		return 0
	}
	size := int64(p.size)
	for _, step := range []struct {
		name    string
		change  int64
		seconds float64
	}{
		{"baseline", 0, 0.1},
		// In bytes.
		{"gpu buffer", size + 11*mb, 0.03},
		{"gpu to host", size - mb, 0.02 + float64(size)/15e9},
		{"host to gpu", 9 * mb, 0.01 + float64(size)/15e9},
		{"freed", -2*size - 8*mb, 0.002},
	} {
		if step.name == "gpu buffer" && !fits {
			p.c.Fail(1, "gpu-staging: cuMemAlloc_v2 failed with CUDA error 2")
			result(host.GPUName, true, 0, 0, "cuMemAlloc_v2 failed with CUDA error 2")
			return 1
		}
		var used int64
		p.c.Locked(func() {
			p.hold(step.change)
			used = (host.MemoryKB - p.c.Node.AvailableKB()) / 1024
		})
		if !r.Clock.Sleep(ctx, time.Duration(step.seconds*1e9)) {
			result(host.GPUName, true, 0, 0, errLimit.Error())
			return 1
		}
		p.c.Printf("%s: %d MiB of host memory in use\n", step.name, used)
		p.c.Out.Flush()
		samples = append(samples, network.JSONObject{
			{"step", step.name}, {"usedMB", used}, {"seconds", round(step.seconds, 4)},
		})
	}
	result(host.GPUName, true, 0, 0, nil)
	return 0
}
