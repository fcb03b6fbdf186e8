package rigfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/safefile"
)

// Virtual is the rig file of the virtual rig and its ssh configuration, in the folder of its machines.
func Virtual(state string) (File, string, error) {
	config := filepath.Join(state, "ssh_config")
	if _, err := os.Stat(config); err != nil {
		return File{}, "", errors.New("the virtual rig is not built: railbench rig build, then railbench rig up")
	}
	nodes, err := VirtualNodes(state)
	if err != nil {
		return File{}, "", err
	}
	here, peer := Node{Name: "spark-02", SSH: "spark-02"}, Node{Name: "spark-01", SSH: "spark-01"}
	if nodes == 2 {
		return File{Name: "virtual", Here: here, Peer: peer}, config, nil
	}
	f := File{Name: "virtual", Nodes: []Node{here, peer}}
	for n := 3; n <= nodes; n++ {
		name := fmt.Sprintf("spark-%02d", n)
		f.Nodes = append(f.Nodes, Node{Name: name, SSH: name})
	}
	return f, config, nil
}

// mostVirtual is how many machines the script boots at most.
const mostVirtual = 8

// VirtualNodes is how many machines are up, as the script wrote it down.
func VirtualNodes(state string) (int, error) {
	file := filepath.Join(state, "run", "nodes")
	text, err := safefile.Read(file, 16)
	if errors.Is(err, fs.ErrNotExist) {
		return 2, nil
	}
	if err != nil {
		return 0, fmt.Errorf("how many machines the virtual rig has: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 2 || n > mostVirtual {
		return 0, fmt.Errorf("how many machines the virtual rig has: %s says %q: railbench rig down, then railbench rig up",
			file, text)
	}
	return n, nil
}
