package software

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/family/nixl"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// judgeUCXBuild: one UCX on both nodes, which can use the rails.
func judgeUCXBuild(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	setups, ok := bothSetups(r, &rep)
	if !ok {
		return rep.Verdict()
	}
	var have [2]bool
	for e, s := range setups {
		have[e] = nixl.Installed(s.Facts, "ucx_info")
	}
	switch {
	case !have[steps.Here] && !have[steps.Peer]:
		return rep.Skipped(steps.CannotRun, "neither node has ucx_info, so what UCX supports is unknown")
	case have[steps.Here] != have[steps.Peer]:
		lacks := steps.Here
		if have[steps.Here] {
			lacks = steps.Peer
		}
		rep.At(r.Rig, lacks, steps.MissingOnOneNode, steps.Warn, "ucx_info is missing on %s, but %s has UCX %s. NIXL needs "+
			"the same UCX at both ends", r.Rig.NameOf(lacks), r.Rig.NameOf(lacks.Other()), setups[lacks.Other()].UCX.Version)
	}
	a, b := setups[steps.Here].UCX, setups[steps.Peer].UCX
	rep.Show("UCX", nixl.OrMissing(a.Version)+" / "+nixl.OrMissing(b.Version), "", nil)
	if have[steps.Here] && have[steps.Peer] {
		compareUCX(r.Rig, a, b, &rep)
	}
	rails := 0
	for _, e := range steps.Ends {
		if have[e] {
			rails += ucxOnRails(r.Rig, e, setups[e], &rep)
		}
	}
	lead := fmt.Sprintf("UCX %s on both nodes", a.Version)
	if a.Configured != "" && b.Configured != "" {
		lead += ", built with the same options"
	}
	if rails == 0 {
		return rep.Verdict(lead + "; no rail is up, so none was checked")
	}
	return rep.Verdict(lead + ", with the rc transport on every rail")
}

// bothSetups is what NIXL's check printed at both ends; ok is false where one was not read.
func bothSetups(r steps.Result, rep *registry.Report) (setups [2]parse.NIXLSetup, ok bool) {
	setups, _ = registry.Both[parse.NIXLSetup](r, rep)
	return setups, len(setups[steps.Here].Facts) > 0 && len(setups[steps.Peer].Facts) > 0
}

// compareUCX: both ends have one release, built alike.
func compareUCX(rig steps.Rig, a, b parse.UCX, rep *registry.Report) {
	switch only := differences(a.Configured, b.Configured); {
	case a.Version == "" || b.Version == "":
		rep.Add(steps.Unreadable, steps.Inconclusive, "could not read the release of UCX on both nodes")
	case a.Version != b.Version:
		rep.Add(steps.UCXDiffers, steps.Fail, "UCX is %s on %s but %s on %s, so NIXL finds no path (NIXL_ERR_NOT_FOUND). "+
			"Install one version on both nodes", a.Version, rig.NameOf(steps.Here), b.Version, rig.NameOf(steps.Peer))
		rep.Decide("UCX")
	// Releases print the commit with more digits or fewer.
	case a.Revision != "" && b.Revision != "" && !strings.HasPrefix(a.Revision, b.Revision) &&
		!strings.HasPrefix(b.Revision, a.Revision):
		rep.Add(steps.UCXDiffers, steps.Warn, "UCX %s has revision %s on %s but %s on %s. Build one commit on both nodes",
			a.Version, a.Revision, rig.NameOf(steps.Here), b.Revision, rig.NameOf(steps.Peer))
	case len(only) > 0:
		rep.Add(steps.UCXBuildDiffers, steps.Warn, "UCX %s was built with different options on the two nodes (%s). Use the "+
			"same on both", a.Version, strings.Join(only, " "))
	}
}

