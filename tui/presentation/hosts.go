package presentation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// A hostForm is how much is said of each node in the line of the processors.
type hostForm struct {
	bar   int    // columns of the processors' bar
	cores string // format of how many are busy, of how many
	heat  bool   // how hot adapter and GPU are, and what is wrong with them
	brief bool   // of heat, that of the adapter alone
}

// hostForms are those that there are, the one that says most first.
var hostForms = []hostForm{
	{bar: 22, cores: "%.1f of %d cores", heat: true},
	{bar: 12, cores: "%.1f of %d cores", heat: true},
	{bar: 6, cores: "%.1f/%d cores", heat: true},
	{bar: 4, cores: "%.1f/%d cores", heat: true, brief: true},
	{bar: 0, cores: "%.1f/%d", heat: true, brief: true},
	{bar: 4, cores: "%.1f/%d"},
	{bar: 0, cores: "%.1f/%d"},
}

// hosts say how busy the nodes' processors are, which is what RDMA saves compared with TCP, and how hot their
// adapters are: in one line, or one line for each node on a large screen.
func (d drawing) hosts() []string {
	if len(d.Dials.Hosts) == 0 {
		return nil
	}
	for i, form := range hostForms {
		var parts []string
		for _, h := range d.Dials.Hosts {
			parts = append(parts, d.host(h, form))
		}
		line := " " + strings.Join(parts, "   ")
		if lipgloss.Width(line) > d.Width {
			if i < len(hostForms)-1 {
				continue
			}
			line = d.someHosts(parts)
		}
		if key := d.key(); lipgloss.Width(line)+lipgloss.Width(key)+4 <= d.Width {
			line = theme.Sides(line, key+" ", d.Width)
		} else if d.roomy {
			return []string{line, theme.Sides("", key+" ", d.Width)}
		}
		return []string{line}
	}
	return nil
}

// someHosts is a line of as many nodes as it has room for: the ends of the link come first.
func (d drawing) someHosts(parts []string) string {
	for n := len(parts) - 1; n > 0; n-- {
		line := " " + strings.Join(parts[:n], "   ") + d.k.Dim.Render(fmt.Sprintf("   and %d more", len(parts)-n))
		if lipgloss.Width(line) <= d.Width {
			return line
		}
	}
	return " " + parts[0]
}

// host is one node in a form.
func (d drawing) host(h meter.Host, form hostForm) string {
	k := d.k
	text, bar := "unknown", strings.Repeat(" ", form.bar)
	if h.Known && h.Cores > 0 {
		n := int(math.Round(h.Busy / float64(h.Cores) * float64(form.bar)))
		if h.Busy >= 0.5 {
			n = max(1, n)
		}
		n = max(0, min(form.bar, n))
		bar = k.Warn.Render(strings.Repeat("█", n)) + strings.Repeat(" ", form.bar-n)
		text = fmt.Sprintf(form.cores, h.Busy, h.Cores)
	}
	line := k.Dim.Render("CPU "+theme.Clean(h.Node)) + " "
	if form.bar > 0 {
		line += k.Faint.Render("▕") + bar + k.Faint.Render("▏") + " "
	}
	line += k.Strong.Render(text)
	if heat := d.heat(h.No, form); heat != "" {
		line += " " + heat
	}
	return line
}

// heat is how hot a node's adapter and GPU are, and what else is wrong with them.
func (d drawing) heat(no int, form hostForm) string {
	i := slices.IndexFunc(d.Dials.Health, func(n health.Node) bool { return n.No == no })
	if !form.heat || i < 0 || d.Dials.Health[i].Stale != "" {
		return ""
	}
	n, k := d.Dials.Health[i], d.k
	worst := map[string]steps.Grade{}
	for _, a := range n.Alarms() {
		worst[a.Kind] = max(worst[a.Kind], a.Grade)
	}
	style := func(kind string) theme.Style {
		switch worst[kind] {
		case steps.Fail:
			return k.Fail
		case steps.Warn:
			return k.Warn
		default:
			return k.Dim
		}
	}
	var parts []string
	if h, ok := n.Hottest(); ok {
		name := "adapter "
		if form.brief {
			name = ""
		}
		parts = append(parts, style(health.AdapterHeat).Render(fmt.Sprintf("%s%.0f °C", name, h.Celsius)))
	}
	if g, ok := n.HottestGPU(); ok && (!form.brief || worst[health.GPUSlowed] > steps.Pass) {
		parts = append(parts, style(health.GPUSlowed).Render(fmt.Sprintf("GPU %.0f °C", g.Celsius)))
	}
	if worst[health.PCIeLink] > steps.Pass {
		parts = append(parts, k.Warn.Render("PCIe slow"))
	}
	if worst[health.SlotPower] > steps.Pass && !form.brief {
		parts = append(parts, k.Warn.Render(fmt.Sprintf("slot %d W", n.Slots[0].Watts)))
	}
	return strings.Join(parts, " ")
}
