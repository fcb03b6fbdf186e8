package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// runNetplan knows "generate", which checks what is in DIR/etc/netplan and makes the managers'
// files of it, "set" of a key to null, and "get" and "info" as far as they show something.
func runNetplan(_ context.Context, c *host.Call) int {
	var words []string
	root := ""
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case a == "--root-dir" && i+1 < len(c.Args):
			i++
			root = c.Args[i]
		case strings.HasPrefix(a, "--root-dir="):
			root = strings.TrimPrefix(a, "--root-dir=")
		case strings.HasPrefix(a, "-"):
		default:
			words = append(words, a)
		}
	}
	verb := ""
	if len(words) > 0 {
		verb = words[0]
	}
	code := 0
	c.Locked(func() {
		switch verb {
		case "generate":
			if code = netplanGenerate(c, root); code == 0 {
				code = netplanWrite(c, root)
			}
		case "set":
			code = netplanSet(c, root, words[1:])
		case "get":
			if code = netplanGenerate(c, root); code == 0 {
				netplanGet(c, root)
			}
		case "info":
			c.Println("netplan.io:\n  website: \"https://netplan.io/\"\n  features:\n  - dhcp-use-domains\n" +
				"  - auth-phase2\n  - generated-supplicant\n  - default-routes\n  version: \"1.1.2\"")
		// These verbs leave the network to a manager, and the rig's managers start profiles only on command:
		// see nmcli.
		case "try", "apply":
			code = c.Fail(1, "netplan %s: the simulated node applies no configuration", verb)
		default:
			code = c.Fail(2, "usage: netplan [-h] [--debug]  ...\nnetplan: error: You need to specify a command")
		}
	})
	return code
}

// netplanFiles are the configuration's files by name. Callers hold the rig's lock.
// netplan reads files in the order of their names, so that a later one goes before an earlier; the folders of
// packages and of /run have none here.
func netplanFiles(c *host.Call, root string) (dir string, names []string) {
	dir = c.Path(root) + "/etc/netplan"
	if root == "" {
		dir = "/etc/netplan"
	}
	i, _, err := c.Node.Walk(dir, true, c.Root)
	if err != nil {
		return dir, nil
	}
	return dir, slices.DeleteFunc(slices.Clone(i.Names()), func(n string) bool { return !strings.HasSuffix(n, ".yaml") })
}

func netplanGet(c *host.Call, root string) {
	dir, names := netplanFiles(c, root)
	if len(names) == 0 {
		c.Println("network:\n  version: 2\n  renderer: NetworkManager")
	}
	for _, name := range names {
		text, err := c.Node.ReadFile(dir+"/"+name, c.Root)
		if err == nil {
			c.Out.WriteString(text)
		}
	}
}

// netplanGenerate stops at the first file that is wrong, in the order of their names: then netplan takes none
// of them.
func netplanGenerate(c *host.Call, root string) int {
	dir, names := netplanFiles(c, root)
	for _, name := range names {
		file := strings.ReplaceAll(dir+"/"+name, "//", "/")
		text, err := c.Node.ReadFile(file, c.Root)
		if err != nil {
			return c.Fail(1, "Cannot stat %s: %s", file, host.ErrorText(err))
		}
		if i, _, _ := c.Node.Walk(file, true, c.Root); i.Mode&0o077 != 0 {
			c.Fail(0, "\n** (generate:%d): WARNING **: %s: Permissions for %s are too open. "+
				"Netplan configuration should NOT be accessible by others.",
				c.Node.NextPID, c.Node.Rack.Clock.Wall().UTC().Format("15:04:05.000"), file)
		}
		// Line and column count from 1 where a person reads them.
		if bad := checkNetplan(text); bad != nil {
			return c.Fail(1, "%s:%d:%d: %s:\n%s\n%s^",
				file, bad.line+1, bad.column+1, bad.why, bad.text, strings.Repeat(" ", bad.column))
		}
	}
	return 0
}

// A netplanError is a place in a file and what is wrong there. line and column
// count from 0.
type netplanError struct {
	line, column int
	text, why    string
}

// A yamlLine is a key with what belongs to it, or an item of a list, whose key is "-".
type yamlLine struct {
	at, below  *yaml.Node // the key and its value; both are the item of a list
	key, value string     // value is empty where a list or a map is below
	file       []string   // its lines
	path       []string   // the keys above it, and its own
}

func (l yamlLine) wrong(format string, args ...any) *netplanError {
	return l.wrongAt(l.at, format, args...)
}

// atValue is wrong at the value instead of at the key.
func (l yamlLine) atValue(format string, args ...any) *netplanError {
	return l.wrongAt(l.below, format, args...)
}

func (l yamlLine) wrongAt(n *yaml.Node, format string, args ...any) *netplanError {
	return &netplanError{
		n.Line - 1, n.Column - 1, l.file[n.Line-1], "Error in network definition: " + fmt.Sprintf(format, args...),
	}
}

// yamlLines takes a file apart, in its order.
func yamlLines(text string) ([]yamlLine, *netplanError) {
	var root yaml.Node
	file := strings.Split(text, "\n")
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		no, why := 1, strings.TrimPrefix(err.Error(), "yaml: ")
		if rest, ok := strings.CutPrefix(why, "line "); ok {
			number, words, _ := strings.Cut(rest, ": ")
			if n, err := strconv.Atoi(number); err == nil {
				no, why = min(n, len(file)), words
			}
		}
		line := file[no-1]
		return nil, &netplanError{no - 1, len(line) - len(strings.TrimLeft(line, " ")), line, "Invalid YAML: " + why}
	}
	top := yamlLine{file: file}
	if len(root.Content) == 0 {
		return nil, nil
	}
	if n := root.Content[0]; n.Kind != yaml.MappingNode {
		return nil, top.wrongAt(n, "expected mapping (check indentation)")
	}
	return top.under(root.Content[0]), nil
}

