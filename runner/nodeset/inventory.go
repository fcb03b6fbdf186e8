package nodeset

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/disk"
)

// An Inventory is Ansible's: hosts with how they are reached, and groups of them. It is read
// from a static file.
type Inventory struct {
	Path string
	// Notes say, a sentence each, what stands in it and is not used here.
	Notes []string

	hosts  []string // in the order of the file
	vars   map[string]vars
	groups map[string]*group
	names  []string // groups', in the order of the file
	spent  int      // names that its entries made, of the effort
}

// vars are a host's or a group's, by the names that Ansible has for them now: only those that tell how a host is
// reached are kept.
type vars map[string]string

// builtin begins the full name of what comes with Ansible.
const builtin = "ansible.builtin."

// A group of an inventory.
type group struct {
	hosts    map[string]bool
	children []string
	vars     vars
}

func (g *group) adopt(child string) {
	if !slices.Contains(g.children, child) {
		g.children = append(g.children, child)
	}
}

// static tells how a file is made of what isn't one.
const static = "ansible-inventory -i %s --list -y prints a static one"

// ReadInventory reads a static file, INI or YAML. What would have to be executed is refused.
func ReadInventory(file string) (*Inventory, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	instead := fmt.Sprintf(static, file)
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder, and a file is read here: %s", file, instead)
	// Ansible's script plugin takes what is executable, and what begins with #!.
	case info.Mode()&0o111 != 0:
		return nil, fmt.Errorf("%s is executable, so that Ansible runs it; nothing is executed here: %s, "+
			"or take the permission away (chmod -x) where it is a list", file, instead)
	}
	src, err := disk.Read(file, fileLimit)
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	inv, err := parseInventory(file, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// A user or a port that only stands there would be missing here without a word.
	for _, beside := range []string{"host_vars", "group_vars"} {
		dir := filepath.Join(filepath.Dir(file), beside)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			inv.note("%s is not read: %s with what it says", dir, instead)
		}
	}
	return inv, nil
}

// parseInventory reads an inventory's text; its name tells which of both forms it is.
func parseInventory(file string, src []byte) (*Inventory, error) {
	if strings.HasPrefix(string(src), "#!") {
		return nil, fmt.Errorf("it is a program, and nothing is executed here: "+static, file)
	}
	inv := &Inventory{Path: file, vars: map[string]vars{}, groups: map[string]*group{}}
	inv.at("all")
	var err error
	switch strings.ToLower(filepath.Ext(file)) {
	// JSON is YAML.
	case ".yaml", ".yml", ".json":
		err = inv.readYAML(src)
	default:
		err = inv.readINI(string(src))
	}
	if err == nil && len(inv.hosts) == 0 {
		err = errors.New("no host stands in it")
	}
	return inv, err
}

func (v *Inventory) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(v.Notes, text) {
		v.Notes = append(v.Notes, text)
	}
}

// at gives a group, which is made where it is new.
func (v *Inventory) at(name string) *group {
	g := v.groups[name]
	if g == nil {
		g = &group{hosts: map[string]bool{}, vars: vars{}}
		v.groups[name] = g
		v.names = append(v.names, name)
	}
	return g
}

// mostGroups is how many groups an inventory may have.
const mostGroups = 256

func (v *Inventory) newGroup(name string) (*group, error) {
	if err := checkWord("group", name); err != nil {
		return nil, err
	}
	if len(v.groups) > mostGroups {
		return nil, fmt.Errorf("an inventory has at most %d groups here", mostGroups)
	}
	return v.at(name), nil
}

// add puts the hosts of one entry, which may be folded, into a group, with their variables.
func (v *Inventory) add(to *group, entry string, given vars) error {
	port := ""
	// A colon behind the last bracket is a port's; one within is a range's.
	if i := strings.LastIndexByte(entry, ':'); i > strings.LastIndexByte(entry, ']') {
		entry, port = entry[:i], entry[i+1:]
	}
	names, err := ansibleStyle.unfold(entry, Most)
	if err != nil {
		return err
	}
	if v.spent += len(names); v.spent > effort {
		return errMany
	}
	for _, name := range names {
		if err := checkWord("host", name); err != nil {
			return err
		}
		if v.vars[name] == nil {
			v.vars[name] = vars{}
			v.hosts = append(v.hosts, name)
		}
		if port != "" {
			v.vars[name]["ansible_port"] = port
		}
		maps.Copy(v.vars[name], given)
		if len(v.hosts) > Most {
			return errMany
		}
		to.hosts[name] = true
	}
	return nil
}

// keep is a variable that tells how a host is reached, by its newer name; others aren't kept.
func (v *Inventory) keep(into vars, name, value string) error {
	switch name {
	// As they were called before Ansible 2.0, and are still taken.
	case "ansible_ssh_host", "ansible_ssh_port", "ansible_ssh_user":
		name = "ansible_" + strings.TrimPrefix(name, "ansible_ssh_")
	case "ansible_host", "ansible_port", "ansible_user", "ansible_connection":
	case "ansible_ssh_private_key_file", "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_pass",
		"ansible_password":
		v.note("%s is not used: say it in ~/.ssh/config", name)
		return nil
	default:
		return nil
	}
	if strings.Contains(value, "{{") {
		return fmt.Errorf("%s is a template (%q), which Ansible alone can fill: "+static, name, shown(value), v.Path)
	}
	into[name] = value
	return nil
}

