package linux

import (
	"context"
	"path"

	"github.com/railbench/railbench/runner/sim/host"
)

// FullDisk nodes have no room left in /tmp, which is a file system of its own there.
const FullDisk host.Flaw = "has a full /tmp"

// A volume is a file system as df has it: blocks of 1024 bytes, and inodes.
// reserve is what only root may take of the blocks.
type volume struct {
	name, at             string
	size, used, inodes   int64
	takenInodes, reserve int64
}

func volumes(n *host.Node) []volume {
	all := []volume{
		{"/dev/nvme0n1p2", "/", 960302824, 121632712, 61054976, 602144, 48780768},
		{"tmpfs", "/dev/shm", 62750032, 0, 15687508, 1, 0},
	}
	if n.Full {
		all[0].used = all[0].size - all[0].reserve
	}
	if n.Flawed(FullDisk) {
		all = append(all, volume{"tmpfs", "/tmp", 1048576, 1048576, 15687508, 52, 0})
	}
	return all
}

// runDf prints the file systems of some places, or all: -P, -k and -i.
func runDf(_ context.Context, c *host.Call) int {
	set, places, ok := c.Flags("")
	if !ok {
		return 1
	}
	code := 0
	c.Locked(func() {
		all := volumes(c.Node)
		shown := all
		if len(places) > 0 {
			shown = nil
		}
		for _, p := range places {
			if _, _, err := c.Node.Lookup(c.Path(p), true); err != nil {
				code = c.Fail(1, "df: %s: No such file or directory", p)
				continue
			}
			shown = append(shown, volumeOf(all, c.Path(p)))
		}
		if len(shown) == 0 {
			return
		}
		if set.Has("i") {
			c.Println("Filesystem      Inodes  IUsed    IFree IUse% Mounted on")
		} else {
			c.Println("Filesystem     1024-blocks      Used Available Capacity Mounted on")
		}
		for _, v := range shown {
			// ext4 keeps a share of its blocks for root: a disk is full for users before all are taken.
			total, used, free := v.size, v.used, max(0, v.size-v.used-v.reserve)
			if set.Has("i") {
				total, used, free = v.inodes, v.takenInodes, v.inodes-v.takenInodes
			}
			// The share is of what a user can have, and rounded up, as df has it.
			c.Printf("%-14s %11d %9d %9d %7d%% %s\n", v.name, total, used, free, (100*used+used+free-1)/max(1, used+free), v.at)
		}
	})
	return code
}

// volumeOf is the one that a path is on: the nearest that is mounted above it.
func volumeOf(all []volume, at string) volume {
	for ; ; at = path.Dir(at) {
		for _, v := range all {
			if v.at == at {
				return v
			}
		}
	}
}
