package parse

import (
	"cmp"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Neighbor is what is at the other end of an interface's cable, by its own word: LLDP (IEEE 802.1AB).
type Neighbor struct {
	Link   string `json:"link"`             // the interface that heard it
	System string `json:"system,omitempty"` // its name, or the address of its chassis
	Port   string `json:"port,omitempty"`   // its own name of the port
	// Forwards says that it is a bridge or a router, if it reports that.
	Forwards bool `json:"forwards,omitempty"`
}

// networkd's columns: link, chassis, system, capabilities (of one letter each, dots for those that are off),
// port and its description.
var networkdNeighbor = lazyregexp.New(`^ *([^ ]+) +([^ ]+) +([^ ]+) +([.a-z]{11}) +([^ ]+)(?: +([^ ].*))?$`)

// Neighbors reads what lldpctl -f keyvalue and networkctl lldp say, one after the other or one of them. Of an
// interface that several speak on each is one.
func Neighbors(text string) ([]Neighbor, error) {
	all := []Neighbor{}
	lines(text, func(line string) {
		if len(all) >= maxRows {
			return
		}
		if m := networkdNeighbor.Regexp().FindStringSubmatch(line); m != nil {
			n := Neighbor{Link: m[1], System: m[3], Port: m[5], Forwards: strings.ContainsAny(m[4], "br")}
			if n.System == "n/a" || n.System == "-" {
				n.System = m[2]
			}
			all = append(all, n)
			return
		}
		key, value, ok := strings.Cut(line, "=")
		key, own := strings.CutPrefix(key, "lldp.")
		if !ok || !own {
			return
		}
		// An interface's name may have dots in it.
		if link, found := strings.CutSuffix(key, ".via"); found {
			all = append(all, Neighbor{Link: link})
			return
		}
		if len(all) == 0 {
			return
		}
		n := &all[len(all)-1]
		if key, own = strings.CutPrefix(key, n.Link+"."); own {
			n.take(key, value)
		}
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}

// take reads what lldpctl says of a neighbour by a key.
func (n *Neighbor) take(key, value string) {
	switch {
	case key == "chassis.name":
		n.System = value
	case key == "chassis.mac" || key == "chassis.local" || key == "chassis.ifname":
		n.System = cmp.Or(n.System, value)
	case key == "port.ifname", key == "port.local", key == "port.descr" && n.Port == "", key == "port.mac" &&
		n.Port == "":
		n.Port = value
	case key == "port.descr" && strings.Count(n.Port, ":") == 5:
		n.Port = value // in place of an address
	case key == "chassis.Bridge.enabled" && value == "on", key == "chassis.Router.enabled" && value == "on":
		n.Forwards = true
	}
}