// differences are the options that only one of two builds has.
// Where a build was installed changes nothing of what it can do, so --prefix is none.
func differences(a, b string) []string {
	var only []string
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) == 0 || len(y) == 0 {
		return nil // one of them is unknown
	}
	for _, o := range slices.Concat(x, y) {
		if slices.Contains(x, o) != slices.Contains(y, o) && !strings.HasPrefix(o, "--prefix") {
			only = append(only, o)
		}
	}
	return only
}

// ucxOnRails looks at one node's UCX: rc on each rail whose port is up, and the
// library that the loader names. It says how many rails it looked at.
func ucxOnRails(rig steps.Rig, e steps.End, s parse.NIXLSetup, rep *registry.Report) (looked int) {
	node := rig.NameOf(e)
	rep.ShowAt(node, "UCX library", registry.OrUnknown(s.UCX.Library), "", nil)
	rep.ShowAt(node, "UCX transports", strings.Join(s.UCX.Transports(""), " "), "", nil)
	var without []string
	for i, rail := range rig.At(e).Rails {
		if rail.State != "ACTIVE" || !rig.InUse(e, i) {
			continue
		}
		looked++
		found := s.UCX.Transports(fmt.Sprintf("%s:%d", rail.Dev, rail.Port))
		if !slices.ContainsFunc(found, func(t string) bool { return strings.HasPrefix(t, "rc") }) {
			without = append(without, rail.Dev)
		}
	}
	tellVerbs(rig, e, s.UCX, without, rep)
	linked := s.Facts["linked libucs"]
	if linked == "" || s.UCX.Library == "" {
		return looked
	}
	rep.ShowAt(node, "libucs by ldd", linked, "", nil)
	if libraryDir(linked) != libraryDir(s.UCX.Library) {
		rep.At(rig, e, steps.SeveralUCX, steps.Warn, "ucx_info on %s is linked with libucs in %s but loads it from %s. Set "+
			"LD_LIBRARY_PATH or ldconfig to one UCX", node, libraryDir(linked), libraryDir(s.UCX.Library))
		rep.Explain("Two UCX are installed, and NIXL may take either")
		rep.Decide(node+" UCX library", node+" libucs by ldd")
	}
	return looked
}

// tellVerbs says why UCX has no rc on some rails.
func tellVerbs(rig steps.Rig, e steps.End, u parse.UCX, without []string, rep *registry.Report) {
	node := rig.NameOf(e)
	verbs := slices.ContainsFunc(u.Domains, func(d parse.UCXDomain) bool { return d.Component == "ib" })
	switch {
	case len(without) > 0 && !verbs && builtWithVerbs(u):
		rep.At(rig, e, steps.UCXNoDevice, steps.Fail, "UCX on %s lists no RDMA device, although it was built --with-verbs. "+
			"Check its module libuct_ib.so and access to /dev/infiniband", node)
		rep.Explain("NIXL falls back to TCP, or fails. The module is in the folder ucx next to %s", cmp.Or(u.Library,
			"libucs"))
		rep.Decide(node + " UCX transports")
	case len(without) > 0 && !verbs && withoutVerbs(u):
		rep.At(rig, e, steps.UCXNoVerbs, steps.Fail, "UCX on %s has no verbs, so NIXL uses TCP or fails. Build it "+
			"--with-verbs --with-rdmacm", node)
		rep.Decide(node + " UCX transports")
	case len(without) > 0 && !verbs:
		// A build without that option takes verbs where it finds them.
		rep.At(rig, e, steps.UCXNoVerbs, steps.Fail, "UCX on %s has no verbs, so NIXL uses TCP or fails. Build it "+
			"--with-verbs --with-rdmacm, or check for its module libuct_ib.so", node)
		rep.Decide(node + " UCX transports")
	case len(without) > 0:
		rep.At(rig, e, steps.UCXNoRail, steps.Fail, "UCX on %s has no rc transport on %s, although the port is up. Check "+
			"ibv_devinfo and UCX_NET_DEVICES", node, registry.List(without))
		rep.Decide(node + " UCX transports")
	}
}

