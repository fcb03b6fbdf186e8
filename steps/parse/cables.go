package parse

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Cable is what the check of cables prints of one interface: its module's memory, and which
// error correction the link uses.
type Cable struct {
	Netdev string      `json:"netdev"`
	Module CableModule `json:"module"`
	// Told says that the module's memory was printed.
	Told bool `json:"told"`
	// FEC is the error correction in use: RS, BaseR, None; empty if unknown.
	FEC string `json:"fec"`
	// PortMbps is the fastest that the port supports; 0 if unknown.
	PortMbps int `json:"portMbps,omitempty"`
	// Refused is why the memory could not be read, in the tool's own words.
	Refused string `json:"refused,omitempty"`
}

var (
	activeFEC   = lazyregexp.New(`^Active FEC encodings?: (\S+)`)
	moduleError = lazyregexp.New(`^(?:netlink error: |Cannot get module EEPROM information: |sudo: )(.+)$`)
)

// Cables reads, for each interface after a line "interface NAME", ethtool -m, ethtool
// --show-fec and ethtool alone. ErrNoResult stands for no interface.
func Cables(text string) ([]Cable, error) {
	var all []Cable
	var of strings.Builder
	end := func() {
		if len(all) > 0 {
			all[len(all)-1].read(of.String())
		}
		of.Reset()
	}
	lines(text, func(line string) {
		if name, ok := strings.CutPrefix(line, "interface "); ok && len(all) < maxRows {
			end()
			all = append(all, Cable{Netdev: cut(strings.TrimSpace(name))})
			return
		}
		of.WriteString(line + "\n")
	})
	end()
	if len(all) == 0 {
		return []Cable{}, ErrNoResult
	}
	return all, nil
}

func (c *Cable) read(text string) {
	var err error
	c.Module, err = EthtoolModule(text)
	c.Told = err == nil
	if links, err := EthtoolLinks(text); err == nil {
		c.PortMbps = links[0].MostMbps()
	}
	lines(text, func(line string) {
		line = strings.TrimSpace(line)
		if m := activeFEC.Regexp().FindStringSubmatch(line); m != nil {
			c.FEC = cut(m[1])
		}
		if m := moduleError.Regexp().FindStringSubmatch(line); m != nil && c.Refused == "" && !c.Told {
			c.Refused = cut(m[1])
		}
	})
}
