package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A kernelLine is one line of the kernel's log: seconds since the boot, and text.
type kernelLine struct {
	at   float64
	text string
}

// kernelLog is what the adapter's driver, the GPU's and the kernel itself have
// logged since the boot, as the node is now. Callers hold the rig's lock.
func (n *node) kernelLog() []kernelLine {
	var all []kernelLine
	add := func(at float64, format string, args ...any) {
		all = append(all, kernelLine{at, fmt.Sprintf(format, args...)})
	}
	add(0.000000, "secureboot: Secure boot enabled")
	add(0.000001, "Kernel is locked down from EFI Secure Boot mode; see man kernel_lockdown.7")
	for _, f := range n.Functions {
		driver := "mlx5_core " + f.PCI
		at := 4.21 + float64(f.No)*31e-6
		add(at, "%s: firmware version: 28.45.4028", driver)
		width, limit := f.Lanes, ""
		if width < 4 {
			limit = fmt.Sprintf(" (capable of 126.028 Gb/s with 32.0 GT/s PCIe x4 link),"+
				" limited by 32.0 GT/s PCIe x%d link", width)
		}
		add(at+10e-6, "%s: %.3f Gb/s available PCIe bandwidth%s", driver, 31.507*float64(width), limit)
		add(at+1, "%s: Port module event: module %d, Cable plugged", driver, f.QSFP)
		if !f.Netdev.Carrier() && !f.Lost {
			add(95211.0011+float64(f.No)*1e-6, "%s %s: Link down", driver, f.Netdev.Name)
		}
		if f.Netdev.Unplugged() {
			add(95211.00115+float64(f.No)*1e-6, "%s: Port module event: module %d, Cable unplugged", driver, f.QSFP)
		}
	}
	if n.gpu {
		add(6.120441, "nvidia: loading out-of-tree module taints kernel.")
		add(6.302115, "NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  %s  Release Build", gpuDriver)
	}
	for _, lines := range n.logged {
		all = append(all, lines...)
	}
	slices.SortStableFunc(all, func(a, b kernelLine) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.text, b.text)) })
	return all
}

// log adds lines to the kernel's log, and gives what takes them out again.
func (n *node) log(lines ...kernelLine) (undo func()) {
	n.logs++
	no := n.logs
	n.logged[no] = lines
	return func() { delete(n.logged, no) }
}

// runDmesg shows the kernel's log to root alone: Ubuntu sets kernel.dmesg_restrict.
func runDmesg(_ context.Context, c *call) int {
	if !c.root {
		return c.fail(1, "dmesg: read kernel buffer failed: Operation not permitted")
	}
	c.locked(func() {
		for _, l := range c.node.kernelLog() {
			c.printf("[%12.6f] %s\n", l.at, l.text)
		}
	})
	return 0
}

// runJournalctl knows the kernel's log (-k), which the group adm may read.
func runJournalctl(_ context.Context, c *call) int {
	set, _, _ := c.flags("onup")
	if !has(set, "k") && !slices.Contains(c.args, "--dmesg") {
		if !has(set, "q") {
			c.println("-- No entries --")
		}
		return 0
	}
	short := strings.Contains(strings.Join(c.args, " "), "short-monotonic")
	c.locked(func() {
		boot := c.node.rack.Clock.Wall().Add(-c.node.rack.Clock.Uptime())
		for _, l := range c.node.kernelLog() {
			when := fmt.Sprintf("[%12.6f]", l.at)
			if !short {
				when = boot.Add(time.Duration(l.at * float64(time.Second))).UTC().Format("Jan 02 15:04:05")
			}
			c.printf("%s %s kernel: %s\n", when, c.node.Name, l.text)
		}
	})
	return 0
}
