// Package rigfile is the rig file: how the nodes of a rig are reached, and which rails are used.
//
// It reads the file, says on which line something is wrong with it, and writes it. Where the file lies, and what is
// connected to by it, is not known here.
package rigfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

// A File says how the nodes are reached. What they have is not in it: that is found
// out each time. Two nodes are [here] and [peer]; any number of them, two or more, are
// [[node]] tables, and the link under test is chosen among those.
type File struct {
	Name string `toml:"name" comment:"shown in the workbench"`
	// SSHConfig replaces ~/.ssh/config.
	SSHConfig string `toml:"ssh_config,omitempty" comment:"read in place of ~/.ssh/config"`
	// Etcd takes the place of the one that railbench runs itself.
	Etcd string `toml:"etcd,omitempty" comment:"an etcd that is there already and that every node reaches, http://HOST:PORT"`
	// Engine is how the nodes are reached: over SSH where it is empty.
	Engine string `toml:"engine,omitempty" comment:"slurm: the nodes are those of the allocation that railbench is started in"`
	Here   Node   `toml:"here,omitempty" comment:"the node where the clients run"`
	Peer   Node   `toml:"peer,omitempty" comment:"the node where the servers run"`
	// Nodes take the place of Here and Peer.
	Nodes []Node `toml:"node,omitempty" comment:"the nodes; the first two are the link under test until another is chosen"`
	// Rails choose and order the pairs; without them every pair that is found is used.
	Rails []Rail `toml:"rail,omitempty" comment:"the pairs of rails, in the order in which the cells use them"`
}

// A Node says how one node is reached: over SSH, or that it is this machine.
type Node struct {
	Name  string `toml:"name"`
	SSH   string `toml:"ssh,omitempty" comment:"user@host[:port], or a name from ~/.ssh/config"`
	Local bool   `toml:"local,omitempty"`
}

// A Rail names a rail by its RDMA devices: at here and the peer, or, in a file of
// [[node]] tables, as NODE:DEVICE at both ends.
type Rail struct {
	Here string `toml:"here,omitempty"`
	Peer string `toml:"peer,omitempty"`
	A    string `toml:"a,omitempty"`
	B    string `toml:"b,omitempty"`
}

// nodes are those of either form, in order.
func (f File) All() []Node {
	if len(f.Nodes) > 0 {
		return f.Nodes
	}
	return []Node{f.Here, f.Peer}
}

// choices are the rails that the file names, each with its link.
func (f File) RailChoices() ([]session.RailChoice, error) {
	var all []session.RailChoice
	for i, r := range f.Rails {
		if len(f.Nodes) == 0 {
			all = append(all, session.RailChoice{Link: steps.DefaultLink, Here: r.Here, Peer: r.Peer})
			continue
		}
		var at [2]int
		var dev [2]string
		for j, text := range []string{r.A, r.B} {
			name, device, ok := strings.Cut(text, ":")
			at[j] = slices.IndexFunc(f.Nodes, func(n Node) bool { return n.Name == name })
			if dev[j] = device; !ok || device == "" || at[j] < 0 {
				return nil, fmt.Errorf("rail %d: %q is not NODE:DEVICE with the name of a [[node]]", i+1, text)
			}
		}
		if at[0] == at[1] {
			return nil, fmt.Errorf("rail %d leads from %s to itself", i+1, f.Nodes[at[0]].Name)
		}
		all = append(all, session.RailChoice{Link: steps.Link{Here: at[0], Peer: at[1]}, Here: dev[0], Peer: dev[1]})
	}
	return all, nil
}
