package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// ncclRelease is the version of the NCCL that a node's loader finds: its file is called after it.
// The rig's lock is held.
func ncclRelease(n *host.Node) string {
	_, file, err := n.Walk(host.NCCLFile, true, true)
	if err != nil {
		return ""
	}
	_, release, _ := strings.Cut(file, ".so.")
	return release
}

// A ncclRank is NCCL in one process: its settings, and what it found.
type ncclRank struct {
	c       *host.Call
	node    *host.Node
	conf    map[string]string
	release string
	// ports are the RDMA devices that it uses, in their order; without any it takes socket.
	ports  []*net.Function
	socket *net.Netdev
}

// ncclFiles are where NCCL reads its settings, those that win first: the environment wins over both.
var ncclFiles = []string{"/home/nvidia/.nccl.conf", "/etc/nccl.conf"}

// openNCCL is the start of NCCL in a process. The rig's lock is held.
func openNCCL(c *host.Call) *ncclRank {
	r := &ncclRank{c: c, node: c.Node, conf: ncclSettings(c), release: ncclRelease(c.Node)}
	if off := r.conf["NCCL_IB_DISABLE"]; (off == "" || off == "0") && !strings.EqualFold(r.conf["NCCL_NET"], "socket") {
		// NCCL does not count ports that are down: it reads their state first.
		for _, f := range c.Node.Present() {
			if f.Live() && ncclTakes(r.conf["NCCL_IB_HCA"], f.Dev, 1) {
				r.ports = append(r.ports, f)
			}
		}
	}
	for _, d := range c.Node.Netdevs {
		if d.Kind != "loopback" && d.Running() && d.IPv4().IsValid() && ncclTakes(r.conf["NCCL_SOCKET_IFNAME"], d.Name, -1) {
			r.socket = d
			break
		}
	}
	return r
}

// ncclSettings are NCCL's variables: of its files the first that has one, and the environment before them.
func ncclSettings(c *host.Call) map[string]string {
	conf := map[string]string{}
	for _, file := range ncclFiles {
		text, err := c.Node.ReadFile(file, c.Root)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if _, set := conf[name]; ok && !set && !strings.HasPrefix(name, "#") {
				conf[name] = value
			}
		}
	}
	for _, kv := range c.Exported() {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "NCCL_") {
			conf[name] = value
		}
	}
	return conf
}

// ncclTakes is NCCL's choice by a list of names: ^ leaves out, = is exact.
func ncclTakes(list, name string, port int) bool {
	list, without := strings.CutPrefix(list, "^")
	list, exact := strings.CutPrefix(list, "=")
	if list == "" {
		return true
	}
	named := slices.ContainsFunc(strings.Split(list, ","), func(entry string) bool {
		entry, number, has := strings.Cut(entry, ":")
		if n, err := strconv.Atoi(number); has && err == nil && port >= 0 && n != port {
			return false
		}
		return name == entry || !exact && strings.HasPrefix(name, entry)
	})
	return named != without
}

// log is a line of NCCL_DEBUG.
func (r *ncclRank) log(level, format string, args ...any) string {
	return fmt.Sprintf("%s:%d:%d [0] NCCL %s %s", r.node.Name, 4300+r.node.Index, 4300+r.node.Index, level,
		fmt.Sprintf(format, args...))
}

