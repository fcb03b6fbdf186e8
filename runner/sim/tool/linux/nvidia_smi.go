package linux

import (
	"context"
	"embed"
	"maps"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

//go:embed nvidia_smi_*.txt
var nvidiaTexts embed.FS

// The memory of a node, which processor and GPU share, and the programs that show
// it and the GPU.

// gpuFacts are what nvidia-smi can be asked for. The GPU has no memory of its own.
var gpuFacts = map[string]string{
	"name": host.GPUName, "gpu_name": host.GPUName, "driver_version": host.GPUDriver, "temperature.gpu": "44",
	"index": "0", "count": "1",
	"compute_cap": "12.1", "pci.bus_id": "0000000F:01:00.0",
	"gpu_bus_id": "0000000F:01:00.0", "uuid": gpuUUID, "gpu_uuid": gpuUUID,
	// It shares the processor's.
	"memory.total": "[N/A]", "memory.used": "[N/A]", "memory.free": "[N/A]",
	"pstate": "P8", "power.draw": "4.21 W", "utilization.gpu": "0 %",
	"clocks.current.sm": "208 MHz", "clocks.max.sm": "3003 MHz",
	"clocks_event_reasons.hw_thermal_slowdown": "Not Active", "clocks_event_reasons.sw_thermal_slowdown": "Not Active",
	"clocks_event_reasons.sw_power_cap": "Not Active", "clocks_event_reasons.hw_power_brake_slowdown": "Not Active",
}

// busyFacts are those of a GB10 under load, and stuckFacts of one that doesn't leave a low
// clock, as users of two Sparks found them.
var (
	busyFacts = map[string]string{
		"clocks.current.sm": "2418 MHz", "power.draw": "71.40 W", "utilization.gpu": "96 %", "temperature.gpu": "62",
		"pstate": "P0",
	}
	stuckFacts = map[string]string{
		"clocks.current.sm": "611 MHz", "power.draw": "14.20 W", "utilization.gpu": "96 %", "temperature.gpu": "47",
		"pstate": "P0",
	}
)

const gpuUUID = "GPU-5f3a1c0e-0a52-7d0e-9f6b-3c1d22e07b41"

// cardFacts are those of the card that small-bar1 adds, where they differ.
var cardFacts = map[string]string{
	"name": cardName, "gpu_name": cardName, "temperature.gpu": "51", "index": "1",
	"compute_cap": "8.6", "pci.bus_id": "00000004:01:00.0",
	"gpu_bus_id": "00000004:01:00.0", "uuid": cardUUID, "gpu_uuid": cardUUID,
	"memory.total": "16376 MiB", "memory.used": "1 MiB", "memory.free": "15969 MiB", "power.draw": "12.60 W",
}

const (
	cardName = "NVIDIA RTX A4000"
	cardUUID = "GPU-91d7c2b0-6e1f-4b5a-8a3c-0f52d1a7e684"
)

// gpusOf are the node's, by index. Callers hold the rig's lock.
func gpusOf(n *host.Node) []map[string]string {
	own := maps.Clone(gpuFacts)
	switch {
	case n.Loads > 0 && n.LowClock:
		maps.Copy(own, stuckFacts)
	case n.Loads > 0:
		maps.Copy(own, busyFacts)
	}
	all := []map[string]string{own}
	if n.HasCard() {
		card := maps.Clone(gpuFacts)
		maps.Copy(card, cardFacts)
		all = append(all, card)
	}
	return all
}

// runNvidiaSmi is -L, -q, --query-gpu or, without any of them, the table. A GPU that shares the processor's
// memory has "Not Supported" where others have theirs.
func runNvidiaSmi(_ context.Context, c *host.Call) int {
	var gpus []map[string]string
	c.Locked(func() { gpus = gpusOf(c.Node) })
	for _, a := range c.Args[1:] {
		query, isQuery := strings.CutPrefix(a, "--query-gpu=")
		switch {
		case a == "-L" || a == "--list-gpus":
			for _, g := range gpus {
				c.Printf("GPU %s: %s (UUID: %s)\n", g["index"], g["name"], g["uuid"])
			}
			return 0
		case a == "-q" || a == "--query":
			return gpuReport(c, gpus)
		case isQuery:
			return gpuQuery(c, gpus, strings.Split(query, ","))
		}
	}
	c.Printf("%s", PrintTemplate(nvidiaTexts, "nvidia_smi_table.txt", struct{ At, Driver string }{
		gpuTime(c),
		host.GPUDriver,
	}))
	for _, g := range gpus {
		memory := "Not Supported"
		if total := g["memory.total"]; strings.HasSuffix(total, "MiB") {
			memory = strings.ReplaceAll(g["memory.used"]+" / "+total, " MiB", "MiB")
		}
		c.Printf("| %3s  %-24s  On  |   %s Off |                  N/A |\n", g["index"], g["name"], g["pci.bus_id"])
		c.Printf("| N/A   %sC    P8             %s /  N/A  | %-22s |      0%%      Default |\n",
			g["temperature.gpu"], strings.Fields(g["power.draw"])[0]+"W", memory)
		c.Println("+-----------------------------------------+------------------------+----------------------+")
	}
	return 0
}

// gpuQuery is a line of comma-separated values for each GPU.
func gpuQuery(c *host.Call, gpus []map[string]string, fields []string) int {
	plain := strings.Join(c.Args, " ")
	var head []string
	rows := make([][]string, len(gpus))
	for _, f := range fields {
		f = strings.TrimSpace(f)
		// All of it fails for one word, as with the real one: nothing is printed of the others.
		if _, ok := gpuFacts[f]; !ok {
			c.Printf("Field %q is not a valid field to query.\n\n", f)
			return 2
		}
		head = append(head, f)
		for i, g := range gpus {
			v := g[f]
			// Of words with blanks, as names and "Not Active", nothing is cut off.
			if strings.Contains(plain, "nounits") &&
				(strings.HasSuffix(v, "MiB") || strings.HasSuffix(v, "MHz") || strings.HasSuffix(v, " W") ||
					strings.HasSuffix(v, "%")) {
				v, _, _ = strings.Cut(v, " ")
			}
			rows[i] = append(rows[i], v)
		}
	}
	if !strings.Contains(plain, "noheader") {
		c.Println(strings.Join(head, ", "))
	}
	for _, row := range rows {
		c.Println(strings.Join(row, ", "))
	}
	return 0
}

// gpuTime is the time as nvidia-smi prints it.
func gpuTime(c *host.Call) string {
	return c.Node.Rack.Clock.Wall().UTC().Format("Mon Jan _2 15:04:05 2006")
}

// gpuReport is the part of nvidia-smi -q that has information here. A GPU that shares the processor's memory
// has no frame buffer and no BAR1.
func gpuReport(c *host.Call, gpus []map[string]string) int {
	c.Printf("%s", PrintTemplate(nvidiaTexts, "nvidia_smi_head.txt", struct {
		At, Driver string
		GPUs       int
	}{gpuTime(c), host.GPUDriver, len(gpus)}))
	for _, g := range gpus {
		// ATS is by what a GB10's GPU reads the processor's page tables: one memory, and no window (BAR1) into
		// another.
		architecture, addressing := "Blackwell", "ATS"
		memory, bar1 := [4]string{"N/A", "N/A", "N/A", "N/A"}, [3]string{"N/A", "N/A", "N/A"}
		if g["name"] == cardName {
			architecture, addressing = "Ampere", "None"
			memory, bar1 = [4]string{"16376 MiB", "406 MiB", "1 MiB", "15969 MiB"}, [3]string{"256 MiB", "5 MiB", "251 MiB"}
		}
		c.Printf("%s", PrintTemplate(nvidiaTexts, "nvidia_smi_query.txt", struct {
			GPU, Name, Architecture, Addressing, UUID, Temperature string
			Memory                                                 [4]string
			BAR1                                                   [3]string
		}{g["pci.bus_id"], g["name"], architecture, addressing, g["uuid"], g["temperature.gpu"], memory, bar1}))
	}
	return 0
}
