package software

import (
	"errors"
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

func containerParam() steps.Param {
	p := registry.WordsParam("CONTAINER", "",
		"container of both nodes that the checks of software look into (--container)",
		"a container's name or id, as docker or podman lists it", containerName)
	p.Empty = "none: the nodes themselves are looked at"
	return p
}

var containerForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

func containerName(s string) error {
	if s != "" && !containerForm.Regexp().MatchString(s) {
		return errors.New("it is the name or the id of a container: letters, digits, dots, dashes and underscores")
	}
	return nil
}

// judgeContainer: the container that was named has the devices, limits, network and libraries
// that RDMA needs.
// What its engine told (image, network, shared memory) stands beside what a shell in it saw ("inside ..."), as
// options of docker and what came of them differ.
func judgeContainer(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var good []string
	named := false
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		name := f["container"]
		switch name {
		case "":
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell which container it looked for", node)
			continue
		case "none":
			rep.Show(node+" container", "none was named", "", nil)
			continue
		}
		named = true
		c := container{rig: r.Rig, e: e, name: name, node: node, f: f, rep: rep}
		if !c.found() {
			continue
		}
		c.show()
		c.reach()
		good = append(good, fmt.Sprintf("%s on %s (%s, %s)", name, node, registry.OrUnknown(f["image"]), f["engine"]))
	}
	if !named {
		return checks.Unseen(*rep, steps.CannotRun, "no container was named: railbench doctor --container NAME looks into "+
			"one")
	}
	return rep.Verdict(registry.And(good) + " has the rails' devices, their network, locked memory and shared memory")
}

// A container is one on a node, with what its engine and its own shell told.
type container struct {
	rig        steps.Rig
	e          steps.End
	name, node string
	f          map[string]string
	rep        *registry.Report
}

func (c container) add(code steps.Code, g steps.Grade, format string, args ...any) {
	c.rep.At(c.rig, c.e, code, g, format, args...)
}

// found reports whether it is there, runs, and could be looked into.
func (c container) found() bool {
	switch {
	case c.f["engine"] == "none" || c.f["engine"] == "":
		var shown []string
		for _, engine := range []string{"docker", "podman"} {
			if s := c.f[engine+" shows"]; s != "" {
				shown = append(shown, engine+" shows "+s)
			}
		}
		why := "neither docker nor podman is there"
		if shown != nil {
			why = registry.And(shown)
		}
		advice := ""
		if strings.Contains(why, "permission denied") {
			advice = ": this user is not in the group docker"
		}
		c.add(steps.NoContainerFound, steps.Inconclusive, "there is no container %s on %s that this user sees (%s%s)",
			c.name, c.node, why, advice)
		return false
	case c.f["state"] != "running":
		c.add(steps.ContainerStopped, steps.Fail, "the container %s on %s is %s: start it first", c.name, c.node,
			registry.OrUnknown(c.f["state"]))
		return false
	case c.f["inside"] != "reached":
		c.add(steps.Unreadable, steps.Inconclusive, "the container %s on %s could not be looked into: it has no sh, or %s "+
			"exec is refused",
			c.name,
			c.node, c.f["engine"])
		return false
	}
	return true
}

func (c container) show() {
	for _, name := range registry.SortedNames(c.f) {
		switch name {
		case "container", "inside":
		case "shared memory":
			if v, ok := strictnum.Number(c.f[name]); ok {
				c.rep.Show(c.node+" "+name, v/(1<<20), "MiB", nil)
			}
		case "inside memlock":
			c.rep.Show(c.node+" "+name, c.f[name], "KiB", nil)
		default:
			c.rep.Show(c.node+" "+name, c.f[name], "", nil)
		}
	}
}

