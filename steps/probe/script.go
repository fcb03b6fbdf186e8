package probe

import (
	"strings"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// Script prints what Parse reads: everything that is needed to know a node, and which of some commands it has.
// A command's name is one of a family's kind.go or was looked at (steps.IsCommand), so it is one word.
func Script(commands []steps.Command) runner.Script {
	var tools, versions []string
	for _, c := range commands {
		if c.Probed {
			tools = append(tools, c.Name)
		}
		if c.Version != "" {
			versions = append(versions, c.Name+" "+c.Version)
		}
	}
	return runner.Script{
		Name: "probe", Body: scripts.Managers + scripts.Probe, Limit: time.Minute,
		Vars: map[string]string{
			"MARK": steps.ForRailbench, "TOOLS": strings.Join(tools, " "), "VERSIONS": strings.Join(versions, "\n"),
		},
	}
}
