package nodeset

import (
	"fmt"
	"strings"
	"testing"
)

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

// What ansible-inventory 2.14 prints of a file with groups in groups.
const printed = `{
    "_meta": {
        "hostvars": {
            "lone": {"ansible_host": "10.0.0.9", "ansible_user": "the-user", "foo": [1, 2]},
            "six": {"ansible_host": "2001:db8::6", "ansible_ssh_private_key_file": "x"},
            "seven": {"ansible_ssh_host": "2001:db8::7", "ansible_ssh_port": "23", "ansible_ssh_private_key_file": "x"},
            "me": {"ansible_connection": "ansible.builtin.local"},
            "spark-05": {"ansible_user": "nvidia"},
            "spark-04": {"ansible_port": 2222, "ansible_user": "nvidia"}
        }
    },
    "all": {"children": ["ungrouped", "p", "rack1"]},
    "p": {"children": ["sparks"]},
    "sparks": {"hosts": ["spark-05", "spark-04"]},
    "rack1": {"hosts": ["spark-04", "bare"], "children": ["p"]},
    "ungrouped": {"hosts": ["lone", "six", "seven", "me"]}
}`

func TestInventory(t *testing.T) {
	t.Parallel()
	inv, err := ReadInventory("hosts", []byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		"": "lone=the-user@10.0.0.9 six=[2001:db8::6] seven=[2001:db8::7]:23 me (local) spark-05=nvidia@spark-05 " +
			"spark-04=nvidia@spark-04:2222 bare",
		"@sparks":              "spark-05=nvidia@spark-05 spark-04=nvidia@spark-04:2222",
		"@p!spark-[01-04]":     "spark-05=nvidia@spark-05",
		"bare,@sparks":         "bare spark-05=nvidia@spark-05 spark-04=nvidia@spark-04:2222",
		"@rack[1]":             "spark-04=nvidia@spark-04:2222 bare spark-05=nvidia@spark-05",
		"@ungrouped!six,seven": "lone=the-user@10.0.0.9 seven=[2001:db8::7]:23 me (local)",
	} {
		nodes, err := Finder{Inventory: inv}.Nodes(list)
		if err != nil || shownNodes(nodes) != want {
			t.Errorf("%s: got %s, %v, want %s", list, shownNodes(nodes), err, want)
		}
	}
	if len(inv.Notes) != 1 || !strings.Contains(inv.Notes[0], "ansible_ssh_private_key_file is not used") {
		t.Errorf("notes %q", inv.Notes)
	}
	for list, why := range map[string]string{
		"rack1":    "a group is @rack1",
		"@rack9":   "has no group rack9: it has all, p, rack1",
		"spark-99": "has no host spark-99",
		"bare&six": "is ClusterShell's",
	} {
		if _, err := (Finder{Inventory: inv}).Nodes(list); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", list, err, why)
		}
	}
}

func TestRefusedInventories(t *testing.T) {
	t.Parallel()
	host := func(vars string) string {
		return `{"_meta": {"hostvars": {"a": {` + vars + `}}}, "all": {"hosts": ["a"]}}`
	}
	var many []string
	for i := range Most + 1 {
		many = append(many, fmt.Sprintf(`"n%d"`, i))
	}
	for text, why := range map[string]string{
		"":                                "unexpected end",
		"[]":                              "cannot unmarshal",
		"{}":                              "names no host",
		`{"all": {"hosts": 3}}`:           "the group all",
		`{"all": {"hosts": ["-oX"]}}`:     "is not a host",
		`{"all": {"hosts": ["a b"]}}`:     "is not a host",
		`{"all": {"children": ["all"]}}`:  "names no host",
		host(`"ansible_host": "-oX=y"`):   "is not a host",
		host(`"ansible_host": "x;y"`):     "is not a host",
		host(`"ansible_user": "-l"`):      "is not a user",
		host(`"ansible_port": "22x"`):     "is not a port",
		host(`"ansible_port": 99999`):     "is not a port",
		host(`"ansible_host": "{{ip}}"`):  "is a template",
		host(`"ansible_connection": "x"`): "goes by SSH",
		host(`"ansible_connection": {}`):  "goes by SSH",
		`{"all": {"hosts": [` + strings.Join(many, ",") + `]}}`: "at most 4096",
	} {
		inv, err := ReadInventory("hosts", []byte(text))
		if err == nil {
			_, err = Finder{Inventory: inv}.Nodes("")
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.60q: %v, want %q", text, err, why)
		}
	}
}

// No inventory brings a way to a host that ssh would take for something else, nor more than Most.
func FuzzInventory(f *testing.F) {
	f.Add(printed)
	f.Add(`{"all": {"hosts": ["x"], "children": ["all"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := ReadInventory("hosts", []byte(text))
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