// builtWithVerbs reports whether a UCX says that it was.
func builtWithVerbs(u parse.UCX) bool {
	return slices.ContainsFunc(strings.Fields(u.Configured), func(o string) bool {
		return o == "--with-verbs" || strings.HasPrefix(o, "--with-verbs=") && o != "--with-verbs=no"
	})
}

// withoutVerbs reports whether a UCX says that it was built without.
func withoutVerbs(u parse.UCX) bool {
	options := strings.Fields(u.Configured)
	return slices.Contains(options, "--without-verbs") || slices.Contains(options, "--with-verbs=no")
}

// libraryDir is a library's folder: /lib is /usr/lib on today's systems.
func libraryDir(file string) string {
	dir := path.Dir(path.Clean(file))
	if strings.HasPrefix(dir, "/lib/") || dir == "/lib" {
		return "/usr" + dir
	}
	return dir
}

// A variable is one that is set, and where.
type variable struct{ name, value, where string }

// settingsIn reads facts of the form "PLACE NAME: value": the environment, or a file.
func settingsIn(f map[string]string, prefix string) []variable {
	var all []variable
	for _, key := range slices.Sorted(maps.Keys(f)) {
		where, name, ok := strings.Cut(key, " ")
		if !ok || !strings.HasPrefix(name, prefix) || where != "environment" && !strings.HasPrefix(where, "/") {
			continue
		}
		all = append(all, variable{name, strings.Trim(f[key], `"'`), where})
	}
	// Where a file says it, this login has it from there.
	return slices.DeleteFunc(all, func(v variable) bool {
		return v.where == "environment" && slices.ContainsFunc(all, func(w variable) bool {
			return w.where != v.where && w.name == v.name && w.value == v.value
		})
	})
}

// judgeUCXSettings: no setting keeps UCX from the rails.
func judgeUCXSettings(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	n := 0
	for _, e := range steps.Ends {
		for _, s := range settingsIn(facts[e], "UCX_") {
			rep.ShowAt(r.Rig.NameOf(e), fmt.Sprintf("%s in %s", s.name, s.where), s.value, "", nil)
			n++
			if code, why := ucxHarm(r.Rig, e, s); why != "" {
				rep.At(r.Rig, e, code, steps.Warn, "%s", sets(r.Rig, e, s, why))
				rep.Decide(fmt.Sprintf("%s %s in %s", r.Rig.NameOf(e), s.name, s.where))
			}
		}
		rep.ShowAt(r.Rig.NameOf(e), "looked at", "the environment of this login, /etc/environment, the shells' files, "+
			"ucx.conf", "", nil)
	}
	if n == 0 {
		return rep.Verdict("no variable of UCX is set on either node, so UCX chooses the devices")
	}
	return rep.Verdict("no setting of UCX excludes a rail")
}

// sets begins a finding about a variable.
func sets(rig steps.Rig, e steps.End, s variable, why string) string {
	where := s.where
	if where == "environment" {
		where = "The environment"
	}
	return fmt.Sprintf("%s on %s sets %s=%s: %s", where, rig.NameOf(e), s.name, s.value, why)
}

// withoutRDMA reports whether a list of UCX's transports excludes RDMA: that is three families, each with variants as
// rc_mlx5 and dc_x, and one name for all.
func withoutRDMA(list string) bool {
	list, without := strings.CutPrefix(list, "^")
	named := strings.Split(list, ",")
	has := func(t string) bool { return slices.Contains(named, t) }
	every := has("all") || has("ib") || has("rc") && has("dc") && has("ud")
	some := every || slices.ContainsFunc(named, func(t string) bool {
		family, _, _ := strings.Cut(t, "_")
		return family == "rc" || family == "dc" || family == "ud"
	})
	return without && every || !without && !some
}

