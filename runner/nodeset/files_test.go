package nodeset

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func shownNodes(nodes []Node) string {
	var all []string
	for _, n := range nodes {
		s := n.Name
		if n.SSH != n.Name {
			s += "=" + n.SSH
		}
		if n.Local {
			s += " (local)"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestGroups(t *testing.T) {
	t.Parallel()
	system, own := t.TempDir(), t.TempDir()
	write(t, system, "groups.conf",
		"[Main]\n# default: none\ndefault: local\n[local]\nmap: sed -n …\n[slurm,sacct]\nmap: touch "+own+"/ran; sinfo\n")
	write(t, system, "groups.d/local.cfg", `# racks
rack1: spark-[01-04]
rack2: spark-[05-08]
rack2: spark-09
all: @rack1,@rack2
odd: @all!spark-[02-08/2]
both: @rack[1-2]
twice: @rack1,@rack1
a: @b
b: @a
none:
bad: -oProxyCommand=x
`)
	write(t, system, "groups.d/cluster.yaml",
		"roles:\n  compute: 'n[1-3]'\n  login: [l1, l2]\n  every: '@compute,@login'\n  far: '@local:rack1'\n")
	write(t, own, "groups.d/local.yml", "mine:\n  rack1: x1\n")
	write(t, system, "groups.d/README", "rack1: not read")
	g, err := ReadGroups([]string{own, system, filepath.Join(own, "absent")})
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		"@rack1":               "spark-01 spark-02 spark-03 spark-04",
		"@rack2":               "spark-05 spark-06 spark-07 spark-08 spark-09",
		"@odd":                 "spark-01 spark-03 spark-05 spark-07 spark-09",
		"@both!@rack1":         "spark-05 spark-06 spark-07 spark-08 spark-09",
		"@rack[1-2]&@rack2":    "spark-05 spark-06 spark-07 spark-08 spark-09",
		"@roles:every":         "n1 n2 n3 l1 l2",
		"@roles:far,a":         "spark-01 spark-02 spark-03 spark-04 a",
		"@mine:rack1":          "x1",
		"@twice!spark-[02-04]": "spark-01",
		"@roles:*!n[1-3]":      "l1 l2 spark-01 spark-02 spark-03 spark-04",
	} {
		nodes, err := Finder{Groups: g}.Nodes(list)
		if err != nil || shownNodes(nodes) != want {
			t.Errorf("%s: got %s, %v, want %s", list, shownNodes(nodes), err, want)
		}
	}
	for list, why := range map[string]string{
		"@rack9":     "there is no group rack9 in " + system,
		"@compute":   "say @roles:compute",
		"@a":         "circle",
		"@none":      "is empty",
		"@bad":       "begins with",
		"@slurm:gpu": "nothing is executed",
		"@other:x":   "there are no groups of other",
		"@":          "there is no group",
		"a,me@a":     "two ways to one name",
	} {
		if nodes, err := (Finder{Groups: g}).Nodes(list); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %s, %v, want %q", list, shownNodes(nodes), err, why)
		}
	}
	nodes, _ := Finder{Groups: g}.Nodes("@rack1,x")
	if want := "@rack1 of " + system + "/groups.d/local.cfg"; nodes[0].From != want || nodes[4].From != "" {
		t.Errorf("%+v", nodes)
	}
	if _, err := os.Stat(own + "/ran"); err == nil {
		t.Error("a command of groups.conf ran")
	}
}

// Groups that name each other many times are refused, and not counted out.
func TestGroupsThatGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "g0: n[1-64]\n"
	for i := range 15 {
		name := string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10))
		before := string(rune('0'+i/10)) + string(rune('0'+i%10))
		if i == 0 {
			before = "0"
		}
		text += "g" + name + ": " + strings.Repeat("@g"+before+",", 500) + "\n"
	}
	write(t, dir, "groups.d/local.cfg", text)
	g, err := ReadGroups([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Finder{Groups: g}).Nodes("@g15"); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
}

// Lines of one group are joined at the end. It runs alone, since it counts.
func TestLinesOfOneGroup(t *testing.T) {
	text := strings.Repeat("a:b\n", 1<<10)
	if n := testing.AllocsPerRun(1, func() { flatGroups(text) }); n > 100 {
		t.Errorf("%.0f allocations for %d lines", n, 1<<10)
	}
}