// began is what it logs at its start; ok is false where it does not start.
func (r *ncclRank) began() (lines []string, ok bool) {
	if r.socket == nil {
		return []string{
			r.log("WARN", "Bootstrap : no socket interface found"),
			r.node.Name + ": Test NCCL failure common.cu:1005 'internal error - please report this issue to the NCCL " +
				"developers / '",
		}, false
	}
	address := func(d *net.Netdev) string { return fmt.Sprintf("%s:%s<0>", d.Name, d.IPv4().Addr()) }
	lines = append(lines, r.log("INFO", "Bootstrap: Using %s", address(r.socket)))
	// Rank 0 alone says it, which the first node is here.
	if r.node.Index == 0 {
		lines = append(lines, "NCCL version "+r.release+"+cuda13.0")
	}
	if len(r.ports) == 0 {
		return append(lines, r.log("INFO", "NET/IB : No device found."),
			r.log("INFO", "NET/Socket : Using [0]%s", address(r.socket)),
			r.log("INFO", "Using network Socket")), true
	}
	var using []string
	for i, f := range r.ports {
		using = append(using, fmt.Sprintf("[%d]%s:1/RoCE", i, f.Dev))
	}
	return append(lines, r.log("INFO", "NET/IB : Using %s [RO]; OOB %s", strings.Join(using, " "), address(r.socket)),
		r.log("INFO", "Using network IB")), true
}

// badGID is the failure of a rank that is set to a GID that is not a RoCE v2 one; nil if its GID is.
func (r *ncclRank) badGID() []string {
	index, err := strconv.Atoi(r.conf["NCCL_IB_GID_INDEX"])
	if err != nil || index < 0 || len(r.ports) == 0 {
		return nil
	}
	for _, f := range r.ports {
		if g := f.GIDs[min(index, len(f.GIDs)-1)]; g.Family() != 4 || !g.V2 {
			return r.unmodified(f, index, nil)
		}
	}
	return nil
}

// unmodified is the failure of a rank whose queue pair can't be connected to that of another's device; nil where that
// doesn't matter.
func (r *ncclRank) unmodified(f *net.Function, index int, to *net.Function) []string {
	gid := func(f *net.Function, index int) string {
		switch g := f.GIDs[min(index, len(f.GIDs)-1)]; {
		case !g.Addr.IsValid():
			return "::"
		case g.Family() == 4:
			return "::ffff:" + g.Addr.String()
		default:
			return g.Addr.String()
		}
	}
	remote := "N/A"
	if to != nil {
		// The other end has announced its own by then, which is its RoCE v2 one.
		remote = gid(to, max(0, slices.IndexFunc(to.GIDs[:], func(g net.GID) bool { return g.Family() == 4 && g.V2 })))
	}
	return []string{
		r.log("WARN", "Call to ibv_modify_qp failed with 110 Connection timed out, on dev %s:1, curr state INIT, "+
			"next state RTR, local GID index %d, local GID %s, remote GID %s", f.Dev, index, gid(f, index), remote),
		r.node.Name + ": Test NCCL failure all_reduce.cu:44 'unhandled system error (run with NCCL_DEBUG=INFO for " +
			"details) / '",
	}
}

// stranger is the failure of a rank that meets one with another NCCL; nil where none does.
func (r *ncclRank) stranger(no int, first *ncclRank) []string {
	if r.release == first.release {
		return nil
	}
	return []string{
		r.log("WARN", "Mismatched NCCL version detected : rank 0 version %s rank %d version %s", ncclNumber(first.release),
			no, ncclNumber(r.release)),
		r.node.Name + ": Test NCCL failure common.cu:1005 'invalid usage (run with NCCL_DEBUG=WARN for details) / '",
	}
}

// ncclNumber is a release as NCCL counts: 22809 of 2.28.9.
func ncclNumber(release string) string {
	n := 0
	for i, part := range strings.SplitN(release, ".", 3) {
		digits, _ := strconv.Atoi(part) // the simulated files' names are numbers
		n += digits * []int{10000, 100, 1}[i]
	}
	return strconv.Itoa(n)
}

// ncclLanes are the ways from a rank to another: a pair of devices each.
func ncclLanes(from, to *ncclRank) (lanes []rdma.Lane) {
	left := slices.Clone(to.ports)
	for _, f := range from.ports {
		if i := slices.IndexFunc(left, f.Reaches); i >= 0 {
			lanes, left = append(lanes, rdma.Lane{Near: f, Far: left[i]}), slices.Delete(left, i, i+1)
		}
	}
	return lanes
}
