package software

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
)

// judgeNCCLSettings: what is set of NCCL names what is there.
func judgeNCCLSettings(r steps.Result, facts [2]map[string]string, rep *kind.Report) steps.Verdict {
	n := 0
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		for _, s := range settingsIn(facts[e], "NCCL_") {
			n++
			rep.Show(fmt.Sprintf("%s %s in %s", node, s.name, s.where), s.value, "", nil)
			if grade, why := ncclHarm(r.Rig, e, s); why != "" {
				rep.At(r.Rig, e, grade, "%s", sets(r.Rig, e, s, why))
			}
		}
		rep.Show(node+" looked at", "the environment of this login, /etc/environment, the shells' files, /etc/nccl.conf, "+
			"~/.nccl.conf", "", nil)
		if held := facts[e]["port 29500"]; held != "" {
			rep.Show(node+" port 29500", held, "", nil)
			rep.At(r.Rig, e, steps.Warn, "port 29500 on %s is in use, where torchrun's first process listens: a job is "+
				"running, or one was left over; another --master_port avoids it", node)
		}
	}
	if n == 0 {
		return rep.Verdict("nothing is set of NCCL on either node: it finds the rails by itself")
	}
	return rep.Verdict("what is set of NCCL names what is there")
}

// ncclHarm says what is wrong with a setting; empty where nothing is.
func ncclHarm(rig steps.Rig, e steps.End, s variable) (steps.Grade, string) {
	on, err := strconv.Atoi(s.value)
	switch s.name {
	case "NCCL_IB_DISABLE", "NCCL_NET":
		if s.name == "NCCL_NET" && strings.EqualFold(s.value, "socket") ||
			s.name == "NCCL_IB_DISABLE" && err == nil && on != 0 {
			return steps.Fail, "NCCL then never uses RDMA (NET/Socket), and reaches a few GB/s at most; take it out"
		}
	case "NCCL_IB_HCA":
		var devs []string
		for _, rail := range rig.At(e).Rails {
			devs = append(devs, rail.Dev)
		}
		if gone := namesNothing(s.value, devs); len(devs) > 0 && len(gone) > 0 {
			return steps.Fail, fmt.Sprintf("there is no %s on this node but %s, and without an adapter NCCL goes over sockets "+
				"(NET/Socket); name the rails, or take it out", kind.And(gone), kind.And(devs))
		}
	case "NCCL_SOCKET_IFNAME":
		var names []string
		for _, d := range rig.At(e).Netdevs {
			names = append(names, d.Name)
		}
		if gone := namesNothing(s.value, names); len(names) > 0 && len(gone) > 0 {
			return steps.Fail, fmt.Sprintf("there is no interface %s on this node, and NCCL does not start without one "+
				"(Bootstrap : no socket interface found); name one of %s, or take it out", kind.And(gone), kind.And(names))
		}
	case "NCCL_IB_GID_INDEX":
		if err == nil && on >= 0 {
			return ncclIndex(rig, e, on)
		}
	}
	return steps.Pass, ""
}

// ncclIndex holds a GID index that is set against those that the rails have.
func ncclIndex(rig steps.Rig, e steps.End, index int) (steps.Grade, string) {
	for _, p := range rig.Pairs {
		if rail := rig.Rail(p, e); rail.GIDIndex >= 0 && rail.GIDIndex != index {
			return steps.Warn, fmt.Sprintf("the RoCE v2 GID of %s is at index %d: NCCL finds it by itself since 2.21, so "+
				"take it out", rail.Dev, rail.GIDIndex)
		}
	}
	return steps.Pass, ""
}

// namesNothing gives the entries of a list of NCCL's that fit no name: each is the
// beginning of a name, or with = in front of the list all of it. A list with ^ in
// front leaves out, and harms nobody.
func namesNothing(list string, names []string) []string {
	if strings.HasPrefix(list, "^") {
		return nil
	}
	list, exact := strings.CutPrefix(list, "=")
	var gone []string
	for entry := range strings.SplitSeq(list, ",") {
		entry, _, _ = strings.Cut(strings.TrimSpace(entry), ":") // NCCL_IB_HCA has ports
		fits := func(name string) bool { return name == entry || !exact && strings.HasPrefix(name, entry) }
		if entry != "" && !slices.ContainsFunc(names, fits) {
			gone = append(gone, entry)
		}
	}
	return gone
}
