package software

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// insideFact is before what the script says of a container.
const insideFact = "inside "

// insideFacts are those of the facts that were read in a container.
func insideFacts(facts [2]map[string]string) (inside [2]map[string]string) {
	for _, e := range steps.Ends {
		inside[e] = map[string]string{}
		for key, value := range facts[e] {
			if key, ok := strings.CutPrefix(key, insideFact); ok {
				inside[e][key] = value
			}
		}
	}
	return inside
}

// judgeNCCLCheck is the two checks of NCCL in one, on the nodes themselves and in a container that is named, and
// what NCCL will use on each node by what is set there.
func judgeNCCLCheck(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	leads, skip := judgeNCCL(r, facts, rep)
	inside := insideFacts(facts)
	name, reached := "", true
	for _, e := range steps.Ends {
		name = cmp.Or(name, facts[e]["container"])
		if facts[e]["container"] != "" && facts[e]["engine"] == "none" {
			reached = false
			rep.At(r.Rig, e, steps.NoContainerFound, steps.Inconclusive, "no container %s on %s in docker or podman", name,
				r.Rig.NameOf(e))
		}
	}
	if name != "" && reached {
		var in registry.Report
		said, none := judgeNCCL(r, inside, &in)
		for _, f := range in.Findings {
			f.Text = "Inside " + name + ": " + f.Text
			rep.Note(f)
		}
		for _, e := range in.Evidence { // a node's name stays first, so that what several say is said once
			if e.Node != "" {
				e.Name = e.Node + " inside " + name + " " + e.OnNode()
			}
			rep.Evidence = append(rep.Evidence, e)
		}
		if none == "" {
			skip = ""
		}
		for _, text := range said {
			leads = append(leads, "inside "+name+": "+text)
		}
	}
	if skip != "" && len(rep.Findings) == 0 {
		return rep.Skipped(skip, "%s", strings.Join(leads, "; "))
	}
	v := rep.Verdict(leads...)
	v.Tables = []steps.Table{ncclTable(r.Rig, facts)}
	if name != "" && reached {
		t := ncclTable(r.Rig, inside)
		t.Title += ", inside " + name
		v.Tables = append(v.Tables, t)
	}
	return v
}

// judgeNCCL adds what both checks find, and what NCCL will use. leads are the statements where nothing is
// wrong. skip is why nothing is judged where there is no NCCL, and is empty where there is one.
func judgeNCCL(r steps.Result, facts [2]map[string]string, rep *registry.Report) (leads []string, skip steps.Code) {
	// The versions have their own report: without NCCL both judges say so, and once is enough.
	var versions registry.Report
	version := judgeNCCLVersion(r, facts, &versions)
	settings := judgeNCCLSettings(r, facts, rep)
	if settings.Grade == steps.Skipped {
		return []string{strings.TrimSuffix(settings.Reason, ".")}, settings.Code
	}
	for _, f := range versions.Findings {
		rep.Note(f)
	}
	rep.Evidence = append(rep.Evidence, versions.Evidence...)
	var takes [2]ncclChoice
	for _, e := range steps.Ends {
		c := ncclChooses(r.Rig, e, facts[e])
		takes[e] = c
		node := r.Rig.NameOf(e)
		rep.ShowAt(node, "NCCL uses", c.takes(), "", nil)
		if c.devices != nil {
			rep.ShowAt(node, "GID index of NCCL", c.index, "", nil)
			rep.ShowAt(node, "PCIe halves of NCCL", c.halves, "", nil)
		}
		if c.blind != nil {
			rep.At(r.Rig, e, steps.AddressMissing, steps.Warn, "NCCL on %s uses %s, which %s no RoCE v2 GID of an IPv4 "+
				"address. Give it an address, or exclude it with NCCL_IB_HCA", node, registry.List(c.blind),
				registry.Plural(len(c.blind), "has", "have"))
		}
		if c.none != "" {
			rep.At(r.Rig, e, c.why, steps.Fail, "NCCL finds no RDMA device on %s: %s", node, c.none)
		}
	}
	leads = append(leads, strings.TrimSuffix(version.Reason, "."))
	here, peer := takes[steps.Here], takes[steps.Peer]
	if here.said() == peer.said() {
		return append(leads, "NCCL uses on each node "+here.said()), ""
	}
	return append(leads, fmt.Sprintf("NCCL uses %s on %s, and %s on %s", here.said(), r.Rig.NameOf(steps.Here),
		peer.said(), r.Rig.NameOf(steps.Peer))), ""
}

// A ncclChoice is what NCCL takes of a node, by the settings there.
type ncclChoice struct {
	devices []string // its RDMA devices, each with its port; nil where it goes over sockets
	index   string   // of the GIDs that it takes, and who chose it
	halves  string
	sockets string     // why it has no device
	blind   []string   // of its devices those without a GID of RoCE v2 and an IPv4 address
	why     steps.Code // the code of none
	none    string     // why it has no device where no setting is the cause: the check of settings is silent on that
}

func (c ncclChoice) takes() string {
	if c.devices == nil {
		return "no RDMA device: " + c.sockets
	}
	return strings.Join(c.devices, " ")
}

func (c ncclChoice) said() string {
	if c.devices == nil {
		return c.takes()
	}
	return fmt.Sprintf("%s, GID index %s, %s", registry.And(c.devices), c.index, c.halves)
}

