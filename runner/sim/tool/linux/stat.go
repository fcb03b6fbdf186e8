package linux

import (
	"context"
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runStat knows -c with the letters that railbench's scripts use; for a link it describes the link.
func runStat(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("c")
	if !ok || len(files) == 0 {
		return c.Fail(1, "stat: missing operand")
	}
	code := 0
	c.Locked(func() {
		for _, name := range files {
			i, _, err := c.Node.Walk(c.Path(name), false, c.Root)
			if err != nil {
				code = c.Fail(1, "stat: cannot statx '%s': %s", name, host.ErrorText(err))
				continue
			}
			c.Println(strings.NewReplacer("%n", name, "%s", fmt.Sprint(i.Size()),
				"%U", i.Owner(), "%u", map[bool]string{true: "1000", false: "0"}[i.User],
				"%A", modeText(i.Mode), "%a", fmt.Sprintf("%o", i.Mode.Perm())).Replace(set.Last('c', "  File: %n\n  Size: %s")))
		}
	})
	return code
}