// members are all hosts of a group, with those of the groups below it, in their order.
func (v *Inventory) members(name string) []string {
	switch {
	case name == "all":
		return v.hosts
	// Of an inventory that lists it as a group its own list counts.
	case name == ungrouped && v.groups[name] == nil:
		return slices.DeleteFunc(slices.Clone(v.hosts), v.grouped)
	}
	in, seen := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		g := v.groups[name]
		if g == nil || seen[name] {
			return
		}
		seen[name] = true
		maps.Copy(in, g.hosts)
		for _, c := range g.children {
			visit(c)
		}
	}
	visit(name)
	return slices.DeleteFunc(slices.Clone(v.hosts), func(h string) bool { return !in[h] })
}

// ungrouped is the group that every inventory has of Ansible's own, beside all.
const ungrouped = "ungrouped"

// grouped reports whether a host is in another group than all.
func (v *Inventory) grouped(host string) bool {
	for name, g := range v.groups {
		if name != "all" && g.hosts[host] {
			return true
		}
	}
	return false
}

// depths are how far below all each group is: what a deeper one says of a variable wins.
func (v *Inventory) depths() (map[string]int, error) {
	depth := map[string]int{"all": 0}
	// A way down has no more steps than there are groups: what still changes then goes in a circle.
	for range len(v.names) + 1 {
		changed := false
		for _, name := range v.names {
			own, ok := depth[name]
			if !ok {
				own, depth[name], changed = 1, 1, true
			}
			for _, c := range v.groups[name].children {
				if depth[c] < own+1 && c != "all" {
					depth[c], changed = own+1, true
				}
			}
		}
		if !changed {
			return depth, nil
		}
	}
	return nil, errors.New("its groups are each other's children")
}

// reached is all that the inventory says of each host: of its groups, from all down, and its own.
func (v *Inventory) reached() (map[string]vars, error) {
	depth, err := v.depths()
	if err != nil {
		return nil, err
	}
	order := slices.Clone(v.names)
	slices.SortStableFunc(order, func(a, b string) int {
		if depth[a] != depth[b] {
			return depth[a] - depth[b]
		}
		return strings.Compare(a, b) // as Ansible does
	})
	all := map[string]vars{}
	for _, h := range v.hosts {
		all[h] = vars{}
	}
	for _, name := range order {
		if len(v.groups[name].vars) == 0 {
			continue
		}
		for _, h := range v.members(name) {
			maps.Copy(all[h], v.groups[name].vars)
		}
	}
	// Last: what a host says of itself wins over all of its groups.
	for h, own := range v.vars {
		maps.Copy(all[h], own)
	}
	return all, nil
}

// nodes are those of a list of hosts and @groups; all where it is empty.
func (v *Inventory) nodes(list string) ([]Node, error) {
	if strings.TrimSpace(list) == "" {
		list = "@all"
	}
	named, err := (&reader{groups: v}).read(list)
	if err != nil {
		return nil, err
	}
	reached, err := v.reached()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Path, err)
	}
	var nodes []Node
	for _, m := range named {
		how, ok := reached[m.name]
		if !ok {
			hint := ""
			if v.groups[m.name] != nil {
				hint = fmt.Sprintf(": a group is @%s", m.name)
			}
			return nil, fmt.Errorf("%s has no host %s%s", v.Path, m.name, hint)
		}
		n := Node{Name: m.name, From: m.from, Local: how.local()}
		if n.From == "" {
			n.From = v.Path
		}
		if n.SSH, err = how.dest(m.name); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", v.Path, m.name, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (v vars) local() bool {
	return strings.TrimPrefix(v["ansible_connection"], builtin) == "local"
}

// dest is user@host:port as the variables say it.
func (v vars) dest(name string) (string, error) {
	switch c := strings.TrimPrefix(v["ansible_connection"], builtin); c {
	// All of them are a shell on that host, which railbench reaches by its own SSH, or is on.
	case "", "ssh", "smart", "paramiko", "local":
	default:
		return "", fmt.Errorf("ansible_connection is %q, and railbench goes by SSH", shown(c))
	}
	host := v["ansible_host"]
	if host == "" {
		host = name
	}
	if err := checkHost(host); err != nil {
		return "", err
	}
	dest := host
	if port := v["ansible_port"]; port != "" {
		n, err := checkPort(port)
		if err != nil {
			return "", err
		}
		dest = net.JoinHostPort(host, strconv.Itoa(n))
	} else if strings.ContainsRune(host, ':') {
		dest = "[" + host + "]"
	}
	if user := v["ansible_user"]; user != "" {
		if err := checkWord("user", user); err != nil {
			return "", err
		}
		dest = user + "@" + dest
	}
	return dest, nil
}

// group is the inventory's, as a list names it.
func (v *Inventory) group(name string) (list, where string, within book, err error) {
	if v.groups[name] == nil && name != ungrouped {
		return "", "", nil, fmt.Errorf("%s has no group %s: it has %s", v.Path, shown(name),
			shown(strings.Join(v.names, ", ")))
	}
	return strings.Join(v.members(name), ","), v.Path, v, nil
}
