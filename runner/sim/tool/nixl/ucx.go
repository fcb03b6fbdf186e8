package nixl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

const (
	// splitLeast is the smallest piece that UCX gives to a rail (UCX_MIN_RMA_CHUNK_SIZE):
	// 16 KiB are split over two rails, 4 KiB are not.
	splitLeast = 8192
	// What is staged through host memory goes in fragments of 8 KiB, each with the
	// header of a message of UCX.
	stagedFragment = 8192
	stagedMessage  = 8256
	// Fitted to nixlbench's blocks of 64 KiB: 6.8 GB/s over a rail that does 11.56, and 6.6 over two that do 13.17.
	// What one block costs besides its way: posting it and seeing its completion.
	// In seconds.
	blockTime      = 4.0e-6
	blockTimeSplit = 1.0e-6 // more for each further rail
	// A connection set up by a UCX whose release differs is not a connection.
	ucxVersion = "1.21.0"
	ucxOlder   = "1.16.0"
)

// What may be wrong with a node's UCX.
const (
	OldUCX        host.Flaw = "UCX of another release"
	NoVerbs       host.Flaw = "UCX without verbs"
	FirstRailOnly host.Flaw = "UCX takes one rail"
)

// A ucxContext is what UCX made of the environment of a process: the devices that
// it may use.
type ucxContext struct {
	node  *host.Node
	asked string // UCX_NET_DEVICES
	tls   string // UCX_TLS
	// In the order of the devices, by which lanes are made.
	rails []*net.Function
	// Those that TCP could use.
	sockets []*net.Netdev
	most    int // rails for one block: UCX_MAX_RMA_RAILS, and 2 where NIXL sets it
	// They go into the log at the start, and change nothing.
	warnings []string
	// reports says that UCX_LOG_LEVEL is info or more: it says which it is, and what it chose.
	tells bool
}

// ucxRelease is the version of UCX that the node has.
func ucxRelease(n *host.Node) string {
	if n.Flawed(OldUCX) {
		return ucxOlder
	}
	return ucxVersion
}

// ucxVerbs reports whether the node's UCX was built with verbs.
func ucxVerbs(n *host.Node) bool { return !n.Flawed(NoVerbs) }

// openUCX is the start of UCX in a process. Callers hold the rig's lock.
func openUCX(n *host.Node, env func(string) string) *ucxContext {
	u := &ucxContext{
		node: n, asked: env("UCX_NET_DEVICES"), tls: env("UCX_TLS"), most: 2,
		tells: slices.Contains([]string{"info", "debug", "trace"}, env("UCX_LOG_LEVEL")),
	}
	if u.asked == "" {
		u.asked = "all"
	}
	if u.tls == "" {
		u.tls = "all"
	}
	// What ucx.conf says of it NIXL sets again.
	if v, err := strconv.Atoi(env("UCX_MAX_RMA_RAILS")); err == nil && v > 0 {
		u.most = v
	}
	// UCX warns of a transport that was asked for by its name and isn't built in, not of one that "all" would have
	// had.
	if !ucxVerbs(n) && u.tls != "all" && !strings.HasPrefix(u.tls, "^") && u.allows(verbsTransports) {
		u.warnings = append(u.warnings, "transport 'rc' is not available, please use one or more of: "+
			"cma, cuda, cuda_copy, cuda_ipc, mm, posix, self, shm, sm, sysv, tcp")
	}
	u.choose()
	return u
}

// verbsTransports are the names that UCX_TLS knows for what runs on RDMA devices.
var verbsTransports = []string{
	"ib", "rc", "rc_x", "rc_v", "rc_mlx5", "rc_verbs",
	"dc", "dc_x", "dc_mlx5", "ud", "ud_x", "ud_v", "ud_mlx5", "ud_verbs",
}

// allows reports whether UCX_TLS has one of the transports.
func (u *ucxContext) allows(transports []string) bool {
	list, without := strings.CutPrefix(u.tls, "^")
	names := strings.Split(list, ",")
	if without {
		return !slices.ContainsFunc(transports, func(t string) bool { return slices.Contains(names, t) })
	}
	return slices.Contains(names, "all") ||
		slices.ContainsFunc(transports, func(t string) bool { return slices.Contains(names, t) })
}

// choose keeps the devices that are there, that UCX_NET_DEVICES names and that
// UCX_TLS has a transport for. One that is named and not there is only a warning.
func (u *ucxContext) choose() {
	n := u.node
	var there []string
	asked := strings.Split(u.asked, ",")
	found := map[string]bool{"all": true}
	wanted := func(device, kind string) bool {
		there = append(there, fmt.Sprintf("'%s'(%s)", device, kind))
		found[device] = true
		return u.asked == "all" || slices.Contains(asked, device)
	}
	// Loopback is among the devices that a warning names, and carries nothing between nodes.
	for _, d := range n.Netdevs {
		if d.Running() && d.IPv4().IsValid() && wanted(d.Name, "tcp") && d.Kind != "loopback" && u.allows([]string{"tcp"}) {
			u.sockets = append(u.sockets, d)
		}
	}
	for _, f := range n.Present() {
		if ucxVerbs(n) && f.Live() && wanted(f.Dev+":1", "ib") && u.allows(verbsTransports) {
			u.rails = append(u.rails, f)
		}
	}
	u.warnOfMissing(asked, there, found)
}

