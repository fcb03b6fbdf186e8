// Package probe knows how a node is looked at: the script that a node runs, how
// its answer becomes a steps.Node, and which rails lead from one node to the other.
//
// It runs nothing itself, and it judges nothing: whether what was found is as it
// should be is for the families to say, and what hardware can do is in steps/limits.
package probe

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/strictnum"
)

// ErrIncomplete is for an answer of the script that has no end: it was cut off.
var ErrIncomplete = errors.New("the probe's answer is incomplete")

// Parse reads what the script of some commands printed on stdout. Name, Where and Err are the
// caller's to fill. A file that was missing leaves its field empty; the only
// errors are an answer without its end, and one that isn't the script's at all.
// Nothing in the answer is trusted to be short or sound: sysfs is a driver's, and ip may be
// busybox's.
func Parse(stdout string, commands []steps.Command) (steps.Node, error) {
	s := sections(stdout)
	if _, ok := s["node"]; !ok {
		return steps.Node{}, fmt.Errorf("%w: it has no section", ErrIncomplete)
	}
	if _, ok := s["end"]; !ok {
		return steps.Node{}, fmt.Errorf("%w: it stops in the middle", ErrIncomplete)
	}
	var n steps.Node
	for i, field := range []*string{&n.Host, &n.Kernel, &n.Arch} {
		// uname's three lines, in the order of the script.
		if l := s["node"]; i < len(l) {
			*field = strings.TrimSpace(l[i])
		}
	}
	n.OS = osName(s["os"])
	n.Catches = strings.TrimSpace(strings.Join(s["supervisor"], ""))
	f := readFiles(s["files"])
	p := readPlaces(s["places"])
	n.Netdevs = netdevs(strings.Join(s["addr"], "\n"), f, p)
	managers := change.ReadManagers(strings.Join(s["managers"], "\n"))
	for i, d := range n.Netdevs {
		n.Netdevs[i].Managers = managers.Of(d.Name)
	}
	// Without ibv_devinfo, or with one that prints something else, the MTU is derived and said to
	// be.
	hcas, _ := parse.IbvDevinfo(strings.Join(s["devinfo"], "\n"))
	n.Rails = rails(f, p, n.Netdevs, hcas)
	n.Adapter = adapter(f)
	n.Tools = tools(s, commands)
	n.RouteDev, _ = parse.DefaultRoute(strings.Join(s["route"], "\n"))
	n.SSHDev = sshNetdev(strings.Join(s["ssh"], " "), n.Netdevs)
	// lo carries no rail; it was only needed to find the SSH session's.
	n.Netdevs = slices.DeleteFunc(n.Netdevs, func(d steps.Netdev) bool { return d.Name == "lo" })
	return n, nil
}

func words(s string) []string { return strings.Fields(s) }

// sections cuts the answer at its markers.
func sections(text string) map[string][]string {
	s := map[string][]string{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, steps.ForRailbench); ok {
			name = rest
			// A section that comes twice begins again.
			s[name] = []string{}
			continue
		}
		if name != "" {
			s[name] = append(s[name], line)
		}
	}
	return s
}

