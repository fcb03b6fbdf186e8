package theory

import (
	"fmt"

	"github.com/railbench/railbench/steps"
)

// pcieEfficiency is what is left of a PCIe link's bits after transaction
// headers, acknowledgements and flow control. It is measured, not derived: one
// Gen5 x4 half of a DGX Spark carries 111.8 of 126.0 Gb/s (assets/docs/facts.md#pcie-halves).
const pcieEfficiency = 0.887

// Ceiling is what the PCIe link behind a rail lets through, in Gb/s on the wire
// (RoCE headers counted), and where the number comes from. It is 0 and empty
// where the link isn't known, as on soft-RoCE.
func Ceiling(r steps.Rail) (gbps float64, from string) { return ceiling(r.PCI.GTps, r.PCI.Width) }

// MaxCeiling is Ceiling for the link that the device could have.
func MaxCeiling(r steps.Rail) (gbps float64, from string) {
	return ceiling(r.PCI.MaxGTps, r.PCI.MaxWidth)
}

// ceiling takes off the encoding, which the generation fixes, and the packets' headers,
// which were measured (assets/docs/facts.md#pcie-halves).
func ceiling(gtps float64, width int) (float64, string) {
	if gtps <= 0 || width <= 0 {
		return 0, ""
	}
	raw := gtps * float64(width) * encoding(gtps)
	return raw * pcieEfficiency, fmt.Sprintf("%s: %.1f Gb/s after encoding, of which %.1f %% is payload as measured on "+
		"DGX Spark", Slot(gtps, width), raw, 100*pcieEfficiency)
}

// encoding is the share of a PCIe generation's bits that are data.
func encoding(gtps float64) float64 {
	switch {
	case gtps < 8: // Gen1 and Gen2: 8b/10b
		return 8.0 / 10
	case gtps < 64: // Gen3 to Gen5: 128b/130b
		return 128.0 / 130
	default: // Gen6 on: 242 of 256 bytes of a flit
		return 242.0 / 256
	}
}

// Slot names a PCIe link: "PCIe Gen5 x4".
func Slot(gtps float64, width int) string {
	if gtps <= 0 || width <= 0 {
		return "PCIe unknown"
	}
	gen := 1
	for g, top := range []float64{2.5, 5, 8, 16, 32, 64} {
		if gtps >= top {
			gen = g + 1
		}
	}
	return fmt.Sprintf("PCIe Gen%d x%d", gen, width)
}
