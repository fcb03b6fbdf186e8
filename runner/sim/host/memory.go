package host

import (
	"fmt"
)

const (
	// Processor and GPU share one memory, which is all of it.
	MemoryKB  = 125446400 // 122506 MiB, as free -m shows them
	usedKB    = 6727900   // 6570 MiB, while nothing runs
	GPUName   = "NVIDIA GB10"
	GPUDriver = "580.95.05"
)

// AvailableKB is MemAvailable.
// Held is in bytes: the shift comes before the difference.
func (n *Node) AvailableKB() int64 {
	return max(0, n.FreeKB-n.Held>>10)
}

// Available is the same in bytes.
func (n *Node) Available() int64 { return n.AvailableKB() << 10 }

func (n *Node) memInfo() string {
	available := n.AvailableKB()
	// What is free and what could be differ by the caches, which are the same each time.
	free := max(0, available-8663680)
	cma, cmaFree := 65536, 61440
	if n.HandsOver {
		cma, cmaFree = 0, 9751224 // as on two Sparks (NVIDIA/NV-Kernels PR 590)
	}
	return fmt.Sprintf(`MemTotal:       %9d kB
MemFree:        %9d kB
MemAvailable:   %9d kB
Buffers:          152340 kB
Cached:          7436288 kB
SwapTotal:      16777212 kB
SwapFree:       16777212 kB
CmaTotal:       %8d kB
CmaFree:        %8d kB
HugePages_Total:       0
HugePages_Free:        0
Hugepagesize:       2048 kB`, MemoryKB, free, available, cma, cmaFree)
}
