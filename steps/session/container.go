package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/steps"
)

// inContainer is the shell that runs a script in the container that $CONTAINER names, of docker
// or of podman, with the variables that the script names in its environment: their values are
// never text of a shell's. The script is the container's standard input.
func inContainer(script string, vars map[string]string) string {
	end := "END_INSIDE"
	for strings.Contains(script, end) {
		end += "_"
	}
	exports, hands := "", ""
	if names := slices.Sorted(maps.Keys(vars)); len(names) > 0 {
		exports = "export " + strings.Join(names, " ") + "\n"
		hands = " -e " + strings.Join(names, " -e ")
	}
	return exports + scripts.Container + "inside " + fmt.Sprint(steps.NoContainer) + hands + " <<'" + end + "'\n" +
		strings.TrimRight(script, "\n") + "\n" + end + "\n"
}

// namesContainer reports whether a role looks at the container by itself, and says so.
func namesContainer(r steps.Role) bool { return steps.Names(r.Text(), steps.Container) }

// placed says of a check where it looked, once a container is named: in its verdict's own line,
// because what holds inside need not hold outside.
func placed(c steps.Cell, container string, v steps.Verdict) steps.Verdict {
	if container == "" || !c.Check.Any() || slices.ContainsFunc(c.Roles, namesContainer) {
		return v
	}
	where := "Outside the container, on the nodes: "
	if c.Inside {
		where = "Inside " + container + ": "
	}
	v.Reason = where + v.Reason
	return v
}
