package nixl

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

const (
	// fillRate is how fast a process allocates, zeroes and registers its buffer.
	fillRate = 6e9
	// initTime is what NIXL and UCX take to start.
	initTime = 400 * time.Millisecond
	// rowTime passes between two rows: the ends report each other what comes next.
	rowTime = 150 * time.Millisecond
	// abort is the exit status of a process that ended with SIGABRT.
	abort = 134
	// Above this size blocks are sent less often: --large_blk_iter_ftr.
	largeBlock = 1 << 20
)

// stagedGBs is what GPU memory reached on DGX Sparks, by block from 64 KiB on: with
// one rail in UCX's list, and with two. It is staged through host memory, and no
// rail is what bounds it.
// In 10^9 bytes a second.
var stagedGBs = [2][]float64{
	{0.401, 0.400, 0.323, 0.425, 0.398, 0.374, 0.422, 0.605, 0.602, 0.444},
	{0.432, 0.463, 0.447, 0.437, 0.453, 0.258, 0.581, 0.461, 0.574, 0.434},
}

// stagedRate is what a block reaches, bits a second.
func stagedRate(lanes int, block float64) float64 {
	known := stagedGBs[min(lanes, 2)-1]
	// One figure for each doubling, from 64 KiB on; smaller blocks and larger ones have those
	// at the ends.
	step := int(math.Round(math.Log2(block / 65536)))
	return known[max(0, min(step, len(known)-1))] * 8e9
}

// stagedPost is the part of a staged block's time that the call itself takes,
// because a processor copies.
// The NIXL benchmark tutorial's largest row with one rail has 52 ms of Avg Post and 23 of Avg Tx.
const stagedPost = 0.69

// What may be wrong with a node's nixlbench.
const (
	OldNIXL host.Flaw = "nixlbench of NIXL 1.0"
	Stuck   host.Flaw = "nixlbench hangs with several threads"
)

// nixlbench is one process of the benchmark.
type nixlbench struct {
	c    *host.Call
	set  nixlbenchSetting
	old  bool // of NIXL 1.0
	proc *host.Process
	ucx  *ucxContext
	link link // of the initiator, once it has the target's metadata
	meet meeting
	rank int // 0 is the initiator
	// In bytes; given back at the end of the process.
	held int64

	// peer is known to the initiator once it has the target's metadata.
	peer *nixlbench
	// done has an entry for each row whose end the initiator has reported to this target.
	done chan struct{}
	// gone is closed at the end of the process.
	gone chan struct{}
}

// A meeting is how the two processes find each other and wait for each other. Its
// methods print what went wrong; the statuses that they return are 0 where nothing did.
type meeting interface {
	// join finds this process's rank.
	join(ctx context.Context) (rank, code int)
	// barrier returns when both are there.
	barrier(ctx context.Context, id string) int
	// exchange brings the target's metadata to the initiator.
	exchange(ctx context.Context) int
	// leave is what a process does that got to its end.
	leave(ctx context.Context)
	// close is the end of the process, whatever it was.
	close()
}

// say prints a line at once, as std::endl does.
func (b *nixlbench) say(format string, args ...any) {
	b.c.Printf(format+"\n", args...)
	b.c.Out.Flush()
}

// runNixlbench is either end: which one it is only the meeting reports.
func runNixlbench(ctx context.Context, c *host.Call) int {
	b := &nixlbench{c: c, done: make(chan struct{}, 1024), gone: make(chan struct{})}
	lacks := false
	c.Locked(func() {
		b.old = c.Node.Flawed(OldNIXL)
		lacks = c.Node.Flawed(linux.NoLibrary)
	})
	if lacks {
		return c.Fail(127, "nixlbench: error while loading shared libraries: %s: "+
			"cannot open shared object file: No such file or directory", linux.MissingLibrary)
	}
	if code, ok := b.parse(); !ok {
		return code
	}
	// All of that is before anybody is asked: a command line that is wrong leaves nothing in etcd.
	if code, ok := b.check(); !ok {
		return code
	}
	c.Locked(func() { b.proc = c.Node.Spawn(c.Args, c.Root) })
	defer c.Locked(func() { delete(c.Node.Procs, b.proc.PID) })
	defer close(b.gone)
	defer func() { c.Locked(func() { c.Node.Held -= b.held }) }()
	if b.set["runtime_type"] == "ASIO" {
		b.meet = &asioRuntime{b: b}
	} else {
		b.meet = newEtcdRuntime(b)
	}
	defer b.meet.close()
	return b.run(ctx)
}

