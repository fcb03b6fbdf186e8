package network

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

// What netplan makes of its files: the profiles that NetworkManager reads. The nodes' networkd has
// none, and gets none.

// A plannedDevice is one of the configuration, all files put together.
type plannedDevice struct {
	kind, name string              // ethernets or bonds
	values     map[string]string   // of its keys, the last file's
	lists      map[string][]string // all files' together, as netplan has it
}

// netplanDevices reads all files, which are right.
func netplanDevices(c *host.Call, root string) (all []*plannedDevice) {
	dir, names := netplanFiles(c, root)
	for _, name := range names {
		text, err := c.Node.ReadFile(dir+"/"+name, c.Root)
		if err != nil {
			continue
		}
		lines, _ := yamlLines(text) // checked before
		for _, l := range lines {
			if len(l.path) < 3 || l.path[1] != "ethernets" && l.path[1] != "bonds" {
				continue
			}
			i := slices.IndexFunc(all, func(d *plannedDevice) bool { return d.name == l.path[2] })
			if i < 0 {
				i = len(all)
				all = append(all, &plannedDevice{l.path[1], l.path[2], map[string]string{}, map[string][]string{}})
			}
			all[i].take(l)
		}
	}
	return all
}

// take adds a line to what is known of a device.
func (d *plannedDevice) take(l yamlLine) {
	switch {
	case len(l.path) < 4 || l.value == "":
	case l.key == "-":
		d.lists[l.path[3]] = append(d.lists[l.path[3]], l.value)
	default:
		d.values[l.key] = l.value
	}
}

// keyfile is a device's profile as netplan writes it for NetworkManager.
func (d *plannedDevice) keyfile(master string) string {
	var b strings.Builder
	kind := map[string]string{"ethernets": "ethernet", "bonds": "bond"}[d.kind]
	fmt.Fprintf(&b, "[connection]\nid=netplan-%s\ntype=%s\ninterface-name=%s\n", d.name, kind, d.name)
	if master != "" {
		fmt.Fprintf(&b, "slave-type=bond #wokeignore:rule=slave\nmaster=%s\n", master)
	}
	if d.kind == "bonds" {
		fmt.Fprintf(&b, "\n[bond]\nmode=%s\n", d.values["mode"])
		for _, pair := range [][2]string{{"mii-monitor-interval", "miimon"}, {"transmit-hash-policy", "xmit_hash_policy"}} {
			if v := d.values[pair[0]]; v != "" {
				fmt.Fprintf(&b, "%s=%s\n", pair[1], v)
			}
		}
	}
	b.WriteString("\n[ethernet]\nwake-on-lan=0\n")
	if mtu := d.values["mtu"]; mtu != "" {
		fmt.Fprintf(&b, "mtu=%s\n", mtu)
	}
	method := "disabled"
	if len(d.lists["addresses"]) > 0 {
		method = "manual"
	}
	fmt.Fprintf(&b, "\n[ipv4]\nmethod=%s\n", method)
	for i, a := range d.lists["addresses"] {
		fmt.Fprintf(&b, "address%d=%s\n", i+1, a)
	}
	return b.String() + "\n[ipv6]\nmethod=ignore\n"
}

// netplanWrite makes the profiles in DIR/run.
func netplanWrite(c *host.Call, root string) int {
	dir := path.Join("/", root, host.KeyfileDir)
	devices := netplanDevices(c, root)
	for at := 1; at < len(dir); at++ {
		if dir[at] == '/' {
			_ = c.Node.Mkdir(dir[:at], c.Root, 0o755) // the file's own making says what is wrong
		}
	}
	_ = c.Node.Mkdir(dir, c.Root, 0o700)
	for _, d := range devices {
		master := ""
		// It is the bond that names its links, in whatever file.
		for _, b := range devices {
			if slices.Contains(b.lists["interfaces"], d.name) {
				master = b.name
			}
		}
		name := dir + "/netplan-" + d.name + ".nmconnection"
		if err := linux.WriteFile(c, name, d.keyfile(master)); err != nil {
			return c.Fail(1, "cannot create file %s: %s", name, host.ErrorText(err))
		}
		// NetworkManager reads no profile that others could read.
		if i, _, err := c.Node.Walk(name, true, c.Root); err == nil {
			i.Chmod(0o600)
		}
	}
	return 0
}

// netplanSet knows KEY=null alone: it takes a key out of the files that have it.
func netplanSet(c *host.Call, root string, words []string) int {
	key, value, ok := strings.Cut(strings.Join(words, " "), "=")
	if !ok || value != "null" {
		return c.Fail(2, "netplan set: the simulated netplan knows KEY=null alone")
	}
	wanted := strings.Split(strings.TrimPrefix(key, "network."), ".")
	dir, names := netplanFiles(c, root)
	for _, name := range names {
		text, err := c.Node.ReadFile(dir+"/"+name, c.Root)
		if err != nil {
			return c.Fail(1, "Cannot stat %s/%s: %s", dir, name, host.ErrorText(err))
		}
		lines, bad := yamlLines(text)
		if bad != nil {
			return c.Fail(1, "%s/%s:%d:%d: %s", dir, name, bad.line+1, bad.column+1, bad.why)
		}
		gone := map[int]bool{} // lines, from 0
		for _, l := range lines {
			if len(l.path) > len(wanted) && slices.Equal(l.path[1:len(wanted)+1], wanted) {
				gone[l.at.Line-1] = true
			}
		}
		var kept strings.Builder
		for no, line := range slices.Collect(strings.Lines(text)) {
			if !gone[no] {
				kept.WriteString(line)
			}
		}
		if kept.String() != text {
			if err := linux.WriteFile(c, dir+"/"+name, kept.String()); err != nil {
				return c.Fail(1, "cannot write %s/%s: %s", dir, name, host.ErrorText(err))
			}
		}
	}
	return 0
}
