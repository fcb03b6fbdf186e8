package perftest

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/verify"
)

// otherHead says why the head of an end's report is of another rail, another kind of link, or other options than its
// script gave. tool is ib_write_bw or ib_write_lat.
func otherHead(c steps.Cell, rig steps.Rig, p steps.Pair, o steps.Output, tool string, v parse.Perftest) string {
	return cmp.Or(verify.OfDevice(v.Device, rig.Rail(p, o.End).Dev), otherLink(rig.Rail(p, o.End), v),
		otherGID(c, o, tool, v), otherKind(c, o, tool, v),
		otherAddress(rig, p, o.End, v.LocalGID, "from"), otherAddress(rig, p, o.End.Other(), v.RemoteGID, "to"))
}

// otherLink says that a test went over another kind of link than its rail is.
// perftest prints IB or Ethernet; without a known layer nothing is compared.
func otherLink(rail steps.Rail, v parse.Perftest) string {
	if v.Link == "" || rail.Layer == "" || rail.InfiniBand() == (v.Link == "IB") {
		return ""
	}
	return fmt.Sprintf("it used a link of type %s, but the rail's is %s", v.Link, rail.Layer)
}

// otherAddress says that a test went from or to an address that the rail's end does not have.
func otherAddress(rig steps.Rig, p steps.Pair, e steps.End, gid, way string) string {
	own := addresses(rig.Rail(p, e))
	if gid == "" || gid == "::" || len(own) == 0 || slices.Contains(own, gid) {
		return ""
	}
	for _, n := range rig.Nodes {
		for _, r := range n.Rails {
			if slices.Contains(addresses(r), gid) {
				return fmt.Sprintf("it went %s %s, which is %s on %s", way, gid, r.Dev, n.Name)
			}
		}
	}
	return fmt.Sprintf("it went %s %s, which %s on %s does not have", way, gid, rig.Rail(p, e).Dev, rig.NameOf(e))
}

// addresses are a rail's, as perftest's GIDs are read.
func addresses(r steps.Rail) (all []string) {
	if r.Addr != "" {
		all = append(all, r.Addr)
	}
	for _, a := range r.Netdev.Addrs {
		if prefix, err := netip.ParsePrefix(a); err == nil {
			all = append(all, prefix.Addr().Unmap().String())
		}
	}
	for _, g := range r.GIDs {
		if addr, err := netip.ParseAddr(g.GID); err == nil {
			all = append(all, addr.Unmap().String())
		}
	}
	return all
}

// apart says what the heads of a test's two ends don't agree on.
func apart(client, server parse.Perftest) string {
	if client.MTU > 0 && server.MTU > 0 && client.MTU != server.MTU {
		return fmt.Sprintf("RoCE MTU %d at the client, %d at the server", client.MTU, server.MTU)
	}
	return ""
}

// otherMTU warns about a test whose RoCE MTU is not that of its rail's ports: the probe is out of date, or the rail
// loses what the larger MTU brings.
func otherMTU(c steps.Cell, rig steps.Rig, p steps.Pair, o steps.Output, tool string, mtu int, add verify.Adder) {
	has := limits.AgreedMTU(rig, p, 0)
	if mtu <= 0 || has <= 0 || mtu == has || verify.Calls(c, o, tool, "-m", "--mtu") {
		return
	}
	add(steps.MTUDiffers, steps.Warn, "the test used %s %d, but the ports have %d. Probe the nodes again, then run: "+
		"railbench doctor roce-mtu", rig.Rail(p, o.End).MTUName(), mtu, has)
}