// run is the life of a process.
func (b *nixlbench) run(ctx context.Context) int {
	rank, code := b.meet.join(ctx)
	if code != 0 {
		return code
	}
	b.rank = rank
	// main.cpp's order. It registers before it looks at its backend: what fails from here on stays counted in etcd.
	for _, step := range []func(context.Context) int{b.start, b.gather, b.allocate, b.meet.exchange} {
		if code := step(ctx); code != 0 {
			return code
		}
	}
	if b.rank > 0 {
		code = b.serve(ctx)
	} else if code = b.load(b.peer); code == 0 {
		b.banner()
		code = b.initiate(ctx)
	}
	if code == 0 {
		b.meet.leave(ctx)
	}
	return code
}

// start makes the worker: NIXL, its backend and UCX. What fails here leaves the
// registration behind.
func (b *nixlbench) start(ctx context.Context) int {
	c, s, n := b.c, b.set, b.c.Node
	// The checks have the order of the program's start: the first error is reported.
	switch {
	case !slices.Contains(nixlbenchBackends, s["backend"]):
		return c.Fail(1, "Unsupported NIXLBench backend: %s", s["backend"])
	case s["backend"] != "UCX":
		return c.Fail(1, "nixlbench: the simulated rig has no backend but UCX")
	}
	for _, flag := range []string{"initiator_seg_type", "target_seg_type"} {
		if s[flag] != "DRAM" && s[flag] != "VRAM" {
			return c.Fail(1, "Invalid segment type: %s", s[flag])
		}
	}
	if !n.Rack.Clock.Sleep(ctx, initTime) {
		return b.interrupted(1, "")
	}
	role := "target"
	if b.rank == 0 {
		role = "initiator"
	}
	// gethostname() of the node is in it, by which a reader says which end's output this is.
	b.say("Init nixl worker, dev %s rank %d, type %s, hostname %s", s["device_list"], b.rank, role, n.Name)
	// UCX reads its environment; nixlbench sets UCX_NET_DEVICES for it by --device_list.
	env := c.Env
	if s["device_list"] != "all" {
		// It goes before the environment.
		env = func(name string) string {
			if name == "UCX_NET_DEVICES" {
				// A rank has one device, and UCX wants the device with its port.
				return s["device_list"] + ":1"
			}
			return c.Env(name)
		}
	}
	var lines, log []string
	started := false
	c.Locked(func() {
		b.ucx = openUCX(n, env)
		lines, started = b.ucx.logged(b.proc.PID)
		// NIXL's lines go to stderr, UCX's own (lines) to stdout.
		log = []string{
			nixlLog(n, b.proc.PID, "backend_plugin.h:102",
				"Failed to create engine: Failed to create UCX context "+role+": No such device"),
			nixlLog(n, b.proc.PID, "nixl_agent.cpp:365", "createBackend: backend creation failed for 'UCX'"),
			"NIXL: createBackend failed! (NIXL_ERR_BACKEND)",
		}
	})
	for _, l := range lines {
		b.say("%s", l)
	}
	if !started {
		return c.Fail(1, "%s", strings.Join(log, "\n"))
	}
	return 0
}

// gather waits for the other process.
func (b *nixlbench) gather(ctx context.Context) int {
	b.say("Waiting for all processes to start... (expecting 2 total: 1 initiators and 1 targets)")
	if code := b.meet.barrier(ctx, "start_barrier"); code != 0 {
		return code
	}
	b.say("All processes are ready to proceed")
	return 0
}

// segment is the kind of memory of this end.
func (b *nixlbench) segment() string {
	if b.rank == 0 {
		return b.set["initiator_seg_type"]
	}
	return b.set["target_seg_type"]
}

