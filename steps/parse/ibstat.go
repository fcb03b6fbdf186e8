package parse

import (
	"encoding/hex"
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
	RateGbps  float64 `json:"rateGbps"` // 0 if it isn't printed
	LinkLayer string  `json:"linkLayer"`
	// The lids are null if they aren't printed. On InfiniBand a subnet manager assigns them.
	BaseLID *int `json:"baseLID"`
	SMLID   *int `json:"smLID"`
	// GID is the first of the port, as ibstatus prints it.
	GID string `json:"gid,omitempty"`
}

var (
	ibCA   = lazyregexp.New(`^CA '([^']+)'$`)
	ibPort = lazyregexp.New(`^\s+Port (\d{1,3}):$`)
	// Infiniband device 'mlx5_0' port 1 status:
	ibStatus = lazyregexp.New(`^Infiniband device '([^']+)' port (\d{1,3}) status:$`)
	// 4: ACTIVE
	ibNumbered = lazyregexp.New(`^\d{1,2}: *`)
)

// Ibstat reads ibstat and ibstatus of infiniband-diags.
func Ibstat(text string) ([]IBCA, error) {
	cas := []IBCA{}
	lines(text, func(line string) {
		if m := ibCA.Regexp().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if len(cas) < maxRows {
				cas = append(cas, IBCA{Name: m[1], Ports: []IBPort{}})
			}
			return
		}
		if m := ibStatus.Regexp().FindStringSubmatch(strings.TrimSpace(line)); m != nil && len(cas) < maxRows {
			n, _ := strictnum.Count(m[2])
			cas = append(cas, IBCA{Name: m[1], Ports: []IBPort{{Port: n}}})
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
		"state": &p.State, "phys state": &p.Physical, "link_layer": &p.LinkLayer, "default gid": &p.GID,
	} {
		if v, ok := field(line, name); ok {
			*set = v
			if name[0] == 's' || name[0] == 'p' { // ibstatus
				*set = ibNumbered.Regexp().ReplaceAllString(v, "")
			}
		}
	}
	for name, set := range map[string]**int{
		"Base lid": &p.BaseLID, "SM lid": &p.SMLID, "base lid": &p.BaseLID, "sm lid": &p.SMLID,
	} {
		if v, ok := field(line, name); ok {
			*set = hexLID(v)
		}
	}
	for _, name := range []string{"Rate", "rate"} {
		if v, ok := field(line, name); ok {
			v, _, _ = strings.Cut(v, " ") // 40 (FDR10)
			p.RateGbps, _ = strictnum.Number(v)
		}
	}
}

// hexLID is a lid as ibstatus writes it (0x1f), or as ibstat does; nil where it is none.
func hexLID(s string) *int {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return lid(s)
	}
	b, err := hex.DecodeString(strings.Repeat("0", len(digits)%2) + digits)
	if err != nil || len(b) == 0 || len(b) > 2 {
		return nil
	}
	n := 0
	for _, x := range b {
		n = n<<8 | int(x)
	}
	return &n
}

// IbstatTool reads ibstat.
func IbstatTool() Tool {
	return Tool{
		Name: "ibstat", Also: []string{"ibstatus"},
		Shows: "blocks that begin with \"CA 'DEVICE'\", or ibstatus's \"Infiniband device 'DEVICE'\"",
		Reads: List("ibstat", Ibstat),
		Marks: []Mark{Sign(3, `^CA '[^']+'$`), Sign(5, `^Infiniband device '[^']+' port`), Sign(1, `^\s+(?:CA type|Physical state|Capability mask):`)},
	}
}
