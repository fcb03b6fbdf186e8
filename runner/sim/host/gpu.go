package host

import (
	"io/fs"
	"strings"
)

// HasCard reports whether a GPU card is in the node, in addition to its own GPU.
func (n *Node) HasCard() bool { return n.Card && n.GPU }

// gpuTree is what the GPU's driver shows in the file system.
func (n *Node) gpuTree(t *Inode) {
	// What says that the kernel can register a dma-buf with the adapter: symbols, with the
	// addresses that a user is shown.
	t.fixed("/proc/kallsyms", "0000000000000000 T ib_umem_get\t[ib_uverbs]\n"+
		"0000000000000000 T ib_umem_dmabuf_get\t[ib_uverbs]\n"+
		"0000000000000000 t mlx5_ib_reg_user_mr_dmabuf\t[mlx5_ib]")
	// The GB10's own; and a card's in the slot of another domain, an RTX A4000.
	n.gpuPCI(t, "000f:01:00.0", "0x2e12")
	if n.HasCard() {
		n.gpuPCI(t, "0004:01:00.0", "0x24b0")
	}
	if !n.GPU {
		return
	}
	for _, name := range []string{"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		t.put("/dev/"+name, &Inode{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
	}
	t.fixed("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  "+
		GPUDriver+"  Release Build  (dvs-builder@U22-I3-AF03-09-1)")
}

// gpuPCI is a GPU's place among the PCI devices, which it has without a driver, too.
func (n *Node) gpuPCI(t *Inode, pci, device string) {
	dir := "/sys/devices/pci" + pci[:4] + ":00/" + pci[:4] + ":00:00.0/" + pci
	t.link("/sys/bus/pci/devices/"+pci, "../../../"+strings.TrimPrefix(dir, "/sys/"))
	t.fixed(dir+"/vendor", "0x10de")
	t.fixed(dir+"/device", device)
	t.fixed(dir+"/class", "0x030000")
	uevent := "PCI_CLASS=30000\nPCI_SLOT_NAME=" + pci
	if n.GPU {
		uevent = "DRIVER=nvidia\n" + uevent
		t.link(dir+"/driver", "../../../../bus/pci/drivers/nvidia")
		t.put("/sys/bus/pci/drivers/nvidia", newDir())
	}
	t.fixed(dir+"/uevent", uevent)
}