// allocate makes the buffer; processor and GPU share one memory.
func (b *nixlbench) allocate(ctx context.Context) int {
	c, n := b.c, b.c.Node
	// Each end allocates all of it, whatever blocks are sent.
	size := int64(b.set.number("total_buffer_size"))
	fits, gpu, log, cannot := false, false, "", ""
	c.Locked(func() {
		gpu = n.GPU
		// It shows only after the buffer was made: registering it is what locks it.
		if !n.Lockable(size, c.Root) {
			cannot = cannotLock(n, b.proc.PID, size)
		}
		// Looked at and taken under one lock.
		if fits = size <= n.Available(); fits {
			b.held += size
			n.Held += size
		}
		log = nixlLog(n, b.proc.PID, "nixl_agent.cpp:506",
			"registerMem: registration failed for the specified or all potential backends")
	})
	switch {
	// The numbers are those of cudaError_t: 100 is cudaErrorNoDevice, 2 cudaErrorMemoryAllocation.
	case b.segment() == "VRAM" && !gpu:
		return c.Fail(1, "CUDA: Failed to set device (Error code: 100 - no CUDA-capable device is detected)")
	case b.segment() == "VRAM" && !fits:
		return c.Fail(1, "CUDA: Failed to allocate CUDA buffer 0 (Error code: 2 - out of memory)")
	case !fits:
		return c.Fail(1, "Failed to allocate %d bytes of page-aligned DRAM memory\n"+
			"Failed to allocate %d bytes of DRAM memory\n%s\nNIXL: registerMem failed (NIXL_ERR_BACKEND)", size, size, log)
	}
	if !n.Rack.Clock.Sleep(ctx, time.Duration(float64(size)/fillRate*1e9)) {
		return b.interrupted(1, "")
	}
	if cannot != "" && b.segment() == "DRAM" {
		b.say("%s", cannot)
		return c.Fail(1, "%s\nNIXL: registerMem failed (NIXL_ERR_BACKEND)", log)
	}
	return 0
}

// load takes the target's metadata, as the initiator does, and connects.
func (b *nixlbench) load(target *nixlbench) (code int) {
	c, n := b.c, b.c.Node
	var why, log string
	var told []string
	c.Locked(func() {
		switch {
		// On one node UCX would take shared memory, of which the rig has none.
		case target != nil && target.c.Node == n:
			why, log = "NIXL_ERR_NOT_SUPPORTED", "nixlbench: the simulated rig's two ends run on two nodes"
		// Without metadata of a target that is there, or of a UCX of another release, no backend
		// fits.
		case target == nil || ucxRelease(n) != ucxRelease(target.c.Node):
			why = "NIXL_ERR_NOT_FOUND"
			log = nixlLog(n, b.proc.PID, "nixl_agent.cpp:1093", "loadRemoteMD: no backend can reach the remote agent")
		default:
			if b.link = b.ucx.connect(target.ucx); len(b.link.lanes) == 0 {
				why = "NIXL_ERR_BACKEND"
				log = unreachable(n, b.proc.PID)
			}
			told = b.ucx.chosen(b.proc.PID, b.link)
		}
	})
	for _, line := range told {
		b.say("%s", line)
	}
	if why != "" {
		return c.Fail(1, "%s\nNIXL: loadRemoteMD failed (%s)", log, why)
	}
	return 0
}

// A size is one row of the table.
type nixlbenchSize struct{ block, batch, iterations, warmup int }

// sizes are the rows.
func (b *nixlbench) sizes() []nixlbenchSize {
	s := b.set
	var all []nixlbenchSize
	// A block of 0 would never grow.
	for block := max(1, s.number("start_block_size")); block <= s.number("max_block_size"); block *= 2 {
		iterations, warmup := s.number("num_iter"), s.number("warmup_iter")
		// So that large blocks don't take all the time.
		if block > largeBlock {
			iterations /= s.number("large_blk_iter_ftr")
			warmup /= s.number("large_blk_iter_ftr")
		}
		for batch := max(1, s.number("start_batch_size")); batch <= s.number("max_batch_size"); batch *= 2 {
			all = append(all, nixlbenchSize{block, batch, iterations, warmup})
		}
	}
	return all
}

