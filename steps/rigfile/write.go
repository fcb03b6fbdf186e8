package rigfile

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
)

// Write writes a rig file whole or not at all, with its folder where that is missing.
func (f File) Write(path string) error {
	body, err := toml.Marshal(f)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		body = append([]byte("# railbench's rig file: how the nodes are reached.\n"), body...)
		err = safefile.Replace(path, body, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the rig file: %w", err)
	}
	return nil
}

// OfAllocation is the rig of nodes of an allocation of Slurm's.
func OfAllocation(names []string) File {
	file := File{Engine: Slurm, Name: nodeset.Fold(names)}
	for _, name := range names {
		file.Nodes = append(file.Nodes, Node{Name: name})
	}
	return file
}

// railsTold is the number of nodes up to which the rig file names the rails of each link. A rig with more
// nodes uses the rails that are found: a file of thousands of rails is too long to read.
const railsTold = 8

// Found is the file with what was found on its nodes: the names of two that have none, and the rails.
func (f File) Found(found steps.Rig) File {
	if len(f.Nodes) == 0 {
		for e, n := range map[steps.End]*Node{steps.Here: &f.Here, steps.Peer: &f.Peer} {
			n.Name = cmp.Or(found.At(e).Host, found.At(e).Name)
		}
		f.Name = f.Here.Name + "-" + f.Peer.Name
		for _, p := range found.Pairs {
			f.Rails = append(f.Rails, Rail{Here: found.Rail(p, steps.Here).Dev, Peer: found.Rail(p, steps.Peer).Dev})
		}
		return f
	}
	if len(found.Nodes) > railsTold {
		return f
	}
	for _, l := range steps.Links(len(found.Nodes)) {
		link := found.Over(l)
		for _, p := range link.Pairs {
			end := func(e steps.End) string { return link.At(e).Name + ":" + link.Rail(p, e).Dev }
			f.Rails = append(f.Rails, Rail{A: end(steps.Here), B: end(steps.Peer)})
		}
	}
	return f
}
