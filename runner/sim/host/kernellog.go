package host

import (
	"cmp"
	"fmt"
	"slices"
)

// A KernelLine is one line of the kernel's log: seconds since the boot, and text.
type KernelLine struct {
	At   float64
	Text string
}

// KernelLog is what the adapter's driver, the GPU's and the kernel itself have
// logged since the boot, as the node is now. Callers hold the rig's lock.
func (n *Node) KernelLog() []KernelLine {
	var all []KernelLine
	// Callers hold the rig's lock throughout: the lines follow from the node as it is at one
	// moment.
	add := func(at float64, format string, args ...any) {
		all = append(all, KernelLine{at, fmt.Sprintf(format, args...)})
	}
	// Ubuntu's words, by which a check finds out that unsigned modules are refused.
	add(0.000000, "secureboot: Secure boot enabled")
	add(0.000001, "Kernel is locked down from EFI Secure Boot mode; see man kernel_lockdown.7")
	for _, f := range n.Functions {
		driver := "mlx5_core " + f.PCI
		// When the driver loads on a Spark, and a little more for each function: the log of two has
		// an order.
		at := 4.21 + float64(f.No)*31e-6
		add(at, "%s: firmware version: 28.45.4028", driver)
		width, limit := f.Lanes, ""
		if width < 4 {
			limit = fmt.Sprintf(" (capable of 126.028 Gb/s with 32.0 GT/s PCIe x4 link),"+
				" limited by 32.0 GT/s PCIe x%d link", width)
		}
		// mlx5's pcie_print_link_status; 31.507 Gb/s is what a lane of PCIe 5.0 has after its
		// encoding of 128/130.
		add(at+10e-6, "%s: %.3f Gb/s available PCIe bandwidth%s", driver, 31.507*float64(width), limit)
		add(at+1, "%s: Port module event: module %d, Cable plugged", driver, f.QSFP)
		if !f.Netdev.Carrier() && !f.Lost {
			add(95211.0011+float64(f.No)*1e-6, "%s %s: Link down", driver, f.Netdev.Name)
		}
		if f.Netdev.Unplugged() {
			add(95211.00115+float64(f.No)*1e-6, "%s: Port module event: module %d, Cable unplugged", driver, f.QSFP)
		}
	}
	if n.GPU {
		add(6.120441, "nvidia: loading out-of-tree module taints kernel.")
		add(6.302115, "NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  %s  Release Build", GPUDriver)
	}
	for _, lines := range n.logged {
		all = append(all, lines...)
	}
	// By the text as well: what faults have logged comes out of a map.
	slices.SortStableFunc(all, func(a, b KernelLine) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Text, b.Text))
	})
	return all
}

// Log adds lines to the kernel's log, and gives what takes them out again.
func (n *Node) Log(lines ...KernelLine) (undo func()) {
	// A number for each entry: two faults may log the same line, and take back their own.
	n.logs++
	no := n.logs
	n.logged[no] = lines
	return func() { delete(n.logged, no) }
}
