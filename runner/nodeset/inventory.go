package nodeset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// An Inventory is Ansible's, as "ansible-inventory --list" prints it: hosts with how they are reached, and groups of
// them.
type Inventory struct {
	Path string
	// Notes say, a sentence each, what stands in it and is not used here.
	Notes []string

	vars   map[string]map[string]any // by host; one without variables is missing
	groups map[string]group
}

// A group of an inventory, as Ansible prints it.
type group struct{ Hosts, Children []string }

// ungrouped is the group that every inventory has of Ansible's own, next to all.
const ungrouped = "ungrouped"

// ReadInventory reads what "ansible-inventory --list" has printed for the file at path.
func ReadInventory(path string, printed []byte) (*Inventory, error) {
	var meta struct {
		Meta struct{ Hostvars map[string]map[string]any } `json:"_meta"`
	}
	var all map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(printed, &meta), json.Unmarshal(printed, &all)); err != nil {
		return nil, fmt.Errorf("read what ansible-inventory says of %s: %w", path, err)
	}
	inv := &Inventory{Path: path, vars: meta.Meta.Hostvars, groups: map[string]group{}}
	for name, text := range all {
		if name == "_meta" {
			continue
		}
		var g group
		if err := json.Unmarshal(text, &g); err != nil {
			return nil, fmt.Errorf("read what ansible-inventory says of the group %s of %s: %w", shown(name), path, err)
		}
		inv.groups[name] = g
	}
	hosts := inv.members("all")
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%s names no host", path)
	}
	for _, host := range hosts {
		if err := checkWord("host", host); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range []string{
			"ansible_ssh_private_key_file", "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_pass",
			"ansible_password",
		} {
			note := name + " is not used: say it in ~/.ssh/config"
			if inv.vars[host][name] != nil && !slices.Contains(inv.Notes, note) {
				inv.Notes = append(inv.Notes, note)
			}
		}
	}
	return inv, nil
}

// members are all hosts of a group and of the groups below it, each once.
func (v *Inventory) members(name string) (all []string) {
	groups, hosts := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if groups[name] {
			return
		}
		groups[name] = true
		for _, h := range v.groups[name].Hosts {
			if !hosts[h] {
				hosts[h], all = true, append(all, h)
			}
		}
		for _, c := range v.groups[name].Children {
			visit(c)
		}
	}
	visit(name)
	return all
}

// nodes are those of a list of hosts and @groups; all where it is empty.
func (v *Inventory) nodes(list string) ([]Node, error) {
	if strings.TrimSpace(list) == "" {
		list = "@all"
	}
	names, err := reader{group: v.group}.read(list)
	if err != nil {
		return nil, err
	}
	hosts := map[string]bool{}
	for _, host := range v.members("all") {
		hosts[host] = true
	}
	var nodes []Node
	for _, name := range names {
		if !hosts[name] {
			hint := ""
			if _, ok := v.groups[name]; ok {
				hint = ": a group is @" + name
			}
			return nil, fmt.Errorf("%s has no host %s%s", v.Path, shown(name), hint)
		}
		n := Node{Name: name, From: v.Path, Local: v.of(name, "connection") == "local"}
		if n.SSH, err = v.dest(name); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", v.Path, name, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// group is the hosts of one, as a list names it.
func (v *Inventory) group(name string) ([]string, error) {
	if _, ok := v.groups[name]; !ok && name != ungrouped {
		var names []string
		for n := range v.groups {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("%s has no group %s: it has %s", v.Path, shown(name), shown(strings.Join(names, ", ")))
	}
	return v.members(name), nil
}

// of is a variable of a host that says how it is reached, by the end of its name: by the newer name, or as it was
// called before Ansible 2.0.
func (v *Inventory) of(host, end string) string {
	text := func(name string) string {
		value, ok := v.vars[host][name]
		if !ok || value == nil {
			return ""
		}
		return fmt.Sprint(value) // a port is a number or a text
	}
	return strings.TrimPrefix(cmp.Or(text("ansible_"+end), text("ansible_ssh_"+end)), "ansible.builtin.")
}

// dest is user@host:port as the variables say it.
func (v *Inventory) dest(name string) (string, error) {
	switch c := v.of(name, "connection"); c {
	// All of them are a shell on that host, which railbench reaches by its own SSH, or is on.
	case "", "ssh", "smart", "paramiko", "local":
	default:
		return "", fmt.Errorf("ansible_connection is %q, and railbench goes by SSH", shown(c))
	}
	host, port, user := cmp.Or(v.of(name, "host"), name), v.of(name, "port"), v.of(name, "user")
	if template := host + port + user; strings.Contains(template, "{{") {
		return "", fmt.Errorf("%q is a template, which ansible-inventory does not fill: write the value",
			shown(template[strings.Index(template, "{{"):]))
	}
	if err := checkHost(host); err != nil {
		return "", err
	}
	dest := host
	if port != "" {
		n, err := checkPort(port)
		if err != nil {
			return "", err
		}
		dest = net.JoinHostPort(host, strconv.Itoa(n))
	} else if strings.ContainsRune(host, ':') {
		dest = "[" + host + "]"
	}
	if user != "" {
		if err := checkWord("user", user); err != nil {
			return "", err
		}
		dest = user + "@" + dest
	}
	return dest, nil
}
