package tool

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

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
		// What they do to the network is a manager's, and the rig's managers start profiles when they are told to:
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

// A yamlLine is one line of a file: a key with or without a value, or an item of
// a list, whose key is "-".
// indent is in bytes: a tab is refused, so that they are blanks.
type yamlLine struct {
	no, indent int
	key, value string
	text       string
	path       []string // the keys above it, and its own
	parent     int      // the line of the key above; -1 where there is none
}

func (l yamlLine) wrong(format string, args ...any) *netplanError {
	return &netplanError{l.no, l.indent, l.text, "Error in network definition: " + fmt.Sprintf(format, args...)}
}

// atValue is wrong at the value instead of at the key.
func (l yamlLine) atValue(format string, args ...any) *netplanError {
	e := l.wrong(format, args...)
	e.column = max(l.indent, strings.LastIndex(l.text, l.value))
	return e
}

// yamlLines takes a file apart by its indents: maps and lists of plain values,
// which is what a network's description is made of.
func yamlLines(text string) ([]yamlLine, *netplanError) {
	var all []yamlLine
	var open []yamlLine // the lines above, each deeper than the one before
	for no, line := range strings.Split(text, "\n") {
		content := strings.TrimSpace(line)
		if content == "" || content[0] == '#' || content == "---" {
			continue
		}
		// Nothing that a network's description holds has a blank and a # in it.
		if i := strings.Index(content, " #"); i >= 0 {
			content = strings.TrimSpace(content[:i])
		}
		l := yamlLine{no: no, indent: len(line) - len(strings.TrimLeft(line, " ")), text: line}
		why := l.split(content)
		if why == "" {
			open = l.above(open)
			why = l.put(open, all)
		}
		if why != "" {
			return nil, &netplanError{no, l.indent, line, "Invalid YAML: " + why}
		}
		open = append(open, l)
		all = append(all, l)
	}
	return all, nil
}

// split finds the line's key and value; why says what is wrong with it.
func (l *yamlLine) split(content string) (why string) {
	if l.text[l.indent] == '\t' {
		return "found character that cannot start any token"
	}
	item, isItem := strings.CutPrefix(content, "- ")
	key, value, isKey := strings.Cut(content, ":")
	switch {
	case isItem:
		l.key, l.value = "-", plainValue(item)
	case isKey && (value == "" || value[0] == ' '):
		l.key, l.value = plainValue(key), plainValue(value)
	default:
		return "could not find expected ':'"
	}
	// A list in brackets ends in its own line here.
	if strings.HasPrefix(l.value, "[") != strings.HasSuffix(l.value, "]") {
		return "did not find expected ',' or ']'"
	}
	return ""
}

// above are those of the open lines that this one is in. A list may stand as far left as its
// key.
func (l *yamlLine) above(open []yamlLine) []yamlLine {
	for len(open) > 0 {
		last := open[len(open)-1]
		if last.indent < l.indent || last.indent == l.indent && l.key == "-" && last.key != "-" {
			break
		}
		open = open[:len(open)-1]
	}
	return open
}

// put says where the line is, in the open ones; why says what is wrong with that.
func (l *yamlLine) put(open, all []yamlLine) (why string) {
	if len(open) == 0 {
		l.path, l.parent = []string{l.key}, -1
		return ""
	}
	above := open[len(open)-1]
	// A key that has its value already holds nothing more.
	if above.value != "" && above.key != "-" {
		return "mapping values are not allowed in this context"
	}
	// All keys of a map stand in one column.
	if slices.ContainsFunc(all, func(x yamlLine) bool { return x.parent == above.no && x.indent != l.indent }) {
		return "did not find expected key"
	}
	l.path, l.parent = append(slices.Clone(above.path), l.key), above.no
	return ""
}

func plainValue(text string) string { return strings.Trim(strings.TrimSpace(text), `"'`) }

// What netplan knows of the keys that a bond of two links needs, and the others
// that stand beside them.
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
	case depth == 5 && l.key == "-":
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
		return l.checkList(defined)
	}
	return nil
}

// checkList looks at a list that stands in one line.
func (l yamlLine) checkList(defined []string) *netplanError {
	if !strings.HasPrefix(l.value, "[") {
		return l.atValue("expected sequence")
	}
	for item := range strings.SplitSeq(strings.Trim(l.value, "[]"), ",") {
		if item = plainValue(item); item == "" {
			continue
		}
		if bad := l.checkItem(l.key, item, defined); bad != nil {
			return bad
		}
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