// warnOfMissing warns of devices that are asked for and not there.
func (u *ucxContext) warnOfMissing(asked, there []string, found map[string]bool) {
	var missing []string
	for _, device := range asked {
		if !found[device] {
			missing = append(missing, "'"+device+"'")
		}
	}
	slices.Sort(there)
	switch len(missing) {
	case 0:
	case 1:
		u.warnings = append(u.warnings, "network device "+missing[0]+
			" is not available, please use one or more of: "+strings.Join(there, ", "))
	default:
		u.warnings = append(u.warnings, "network devices "+strings.Join(missing, ",")+
			" are not available, please use one or more of: "+strings.Join(there, ", "))
	}
}

// usable reports whether anything is left to send with.
func (u *ucxContext) usable() bool { return len(u.rails)+len(u.sockets) > 0 }

// log is a line of UCX's log, which goes to stdout.
func ucxLog(n *host.Node, pid int, where, level, text string) string {
	at := n.Rack.Clock.Wall()
	return fmt.Sprintf("[%d.%06d] [%s:%d :0] %20s UCX  %-5s %s",
		at.Unix(), at.Nanosecond()/1000, n.Name, pid, where, level, text)
}

// nixlLog is a line of NIXL's log, which goes to stderr.
func nixlLog(n *host.Node, pid int, where, text string) string {
	return fmt.Sprintf("E%s %7d %s] %s", n.Rack.Clock.Wall().UTC().Format("0102 15:04:05.000000"), pid, where, text)
}

// unreachable is what NIXL logs where no rail leads from one UCX to the other.
func unreachable(n *host.Node, pid int) string {
	return nixlLog(n, pid, "ucx_backend.cpp:1012",
		"no active messages transport to the remote agent: Destination is unreachable")
}

// logged is what UCX logs at its start; ok says whether it started.
func (u *ucxContext) logged(pid int) (lines []string, ok bool) {
	if u.tells {
		lines = append(lines, ucxLog(u.node, pid, "ucp_context.c:2339", "INFO",
			fmt.Sprintf("Version %s (loaded from %s)", ucxRelease(u.node), linux.UCXLibrary)))
	}
	for _, w := range u.warnings {
		lines = append(lines, ucxLog(u.node, pid, "ucp_context.c:1508", "WARN", w))
	}
	if !u.usable() {
		lines = append(lines, ucxLog(u.node, pid, "ucp_context.c:1770", "ERROR",
			fmt.Sprintf("no usable transports/devices (asked %s on network:%s intra-node:accelerator:loopback:)",
				u.tls, u.asked)))
	}
	return lines, u.usable()
}

// A link is what UCX made of two contexts: up to as many lanes as both may use.
type link struct {
	lanes []rdma.Lane
	tcp   bool
}

// connect joins two processes; a link without lanes is none. Callers hold the
// rig's lock.
func (u *ucxContext) connect(far *ucxContext) link {
	var l link
	left := slices.Clone(far.rails)
	for _, f := range u.rails {
		// Each rail is in one lane: more would bring nothing.
		if i := slices.IndexFunc(left, f.Reaches); i >= 0 {
			l.lanes = append(l.lanes, rdma.Lane{Near: f, Far: left[i]})
			left = slices.Delete(left, i, i+1)
		}
	}
	if len(l.lanes) == 0 {
		l.tcp = true
		for _, d := range u.sockets {
			for _, e := range far.sockets {
				// By subnets: UCX takes the pair of interfaces that can reach each other. The management network has
				// no function, and nothing flows over it.
				if d.Func != nil && e.Func != nil && slices.Equal(d.Wires(), e.Wires()) && d.IPv4().Masked() == e.IPv4().Masked() {
					l.lanes = append(l.lanes, rdma.Lane{Near: d.Func, Far: e.Func})
				}
			}
		}
		// One connection: what a second one would bring, TCP takes from the first.
		l.lanes = l.lanes[:min(1, len(l.lanes))]
	}
	most := min(u.most, far.most)
	if u.node.Flawed(FirstRailOnly) || far.node.Flawed(FirstRailOnly) {
		most = 1
	}
	l.lanes = l.lanes[:min(most, len(l.lanes))]
	return l
}

