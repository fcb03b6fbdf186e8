package parse

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// EthtoolLink is what ethtool says of an interface.
type EthtoolLink struct {
	Netdev string `json:"netdev"`
	// Supported and Advertised are link modes: "100000baseCR4/Full"; empty where the driver
	// reports none.
	Supported  []string `json:"supported"`
	Advertised []string `json:"advertised"`
	// SpeedMbps is the link's rate; 0 where it is unknown, as without a link.
	SpeedMbps int    `json:"speedMbps"`
	Lanes     int    `json:"lanes,omitempty"`
	Duplex    string `json:"duplex"`
	Auto      string `json:"autoNegotiation"` // on or off
	Port      string `json:"port"`            // Direct Attach Copper, FIBRE …
	// Link is yes, no or unknown; empty if it isn't printed.
	Link string `json:"link"`
	// Reason is why there is no link, from 5.8 on: "No cable", "Overheat".
	Reason string `json:"reason,omitempty"`
}

// MostMbps is the fastest of the supported modes; 0 where none is reported.
func (l EthtoolLink) MostMbps() int { return fastest(l.Supported) }

// AskedMbps is the fastest of the modes that it advertises; 0 where none is reported.
func (l EthtoolLink) AskedMbps() int { return fastest(l.Advertised) }

var linkMode = lazyregexp.New(`^(\d{1,9})base\w`)

func fastest(modes []string) int {
	most := 0
	for _, mode := range modes {
		if m := linkMode.Regexp().FindStringSubmatch(mode); m != nil {
			if v, ok := strictnum.Count(m[1]); ok {
				most = max(most, v)
			}
		}
	}
	return most
}

var (
	ethtoolStart = lazyregexp.New(`(?:^|:)Settings for ([^\s:]+):$`)
	ethtoolSpeed = lazyregexp.New(`^(\d{1,9})Mb/s$`)
)

// EthtoolLinks reads ethtool INTERFACE, run once or several times in a row.
func EthtoolLinks(text string) ([]EthtoolLink, error) {
	r := ethtoolReader{links: []EthtoolLink{}}
	lines(text, r.line)
	if len(r.links) == 0 {
		return r.links, ErrNoResult
	}
	return r.links, nil
}

// An ethtoolReader reads blocks: a field a line, but link modes, of which further lines have only the modes.
type ethtoolReader struct {
	links []EthtoolLink
	modes *[]string // the list that goes on in the next line
}

func (r *ethtoolReader) line(line string) {
	line = strings.TrimSpace(line)
	// Behind a colon where the line before lost its end: "Netdev status:Settings for eth3:".
	if m := ethtoolStart.Regexp().FindStringSubmatch(line); m != nil {
		r.modes = nil
		if len(r.links) < maxRows {
			r.links = append(r.links, EthtoolLink{Netdev: cut(m[1]), Supported: []string{}, Advertised: []string{}})
		}
		return
	}
	if len(r.links) == 0 {
		return
	}
	l := &r.links[len(r.links)-1]
	name, value, named := strings.Cut(line, ":")
	if !named {
		r.add(line)
		return
	}
	r.modes = nil
	value = strings.TrimSpace(value)
	switch name {
	case "Supported link modes":
		l.Supported, r.modes = []string{}, &l.Supported
		r.add(value)
	case "Advertised link modes":
		l.Advertised, r.modes = []string{}, &l.Advertised
		r.add(value)
	case "Speed":
		if m := ethtoolSpeed.Regexp().FindStringSubmatch(value); m != nil {
			l.SpeedMbps, _ = strictnum.Count(m[1])
		}
	case "Lanes":
		l.Lanes, _ = strictnum.Count(value)
	case "Duplex":
		l.Duplex = cut(value)
	case "Auto-negotiation":
		l.Auto = cut(value)
	case "Port":
		l.Port = cut(value)
	case "Link detected":
		// From 5.8 on a reason may follow: no (No cable).
		l.Link, l.Reason, _ = strings.Cut(cut(value), " ")
		l.Reason = strings.Trim(l.Reason, "()")
	}
}

// add takes the modes of a line into the list that is open.
func (r *ethtoolReader) add(line string) {
	if r.modes == nil {
		return
	}
	for mode := range strings.FieldsSeq(line) {
		if linkMode.Regexp().MatchString(mode) && len(*r.modes) < 256 {
			*r.modes = append(*r.modes, cut(mode))
		}
	}
}

