package software

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// emptyValue is how the script writes a variable that is set to nothing.
const emptyValue = "(empty)"

// judgeNCCLSettings: the settings of NCCL name what exists, all of it, and are the same at both
// ends.
func judgeNCCLSettings(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	n := 0
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		for _, s := range settingsIn(facts[e], "NCCL_") {
			n++
			rep.ShowAt(node, fmt.Sprintf("%s in %s", s.name, s.where), s.value, "", nil)
			if code, grade, why := ncclHarm(r.Rig, e, s); why != "" {
				rep.At(r.Rig, e, code, grade, "%s", sets(r.Rig, e, s, why))
				if s.name == "NCCL_IB_HCA" {
					rep.Explain("RDMA devices of %s: %s", node, registry.And(devicesOf(r.Rig.At(e))))
				}
				rep.Decide(fmt.Sprintf("%s %s in %s", node, s.name, s.where))
			}
		}
		rep.ShowAt(node, "looked at", "the environment of this login, /etc/environment, the shells' files, /etc/nccl.conf, "+
			"~/.nccl.conf", "", nil)
		if held := facts[e]["port 29500"]; held != "" {
			rep.ShowAt(node, "port 29500", held, "", nil)
			rep.At(r.Rig, e, steps.PortTaken, steps.Warn, "port 29500 on %s, which torchrun uses, is taken: a job runs or was "+
				"left over. Use another --master_port", node)
			rep.Decide(node + " port 29500")
		}
	}
	ncclAlike(r.Rig, facts, rep)
	ncclRing(r.Rig, facts, rep)
	if n == 0 && len(rep.Findings) == 0 && !hasNCCL(facts[steps.Here]) && !hasNCCL(facts[steps.Peer]) {
		return noNCCL(r, facts, rep)
	}
	if n == 0 {
		return rep.Verdict("no variable of NCCL is set on either node, so NCCL finds the rails automatically")
	}
	return rep.Verdict("every setting of NCCL names what exists")
}

// ncclRing adds what nodes in a ring need, and a program of this login would not get. A node without NCCL needs
// nothing.
func ncclRing(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	if !rig.InRing() {
		return
	}
	for _, e := range steps.Ends {
		if !hasNCCL(facts[e]) {
			continue
		}
		force := inForce(settingsIn(facts[e], "NCCL_"))
		var lacks []string
		for _, name := range registry.SortedNames(limits.NCCLRingSettings()) {
			if want := limits.NCCLRingSettings()[name]; force[name].value != want {
				lacks = append(lacks, name+"="+want)
			}
		}
		if lacks != nil {
			rep.At(rig, e, steps.NCCLSettingMissing, steps.Warn, "NCCL on %s lacks %s, which nodes in a ring need to use all "+
				"cables. Set it in /etc/nccl.conf on every node", rig.NameOf(e), registry.List(lacks))
		}
	}
}

// ncclInterfaces is for NCCL_SOCKET_IFNAME, a list of interfaces.
func ncclInterfaces(rig steps.Rig, e steps.End, value string) (steps.Code, steps.Grade, string) {
	var names []string
	for _, d := range rig.At(e).Netdevs {
		names = append(names, d.Name)
	}
	// One that is there is enough for it: a list may be of nodes whose interfaces have other names.
	list := ncclListOf(value)
	if gone := list.naming(names); len(names) > 0 && len(gone) > 0 && len(gone) == len(list.entries) {
		return steps.NCCLInterfaceWrong, steps.Fail, fmt.Sprintf("interface %s does not exist, so NCCL does not start (no "+
			"socket interface found). Remove it, or name one that exists", registry.And(gone))
	}
	return "", steps.Pass, ""
}

// ncclHarm says what is wrong with a setting; empty where nothing is.
func ncclHarm(rig steps.Rig, e steps.End, s variable) (steps.Code, steps.Grade, string) {
	on, err := strconv.Atoi(s.value)
	switch s.name {
	case "NCCL_IB_DISABLE", "NCCL_NET":
		if s.name == "NCCL_NET" && strings.EqualFold(s.value, "socket") ||
			s.name == "NCCL_IB_DISABLE" && err == nil && on != 0 {
			return steps.NCCLRDMAOff, steps.Fail, "NCCL never uses RDMA (NET/Socket) and reaches a few GB/s at most. Remove it"
		}
	case "NCCL_IB_HCA":
		return ncclDevices(rig, e, s.value)
	case "NCCL_SOCKET_IFNAME":
		return ncclInterfaces(rig, e, s.value)
	case "NCCL_IB_GID_INDEX":
		switch {
		case s.value == emptyValue:
			return steps.GIDIndexWrong, steps.Warn,
				"it is empty. NCCL ignores that, but programs may read 0, which is not a RoCE " +
					"v2 GID. Remove it"
		case err == nil && on >= 0:
			return ncclIndex(rig, e, on)
		}
	}
	return "", steps.Pass, ""
}