// chosen is what UCX logs of a link, where it reports such things. Callers hold the rig's lock.
func (u *ucxContext) chosen(pid int, l link) (lines []string) {
	if !u.tells || len(l.lanes) == 0 {
		return nil
	}
	var lanes []string
	for _, lane := range l.lanes {
		if l.tcp {
			lanes = append(lanes, "tcp/"+lane.Near.Netdev.Name)
		} else {
			lanes = append(lanes, "rc_mlx5/"+lane.Near.Dev+":1")
		}
	}
	return []string{ucxLog(u.node, pid, "ucp_worker.c:1855", "INFO",
		"0xb3c4d5e6f0 inter-node cfg#1 rma("+strings.Join(lanes, " ")+")")}
}

// A transfer is a number of blocks of one size that go over a link.
type transfer struct {
	// With one lane at least.
	link link
	back bool // a READ: the data comes from the far end
	// In bytes.
	block  float64
	count  float64
	post   float64 // how many are posted side by side; the cost of one is hidden by another
	share  float64 // 1 minus this run's noise
	staged bool    // through host memory, at both ends
	limit  float64 // what the ends can do at most, bits a second; 0 where the way decides
	most   float64 // the part of the rails' rate that the program can use
}

// flows are the lanes' parts: half and half, whatever their rates are.
func (k transfer) flows() []*net.Flow {
	lanes := k.link.lanes
	if k.staged || k.block/float64(len(lanes)) < splitLeast {
		// What is too small to be split goes over the first rail.
		lanes = lanes[:1]
	}
	var fs []*net.Flow
	for i, l := range lanes {
		src, dst := l.Near, l.Far
		if k.back {
			src, dst = dst, src
		}
		// The first lane takes what doesn't divide.
		part := math.Floor(k.block / float64(len(lanes)))
		if i == 0 {
			part = k.block - part*float64(len(lanes)-1)
		}
		fl := &net.Flow{
			From: src, To: dst, MTU: min(src.ActiveMTU(), dst.ActiveMTU()), TCP: k.link.tcp,
			Message: part, Payload: part * k.count, Demand: math.Inf(1), Share: k.share,
		}
		if k.back {
			fl.Op = net.Read
		}
		switch {
		case k.link.tcp:
			// Without TCP's and IP's headers and the time stamps.
			fl.MTU, fl.Demand = min(src.Netdev.MTU, dst.Netdev.MTU)-52, rdma.SocketRate
		case k.staged:
			fl.Op = net.Send
			fragments := math.Ceil(k.block / stagedFragment)
			whole := k.block + fragments*(stagedMessage-stagedFragment)
			fl.Message, fl.Payload = whole/fragments, whole*k.count
		}
		fs = append(fs, fl)
	}
	return fs
}

// pace bounds the flows by what a process can ask for: each block costs some time
// besides its way, and a block has arrived when its slower half has.
func (k transfer) pace(fs []*net.Flow) {
	// By the shares that Add has given them.
	slowest := math.Inf(1)
	for _, fl := range fs {
		slowest = min(slowest, fl.Alloc)
	}
	if slowest == 0 || math.IsInf(slowest, 1) {
		return // no path, for now
	}
	n := float64(len(fs))
	// What one block waits for, others that were posted next to it use.
	extra := (blockTime + blockTimeSplit*(n-1)) / max(1, k.post)
	whole := k.block * 8 / (extra + k.block*8/(slowest*n))
	if k.limit > 0 {
		whole = min(whole, k.limit)
	}
	for _, fl := range fs {
		// UCX splits half and half: a rail that could do more waits for the one that can't.
		fl.Demand = min(fl.Demand, whole*k.most/n)
		if k.staged {
			fl.Demand *= stagedMessage / float64(stagedFragment)
		}
	}
}

// carry moves the blocks and returns the seconds that it took.
func carry(ctx context.Context, r *host.Rack, k transfer) (float64, error) {
	fs := k.flows()
	r.Lock()
	r.Fabric.Add(fs...)
	// Between Add and Allocate, under one lock: no time passes at the unpaced rate.
	k.pace(fs)
	r.Fabric.Allocate()
	r.Unlock()
	var err error
	end := 0.0
	for _, fl := range fs {
		if err = r.Fabric.Wait(ctx, fl); err != nil {
			break
		}
		end = max(end, fl.End)
	}
	if err != nil {
		r.Lock()
		defer r.Unlock()
		for _, fl := range fs {
			r.Fabric.Stop(fl)
		}
		return 0, err
	}
	// All have begun at the same instant.
	return end - fs[0].Begin, nil
}

// cannotLock is what UCX logs where it may not.
func cannotLock(n *host.Node, pid int, size int64) string {
	return ucxLog(n, pid, "ib_md.c:309", "ERROR",
		fmt.Sprintf("ibv_reg_mr(address=0xe7b2c0000000, length=%d, access=0xf) failed: Cannot allocate memory : "+
			"Please set max locked memory (ulimit -l) to 'unlimited' (current: %d kbytes)", size, n.MemlockKB))
}