// initiate is the initiator's part: it posts, measures and prints.
func (b *nixlbench) initiate(ctx context.Context) int {
	c, r := b.c, b.c.Node.Rack
	var rnd *rand.Rand
	hangs := false
	c.Locked(func() {
		rnd = c.Node.Random("nixlbench")
		hangs = (c.Node.Flawed(Stuck) || b.peer.c.Node.Flawed(Stuck)) && b.set.number("num_threads") > 1
	})
	// The target may end in the middle of it.
	// An end that is gone lets the flows stop, and not the process.
	moving := clock.Until(ctx, b.peer.gone)
	for i, size := range b.sizes() {
		if code := b.meet.barrier(ctx, "sync"); code != 0 {
			return code
		}
		if hangs && i == 2 {
			r.Clock.Park(ctx, clock.Never, nil)
			return b.interrupted(abort, "free(): double free detected in tcache 2")
		}
		k := b.transfer(size, rnd)
		var seconds float64
		// The warm-up moves bytes, too, and none of them is in the row: a counter sees both.
		for _, iterations := range []int{size.warmup, size.iterations} {
			if k.count = float64(iterations * size.batch); iterations == 0 {
				continue
			}
			var err error
			if seconds, err = carry(moving, r, k); err != nil {
				if ctx.Err() != nil {
					return b.interrupted(abort, "free(): double free detected in tcache 2")
				}
				return c.Fail(1, "Transfer failed on slot 0: NIXL_ERR_REMOTE_DISCONNECT")
			}
		}
		b.say("%s", b.row(size, seconds, k, rnd))
		// There is room: the target takes one before it comes to the next barrier.
		b.peer.done <- struct{}{}
		if !r.Clock.Sleep(ctx, rowTime) {
			return b.interrupted(1, "")
		}
	}
	return 0
}

// transfer is what a row moves.
func (b *nixlbench) transfer(size nixlbenchSize, rnd *rand.Rand) transfer {
	k := transfer{
		link: b.link, back: b.set["op_type"] == "READ", block: float64(size.block), most: 1,
		post: float64(max(1, b.set.number("num_threads"))), share: 1 - net.NoiseSpan*rnd.Float64(),
	}
	if b.set["initiator_seg_type"] == "VRAM" || b.set["target_seg_type"] == "VRAM" {
		k.staged, k.limit = true, stagedRate(len(b.link.lanes), k.block)
	}
	return k
}

// row is a line of the table.
func (b *nixlbench) row(size nixlbenchSize, seconds float64, k transfer, rnd *rand.Rand) string {
	threads := float64(max(1, b.set.number("num_threads")))
	// With several threads each has its own, so one takes as many times as long.
	each := seconds * 1e6 / float64(size.iterations*size.batch) // microseconds
	latency := each * threads
	if b.old {
		latency = each // which is too small by the number of threads
	}
	// Of one request, which is a whole batch: what of it is posting and what is waiting.
	round := each * threads * float64(size.batch)
	post := min(1.1+0.5*float64(len(k.link.lanes))+0.4*rnd.Float64(), round/2)
	if k.staged {
		post = round * (stagedPost + 0.02*rnd.Float64())
	}
	tx := max(0, round-post-0.3)
	prep, prepMost := 30+rnd.IntN(25), 0
	prepMean := float64(prep)
	if threads > 1 {
		prepMost = prep + 8 + rnd.IntN(20)
		prepMean += math.Round(float64(prepMost-prep)/threads*10) / 10
	}
	var line strings.Builder
	for i, v := range []string{
		fmt.Sprint(size.block), fmt.Sprint(size.batch),
		// B/W is in GB of 10^9 bytes a second.
		fmt.Sprintf("%.6f", float64(size.block*size.batch*size.iterations)/1e9/seconds),
		fmt.Sprintf("%.1f", latency), fmt.Sprintf("%.1f", prepMean), fmt.Sprintf("%d.0", max(prep, prepMost)),
		fmt.Sprintf("%.1f", post), fmt.Sprintf("%.1f", math.Ceil(post*(1.05+0.3*rnd.Float64()))),
		fmt.Sprintf("%.1f", tx), fmt.Sprintf("%.1f", math.Ceil(tx*(1.01+0.04*rnd.Float64()))),
	} {
		fmt.Fprintf(&line, "%-*s", columnWidth(i), v)
	}
	return line.String()
}

// serve is the target's part: it waits until the initiator reports the end of a row. It never notices that
// the initiator is gone.
func (b *nixlbench) serve(ctx context.Context) int {
	for range b.sizes() {
		if code := b.meet.barrier(ctx, "sync"); code != 0 {
			return code
		}
		if !clock.Wait(ctx, b.c.Node.Rack.Clock, b.done) {
			why := ""
			if e, ok := b.meet.(*etcdRuntime); ok {
				why = e.broken("wait", "sync", 0)
			}
			return b.interrupted(1, why)
		}
		<-b.done
	}
	return 0
}

// interrupted is the end by SIGTERM or SIGINT.
func (b *nixlbench) interrupted(code int, why string) int {
	if b.old {
		return 143 // it knows no SIGTERM
	}
	b.say("Ctrl-C received, exiting...")
	if why != "" {
		return b.c.Fail(code, "%s", why)
	}
	return code
}
