package linux

import (
	"context"
	"strconv"

	"github.com/railbench/railbench/runner/sim/host"
)

// User is who runs a call: nvidia, who may use sudo and docker and read the kernel's log (adm), or root.
func User(c *host.Call) (string, int) {
	if c.Root {
		return "root", 0
	}
	return "nvidia", 1000
}

func runID(_ context.Context, c *host.Call) int {
	set, _, ok := c.Flags("")
	if !ok {
		return 1
	}
	name, uid := User(c)
	switch {
	case set.Has("n"):
		c.Println(name)
	case set.Has("ugG"):
		c.Println(strconv.Itoa(uid))
	case uid == 0:
		c.Println("uid=0(root) gid=0(root) groups=0(root)")
	default:
		c.Println("uid=1000(nvidia) gid=1000(nvidia) groups=1000(nvidia),4(adm),27(sudo),999(docker)")
	}
	return 0
}

func runWhoami(_ context.Context, c *host.Call) int {
	name, _ := User(c)
	c.Println(name)
	return 0
}
