package headless

import (
	"fmt"
	"io"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

// WritePlan writes what running cells on a rig would execute.
func WritePlan(out io.Writer, o session.Options, rig steps.Rig, cells []steps.Cell) {
	for i, p := range session.Plan(o, rig, cells) {
		if i > 0 {
			sanitize.Fprintln(out)
		}
		what := []string{p.Cell.ID}
		if p.Role.Name != "" {
			what = append(what, p.Role.Name)
		}
		if p.Pair >= 0 {
			what = append(what, fmt.Sprintf("rail %d", p.Pair+1))
		}
		if p.Note != "" {
			sanitize.Fprintf(out, "# --- %s: nothing would run: %s\n", p.Cell.ID, p.Note)
			continue
		}
		where := o.Where[p.Node]
		simulated := ""
		if rig.Simulated {
			simulated = " SIMULATED"
		}
		asRoot := ""
		if p.Script.Root {
			asRoot = ", as root"
		}
		sanitize.Fprintf(out, "# --- %s, on %s (%s)%s%s\n%s", strings.Join(what, ", "),
			o.Nodes[p.Node].Name(), where, asRoot, simulated, sanitize.Several(p.Script.Text()))
	}
}