// ncclChooses works out what NCCL takes: the devices with a port that is ACTIVE and that NCCL_IB_HCA doesn't leave out
// (ncclIbInit in NCCL's src/transport/net_ib), and of each the GID that is set or that it looks for.
func ncclChooses(rig steps.Rig, e steps.End, facts map[string]string) (c ncclChoice) {
	force := inForce(settingsIn(facts, "NCCL_"))
	if off, ok := strictnum.Signed(force["NCCL_IB_DISABLE"].value); ok && off != 0 {
		c.sockets = "NCCL_IB_DISABLE is " + force["NCCL_IB_DISABLE"].value
		return c
	}
	if strings.EqualFold(force["NCCL_NET"].value, "socket") {
		c.sockets = "NCCL_NET is " + force["NCCL_NET"].value
		return c
	}
	list := ncclListOf(force["NCCL_IB_HCA"].value)
	var taken []steps.Rail
	idle := 0
	for _, rail := range rig.At(e).Rails {
		switch {
		case !list.takes(rail):
		case rail.State != "ACTIVE":
			idle++
		default:
			taken = append(taken, rail)
			if _, set := strictnum.Count(force["NCCL_IB_GID_INDEX"].value); !set && rail.GIDIndex < 0 && !rail.InfiniBand() {
				c.blind = append(c.blind, rail.Dev)
			}
			c.devices = append(c.devices, fmt.Sprintf("%s:%d", rail.Dev, max(rail.Port, 1)))
		}
	}
	switch {
	case taken != nil:
		c.index, c.halves = ncclGIDs(taken, force["NCCL_IB_GID_INDEX"].value, facts), ncclHalves(taken)
	case len(rig.At(e).Rails) == 0:
		c.why, c.none = steps.RDMADeviceMissing, "the node has none"
	case idle > 0:
		c.why, c.none = steps.PortDown, fmt.Sprintf("no port of %s is ACTIVE", registry.Count(idle, "device", "devices"))
	default:
		c.sockets = "NCCL_IB_HCA excludes all"
	}
	c.sockets = cmp.Or(c.sockets, c.none)
	return c
}

// ncclFinds is the first NCCL that looks for a GID of RoCE v2; those before take the one at index 0.
const ncclFinds = 22100

// ncclGIDs is the index that is set, or those that NCCL finds, and which of both it is.
func ncclGIDs(taken []steps.Rail, set string, facts map[string]string) string {
	if n, ok := strictnum.Count(set); ok {
		return fmt.Sprintf("%d (set)", n)
	}
	for _, key := range registry.SortedNames(facts) {
		name, ok := strings.CutPrefix(key, "nccl ")
		if n, known := limits.NCCLNumber(facts[key]); ok && known && n < ncclFinds {
			return fmt.Sprintf("0 (%s is older than 2.21 and does not look for one)", ncclOf(name))
		}
	}
	var all []string
	of := map[string][]string{} // the devices, by index
	for _, rail := range taken {
		index := strconv.Itoa(rail.GIDIndex)
		if rail.GIDIndex < 0 {
			index = "none of an IPv4 address"
		}
		if of[index] == nil {
			all = append(all, index)
		}
		of[index] = append(of[index], rail.Dev)
	}
	if len(all) > 1 {
		for i, index := range all {
			all[i] = index + " of " + strings.Join(of[index], " ")
		}
	}
	return strings.Join(all, ", ") + " (found by NCCL)"
}

// ncclHalves says of the ports that are taken whether both of their PCIe halves are.
func ncclHalves(taken []steps.Rail) string {
	halves := map[int][]string{}
	for _, rail := range taken {
		if half := rail.PCI.Half(); half != "" && rail.PhysPort >= 0 && !slices.Contains(halves[rail.PhysPort], half) {
			halves[rail.PhysPort] = append(halves[rail.PhysPort], half)
		}
	}
	one := 0
	for _, of := range halves {
		if len(of) == 1 {
			one++
		}
	}
	switch {
	case len(halves) == 0:
		return "PCIe halves unknown"
	case one == 0:
		return "both PCIe halves of " + registry.Plural(len(halves), "its port", "each port")
	case one < len(halves):
		return fmt.Sprintf("only one PCIe half of %d of %d ports", one, len(halves))
	}
	return "only one PCIe half of " + registry.Plural(len(halves), "its port", "each port")
}

// ncclTable has a row a node.
func ncclTable(rig steps.Rig, facts [2]map[string]string) steps.Table {
	t := steps.Table{Title: "NCCL on each node", Columns: []steps.Column{
		{Name: steps.NodeColumn}, {Name: "uses"}, {Name: "GID index"}, {Name: "halves"}, {Name: "NCCL"}, {Name: "set"},
	}}
	for _, e := range steps.Ends {
		c := ncclChooses(rig, e, facts[e])
		var found, set []string
		for _, key := range registry.SortedNames(facts[e]) {
			if name, ok := strings.CutPrefix(key, "nccl "); ok {
				found = append(found, fmt.Sprintf("%s (%s)", facts[e][key], name))
			}
		}
		for _, s := range settingsIn(facts[e], "NCCL_") {
			set = append(set, fmt.Sprintf("%s=%s in %s", s.name, s.value, s.where))
		}
		t.Rows = append(t.Rows, []string{
			rig.NameOf(e), c.takes(), cmp.Or(c.index, "-"), cmp.Or(c.halves, "-"), cmp.Or(strings.Join(found, ", "), "none"),
			cmp.Or(strings.Join(set, "; "), "nothing"),
		})
	}
	return t
}
