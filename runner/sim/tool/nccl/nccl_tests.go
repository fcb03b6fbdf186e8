package nccl

import (
	"context"
	"embed"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

//go:embed nccl_tests_help.txt
var ncclTexts embed.FS

const (
	// ncclStep is what one step between two nodes takes in addition to its bytes, seconds.
	ncclStep = 12e-6
	// NCCL_BUFFSIZE of 4 MiB has NCCL_STEPS, which are 8.
	// ncclChunk is one message of NCCL's, bytes: a slot of its buffer.
	ncclChunk = 512 << 10
	// ncclSockets is what it reaches over the sockets of a link of 10 Gb/s, bits a second.
	ncclSockets = 9.1e9
	// ncclStuckAfter is how many rows a run prints that hangs.
	ncclStuckAfter = 3
)

// The statuses that it ends with, of testResult_t in common.h: testCudaError and testNcclError.
const (
	ncclCUDA    = 2
	ncclLibrary = 3
)

// OldNCCLTests is a release before 2.17.3, which knows no -J.
const OldNCCLTests host.Flaw = "nccl-tests of 2.17.2"

// A ncclTest is a run of one of nccl-tests' programs, of all ranks.
// share is what this run's noise leaves of a rate.
type ncclTest struct {
	c                  *host.Call // that plays, and prints
	ranks              []*ncclRank
	program, op        string
	from, to           int // bytes
	factor, iterations int
	warmup, check      int
	perRank            float64 // what each rank sends of a size, and busbw is of algbw
	sums               float64 // of bus bandwidths
	rows               int
	share              float64
	held               int64 // bytes of each node's memory
	old                bool
	file               string   // of -J; empty without
	results            []string // for it, a size each
}

// runNCCLTest is all_reduce_perf and all_gather_perf. The rank that begins last plays it for all.
func runNCCLTest(ctx context.Context, c *host.Call) int {
	t := &ncclTest{c: c, program: c.Program(), op: "sum", factor: 2, iterations: 20, warmup: 1, check: 1}
	c.Locked(func() { t.old = c.Node.Flawed(OldNCCLTests) })
	if code, ok := t.parse(); !ok {
		return code
	}
	calls, whole := meet(c)
	// The others wait in a real run; here they end at once, and the last one's status is the job's.
	if !whole {
		return 0
	}
	n := float64(len(calls))
	t.perRank = 2 * (n - 1) / n
	if t.program == "all_gather_perf" {
		t.op, t.perRank = "none", (n-1)/n
	}
	if code := t.open(calls); code != 0 {
		return code
	}
	defer c.Locked(func() {
		for _, r := range t.ranks {
			r.node.Held -= t.held
		}
	})
	t.head()
	code := t.sweep(ctx)
	if code == 0 {
		t.report()
	}
	if ctx.Err() != nil {
		return host.Terminated
	}
	return code
}

// parse reads the letters that cells and people give; what they set beyond sizes, counts and -J makes no
// difference here.
func (t *ncclTest) parse() (code int, ok bool) {
	set, rest, ok := t.c.Flags("befgnwctdoJ")
	size := func(letter byte, otherwise string) int {
		n, good := ncclSize(set.Last(letter, otherwise))
		ok = ok && good
		return n
	}
	if ok {
		t.from, t.to, t.factor = size('b', "32M"), size('e', "32M"), size('f', "1")
		t.iterations, t.warmup, t.check = size('n', "20"), size('w', "1"), size('c', "1")
		t.file = set.Last('J', "")
	}
	// Releases before 2.17.3 take -J for a wish for help, on the one rank that was given it.
	if set.Has("h") || t.old && set.Has("J") { // both end well
		if !set.Has("h") {
			t.c.Println("invalid option '?'")
		}
		t.usage()
		return 0, false
	}
	if !ok || len(rest) > 0 || t.factor < 2 && t.from != t.to || t.from <= 0 {
		return t.c.Fail(1, "USAGE: %s \n\t[-t,--nthreads <num threads>] \n\t[-b,--minbytes <min size in bytes>]", t.program),
			false
	}
	return 0, true
}

func (t *ncclTest) usage() {
	t.c.Printf("%s", linux.PrintTemplate(ncclTexts, "nccl_tests_help.txt", struct {
		Program string
		Old     bool
	}{t.program, t.old}))
}

// ncclSize reads a number with a K, M or G behind it.
func ncclSize(text string) (int, bool) {
	shift := 0
	if i := strings.IndexAny(text, "KMG"); i > 0 && i == len(text)-1 {
		shift = map[byte]int{'K': 10, 'M': 20, 'G': 30}[text[i]]
		text = text[:i]
	}
	n, err := strconv.Atoi(text)
	return n << shift, err == nil && n >= 0
}

// open starts NCCL in all ranks, and takes their memory.
func (t *ncclTest) open(calls []*host.Call) (code int) {
	var lines, failed []string
	code = ncclCUDA
	t.c.Locked(func() {
		t.share = 1 - net.NoiseSpan*t.c.Node.Random(t.program).Float64()
		for i, c := range calls {
			if !c.Node.GPU {
				failed = append(failed, fmt.Sprintf("%s: Test CUDA failure common.cu:1054 'no CUDA-capable device is detected'",
					c.Node.Name),
					fmt.Sprintf(" .. %s pid %d: Test failure common.cu:1010", c.Node.Name, 4300+i))
				continue
			}
			r := openNCCL(c)
			said, ok := r.began()
			if bad := r.badGID(); ok && bad != nil {
				said, ok = append(said, bad...), false
			}
			if len(t.ranks) > 0 && ok {
				if bad := r.stranger(i, t.ranks[0]); bad != nil {
					said, ok = append(said, bad...), false
				}
			}
			lines = append(lines, said...)
			if !ok {
				failed, code = append(failed, ""), ncclLibrary
			}
			t.ranks = append(t.ranks, r)
		}
		// Two to send from and to receive into, and one with what has to come out of it.
		t.held = 3 * int64(t.to)
		for _, r := range t.ranks {
			if t.held > r.node.Available() {
				failed = append(failed, r.node.Name+": Test CUDA failure common.cu:888 'out of memory'")
			}
		}
		if failed == nil {
			for _, r := range t.ranks {
				r.node.Held += t.held
			}
		}
	})
	for _, l := range append(lines, failed...) {
		if l != "" {
			t.c.Println(l)
		}
	}
	t.c.Out.Flush()
	if failed != nil {
		return code
	}
	return 0
}

// head is what it prints before the first row.
func (t *ncclTest) head() {
	c := t.c
	if t.file != "" {
		c.Locked(func() {
			if _, err := c.Node.Create(c.Path(t.file), c.Root, 0o666&^c.Umask()); err != nil {
				c.Printf("# skipping json output; %s not accessible\n", t.file)
				t.file = ""
				return
			}
			c.Println("# Writing JSON output to " + t.file)
		})
	}
	// 2.17.6 knows -J, 2.17.2 doesn't; the number of NCCL is the one that the loader finds.
	version := "2.17.6"
	if t.old {
		version = "2.17.2"
	}
	c.Println("# nccl-tests version " + version + " nccl-headers=22809 nccl-library=" + ncclNumber(t.ranks[0].release))
	c.Println("# Collective test starting: " + t.program)
	c.Printf("# nThread 1 nGpus 1 minBytes %d maxBytes %d step: %d(factor) warmup iters: %d iters: %d agg iters: 1 "+
		"validation: %d graph: 0\n",
		t.from, t.to, t.factor, t.warmup, t.iterations, t.check)
	// As many lines as ranks; each is on a node of its own, whose one GPU is device 0.
	c.Println("#\n# Using devices")
	for i, r := range t.ranks {
		c.Printf("#  Rank %2d Group  0 Pid %6d on %10s device  0 [000f:01:00] %s\n", i, 4300+i, r.node.Name, host.GPUName)
	}
	c.Println("#")
	c.Println("#                                                              out-of-place                       " +
		"in-place          ")
	c.Println("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   " +
		"busbw #wrong")
	c.Println("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  " +
		"(GB/s)       ")
	c.Out.Flush()
}

// sweep measures all sizes, after a warm-up of the largest and the smallest. Warm-ups carry bytes that no row
// counts: a prediction of a rail's bytes has to include them.
func (t *ncclTest) sweep(ctx context.Context) int {
	for _, size := range []int{t.to, t.from} {
		if _, code := t.move(ctx, t.whole(size), float64(t.warmup)); code != 0 {
			return code
		}
	}
	stuck := false
	t.c.Locked(func() {
		for _, r := range t.ranks {
			stuck = stuck || r.conf["NCCL_ALGO"] != t.ranks[0].conf["NCCL_ALGO"] // each waits for another's step
		}
	})
	for size := t.from; size <= t.to; size *= t.factor {
		if stuck && t.rows == ncclStuckAfter {
			return forEver(ctx, t.c)
		}
		if code := t.row(ctx, t.whole(size)); code != 0 {
			return code
		}
		if t.factor < 2 {
			break
		}
	}
	t.c.Println("# Out of bounds values : 0 OK")
	t.c.Printf("# Avg bus bandwidth    : %.4f \n#\n# Collective test concluded: %s\n#\n", t.sums/float64(2*t.rows),
		t.program)
	t.c.Out.Flush()
	return 0
}

// whole is a size as it is measured: an all-gather's is a multiple of the ranks' parts of 16 bytes.
func (t *ncclTest) whole(size int) int {
	if t.program != "all_gather_perf" {
		return size
	}
	n := len(t.ranks)
	return size / n &^ 15 * n
}

// row measures one size, out of place and in place. Each is one run more before it is timed and one
// after it, to look at what came of it.
func (t *ncclTest) row(ctx context.Context, size int) int {
	count := size / 4
	if t.program == "all_gather_perf" {
		count /= len(t.ranks)
	}
	t.c.Printf("%12d  %12d     float  %6s      -1", size, count, t.op)
	result := []string{fmt.Sprintf(`{"size":%d,"count":%d,"type":"float","redop":"%s","root":"    -1"`, size, count, t.op)}
	for _, place := range []string{"out_of_place", "in_place"} {
		seconds, code := t.move(ctx, size, float64(1+t.iterations+t.check))
		if code != 0 {
			return code
		}
		us := seconds / float64(1+t.iterations+t.check) * 1e6
		algbw := float64(size) / us / 1e3
		// A column of seven: the more digits before the point, the fewer behind it (getFloatStr in util.cu).
		precision := 2
		if us >= 10000 {
			precision = 0
		} else if us >= 100 {
			precision = 1
		}
		wrong, exact := "0", "0.000000"
		if t.check == 0 {
			wrong, exact = "N/A", "null"
		}
		result = append(result, fmt.Sprintf(`"%s":{"time":%f,"alg_bw":%f,"bus_bw":%f,"nwrong":%s}`, place, us, algbw,
			algbw*t.perRank, exact))
		t.c.Printf("  %7s  %6.2f  %6.2f  %5s", strconv.FormatFloat(us, 'f', precision, 64), algbw, algbw*t.perRank, wrong)
		t.sums += algbw * t.perRank
	}
	t.rows++
	result = append(result, fmt.Sprintf(`"actual_iterations":%d,"experiment_name":""}`, t.iterations))
	t.results = append(t.results, strings.Join(result, ","))
	t.c.Println("")
	t.c.Out.Flush()
	return 0
}

// report is the file of -J, as util.cu writes it: one line, with the process's whole environment.
func (t *ncclTest) report() {
	if t.file == "" {
		return
	}
	quoted := func(all []string) string {
		for i, s := range all {
			all[i] = `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, `/`, `\/`, "\t", `\t`, "\n", `\n`).Replace(s) + `"`
		}
		return strings.Join(all, ",")
	}
	var ranks []string
	for i, r := range t.ranks {
		ranks = append(ranks, fmt.Sprintf(`{"rank":%d,"group":0,"pid":%d,"hostname":"%s","device":0,`+
			`"device_hex":"000f:01:00","device_info":"%s"}`, i, 4300+i, r.node.Name, host.GPUName))
	}
	text := `{"version":1,"start_time":"2026-11-22 08:00:00","args":[` + quoted(slices.Clone(t.c.Args)) + `],"env":[` +
		quoted(slices.Clone(t.c.Exported())) + `],"nccl_version":` + ncclNumber(t.ranks[0].release) + `,"config":{"devices":[` + strings.Join(ranks, ",") +
		`]},"results":[` + strings.Join(t.results, ",") + `],"out_of_bounds":{"count":0,"okay":"true"},` +
		fmt.Sprintf(`"average_bus_bandwidth":{"bandwidth":%f,"okay":"unchecked"},"end_time":"2026-11-22 08:01:00"}`,
			t.sums/float64(2*t.rows))
	t.c.Locked(func() {
		if f, err := t.c.Node.Create(t.c.Path(t.file), t.c.Root, 0o666&^t.c.Umask()); err == nil {
			_ = f.Append([]byte(text)) // a disk that is full leaves a file that is cut, as on a real node
		}
	})
}

// move runs a collective of a size some times, around the ring of all ranks, and gives the seconds
// that it took.
func (t *ncclTest) move(ctx context.Context, size int, times float64) (seconds float64, code int) {
	n := len(t.ranks)
	each := float64(size) * t.perRank * times // bytes that each rank sends
	overhead := times * ncclStep * float64(n)
	if n == 1 || each <= 0 {
		return overhead, 0
	}
	var flows []*net.Flow
	var refused []string
	t.c.Locked(func() {
		if refused = t.unreached(); refused == nil {
			refused = t.doubled()
		}
		if refused == nil {
			flows = t.flows(each)
		}
	})
	if refused != nil {
		t.c.Println("")
		for _, line := range refused {
			t.c.Println(line)
		}
		t.c.Out.Flush()
		return 0, ncclLibrary
	}
	rack := t.c.Node.Rack
	if flows == nil { // over the management network, of which nothing is counted as RDMA
		overhead += each * 8 / (ncclSockets * t.share)
		t.countSockets(each)
	} else {
		begin := rack.Clock.Now().Seconds()
		if !t.carry(ctx, flows) {
			if ctx.Err() == nil {
				t.c.Println("\n" + t.ranks[0].log("WARN", "NET/IB : Got completion from peer with "+
					"status=IBV_WC_RETRY_EXC_ERR(12) opcode=0 len=0 vendor err 129"))
				t.c.Println(t.ranks[0].node.Name + ": Test NCCL failure common.cu:303 'remote process exited or there was a " +
					"network error / '")
				t.c.Out.Flush()
			}
			return 0, ncclLibrary
		}
		seconds = rack.Clock.Now().Seconds() - begin
	}
	if !rack.Clock.Sleep(ctx, time.Duration(overhead*1e9)) {
		return 0, host.Terminated
	}
	return seconds + overhead, 0
}

// unreached is the failure of a rank that has adapters, none of which reaches one of the next rank's: the
// address of the other end is looked up by ARP, without an answer. nil if one reaches it.
func (t *ncclTest) unreached() []string {
	for i, r := range t.ranks {
		next := t.ranks[(i+1)%len(t.ranks)]
		if len(r.ports) > 0 && len(next.ports) > 0 && len(ncclLanes(r, next)) == 0 {
			return r.unmodified(r.ports[0], 3, next.ports[0])
		}
	}
	return nil
}

// doubled is the failure of a rank that sends from or to an address which two ports have: its packets come
// back to itself, or to the port that answers ARP first, where the queue pair is unknown. nil where no
// address is doubled.
func (t *ncclTest) doubled() []string {
	at := map[netip.Addr]int{}
	for _, n := range t.c.Node.Rack.Nodes {
		for _, f := range n.Present() {
			if f.Live() {
				at[f.Netdev.IPv4().Addr()]++
			}
		}
	}
	for i, r := range t.ranks {
		for _, l := range ncclLanes(r, t.ranks[(i+1)%len(t.ranks)]) {
			from, to := l.Near.Netdev.IPv4().Addr(), l.Far.Netdev.IPv4().Addr()
			if at[from] < 2 && at[to] < 2 {
				continue
			}
			return []string{
				r.log("WARN", "NET/IB: Got completion from peer %s<%d> with status=IBV_WC_RETRY_EXC_ERR(12) "+
					"opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 vendor_err=129 req_type=Send localGid ::ffff:%s "+
					"remoteGids::ffff:%s hca %s", to, 40000+r.node.Index, from, to, l.Near.Dev),
				r.node.Name + ": Test NCCL failure common.cu:303 'remote process exited or there was a network error / '",
			}
		}
	}
	return nil
}

// flows are what each rank sends to the next; nil where that isn't over the adapter. Where one
// rank has no RDMA all of them go over sockets.
func (t *ncclTest) flows(each float64) (all []*net.Flow) {
	for i, r := range t.ranks {
		next := t.ranks[(i+1)%len(t.ranks)]
		lanes := ncclLanes(r, next)
		for _, l := range lanes {
			part := each / float64(len(lanes))
			all = append(all, &net.Flow{
				From: l.Near, To: l.Far, MTU: min(l.Near.ActiveMTU(), l.Far.ActiveMTU()), Op: net.Write,
				Message: min(ncclChunk, math.Ceil(part)), Payload: part, Demand: math.Inf(1), Share: t.share,
			})
		}
		if len(lanes) == 0 {
			return t.sockets(each)
		}
	}
	return all
}

// sockets are the flows where NCCL's interfaces are rails; nil where they are not.
func (t *ncclTest) sockets(each float64) (all []*net.Flow) {
	for i, r := range t.ranks {
		from, to := r.socket, t.ranks[(i+1)%len(t.ranks)].socket
		if from.Func == nil || to.Func == nil {
			return nil
		}
		all = append(all, &net.Flow{
			From: from.Func, To: to.Func, MTU: min(from.MTU, to.MTU) - 52, TCP: true,
			Message: ncclChunk, Payload: each, Demand: rdma.SocketRate, Share: t.share,
		})
	}
	return all
}

// carry moves all flows, and reports whether all arrived.
func (t *ncclTest) carry(ctx context.Context, flows []*net.Flow) bool {
	rack := t.c.Node.Rack
	t.c.Locked(func() { rack.Fabric.Add(flows...) })
	for _, fl := range flows {
		if err := rack.Fabric.Wait(ctx, fl); err != nil {
			t.c.Locked(func() {
				for _, fl := range flows {
					rack.Fabric.Stop(fl)
				}
			})
			return false
		}
	}
	return true
}

// countSockets counts what went over the management network.
func (t *ncclTest) countSockets(bytes float64) {
	t.c.Locked(func() {
		for _, r := range t.ranks {
			// Segments of an MTU of 1500, with 66 bytes of headers each.
			packets := uint64(bytes / 1448)
			octets := uint64(bytes) + packets*66
			r.socket.Count(octets, packets, octets, packets)
		}
	})
}