// A file of groups of the size that is read costs no more than reading it: lines of one group, a section
// of many names with many lines, and a list that takes away again and again were minutes.
func TestGroupsThatTakeLong(t *testing.T) {
	t.Parallel()
	many := fileLimit / len("a:b\n")
	g := flatGroups(strings.Repeat("a:b\n", many))
	if got := strings.Count(g.lists["a"], "b"); got != many {
		t.Errorf("%d of %d lines", got, many)
	}
	if g := flatGroups("a: \na: x\na:\na: y\nb:\n"); g.lists["a"] != "x,y" || g.lists["b"] != "" {
		t.Errorf("%q", g.lists)
	}
	dir := t.TempDir()
	write(t, dir, "groups.conf", "["+strings.Repeat("a,", fileLimit/4)+"]\n"+strings.Repeat("map:x\n", fileLimit/13))
	all, err := ReadGroups([]string{dir})
	if err != nil || all.commands["a"] == "" {
		t.Errorf("%q, %v", all.commands, err)
	}

	for _, list := range []string{"n[1-4096]" + strings.Repeat("!z", 60_000), "n[1-4095]" + strings.Repeat("^z", 60_000)} {
		if _, err := Expand(list); !errors.Is(err, errOperators) {
			t.Errorf("%.20s…: %v", list, err)
		}
	}
	if _, err := Expand("n[1-4096]" + strings.Repeat("!z", mostOperators)); err != nil {
		t.Error(err)
	}
}

// Aliases that write a long text with two letters, and patterns that each look at every group, are refused.
func TestGroupsThatAreManyMore(t *testing.T) {
	t.Parallel()
	aliases := "s:\n  a: &a \"" + strings.Repeat("A", fileLimit/2) + "\"\n  g: [" + strings.Repeat("*a,", 1000) + "b]\n"
	if _, err := yamlGroups([]byte(aliases)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("aliases: %v", err)
	}
	nested := "s:\n  a: &a [" + strings.Repeat("x,", 1000) + "x]\n  g: [" + strings.Repeat("*a,", 1000) + "b]\n"
	if all, err := yamlGroups([]byte(nested)); err == nil && len(all[0].lists["g"]) > fileLimit {
		t.Errorf("lists in lists: %d bytes", len(all[0].lists["g"]))
	}
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("evil: " + strings.Repeat("@z*,", 1000) + "z\nz1: n1\n")
	for i := range 20_000 {
		text.WriteString(strconv.Itoa(i) + ":b\n")
	}
	write(t, dir, "groups.d/local.cfg", text.String())
	g, err := ReadGroups([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Finder{Groups: g}).Nodes("@evil"); err == nil ||
		!strings.Contains(err.Error(), "patterns of this list") {
		t.Errorf("patterns: %v", err)
	}
}

func TestGroupFolders(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": "/home/me"}
	get := func(name string) string { return env[name] }
	if got := strings.Join(GroupFolders(get),
		" "); got != "/home/me/.config/clustershell /home/me/.local/etc/clustershell /etc/clustershell" {
		t.Error(got)
	}
	env["XDG_CONFIG_HOME"], env["CLUSTERSHELL_CFGDIR"] = "/c", "/opt/cs"
	if got := strings.Join(GroupFolders(get), " "); got != "/c/clustershell /home/me/.local/etc/clustershell /opt/cs" {
		t.Error(got)
	}
}

const iniInventory = `; made by hand
lone ansible_host=10.0.0.9 ansible_user="the-user" foo=bar   # a comment

[rack1]
spark-[01:03]
spark-04:2222 ansible_host='10.0.0.4'

[rack2]
spark-[05:08:2] ansible_ssh_private_key_file=~/.ssh/x
[2001-db8]
six ansible_host=2001:db8::6
seven ansible_host=2001:db8::7 ansible_port=23

[sparks:children]
rack1
rack2

[sparks:vars]
ansible_user = nvidia

[rack2:vars]
ansible_user=admin

[all:vars]
ansible_port=2200
ansible_user=nobody
here=true

[own]
me ansible_connection=local
`

const yamlInventory = `
all:
  hosts:
    lone: {ansible_host: 10.0.0.9, ansible_user: the-user, foo: [1, 2]}
    six: {ansible_host: "2001:db8::6"}
    me: {ansible_connection: local}
  vars: &v
    ansible_port: 2200
    ansible_user: nobody
  children:
    sparks:
      vars: {ansible_user: nvidia}
      children:
        rack1:
          hosts:
            spark-[01:03]:
            spark-04: {ansible_host: 10.0.0.4, ansible_port: 2222}
        rack2:
          vars: {ansible_user: admin}
          hosts:
            spark-[05:08:2]: {ansible_ssh_private_key_file: x}
`

func TestInventory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const sparks = "spark-01=nvidia@spark-01:2200 spark-02=nvidia@spark-02:2200 spark-03=nvidia@spark-03:2200 " +
		"spark-04=nvidia@10.0.0.4:2222 spark-05=admin@spark-05:2200 spark-07=admin@spark-07:2200"
	for name, text := range map[string]string{"hosts": iniInventory, "hosts.yml": yamlInventory} {
		inv, err := ReadInventory(write(t, dir, name, text))
		if err != nil {
			t.Fatal(name, err)
		}
		for list, want := range map[string]string{
			"@sparks": sparks,
			"@rack2,spark-01": "spark-05=admin@spark-05:2200 spark-07=admin@spark-07:2200 " +
				"spark-01=nvidia@spark-01:2200",
			"@sparks!@rack2!spark-[01-03]": "spark-04=nvidia@10.0.0.4:2222",
			"lone,six":                     "lone=the-user@10.0.0.9:2200 six=nobody@[2001:db8::6]:2200",
			"me":                           "me=nobody@me:2200 (local)",
		} {
			nodes, err := Finder{Inventory: inv}.Nodes(list)
			if err != nil || shownNodes(nodes) != want {
				t.Errorf("%s, %s: got %s, %v, want %s", name, list, shownNodes(nodes), err, want)
			}
		}
		all, err := Finder{Inventory: inv}.Nodes("")
		if err != nil || len(all) < 9 || all[0].Name != "lone" {
			t.Errorf("%s: all are %s, %v", name, shownNodes(all), err)
		}
		if len(inv.Notes) != 1 || !strings.Contains(inv.Notes[0], "ansible_ssh_private_key_file is not used") {
			t.Errorf("%s: notes %q", name, inv.Notes)
		}
		for list, why := range map[string]string{
			"rack1":    "a group is @rack1",
			"@rack9":   "has no group rack9: it has all,",
			"spark-99": "has no host spark-99",
		} {
			if _, err := (Finder{Inventory: inv}).Nodes(list); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s, %s: %v, want %q", name, list, err, why)
			}
		}
	}
}