// under are the lines of a node that belongs to a line.
func (l yamlLine) under(n *yaml.Node) (all []yamlLine) {
	add := func(key string, at, below *yaml.Node) {
		next := yamlLine{at: at, below: below, key: key, file: l.file, path: append(slices.Clone(l.path), key)}
		if below.Kind == yaml.ScalarNode {
			next.value = below.Value
		}
		all = append(append(all, next), next.under(below)...)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			add(n.Content[i].Value, n.Content[i], n.Content[i+1])
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			add("-", item, item)
		}
	default: // a value has nothing below
	}
	return all
}

// What netplan knows of the keys that a bond of two links needs, and the others that stand next to them.
var (
	netplanTop = []string{
		"version", "renderer", "ethernets", "bonds", "bridges", "vlans", "wifis",
		"tunnels", "modems", "vrfs", "dummy-devices", "virtual-ethernets",
	}
	netplanDevice = []string{
		"dhcp4", "dhcp6", "mtu", "addresses", "gateway4", "gateway6", "nameservers", "routes", "routing-policy", "optional",
		"match", "set-name", "link-local", "macaddress", "accept-ra", "dhcp4-overrides", "dhcp6-overrides", "ignore-carrier",
		"critical", "wakeonlan", "renderer", "dhcp-identifier", "ipv6-privacy", "optional-addresses", "activation-mode",
	}
	netplanParameters = []string{
		"mode", "lacp-rate", "mii-monitor-interval", "min-links", "transmit-hash-policy", "ad-select", "all-members-active",
		"all-slaves-active", "arp-interval", "arp-ip-targets", "arp-validate", "arp-all-targets", "up-delay", "down-delay",
		"fail-over-mac-policy", "gratuitous-arp", "packets-per-member", "packets-per-slave",
		"primary-reselect-policy", "resend-igmp", "learn-packet-interval", "primary",
	}
)

// checkNetplan is what netplan's parser finds in one file; nil where it is right.
func checkNetplan(text string) *netplanError {
	lines, bad := yamlLines(text)
	if bad != nil {
		return bad
	}
	var defined []string
	for _, l := range lines {
		if len(l.path) == 3 {
			defined = append(defined, l.key)
		}
	}
	for _, l := range lines {
		if bad := l.check(defined); bad != nil {
			return bad
		}
	}
	return nil
}

// check looks at one line by how deep it stands: network, the kind, the device's name, its keys, and theirs.
// What isn't known there passes.
func (l yamlLine) check(defined []string) *netplanError {
	known := netplanTop
	switch depth := len(l.path); {
	case depth == 1 && l.key != "network":
		return l.wrong("unknown key '%s'", l.key)
	// At depth 3 stand names, which are free.
	case depth == 1, depth == 3:
		return nil
	case depth == 2:
	// Of wifis, tunnels and the like nothing is set up here, and nothing is checked.
	case l.path[1] != "ethernets" && l.path[1] != "bonds":
		return nil
	case depth == 4:
		known = netplanDevice
		if l.path[1] == "bonds" {
			known = append(slices.Clone(netplanDevice), "interfaces", "parameters")
		}
	case depth == 5 && l.path[3] == "parameters" && l.path[1] == "bonds":
		known = netplanParameters
	case depth == 5 && l.key == "-" && l.below.Kind == yaml.ScalarNode:
		return l.checkItem(l.path[3], l.value, defined)
	default:
		return nil
	}
	if !slices.Contains(known, l.key) {
		return l.wrong("unknown key '%s'", l.key)
	}
	return l.checkValue(defined)
}

// checkValue looks at a key's value where netplan is strict about it. One without a value has its list or map
// below.
func (l yamlLine) checkValue(defined []string) *netplanError {
	if l.value == "" {
		return nil
	}
	switch l.key {
	case "version":
		if l.value != "2" {
			return l.atValue("Only version 2 is supported")
		}
	case "renderer":
		if l.value != "networkd" && l.value != "NetworkManager" {
			return l.atValue("unknown renderer '%s'", l.value)
		}
	case "dhcp4", "dhcp6", "optional", "critical", "ignore-carrier", "wakeonlan":
		if !slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(l.value)) {
			return l.atValue("invalid boolean value '%s'", l.value)
		}
	case "mtu", "min-links", "resend-igmp":
		if _, err := strconv.ParseUint(l.value, 10, 32); err != nil {
			return l.atValue("invalid unsigned int value '%s'", l.value)
		}
	case "mode":
		if !slices.Contains(net.BondModes, l.value) {
			return l.atValue("unknown bond mode '%s'", l.value)
		}
	case "addresses", "interfaces":
		return l.atValue("expected sequence")
	}
	return nil
}

func (l yamlLine) checkItem(list, item string, defined []string) *netplanError {
	switch list {
	case "addresses":
		addr, _, length := strings.Cut(item, "/")
		if _, err := netip.ParseAddr(addr); err != nil {
			return l.atValue("malformed address '%s', must be X.X.X.X/NN or X:X:X:X:X:X:X:X/NN", item)
		}
		if !length {
			return l.atValue("address '%s' is missing /prefixlength", item)
		}
		if _, err := netip.ParsePrefix(item); err != nil {
			return l.atValue("invalid prefix length in address '%s'", item)
		}
	case "interfaces":
		if !slices.Contains(defined, item) {
			return l.atValue("%s: interface '%s' is not defined", l.path[2], item)
		}
	}
	return nil
}