// ucxHarm says what a setting does to programs that leave it as it is; empty where
// that is nothing bad.
func ucxHarm(rig steps.Rig, e steps.End, s variable) (steps.Code, string) {
	const unset = ". Unset it, or set it per program"
	switch s.name {
	case "UCX_NET_DEVICES":
		return netDevicesHarm(rig, e, s.value, unset)
	case "UCX_TLS":
		if withoutRDMA(s.value) {
			return steps.UCXRDMAOff, "it excludes RDMA, so NIXL uses TCP or shared memory" + unset
		}
	case "UCX_MAX_RMA_RAILS", "UCX_MAX_RMA_LANES":
		if s.value == "1" && len(rig.Pairs) > 1 {
			return steps.UCXRailsLimited, "NIXL uses one rail for reads and writes, however many are named" + unset
		}
	case "UCX_IB_GID_INDEX":
		index, err := strconv.Atoi(s.value)
		for _, p := range rig.Pairs {
			if rail := rig.Rail(p, e); err == nil && rail.GIDIndex >= 0 && rail.GIDIndex != index {
				return steps.GIDIndexWrong, fmt.Sprintf("the RoCE v2 GID of %s is at index %d, and indices change%s", rail.Dev,
					rail.GIDIndex, unset)
			}
		}
	}
	return "", ""
}

// netDevices are the devices of a list: how many rails they name, which are not on the node, and which have no port.
func netDevices(rig steps.Rig, e steps.End, list string) (named int, gone, bare []string) {
	for device := range strings.SplitSeq(list, ",") {
		dev, port, ported := strings.Cut(device, ":")
		is := func(x steps.Rail) bool {
			return x.Dev == dev && (!ported || x.Port == 0 || strconv.Itoa(x.Port) == port)
		}
		paired := slices.ContainsFunc(rig.Pairs, func(p steps.Pair) bool { return is(rig.Rail(p, e)) })
		there := slices.ContainsFunc(rig.At(e).Rails, is)
		if there && !ported {
			bare = append(bare, dev)
		}
		netdev := slices.ContainsFunc(rig.At(e).Netdevs, func(d steps.Netdev) bool { return d.Name == device })
		switch {
		case paired:
			named++
		case !there && !netdev:
			gone = append(gone, device)
		}
	}
	return named, gone, bare
}

// netDevicesHarm is for UCX_NET_DEVICES: a list of devices with their ports, or all.
// A name without a port may be an interface, for TCP.
func netDevicesHarm(rig steps.Rig, e steps.End, list, unset string) (steps.Code, string) {
	if list == "all" || list == "" {
		return "", ""
	}
	list, without := strings.CutPrefix(list, "^") // all but these; a UCX that doesn't know ^ finds none of them
	named, gone, bare := netDevices(rig, e, list)
	switch {
	case without && named == 0:
		return "", ""
	case without:
		return steps.UCXRailsLimited, fmt.Sprintf("at most %d of the %d rails can be used%s", len(rig.Pairs)-named,
			len(rig.Pairs), unset)
	case len(gone) > 0:
		return steps.UCXDevicesWrong, fmt.Sprintf("no %s on this node, and UCX only warns%s", registry.And(gone),
			unset)
	// UCX compares whole names, DEVICE:PORT. That one without a port stands for all of them is new
	// (openucx/ucx pull request 11142, of 2026).
	case bare != nil:
		return steps.UCXDevicesWrong, fmt.Sprintf("%s %s no port, and a UCX before 2026 does not find such a device. Write "+
			"%s:1", registry.And(bare), registry.Plural(len(bare), "has", "have"), bare[0])
	case named == 0 && len(rig.Pairs) > 0:
		return steps.UCXRDMAOff, "it names no rail, so NIXL does not use RDMA" + unset
	case named < len(rig.Pairs):
		return steps.UCXRailsLimited, fmt.Sprintf("only %d of the %d rails can be used%s", named, len(rig.Pairs), unset)
	}
	return "", ""
}