// ncclDevices holds NCCL_IB_HCA against a node's rails: what it names is there, and so is
// the other half of each port that it names.
func ncclDevices(rig steps.Rig, e steps.End, value string) (steps.Code, steps.Grade, string) {
	rails, devs := rig.At(e).Rails, devicesOf(rig.At(e))
	list := ncclListOf(value)
	switch gone := list.naming(devs); {
	case len(devs) == 0 || len(gone) == 0:
	case len(gone) == len(list.entries):
		return steps.NCCLDevicesWrong, steps.Fail, fmt.Sprintf("%s %s not exist, so NCCL uses sockets (NET/Socket). Remove "+
			"it, or name existing devices", registry.And(gone), registry.Plural(len(gone), "does", "do"))
	default:
		return steps.NCCLDevicesWrong, steps.Warn, fmt.Sprintf("%s %s not exist, and NCCL ignores that without a message. "+
			"Remove it, or name existing devices", registry.And(gone), registry.Plural(len(gone), "does", "do"))
	}
	var taken, left []string
	for _, rail := range rails {
		if list.takes(rail) {
			taken = append(taken, rail.Dev)
			continue
		}
		if slices.ContainsFunc(rails, func(other steps.Rail) bool { return list.takes(other) && twins(rail, other) }) {
			left = append(left, rail.Dev)
		}
	}
	switch {
	case len(rails) > 0 && len(taken) == 0:
		return steps.NCCLRDMAOff, steps.Fail, fmt.Sprintf("it excludes %s, so NCCL uses sockets (NET/Socket). Remove it",
			registry.And(devs))
	case left != nil:
		return steps.HalfLeftOut, steps.Warn, fmt.Sprintf("it omits %s, the other PCIe half of the same %s. Add %s, or "+
			"remove it", registry.And(left), registry.Plural(len(left), "port", "ports"), registry.Plural(len(left), "it",
			"them"))
	}
	return "", steps.Pass, ""
}

// devicesOf are the RDMA devices of a node's rails.
func devicesOf(n steps.Node) (devs []string) {
	for _, rail := range n.Rails {
		devs = append(devs, rail.Dev)
	}
	return devs
}

// twins reports whether two rails are the two PCIe halves of one port, and both have a link.
func twins(a, b steps.Rail) bool {
	return a.PhysPort >= 0 && a.PhysPort == b.PhysPort && a.PCI.Half() != "" && b.PCI.Half() != "" &&
		a.PCI.Half() != b.PCI.Half() && a.State == "ACTIVE" && b.State == "ACTIVE"
}

// ncclIndex holds a GID index that is set against those that the rails have.
func ncclIndex(rig steps.Rig, e steps.End, index int) (steps.Code, steps.Grade, string) {
	for _, p := range rig.Pairs {
		if rail := rig.Rail(p, e); rail.GIDIndex >= 0 && rail.GIDIndex != index {
			return steps.GIDIndexWrong, steps.Warn, fmt.Sprintf("the RoCE v2 GID of %s is at index %d. Remove it: NCCL 2.21 "+
				"and later find the index", rail.Dev, rail.GIDIndex)
		}
	}
	return "", steps.Pass, ""
}

// ncclList is NCCL's way to choose by names: entries that a name begins with, or with = in
// front of the list all of it; with ^ in front of that, all names but those
// (parseStringList and matchIfList in NCCL's src/misc/utils.cc).
type ncclList struct {
	exact, without bool
	entries        []ncclEntry
}

type ncclEntry struct {
	name string
	port int // -1 for any
}

func ncclListOf(text string) (l ncclList) {
	text = strings.TrimSpace(text)
	if text == emptyValue {
		return l
	}
	text, l.without = strings.CutPrefix(text, "^")
	text, l.exact = strings.CutPrefix(text, "=")
	for entry := range strings.SplitSeq(text, ",") {
		name, port, has := strings.Cut(strings.TrimSpace(entry), ":")
		x := ncclEntry{name: name, port: -1}
		if n, err := strconv.Atoi(port); has && err == nil {
			x.port = n
		}
		if name != "" {
			l.entries = append(l.entries, x)
		}
	}
	return l
}

