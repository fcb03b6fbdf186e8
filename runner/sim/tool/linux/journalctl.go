package linux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// runJournalctl knows the kernel's log (-k), which the group adm may read, the list of boots,
// and how the one before this ended (-b -1).
func runJournalctl(_ context.Context, c *host.Call) int {
	plain := strings.Join(c.Args, " ")
	switch {
	case slices.Contains(c.Args, "--list-boots"):
		c.Locked(func() { listBoots(c) })
		return 0
	case strings.Contains(plain, "-b -1"):
		c.Locked(func() { bootBefore(c) })
		return 0
	}
	set, _, _ := c.Flags("onup")
	// Of the services' own logs the nodes keep none.
	if !set.Has("k") && !slices.Contains(c.Args, "--dmesg") {
		if !set.Has("q") {
			c.Println("-- No entries --")
		}
		return 0
	}
	short := strings.Contains(strings.Join(c.Args, " "), "short-monotonic")
	c.Locked(func() {
		boot := c.Node.Rack.Clock.Wall().Add(-c.Node.Rack.Clock.Uptime())
		for _, l := range c.Node.KernelLog() {
			when := fmt.Sprintf("[%12.6f]", l.At)
			if !short {
				when = boot.Add(time.Duration(l.At * float64(time.Second))).UTC().Format("Jan 02 15:04:05")
			}
			c.Printf("%s %s kernel: %s\n", when, c.Node.Name, l.Text)
		}
	})
	return 0
}

// bootsOf are when the node's last two boots began, and when the first of them ended.
func bootsOf(n *host.Node) (began, ended, again time.Time) {
	again = n.Rack.Clock.Wall().Add(-n.Uptime()).UTC()
	return again.Add(-49 * time.Hour), again.Add(-90 * time.Second), again
}

func listBoots(c *host.Call) {
	began, ended, again := bootsOf(c.Node)
	const form = "Mon 2006-01-02 15:04:05 MST"
	c.Printf(" -1 %s %s %s\n", strings.Repeat("5b", 16), began.Format(form), ended.Format(form))
	c.Printf("  0 %s %s %s\n", strings.Repeat("c4", 16), again.Format(form), c.Node.Rack.Clock.Wall().UTC().Format(form))
}

// bootBefore is the end of its journal, in systemd's words.
func bootBefore(c *host.Call) {
	_, ended, _ := bootsOf(c.Node)
	say := func(back time.Duration, text string) {
		c.Printf("%s %s %s\n", ended.Add(-back).Format("2006-01-02T15:04:05+0000"), c.Node.Name, text)
	}
	say(40*time.Second, "systemd[1]: Started session-31.scope - Session 31 of User nvidia.")
	// The journal breaks off at the last line that got to the disk: nothing shut the node down.
	if c.Node.CutOff {
		say(0, "kernel: NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) "+
			"returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359")
		return
	}
	say(2*time.Second, "systemd[1]: Reached target shutdown.target - System Shutdown.")
	say(2*time.Second, "systemd[1]: Reached target reboot.target - System Reboot.")
	say(time.Second, "systemd[1]: Shutting down.")
	say(0, "systemd-journald[512]: Journal stopped")
}

// runLast is last -x, which knows of boots and shutdowns from wtmp.
func runLast(_ context.Context, c *host.Call) int {
	c.Locked(func() {
		began, ended, again := bootsOf(c.Node)
		const form = "Mon Jan _2 15:04"
		// last cuts it to its column.
		release := c.Node.Release()[:min(16, len(c.Node.Release()))]
		c.Printf("%-8s system boot  %-16s %s   still running\n", "reboot", release, again.Format(form))
		// A node that lost its power has a boot without a shutdown before it.
		if !c.Node.CutOff {
			c.Printf("%-8s system down  %-16s %s - %s  (00:01)\n", "shutdown", release, ended.Format(form),
				again.Format("15:04"))
		}
		c.Printf("%-8s system boot  %-16s %s - %s (2+00:58)\n", "reboot", release, began.Format(form), ended.Format("15:04"))
		c.Printf("\nwtmp begins %s\n", began.Add(-time.Hour).Format("Mon Jan _2 15:04:05 2006"))
	})
	return 0
}
