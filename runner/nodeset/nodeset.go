// Package nodeset reads which machines a list means: names, folded names as Slurm and ClusterShell write them, and
// the answers of the programs that know groups of names. It executes nothing: those programs are started by runner.
// How a machine is reached is runner's, and what it has is steps'.
package nodeset

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Most is how many nodes a list may name: above any rig, and soon counted.
const Most = 4096

// textLimit is how long a list may be, in bytes: Most names of 64.
const textLimit = 256 << 10

// nameLimit is how long a host's name may be, as in DNS.
const nameLimit = 253

// A Node is one machine that a list names.
type Node struct {
	// Name is what it is called; SSH how it is reached, user@host:port with what is known of it.
	Name string `json:"name"`
	SSH  string `json:"ssh,omitempty"`
	// Local is set where the inventory says that it is the machine that railbench runs on.
	Local bool `json:"local,omitempty"`
	// From says what named it: a file, or a program. It is empty for the list itself.
	From string `json:"from,omitempty"`
}

// A Finder knows where names come from. The zero Finder knows plain lists alone.
type Finder struct {
	Inventory *Inventory // nil where none was given
	Slurm     []string   // the nodes that the word Allocation means; nil where it is a name as any other
}

// ForClusterShell reports whether a list is ClusterShell's to read: it has a @group, or one of its operators & and ^.
func ForClusterShell(list string) bool {
	return strings.ContainsAny(list, "&^") ||
		slices.ContainsFunc(words(list), func(word string) bool { return word[0] == '@' })
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune(",!&^ \t\r\n", c) })
}

// Allocation is the word of a list that means the nodes which Slurm has given.
const Allocation = "slurm"

// NamesAllocation reports whether a list has that word.
func NamesAllocation(list string) bool {
	return slices.Contains(words(list), Allocation)
}

// Nodes reads a list, each machine once, in the order in which they are named. With an inventory
// its hosts and groups are meant, and an empty list means all of them.
func (f Finder) Nodes(list string) ([]Node, error) {
	if f.Inventory != nil {
		return f.Inventory.nodes(list)
	}
	names, err := reader{slurm: f.Slurm}.read(list)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, name := range names {
		nodes = append(nodes, Node{Name: hostOf(name), SSH: name})
	}
	return distinct(nodes)
}

// Expand reads a list without groups, as Slurm's are.
func Expand(list string) ([]string, error) { return reader{}.read(list) }

// distinct refuses two destinations with one name: links and rails are identified by the name.
func distinct(nodes []Node) ([]Node, error) {
	seen := map[string]string{}
	for _, n := range nodes {
		if other, ok := seen[n.Name]; ok {
			return nil, fmt.Errorf("%s and %s are two ways to one name: say one of them", other, n.SSH)
		}
		seen[n.Name] = n.SSH
	}
	return nodes, nil
}

// hostOf is the host of user@host:port.
func hostOf(dest string) string {
	if _, host, ok := strings.Cut(dest, "@"); ok {
		dest = host
	}
	if host, _, err := net.SplitHostPort(dest); err == nil {
		return host
	}
	return dest
}

// checkDest looks at host, user@host, user@host:port or an address of IPv6: nothing of it can be an option of ssh,
// a path or what a terminal obeys.
func checkDest(dest string) error {
	user, host, ok := strings.Cut(dest, "@")
	if !ok {
		user, host = "", dest
	} else if err := checkWord("user", user); err != nil {
		return err
	}
	// In brackets it would be a range; without them no port can stand behind it.
	if a, err := netip.ParseAddr(host); err == nil && a.Is6() && a.Zone() == "" {
		return nil
	}
	if name, port, ok := strings.Cut(host, ":"); ok {
		host = name
		if _, err := checkPort(port); err != nil {
			return err
		}
	}
	return checkWord("host", host)
}

// checkHost looks at where a host is, an address of IPv6 among what it may be.
func checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		return nil
	}
	return checkWord("host", host)
}

func checkPort(port string) (int, error) {
	n, err := strconv.Atoi(port)
	// strconv takes "+22" for a number, and ssh does not.
	if err != nil || n < 1 || n > 65535 || port[0] == '+' {
		return 0, fmt.Errorf("%q is not a port: it goes from 1 to 65535", shown(port))
	}
	return n, nil
}

// Check looks at one name that is not a host's, a partition's for example: what says what it is in the error. It is
// as strict as with hosts.
func Check(what, name string) error { return checkWord(what, name) }

// checkWord looks at a name: ASCII letters, digits, dots, dashes and underscores, and no dash
// or dot first.
func checkWord(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s is missing", what)
	case len(name) > nameLimit:
		return fmt.Errorf("the %s %q is longer than %d bytes", what, shown(name), nameLimit)
	case name[0] == '-' || name[0] == '.':
		return fmt.Errorf("%q is not a %s: it begins with %q", shown(name), what, name[0])
	}
	for _, c := range name {
		if c >= utf8.RuneSelf || !wordByte(byte(c)) {
			return fmt.Errorf("%q is not a %s: %q can't be part of it", shown(name), what, c)
		}
	}
	return nil
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
}

const shownLimit = 60

// shown is a text as an error quotes it: its beginning.
func shown(text string) string {
	if len(text) > shownLimit {
		return text[:shownLimit] + "…"
	}
	return text
}

var errMany = errors.New("a list names at most " + strconv.Itoa(Most) + " nodes")