// What Ansible's own pages show of an inventory beside numbers and groups that are named.
func TestInventoryAsAnsibleHasThem(t *testing.T) {
	t.Parallel()
	inv, err := parseInventory("hosts", []byte(`lone ansible_connection=ansible.builtin.ssh
me ansible_connection=ansible.builtin.local
[db]
db-[a:c].lan
x[A:E:2][1:2]
`))
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		"@ungrouped": "lone me (local)",
		"@db":        "db-a.lan db-b.lan db-c.lan xA1 xA2 xC1 xC2 xE1 xE2",
	} {
		nodes, err := Finder{Inventory: inv}.Nodes(list)
		if err != nil || shownNodes(nodes) != want {
			t.Errorf("%s: got %s, %v, want %s", list, shownNodes(nodes), err, want)
		}
	}
	for text, why := range map[string]string{"x[c:a]\n": "goes down", "x[a:3]\n": "no number", "x[a:é]\n": "no number"} {
		if _, err := parseInventory("hosts", []byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

func TestRefusedInventories(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                                  "no host",
		"[a]\n":                             "no host",
		"#!/bin/sh\ntouch ran\n":            "nothing is executed",
		"h[1:999999999]\n":                  "at most 4096",
		"h[1:4096]\nx[1:4096]\n":            "at most 4096",
		strings.Repeat("h[1:4096]\n", 1000): "at most 4096",
		"-oProxyCommand=x\n":                "line 1: \"-oProxyCommand=x\" is no host",
		"a ansible_host=-oProxyCommand=x\n": "is no host",
		"a ansible_host=\"x;y\"\n":          "is no host",
		"a ansible_user=-l\n":               "is no user",
		"a ansible_port=22x\n":              "is no port",
		"a:99999\n":                         "is no port",
		"a ansible_host={{ip}}\n":           "is a template",
		"a ansible_connection=docker\n":     "goes by SSH",
		"a b\n":                             "no name=value",
		"a x='y\n":                          "a quote is open",
		"[a:b]\n":                           "a section is",
		"[a]\nx\n[a:children]\nb\n[b:children]\na\n": "each other's children",
	} {
		inv, err := parseInventory("hosts", []byte(text))
		if err == nil {
			_, err = Finder{Inventory: inv}.Nodes("")
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", shown(text), err, why)
		}
	}
	deep := "g:\n"
	for i := range 40 {
		deep += strings.Repeat("  ", 2*i+1) + "children:\n" + strings.Repeat("  ", 2*i+2) + "g" + string(rune('a'+i%26)) +
			string(rune('a'+i/26)) + ":\n"
	}
	for text, why := range map[string]string{
		"":                                "empty",
		"plugin: aws_ec2\n":               "asks a plugin",
		"_meta: {hostvars: {}}\n":         "JSON",
		"- a\n":                           "has to be a table",
		"g: {hosts: [a, b]}\n":            "has to be a table",
		"g: {host: {a: }}\n":              `g has "host"`,
		"g: {hosts: {a: {<<: {x: 1}}}}\n": "not merged",
		"g: {hosts: {a b: }}\n":           "no host",
		deep:                              "are in each other",
		"a: &a {children: {b: *a}}\n":     "",
		"a: [":                            "line 1",
	} {
		inv, err := parseInventory("hosts.yaml", []byte(text))
		if err == nil {
			_, err = Finder{Inventory: inv}.Nodes("")
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", shown(text), err, why)
		}
	}
}

func TestInventoryIsNoProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "hosts", "a\n")
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadInventory(file); err == nil ||
		!strings.Contains(err.Error(), "nothing is executed here: ansible-inventory -i "+file) {
		t.Error(err)
	}
	if _, err := ReadInventory(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Error(err)
	}
	other := write(t, dir, "inv/hosts", "a\n")
	write(t, dir, "inv/group_vars/all.yml", "ansible_user: x\n")
	inv, err := ReadInventory(other)
	if err != nil || len(inv.Notes) != 1 || !strings.Contains(inv.Notes[0], "group_vars is not read") {
		t.Errorf("%+v, %v", inv, err)
	}
}

