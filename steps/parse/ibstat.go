package parse

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// An IBCA is a block of ibstat.
type IBCA struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // MT4129 …; empty for soft-RoCE
	Firmware string   `json:"firmware"`
	NodeGUID string   `json:"nodeGUID"`
	Ports    []IBPort `json:"ports"`
}

// An IBPort is a port of it.
type IBPort struct {
	Port      int     `json:"port"`
	State     string  `json:"state"`    // Active, Down, Initializing …
	Physical  string  `json:"physical"` // LinkUp, Disabled, Polling …
	RateGbps  float64 `json:"rateGbps"` // 0 where it isn't told
	LinkLayer string  `json:"linkLayer"`
}

var (
	ibCA   = lazyregexp.New(`^CA '([^']+)'$`)
	ibPort = lazyregexp.New(`^\s+Port (\d{1,3}):$`)
)

// Ibstat reads ibstat of infiniband-diags.
func Ibstat(text string) ([]IBCA, error) {
	cas := []IBCA{}
	lines(text, func(line string) {
		if m := ibCA.Regexp().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if len(cas) < maxRows {
				cas = append(cas, IBCA{Name: m[1], Ports: []IBPort{}})
			}
			return
		}
		if len(cas) > 0 {
			cas[len(cas)-1].take(line)
		}
	})
	if len(cas) == 0 {
		return cas, ErrNoResult
	}
	return cas, nil
}

// take reads a line below an adapter's first; below "Port N:" it is that port's.
func (c *IBCA) take(line string) {
	if m := ibPort.Regexp().FindStringSubmatch(line); m != nil {
		if n, ok := strictnum.Count(m[1]); ok && len(c.Ports) < 256 {
			c.Ports = append(c.Ports, IBPort{Port: n})
		}
		return
	}
	for name, set := range map[string]*string{
		"CA type": &c.Type, "Firmware version": &c.Firmware, "Node GUID": &c.NodeGUID,
	} {
		if v, ok := field(line, name); ok {
			*set = v
		}
	}
	if len(c.Ports) == 0 {
		return
	}
	p := &c.Ports[len(c.Ports)-1]
	for name, set := range map[string]*string{
		"State": &p.State, "Physical state": &p.Physical, "Link layer": &p.LinkLayer,
	} {
		if v, ok := field(line, name); ok {
			*set = v
		}
	}
	if v, ok := field(line, "Rate"); ok {
		v, _, _ = strings.Cut(v, " ") // 40 (FDR10)
		p.RateGbps, _ = strictnum.Number(v)
	}
}

// IbstatTool reads ibstat.
func IbstatTool() Tool {
	return Tool{
		Name: "ibstat", Shows: "blocks that begin with \"CA 'DEVICE'\"",
		Reads: List("ibstat", Ibstat),
		Marks: []Mark{Sign(3, `^CA '[^']+'$`), Sign(1, `^\s+(?:CA type|Physical state|Capability mask):`)},
	}
}
