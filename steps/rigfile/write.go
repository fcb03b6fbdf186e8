package rigfile

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/safefile"
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