// reach looks at everything that RDMA needs in there.
func (c container) reach() {
	c.devices()
	c.network()
	c.limits()
	if out, _ := strictnum.Count(c.f["outside GPUs"]); out > 0 && c.f["inside GPUs"] == "0" {
		c.add(steps.ContainerNoGPU, steps.Warn, "the container %s on %s sees none of the node's %s: start it with --gpus "+
			"all (podman: --device nvidia.com/gpu=all)", c.name, c.node, registry.Count(out, "GPU", "GPUs"))
	}
	if c.f["inside library libibverbs"] == "" && c.f["inside ibv_devices"] == "missing" {
		c.add(steps.ContainerNoVerbs, steps.Warn, "the container %s on %s has no libibverbs that its loader knows: install "+
			"rdma-core and ibverbs-providers into its image", c.name, c.node)
	}
}

func (c container) devices() {
	// A device has one file, however many ports.
	devs := map[string]bool{}
	for _, rail := range c.rig.At(c.e).Rails {
		devs[rail.Dev] = true
	}
	n, ok := strictnum.Count(c.f["inside device files"])
	switch {
	case !ok:
		c.add(steps.Unreadable, steps.Inconclusive, "the container %s on %s doesn't tell which device files it has",
			c.name, c.node)
	case n == 0 && len(devs) > 0:
		c.add(steps.ContainerNoDevices, steps.Fail, "the container %s on %s has no /dev/infiniband that it may open, so "+
			"nothing in it finds an RDMA device: start it with --device /dev/infiniband", c.name, c.node)
	case n < len(devs):
		c.add(steps.ContainerNoDevices, steps.Warn, "the container %s on %s may open %d device files of RDMA, and the node "+
			"has %s", c.name, c.node, n,
			registry.Count(len(devs), "device", "devices"))
	case c.f["inside rdma_cm"] == "no":
		c.add(steps.ContainerNoDevices, steps.Warn, "the container %s on %s has no /dev/infiniband/rdma_cm, which UCX and "+
			"NCCL's plugins may connect with: give it all of --device /dev/infiniband", c.name, c.node)
	}
}

func (c container) network() {
	var lacks []string
	for _, rail := range c.rig.At(c.e).Rails {
		if c.rig.InUse(c.e, railAt(c.rig, c.e, rail)) && c.f["inside interface "+rail.Netdev.Name] != "yes" {
			lacks = append(lacks, rail.Netdev.Name)
		}
	}
	if lacks != nil {
		c.add(steps.ContainerOwnNetwork, steps.Fail, "the container %s on %s has a network of its own (%s) without %s: "+
			"RoCE's addresses are those of interfaces, so no GID of the rails is usable in it. Start it with --network host",
			c.name, c.node, registry.OrUnknown(c.f["network"]), registry.And(lacks))
	}
}

// railAt is a rail's number; a node may have two ports of one device.
func railAt(rig steps.Rig, e steps.End, rail steps.Rail) int {
	for i, r := range rig.At(e).Rails {
		if r.Dev == rail.Dev && r.Port == rail.Port {
			return i
		}
	}
	return 0
}

func (c container) limits() {
	switch limit := c.f["inside memlock"]; {
	case limit == "":
		c.add(steps.Unreadable, steps.Inconclusive, "the container %s on %s doesn't tell how much memory may be locked in "+
			"it", c.name, c.node)
	case limit != "unlimited" && c.f["inside locks without a limit"] != "yes":
		c.add(steps.MemlockLow, steps.Warn, "in the container %s on %s %s KiB may be locked (ulimit -l), and larger "+
			"registrations end with \"Cannot allocate memory\": start it with --ulimit memlock=-1", c.name, c.node, limit)
	}
	// With the host's IPC it has the host's /dev/shm, whatever size it was started with.
	shm, ok := strictnum.Number(c.f["shared memory"])
	if ok && c.f["IPC"] != "host" && shm < limits.ContainerShm.Value() {
		c.add(steps.ContainerShmSmall, steps.Warn, "the container %s on %s has %.0f MiB of shared memory, and we expect "+
			"%.0f MiB or more: start it with --ipc host, or with --shm-size", c.name, c.node, shm/(1<<20),
			limits.ContainerShm.Value()/(1<<20))
	}
}
