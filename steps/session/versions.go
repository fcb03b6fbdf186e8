package session

import (
	"slices"
	"sync"

	"github.com/railbench/railbench/steps"
)

// versions are what the nodes' tools said of themselves. Each is asked once, where a cell that was queued needs a tool
// of its package: some take a second to say it, and a node is looked at again and again. A nil one has all asked each
// time.
type versions struct {
	mu     sync.Mutex
	needed map[string]bool               // commands
	known  map[int]map[string]steps.Tool // by the node's number and the command
}

// need notes the commands that cells need.
func (v *versions) need(commands ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range commands {
		v.needed[c] = true
	}
}

// toAsk is what a node is looked at for, with no question for a version that no one needs or that is known.
func (v *versions) toAsk(node int, commands []steps.Command) []steps.Command {
	if v == nil {
		return commands
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	packages := map[string]bool{}
	for _, c := range commands {
		packages[c.Package] = packages[c.Package] || v.needed[c.Name]
	}
	commands = slices.Clone(commands)
	for i, c := range commands {
		if !packages[c.Package] || v.known[node][c.Name].Version != "" {
			commands[i].Version = ""
		}
	}
	return commands
}

// keep notes what a node's tools said now, and completes it by what they said before. One at another path is another
// tool, and is asked the next time.
func (v *versions) keep(node int, tools map[string]steps.Tool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.known[node]
	v.known[node] = map[string]steps.Tool{}
	for name, t := range tools {
		if known := before[name]; t.Version == "" && t.Path != "" && t.Path == known.Path {
			t.Version = known.Version
			tools[name] = t
		}
		v.known[node][name] = t
	}
}
