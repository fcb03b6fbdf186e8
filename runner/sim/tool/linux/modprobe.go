package linux

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

func runLsmod(_ context.Context, c *host.Call) int {
	c.Println("Module                  Size  Used by")
	c.Locked(func() {
		for i, m := range c.Node.Modules {
			c.Printf("%-19s %8d  0\n", m, 32768*(i+2))
		}
	})
	return 0
}

// moduleChange is what modprobe and rmmod were asked for.
type moduleChange struct {
	remove, quiet bool
	names         []string
	maxBonds      int // -1 where it isn't said
}

func parseModules(c *host.Call) (m moduleChange) {
	m.maxBonds = -1
	m.remove = c.Program() == "rmmod"
	for _, a := range c.Args[1:] {
		switch {
		case a == "-r" || a == "--remove":
			m.remove = true
		case a == "-q" || a == "--quiet":
			m.quiet = true
		case strings.HasPrefix(a, "max_bonds="):
			m.maxBonds, _ = strconv.Atoi(strings.TrimPrefix(a, "max_bonds="))
		case strings.HasPrefix(a, "-") || strings.Contains(a, "="):
		default:
			m.names = append(m.names, strings.ReplaceAll(a, "-", "_"))
		}
	}
	return m
}

func runModprobe(_ context.Context, c *host.Call) int {
	m := parseModules(c)
	code := 0
	for _, name := range m.names {
		c.Locked(func() { code = max(code, module(c, name, m)) })
	}
	return code
}

// module loads or removes one. The nodes' kernel has only bonding to load: what else is loaded was so at the
// boot.
func module(c *host.Call, name string, m moduleChange) int {
	loaded := slices.Contains(c.Node.Modules, name)
	switch {
	case m.remove:
		return removeModule(c, name, loaded)
	case name == "nvidia_peermem" && c.Node.Flawed(host.RefusesModules):
		return c.Fail(1, "modprobe: ERROR: could not insert 'nvidia_peermem': Key was rejected by service")
	case name == "nvidia_peermem":
		// GPUDirect RDMA does not exist on a Spark.
		return c.Fail(1, "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument")
	// -q is silent about a module that isn't there, and fails all the same.
	case name != "bonding" && !loaded && m.quiet:
		return 1
	case name != "bonding" && !loaded:
		return c.Fail(1, "modprobe: FATAL: Module %s not found in directory /lib/modules/%s", name, host.Kernel)
	case loaded:
		return 0
	case !c.Root:
		return c.Fail(1, "%s: ERROR: could not insert '%s': Operation not permitted", c.Program(), name)
	}
	c.Node.LoadBonding(m.maxBonds)
	c.Node.Rack.Fabric.Allocate()
	return 0
}

func removeModule(c *host.Call, name string, loaded bool) int {
	rmmod := c.Program() == "rmmod"
	switch {
	case !loaded && rmmod:
		return c.Fail(1, "rmmod: ERROR: Module %s is not currently loaded", name)
	case !loaded:
		return 0
	case !c.Root:
		return c.Fail(1, "%s: ERROR: could not remove '%s': Operation not permitted", c.Program(), name)
	// Every other one has users: the adapter and the GPU are at work.
	case name != "bonding":
		return c.Fail(1, "%s: %s Module %s is in use.", c.Program(),
			map[bool]string{true: "ERROR:", false: "FATAL:"}[rmmod], name)
	}
	c.Node.UnloadBonding()
	c.Node.Rack.Fabric.Allocate()
	return 0
}
