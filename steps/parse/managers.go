package parse

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// An NMDevice is an interface as NetworkManager sees it.
type NMDevice struct {
	Name    string `json:"name"`
	State   string `json:"state"` // connected, connected (externally), disconnected, unavailable, unmanaged …
	UUID    string `json:"uuid"`  // of the active profile; empty where there is none
	Profile string `json:"profile"`
}

// NMDevices reads nmcli -t -f DEVICE,STATE,CON-UUID,CONNECTION device.
func NMDevices(text string) ([]NMDevice, error) {
	all := []NMDevice{}
	lines(text, func(line string) {
		f := terse(line)
		if len(f) == 4 && f[0] != "" && f[1] != "" && len(all) < maxRows {
			all = append(all, NMDevice{f[0], f[1], f[2], f[3]})
		}
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}

// terse cuts a line of nmcli -t at its colons: one within a value has a backslash before it.
func terse(line string) []string {
	fields := []string{""}
	escaped := false
	for _, c := range line {
		last := &fields[len(fields)-1]
		switch {
		case escaped || c != ':' && c != '\\':
			*last += string(c)
			escaped = false
		case c == '\\':
			escaped = true
		default:
			fields = append(fields, "")
		}
	}
	return fields
}

// A NetworkdLink is an interface as systemd-networkd sees it.
type NetworkdLink struct {
	Name  string `json:"name"`
	State string `json:"state"` // configured, configuring, failed, unmanaged …
	File  string `json:"file"`  // the .network file that matches it; empty where it is not known
}

var (
	networkctlRow  = lazyregexp.New(`^ *[0-9]{1,9} +[^ ]+ +[^ ]+ +[^ ]+ +(?:[a-z]+|n/a|-) *$`)
	networkctlFile = lazyregexp.New(`^/run/systemd/netif/links/([0-9]{1,9}):NETWORK_FILE=(/.+)$`)
)

// Networkctl reads the table of networkctl -l list, which every release has, and after it
// what grep finds of NETWORK_FILE in networkd's own files. Its JSON has every route of every
// interface, which is a thousand times as much.
func Networkctl(text string) ([]NetworkdLink, error) {
	all := []NetworkdLink{}
	byIndex := map[string]int{}
	lines(text, func(line string) {
		if m := networkctlFile.Regexp().FindStringSubmatch(line); m != nil {
			if i, ok := byIndex[m[1]]; ok {
				all[i].File = m[2]
			}
		}
		if !networkctlRow.Regexp().MatchString(line) || len(all) >= maxRows {
			return
		}
		w := strings.Fields(line)
		byIndex[w[0]] = len(all)
		if w[4] == "n/a" || w[4] == "-" {
			w[4] = "unmanaged" // nothing in its own files is about it
		}
		all = append(all, NetworkdLink{Name: w[1], State: w[4]})
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}

// An Ifupdown is a stanza of /etc/network/interfaces.
type Ifupdown struct {
	Name   string `json:"name"`
	Method string `json:"method"` // static, dhcp, manual …
}

// IfupdownStanzas reads lines of /etc/network/interfaces and of what it sources. An interface
// with two families stands there twice: a client that renews its address wins.
func IfupdownStanzas(text string) ([]Ifupdown, error) {
	all := []Ifupdown{}
	lines(text, func(line string) {
		w := strings.Fields(line)
		if len(w) < 4 || w[0] != "iface" || w[2] != "inet" && w[2] != "inet6" || len(all) >= maxRows {
			return
		}
		i := slices.IndexFunc(all, func(s Ifupdown) bool { return s.Name == w[1] })
		switch {
		case i < 0:
			all = append(all, Ifupdown{w[1], w[3]})
		case w[3] == "dhcp":
			all[i].Method = w[3]
		}
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}