func (l ncclList) fits(entry, name string) bool {
	return name == entry || !l.exact && strings.HasPrefix(name, entry)
}

// takes reports whether NCCL uses a rail by this list. An empty list takes all.
func (l ncclList) takes(rail steps.Rail) bool {
	if len(l.entries) == 0 {
		return true
	}
	named := slices.ContainsFunc(l.entries, func(x ncclEntry) bool {
		return l.fits(x.name, rail.Dev) && (x.port < 0 || rail.Port == 0 || x.port == rail.Port)
	})
	return named != l.without
}

// naming gives the entries that fit no name. A list that excludes does no harm by that.
func (l ncclList) naming(names []string) (gone []string) {
	if l.without {
		return nil
	}
	for _, x := range l.entries {
		if !slices.ContainsFunc(names, func(name string) bool { return l.fits(x.name, name) }) {
			gone = append(gone, x.name)
		}
	}
	return gone
}

// inForce are the settings that a program of this login gets, by name: the environment's, or
// else those of the user's file, or else those of the system's (initEnv in NCCL's
// src/misc/param.cc). What the shells' files set is in the environment of who logs in.
func inForce(all []variable) map[string]variable {
	rank := func(v variable) int {
		switch {
		case v.where == "environment":
			return 0
		case strings.HasSuffix(v.where, "/.nccl.conf"):
			return 2
		case v.where == "/etc/nccl.conf":
			return 3
		}
		return 1
	}
	force := map[string]variable{}
	// From the weakest to the strongest: the last one to write stays.
	for _, v := range slices.Backward(slices.SortedStableFunc(slices.Values(all), func(a, b variable) int {
		return cmp.Compare(rank(a), rank(b))
	})) {
		force[v.name] = v
	}
	return force
}

// ncclLocal are settings that name what is one node's own, or that only say what is logged:
// they may differ.
func ncclLocal(name string) bool {
	switch name {
	case "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE",
		"NCCL_GRAPH_DUMP_FILE", "NCCL_CONF_FILE", "NCCL_HOSTID":
		return true
	}
	return strings.HasPrefix(name, "NCCL_DEBUG")
}

// ncclAlike adds what differs between the nodes: how many rails NCCL uses on each, and every setting that is not a
// node's own.
func ncclAlike(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	var force [2]map[string]variable
	var taken [2]int
	for _, e := range steps.Ends {
		force[e] = inForce(settingsIn(facts[e], "NCCL_"))
		list := ncclListOf(force[e]["NCCL_IB_HCA"].value)
		for _, rail := range rig.At(e).Rails {
			if list.takes(rail) {
				taken[e]++
			}
		}
	}
	// Where nothing is named NCCL takes what is there, and how many rails each node has is another check's.
	named := force[0]["NCCL_IB_HCA"].value + force[1]["NCCL_IB_HCA"].value
	if named != "" && taken[0] != taken[1] && taken[0] > 0 && taken[1] > 0 {
		rep.Add(steps.NCCLSettingsDiffer, steps.Warn, "NCCL may use %s on %s but %d on %s. Name the same rails in "+
			"NCCL_IB_HCA on both nodes, or remove it", registry.Count(taken[0], "rail", "rails"), rig.NameOf(steps.Here),
			taken[1], rig.NameOf(steps.Peer))
	}
	names := maps.Clone(force[0])
	maps.Copy(names, force[1])
	for _, name := range registry.SortedNames(names) {
		a, b := force[0][name].value, force[1][name].value
		where := cmp.Or(force[0][name].where, force[1][name].where)
		if strings.HasSuffix(name, "_DISABLE") { // 0 is what they are without being set
			a, b = strings.TrimSuffix(a, "0"), strings.TrimSuffix(b, "0")
		}
		if ncclLocal(name) || a == b {
			continue
		}
		rep.Add(steps.NCCLSettingsDiffer, steps.Warn, "%s (%s) is %s on %s but %s on %s. Set it alike on all nodes, "+
			"or remove it", name, where, cmp.Or(a, "not set"), rig.NameOf(steps.Here), cmp.Or(b, "not set"),
			rig.NameOf(steps.Peer))
	}
}