// No inventory brings a way to a host that ssh would take for something else, nor more than Most.
func FuzzInventory(f *testing.F) {
	f.Add("hosts", iniInventory)
	f.Add("hosts.yml", yamlInventory)
	f.Add("hosts.yml", "a: &a {children: {b: *a}, hosts: {x: }}")
	f.Add("hosts", "h[1:4:2]:22 ansible_host=::1")
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(text) > fileLimit {
			return
		}
		inv, err := parseInventory(name, []byte(text))
		if err != nil {
			return
		}
		nodes, err := Finder{Inventory: inv}.Nodes("")
		if err == nil && (len(nodes) == 0 || len(nodes) > Most) {
			t.Fatalf("%d nodes", len(nodes))
		}
		for _, n := range nodes {
			if n.Name == "" || n.SSH == "" || n.SSH[0] == '-' || strings.Contains(n.SSH, "@-") ||
				strings.ContainsAny(n.SSH+n.Name, " \t\n\x00\x1b/;$`'\"\\") {
				t.Fatalf("%+v", n)
			}
		}
	})
}

func FuzzGroups(f *testing.F) {
	f.Add("a: n[1-2]\nb: @a", "x:\n  y: '@local:a'\n", "@x:*")
	f.Add("a: @a", "x: {y: [1, '@z']}", "@a")
	f.Fuzz(func(t *testing.T, flat, text, list string) {
		if len(flat)+len(text) > fileLimit {
			return
		}
		g := &Groups{sources: map[string]source{"local": flatGroups(flat)}, usual: "local"}
		all, err := yamlGroups([]byte(text))
		if err == nil {
			for _, s := range all {
				g.sources[s.name] = s
			}
		}
		nodes, err := Finder{Groups: g}.Nodes(list)
		if err == nil && len(nodes) > Most {
			t.Fatalf("%d nodes", len(nodes))
		}
		for _, n := range nodes {
			if n.SSH == "" || n.SSH[0] == '-' || strings.ContainsAny(n.SSH, " \n\x1b/;$`") {
				t.Fatalf("%+v", n)
			}
		}
	})
}
