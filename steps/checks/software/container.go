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
	p := registry.WordsParam(steps.Container, "",
		"container on both nodes that the software checks look into (--container)",
		"a container's name or id, as docker or podman lists it", containerName)
	p.Empty = "none: the nodes themselves are checked"
	return p
}

var containerForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

func containerName(s string) error {
	if s != "" && !containerForm.Regexp().MatchString(s) {
		return errors.New("give the name or the id of a container: letters, digits, dots, dashes and underscores")
	}
	return nil
}

// judgeContainer: the container that was named has the devices, limits, network and libraries
// that RDMA needs.
// What its engine reports (image, network, shared memory) is shown next to what a shell in it saw ("inside ..."), as
// options of docker and their effect differ.
func judgeContainer(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var good []string
	named := false
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		name := f["container"]
		switch name {
		case "":
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read which container was checked on %s", node)
			continue
		case "none":
			rep.ShowAt(node, "container", "none was named", "", nil)
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
		return checks.Unseen(*rep, steps.CannotRun, "no container was named. To check one: railbench doctor --container NAME")
	}
	return rep.Verdict(registry.And(good) + " has the rails' devices and network, and enough locked and shared memory")
}

// A container is one on a node, with what its engine and its own shell reported.
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
		why := "neither docker nor podman is installed"
		if shown != nil {
			why = registry.And(shown)
		}
		advice := ""
		if strings.Contains(why, "permission denied") {
			advice = ": this user is not in the group docker"
		}
		c.add(steps.NoContainerFound, steps.Inconclusive, "container %s was not found on %s (%s%s)", c.name, c.node, why,
			advice)
		return false
	case c.f["state"] != "running":
		c.add(steps.ContainerStopped, steps.Fail, "the container %s on %s is %s: start it first", c.name, c.node,
			registry.OrUnknown(c.f["state"]))
		return false
	case c.f["inside"] != "reached":
		c.add(steps.Unreadable, steps.Inconclusive, "could not look into the container %s on %s: it has no sh, or %s exec "+
			"is refused", c.name, c.node, c.f["engine"])
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
				c.rep.ShowAt(c.node, name, v/(1<<20), "MiB", nil)
			}
		case "inside memlock":
			c.rep.ShowAt(c.node, name, c.f[name], "KiB", nil)
		default:
			c.rep.ShowAt(c.node, name, c.f[name], "", nil)
		}
	}
}

// reach looks at everything that RDMA needs in there.
func (c container) reach() {
	c.devices()
	c.network()
	c.limits()
	if out, _ := strictnum.Count(c.f["outside GPUs"]); out > 0 && c.f["inside GPUs"] == "0" {
		c.add(steps.ContainerNoGPU, steps.Warn, "the container %s on %s sees none of the node's %s. Start it with --gpus "+
			"all", c.name, c.node, registry.Count(out, "GPU", "GPUs"))
		c.rep.Explain("With podman: --device nvidia.com/gpu=all")
		c.rep.Decide(c.node+" outside GPUs", c.node+" inside GPUs")
	}
	if c.f["inside library libibverbs"] == "" && c.f["inside ibv_devices"] == "missing" {
		c.add(steps.ContainerNoVerbs, steps.Warn, "the container %s on %s has no libibverbs. Install rdma-core and "+
			"ibverbs-providers in its image", c.name, c.node)
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
		c.add(steps.Unreadable, steps.Inconclusive, "could not read the device files of the container %s on %s", c.name,
			c.node)
	case n == 0 && len(devs) > 0:
		c.add(steps.ContainerNoDevices, steps.Fail, "the container %s on %s cannot open /dev/infiniband, so it has no RDMA "+
			"device. Start it with --device /dev/infiniband", c.name, c.node)
		c.rep.Decide(c.node + " inside device files")
	case n < len(devs):
		c.add(steps.ContainerNoDevices, steps.Warn, "the container %s on %s can open %d RDMA device files, but the node "+
			"has %s. Start it with --device /dev/infiniband", c.name, c.node, n, registry.Count(len(devs), "device", "devices"))
		c.rep.Decide(c.node + " inside device files")
	case c.f["inside rdma_cm"] == "no":
		c.add(steps.ContainerNoDevices, steps.Warn, "the container %s on %s lacks /dev/infiniband/rdma_cm, which UCX and "+
			"NCCL plugins use. Start it with --device /dev/infiniband", c.name, c.node)
		c.rep.Decide(c.node + " inside rdma_cm")
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
		c.add(steps.ContainerOwnNetwork, steps.Fail, "the container %s on %s has its own network (%s) without %s: no rail "+
			"GID works. Start it with --network host", c.name, c.node, registry.OrUnknown(c.f["network"]), registry.And(lacks))
		c.rep.Explain("The addresses of RoCE are those of interfaces, and an interface that the container does not have " +
			"gives it no GID")
		c.rep.Decide(c.node + " network")
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
		c.add(steps.Unreadable, steps.Inconclusive, "could not read the memlock limit of the container %s on %s", c.name,
			c.node)
	case limit != "unlimited" && c.f["inside locks without a limit"] != "yes":
		c.add(steps.MemlockLow, steps.Warn, "the container %s on %s may lock only %s KiB (ulimit -l), so large buffers "+
			"fail. Start it with --ulimit memlock=-1", c.name, c.node, limit)
		c.rep.Explain("Larger registrations end with \"Cannot allocate memory\"")
		c.rep.Decide(c.node + " inside memlock")
	}
	// With the host's IPC it has the host's /dev/shm, whatever size it was started with.
	shm, ok := strictnum.Number(c.f["shared memory"])
	if ok && c.f["IPC"] != "host" && shm < limits.ContainerShm.Value() {
		c.add(steps.ContainerShmSmall, steps.Warn, "the container %s on %s has %.0f MiB of shared memory, expected at "+
			"least %.0f. Start it with --ipc host or --shm-size", c.name, c.node, shm/(1<<20),
			limits.ContainerShm.Value()/(1<<20))
		c.rep.Decide(c.node + " shared memory")
	}
}