// osName is PRETTY_NAME of os-release(5), without its quotes.
func osName(lines []string) string {
	for _, l := range lines {
		if v, ok := strings.CutPrefix(l, "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// files are the contents of sysfs, by path below /sys/class. What has no line
// here is missing, unreadable or empty.
type files map[string]string

// readFiles keeps what grep printed of files under /sys/class, by the path below it.
func readFiles(lines []string) files {
	f := files{}
	for _, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		if !ok {
			continue
		}
		if name, ok = strings.CutPrefix(name, "/sys/class/"); ok {
			f[name] = strings.TrimSpace(value)
		}
	}
	return f
}

// int is -1 for what is not a number: 0 is one in sysfs.
func (f files) int(name string) int {
	v, ok := strictnum.Count(f[name])
	if !ok {
		return -1
	}
	return v
}

// below lists the names of the entries right below dir, sorted.
func (f files) below(dir string) []string {
	seen := map[string]bool{}
	for name := range f {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			seen[first] = true
		}
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// links are facts about directories, by the path below /sys/class.
type links struct {
	pci map[string]string // device -> PCI address
	// One function may have several, one for each of its ports (dev_port).
	net map[string][]string // device -> netdevs of its PCI function
	// Whether port_xmit_data is there: soft-RoCE has a port and no such counter.
	octets map[string]bool   // device/port
	master map[string]string // netdev -> bond
}

// A domain may have more than four digits (VMD's have five).
var pciAddress = lazyregexp.New(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// readPlaces reads where the links of sysfs lead, a line each.
func readPlaces(lines []string) links {
	p := links{
		pci: map[string]string{}, net: map[string][]string{},
		octets: map[string]bool{}, master: map[string]string{},
	}
	for _, l := range lines {
		w := words(l)
		// A line that was cut off, or of a shell that complains on stdout.
		if len(w) < 2 {
			continue
		}
		dev := path.Base(w[1])
		switch {
		case w[0] == "pci" && len(w) == 3 && pciAddress.Regexp().MatchString(path.Base(w[2])):
			p.pci[dev] = path.Base(w[2])
		case w[0] == "net" && len(w) == 3:
			p.net[dev] = append(p.net[dev], w[2])
		case w[0] == "octets":
			// …/infiniband/DEV/ports/N/counters/port_xmit_data
			// The glob may have gone through a link, so counted from the end.
			if part := strings.Split(w[1], "/"); len(part) > 5 {
				p.octets[part[len(part)-5]+"/"+part[len(part)-3]] = true
			}
		case w[0] == "master" && len(w) == 3:
			p.master[path.Base(path.Dir(w[1]))] = path.Base(w[2])
		}
	}
	return p
}

// netdevs joins what ip says with what only sysfs says. Where there is no ip,
// sysfs alone has no addresses.
func netdevs(ip string, f files, p links) []steps.Netdev {
	links, err := parse.Links(ip)
	if err != nil {
		for _, name := range f.below("net") {
			l := parse.Link{
				Name: name, MTU: max(0, f.int("net/"+name+"/mtu")),
				MAC: f["net/"+name+"/address"], Master: p.master[name],
			}
			// Reading carrier is an error while the interface is down.
			if c, ok := f["net/"+name+"/carrier"]; ok {
				l.Flags = []string{"UP"}
				if c == "1" {
					l.Flags = append(l.Flags, "LOWER_UP")
				}
			}
			links = append(links, l)
		}
	}
	var all []steps.Netdev
	for _, l := range links {
		d := steps.Netdev{
			Name: l.Name, MTU: l.MTU, Up: l.Up(), Carrier: l.Carrier(), Master: l.Master, MAC: l.MAC, Addrs: l.Addrs,
		}
		// The number behind it is the driver's own.
		d.BondMode, _, _ = strings.Cut(f["net/"+l.Name+"/bonding/mode"], " ") // "balance-xor 2"
		// -1 where the kernel doesn't know; some drivers say 4294967295.
		// No link is as fast as 100 Tb/s.
		if mbps := f.int("net/" + l.Name + "/speed"); mbps > 0 && mbps < 100_000_000 {
			d.SpeedGbps = float64(mbps) / 1000
		}
		all = append(all, d)
	}
	return all
}

// rails lists every port of every RDMA device.
func rails(f files, p links, all []steps.Netdev, hcas []parse.HCA) []steps.Rail {
	var rs []steps.Rail
	for _, dev := range f.below("infiniband") {
		// A device may have two ports, and each is a rail of its own.
		for _, port := range f.below("infiniband/" + dev + "/ports") {
			no, ok := strictnum.Count(port)
			if !ok {
				continue
			}
			rs = append(rs, rail(dev, no, f, p, all, hcas))
		}
	}
	slices.SortFunc(rs, func(a, b steps.Rail) int {
		return cmp.Or(
			// A device without a slot stands after those that have one.
			cmp.Compare(unknown(a.PCI.Addr), unknown(b.PCI.Addr)),
			cmp.Compare(a.PCI.Addr, b.PCI.Addr), cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Port, b.Port),
		)
	})
	return ownConnectors(rs)
}

// ownConnectors forgets connectors that more rails have than can share one: those of single
// adapters, of which each begins to count at 0. Two are the halves of a DGX Spark's adapter.
func ownConnectors(rs []steps.Rail) []steps.Rail {
	have := map[int]int{}
	for _, r := range rs {
		have[r.PhysPort]++
	}
	for i := range rs {
		if have[rs[i].PhysPort] > 2 {
			rs[i].PhysPort = -1
		}
	}
	return rs
}

func unknown(s string) int {
	if s == "" {
		return 1
	}
	return 0
}

// rail puts together what the node's files, ip and ibv_devinfo say of one port.
func rail(dev string, no int, f files, p links, all []steps.Netdev, hcas []parse.HCA) steps.Rail {
	base := "infiniband/" + dev
	port := fmt.Sprintf("%s/ports/%d", base, no)
	r := steps.Rail{
		Dev: dev, Port: no, PhysPort: -1, GIDIndex: -1,
		State: afterColon(f[port+"/state"]), Phys: afterColon(f[port+"/phys_state"]), Layer: f[port+"/link_layer"],
		HasOctets: p.octets[fmt.Sprintf("%s/%d", dev, no)],
		PCI:       pci(p.pci[dev], f, base+"/device/"),
		GIDs:      gids(f, port),
	}
	// The address and the rate are the interface's, so that has to be known first.
	name := netdevOf(dev, no, f, p, r.GIDs)
	r.Netdev = steps.Netdev{Name: name}
	for _, d := range all {
		if d.Name == name && name != "" {
			r.Netdev = d
		}
	}
	r.PhysPort = physPort(name, f["net/"+name+"/phys_port_name"])
	r.Addr, r.Prefix = firstIPv4(r.Netdev.Addrs, r.GIDs)
	r.GIDIndex = gidIndex(r)
	r.RateGbps = rate(r, f[port+"/rate"])
	r.MTU, r.MaxMTU, r.MTUDerived = mtus(r, hcas)
	return r
}

// pci is the adapter's slot; nothing of it is kept where the device has no address there (soft-RoCE), since the files
// would be another user's.
func pci(addr string, f files, device string) steps.PCI {
	if addr == "" {
		return steps.PCI{}
	}
	return steps.PCI{
		Addr:     addr,
		GTps:     leading(f[device+"current_link_speed"]),
		Width:    max(0, f.int(device+"current_link_width")),
		MaxGTps:  leading(f[device+"max_link_speed"]),
		MaxWidth: max(0, f.int(device+"max_link_width")),

		MaxPayload: maxPayload(f[device+"config"]),
	}
}

// maxPayload is how many bytes a PCIe packet of a device may carry, from the first 256 bytes of its configuration space
// in hexadecimal: in the register Device Control of the capability PCI Express (number 16), bits 7 to 5. It is 0
// where that is not there: others than root read 64 bytes, which end before it.
func maxPayload(config string) int {
	const status, first, listed, express, control = 6, 0x34, 0x10, 16, 8
	space, err := hex.DecodeString(config)
	if err != nil || len(space) < 256 || space[status]&listed == 0 {
		return 0
	}
	at := int(space[first]) &^ 3
	for range 48 { // as many as fit, whatever a damaged list leads to
		if at < 0x40 || at+control+1 >= len(space) {
			return 0
		}
		if space[at] == express {
			if code := space[at+control] >> 5; code <= 5 { // 6 and 7 mean nothing
				return 128 << code
			}
			return 0
		}
		at = int(space[at+1]) &^ 3
	}
	return 0
}

// gidIndex is the entry of the GID table that RoCE v2 over the rail's own address takes, and of an
// InfiniBand port its own; -1 where there is none. Indices are looked up each time: they move when addresses do.
func gidIndex(r steps.Rail) int {
	if r.InfiniBand() {
		// Entry 0 is the port's own GID there (the InfiniBand specification's GID table), and holds no IPv4
		// address.
		if slices.ContainsFunc(r.GIDs, func(g steps.GID) bool { return g.Index == 0 }) {
			return 0
		}
		return -1
	}
	// By address, type and interface: after a bond has come or gone the same address may stand in
	// the table for two of them.
	for _, g := range r.GIDs {
		if r.Addr != "" && g.Type == "RoCE v2" && g.IPv4 == r.Addr && (g.Netdev == "" || g.Netdev == r.Netdev.Name) {
			return g.Index
		}
	}
	return -1
}

// mtus are the port's as ibv_devinfo has them. Without it the active one follows from the
// interface's; derived says so.
func mtus(r steps.Rail, hcas []parse.HCA) (active, most int, derived bool) {
	for _, h := range hcas {
		for _, p := range h.Ports {
			if h.ID == r.Dev && p.Port == r.Port {
				active, most = p.ActiveMTU, p.MaxMTU
			}
		}
	}
	if active == 0 && r.Layer == "Ethernet" && r.Netdev.MTU > 0 {
		return steps.RoCEMTU(r.Netdev.MTU), most, true
	}
	return active, most, false
}

// rate is the link's rate in Gb/s, 0 where no one knows it. A port that is down has a rate in sysfs all the same:
// ConnectX says 40. And soft-RoCE says 2.5 where its interface has no speed.
func rate(r steps.Rail, sysfs string) float64 {
	if r.Layer == "Ethernet" && r.Netdev.SpeedGbps > 0 {
		return r.Netdev.SpeedGbps
	}
	if r.State != "ACTIVE" || r.Layer == "Ethernet" && strings.HasPrefix(sysfs, "2.5 Gb/sec (1X") {
		return 0
	}
	return leading(sysfs)
}

// netdevOf finds a port's own interface: that of its PCI function, or the one
// that soft-RoCE stands on. The GIDs name it too, unless a bond has taken them.
func netdevOf(dev string, port int, f files, p links, gids []steps.GID) string {
	if parent := f["infiniband/"+dev+"/parent"]; parent != "" {
		return parent
	}
	own := p.net[dev]
	// Every other way is for devices with several ports.
	if len(own) == 1 {
		return own[0]
	}
	for _, g := range gids {
		if g.Netdev != "" && (len(own) == 0 || slices.Contains(own, g.Netdev)) {
			return g.Netdev
		}
	}
	for _, name := range own {
		if f.int("net/"+name+"/dev_port") == port-1 {
			return name
		}
	}
	return ""
}

var (
	portName   = lazyregexp.New(`^p(\d{1,3})$`)
	portSuffix = lazyregexp.New(`np(\d{1,3})$`)
)

// physPort is the connector's number: the driver says p0, and udev puts np0 at
// the end of the name.
func physPort(netdev, name string) int {
	for _, m := range [][]string{
		portName.Regexp().FindStringSubmatch(name), portSuffix.Regexp().FindStringSubmatch(netdev),
	} {
		if m != nil {
			n, _ := strictnum.Count(m[1])
			return n
		}
	}
	return -1
}

// firstIPv4 is the address that a rail is known by: the first one of the
// interface that has a RoCE v2 GID, or the first.
func firstIPv4(addrs []string, gids []steps.GID) (string, int) {
	var first netip.Prefix
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a)
		if err != nil || !p.Addr().Is4() {
			continue
		}
		if !first.IsValid() {
			first = p
		}
		if slices.ContainsFunc(gids,
			func(g steps.GID) bool { return g.Type == "RoCE v2" && g.IPv4 == p.Addr().String() }) {
			return p.Addr().String(), p.Bits()
		}
	}
	if !first.IsValid() {
		return "", 0
	}
	return first.Addr().String(), first.Bits()
}

// gids are a port's table; an IPv4 address stands in a GID as IPv6 maps it.
func gids(f files, port string) []steps.GID {
	var all []steps.GID
	for _, index := range f.below(port + "/gids") {
		i, ok := strictnum.Count(index)
		if !ok {
			continue
		}
		g := steps.GID{
			Index: i, GID: f[port+"/gids/"+index],
			Type: f[port+"/gid_attrs/types/"+index], Netdev: f[port+"/gid_attrs/ndevs/"+index],
		}
		// sysfs writes all eight groups, which ParseAddr reads.
		if a, err := netip.ParseAddr(g.GID); err == nil && a.Is4In6() {
			g.IPv4 = a.Unmap().String()
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b steps.GID) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

// afterColon is the word in "4: ACTIVE".
func afterColon(s string) string {
	_, word, ok := strings.Cut(s, ": ")
	if !ok {
		return s
	}
	return word
}

// leading is the number at the start of "32.0 GT/s PCIe"; 0 where there is none.
func leading(s string) float64 {
	s, _, _ = strings.Cut(s, " ")
	v, ok := strictnum.Number(s)
	if !ok || v >= 1e6 {
		return 0
	}
	return v
}

// adapters are the generations behind hca_type (mlx5's PCI device ids).
var adapters = map[string]string{
	"MT4115": "ConnectX-4", "MT4117": "ConnectX-4 Lx", "MT4119": "ConnectX-5", "MT4121": "ConnectX-5 Ex",
	"MT4123": "ConnectX-6", "MT4125": "ConnectX-6 Dx", "MT4127": "ConnectX-6 Lx", "MT4129": "ConnectX-7",
	"MT4131": "ConnectX-8", "MT41686": "BlueField-2", "MT41692": "BlueField-3",
}

// adapter says what the RDMA devices are, each kind and firmware once.
func adapter(f files) string {
	var kinds []string
	for _, dev := range f.below("infiniband") {
		base := "infiniband/" + dev
		// An unknown type is shown as it is: newer adapters work as well.
		kind, known := adapters[f[base+"/hca_type"]]
		if !known {
			kind = f[base+"/hca_type"]
		}
		if f[base+"/parent"] != "" {
			kind = "soft-RoCE"
		}
		if kind == "" {
			kind = "RDMA device"
		}
		if fw := f[base+"/fw_ver"]; fw != "" && fw != "0.0.0" {
			kind += ", firmware " + fw
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return strings.Join(kinds, "; ")
}

// tools has every tool that was looked for, with no path where it is missing: what is not
// in the map was never asked about.
func tools(s map[string][]string, commands []steps.Command) map[string]steps.Tool {
	all := map[string]steps.Tool{}
	for _, c := range commands {
		if c.Probed {
			all[c.Name] = steps.Tool{Package: c.Package}
		}
	}
	// command -v answers with a path, or with a builtin's name.
	for _, l := range s["tools"] {
		name := path.Base(l)
		if t, ok := all[name]; ok && (strings.HasPrefix(l, "/") || l == name) { // busybox has commands built in
			t.Path = l
			all[name] = t
		}
	}
	// By package: perftest's programs have one version, and each question is a process.
	versions := map[string]string{}
	for _, c := range commands {
		if v := version(s["version "+c.Name]); v != "" {
			versions[c.Package] = v
		}
	}
	for name, t := range all {
		if t.Path != "" {
			t.Version = versions[t.Package]
			all[name] = t
		}
	}
	return all
}

// versionWord reads "Version: 6.06", "# Library version: 1.16.0", and the older
// "# UCX version=1.10.0 revision …".
var versionWord = lazyregexp.New(`(?i)version[ :=]+v?(\d[\w.+~-]*)`)

// versionAfter reads "iperf 3.12 (cJSON 1.7.15)": the tool's name and nothing between.
var versionAfter = lazyregexp.New(`^[A-Za-z][\w-]* v?(\d+\.\d[\w.+~-]*)`)

// version is what a tool said of itself; empty where that holds none. The word goes first
// over all lines: a library's warnings before the answer have numbers in them, too.
func version(lines []string) string {
	for _, p := range []*lazyregexp.Pattern{versionWord, versionAfter} {
		for _, l := range lines {
			if m := p.Regexp().FindStringSubmatch(l); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// sshNetdev finds the interface that holds the server's address in
// SSH_CONNECTION: "client port server port".
func sshNetdev(connection string, all []steps.Netdev) string {
	w := words(connection)
	if len(w) != 4 {
		return ""
	}
	server, err := netip.ParseAddr(w[2])
	if err != nil {
		return ""
	}
	// sshd on a socket for both families writes ::ffff:192.0.2.1.
	server = server.Unmap().WithZone("")
	for _, d := range all {
		for _, a := range d.Addrs {
			if p, err := netip.ParsePrefix(a); err == nil && p.Addr() == server {
				return d.Name
			}
		}
	}
	return ""
}