// A CableModule is what ethtool -m reads from a cable's or a module's own memory.
type CableModule struct {
	Identifier string   `json:"identifier"` // QSFP28, QSFP112 …
	Connector  string   `json:"connector"`
	Types      []string `json:"types"` // 100G Ethernet: 100G Base-CR4 …
	// Technology is how it sends: copper, or a laser's kind.
	Technology string `json:"technology"`
	// LengthM is the cable's length, m; 0 if it is not printed, as for a module without a cable.
	LengthM    float64 `json:"lengthM"`
	Vendor     string  `json:"vendor"`
	PartNumber string  `json:"partNumber"`
	Revision   string  `json:"revision"`
	Serial     string  `json:"serial"`
}

// Copper reports whether it says that it is a copper cable.
func (m CableModule) Copper() bool { return strings.Contains(strings.ToLower(m.Technology), "copper") }

// Active reports whether a copper cable has electronics in its plugs: its technology names active
// equalizers then, where a passive one's is "unequalized" or "passive equalized" (SFF-8636, byte 147).
func (m CableModule) Active() bool { return strings.Contains(m.Technology, "active equalizers") }

var (
	moduleLine   = lazyregexp.New(`^\s*([A-Z][^:]*?)\s+: ?(.*)$`)
	inBrackets   = lazyregexp.New(`^0x[0-9a-f]{2}(?: \((.*)\))?$`)
	moduleLength = lazyregexp.New(`^(\d[\d.]*)(k?m)$`)
)

// EthtoolModule reads ethtool -m INTERFACE. The error is ErrNoResult where the text has no
// module in it, as where none is plugged in or the driver doesn't show it.
func EthtoolModule(text string) (CableModule, error) {
	m := CableModule{Types: []string{}}
	lines(text, func(line string) {
		if f := moduleLine.Regexp().FindStringSubmatch(line); f != nil {
			m.take(f[1], cut(strings.TrimSpace(f[2])))
		}
	})
	if m.Identifier == "" {
		return m, ErrNoResult
	}
	return m, nil
}

// take keeps the field that is meant. Most have a code before the words, which are what a person reads.
func (m *CableModule) take(name, value string) {
	said := value // "QSFP28" of "0x11 (QSFP28)"
	if f := inBrackets.Regexp().FindStringSubmatch(value); f != nil && f[1] != "" {
		said = f[1]
	}
	for known, to := range map[string]*string{
		"Identifier": &m.Identifier, "Connector": &m.Connector, "Transmitter technology": &m.Technology,
	} {
		if name == known {
			*to = said
		}
	}
	for known, to := range map[string]*string{
		"Vendor name": &m.Vendor, "Vendor PN": &m.PartNumber, "Vendor rev": &m.Revision, "Vendor SN": &m.Serial,
	} {
		if name == known {
			*to = value
		}
	}
	switch name {
	case "Transceiver type":
		if len(m.Types) < maxErrors {
			m.Types = append(m.Types, value)
		}
	case "Length (Copper or Active cable)", "Length (Copper)", "Cable assembly length":
		m.LengthM = metres(value)
	}
}

// metres is 1 of "1m" and 500 of "0.5km"; 0 of anything else.
func metres(text string) float64 {
	f := moduleLength.Regexp().FindStringSubmatch(text)
	if f == nil {
		return 0
	}
	v, _ := strictnum.Number(f[1])
	if f[2] == "km" {
		v *= 1000
	}
	return v
}

// EthtoolTool reads ethtool and ethtool -m.
func EthtoolTool() Tool {
	return Tool{
		Name: "ethtool", Shows: "\"Settings for INTERFACE:\" and what follows, or the cable's memory as ethtool -m prints it",
		Reads: readEthtool,
		Marks: []Mark{
			Sign(3, `Settings for \S+:$`),
			Sign(3, `^\s*Identifier\s+: 0x[0-9a-f]{2} \(`),
			Sign(2, `^\s*Vendor PN\s+: `),
			Sign(2, `^netlink error: `),
		},
	}
}

func readEthtool(text string) (any, *[]string, error) {
	v := struct {
		Tool   string   `json:"tool"`
		Object string   `json:"object"` // link or module
		Rows   any      `json:"rows"`
		Errors []string `json:"errors"`
	}{Tool: "ethtool", Object: "link", Rows: []EthtoolLink{}, Errors: []string{}}
	links, err := EthtoolLinks(text)
	if n := len(links); n > 0 {
		v.Rows = links
		return &v, &v.Errors, atLimit(n, err)
	}
	module, errModule := EthtoolModule(text)
	if errModule == nil {
		v.Object, v.Rows, err = "module", []CableModule{module}, nil
	}
	return &v, &v.Errors, err
}
