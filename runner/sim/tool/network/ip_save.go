package network

import (
	"io"
	"net/netip"
	"strings"

	"github.com/railbench/railbench/runner/sim/net"
)

// What ip saves is netlink's own form, which only ip restore reads: any form will do that it
// reads again. These are lines behind a heading that no other has.
const (
	savedAddresses = "\x1aip-addresses\n"
	savedRoutes    = "\x1aip-routes\n"
)

func (ip *ipCall) saveAddresses(devs []*net.Netdev) {
	ip.Printf("%s", savedAddresses)
	for _, d := range devs {
		for _, a := range d.Addrs {
			ip.Println(d.Name + " " + a.String() + " " + a.Scope)
		}
	}
}

// saved are the lines that were saved; code is not 0 where the input is none of ours, or may
// not be set again.
func (ip *ipCall) saved(heading string) (lines []string, code int) {
	b, err := io.ReadAll(ip.In)
	text, ok := strings.CutPrefix(string(b), heading)
	switch {
	case !ok || err != nil:
		return nil, ip.Fail(255, "Magic mismatch (0 elems, 0 magic)")
	case !ip.Root:
		return nil, ip.denied()
	}
	return strings.Split(strings.TrimSpace(text), "\n"), 0
}

// restoreAddresses sets what is missing; what is there already it complains of, as ip does.
func (ip *ipCall) restoreAddresses() int {
	lines, code := ip.saved(savedAddresses)
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		d := ip.Node.Netdev(words[0])
		p, err := netip.ParsePrefix(words[1])
		if d == nil || err != nil || !d.Add(net.Address{Prefix: p, Broadcast: net.BroadcastOf(p), Scope: words[2]}) {
			code = ip.Fail(2, "RTNETLINK answers: File exists")
		}
	}
	return code
}

// saveRoutes wants an interface: a manager's routes are saved one interface at a time, before it is let go.
func (ip *ipCall) saveRoutes(f routeFilter) int {
	if ip.Node.Netdev(f.dev) == nil {
		return ip.Fail(1, "Cannot find device \"%s\"", f.dev)
	}
	ip.Printf("%s", savedRoutes)
	// A line says all of its route: what a filter would leave out as known, restore would not know.
	whole := routeFilter{table: "all"}
	for _, r := range ip.Node.Listed(ip.v6) {
		if f.takes(r) && r.Table != net.LocalTable {
			ip.Println(ip.routeLine(r, whole))
		}
	}
	return 0
}

func (ip *ipCall) restoreRoutes() int {
	lines, code := ip.saved(savedRoutes)
	for _, line := range lines {
		// Appended, so that two of one network and metric come back in the order that they had.
		if line != "" && ip.changeRoute("append", strings.Fields(line)) != 0 {
			code = 2
		}
	}
	return code
}
