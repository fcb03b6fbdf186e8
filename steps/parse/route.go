package parse

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/strictnum"
)

// A Route is a line of ip route.
type Route struct {
	Dst     string `json:"dst"` // default, or a prefix
	Gateway string `json:"gateway,omitempty"`
	Dev     string `json:"dev"`
	Src     string `json:"src,omitempty"`
	Metric  int    `json:"metric,omitempty"`
	Proto   string `json:"proto,omitempty"`
	Scope   string `json:"scope,omitempty"`
}

// routeTypes stand before a destination.
var routeTypes = []string{
	"unicast", "local", "broadcast", "multicast",
	"unreachable", "blackhole", "prohibit", "anycast", "throw",
}

// A via is a next hop of another family than the route's own (RTA_VIA), as of IPv4 through a neighbour's fe80.
type via struct {
	Host string `json:"host"`
}

// Routes reads ip route, with or without -j, and ip route get. A route with several next hops is a row for each:
// it has no gateway and no interface of its own.
func Routes(text string) ([]Route, error) {
	var raw []struct {
		Dst     string `json:"dst"`
		Gateway string `json:"gateway"`
		Via     via    `json:"via"`
		Dev     string `json:"dev"`
		Src     string `json:"prefsrc"`
		Metric  int    `json:"metric"`
		Proto   string `json:"protocol"`
		Scope   string `json:"scope"`
		Hops    []struct {
			Gateway string `json:"gateway"`
			Via     via    `json:"via"`
			Dev     string `json:"dev"`
		} `json:"nexthops"`
	}
	routes := []Route{}
	add := func(r Route) {
		if len(routes) < maxRows {
			routes = append(routes, r)
		}
	}
	if unmarshalPieces(text, &raw) == nil {
		for _, r := range raw {
			one := Route{
				cut(r.Dst), cut(cmp.Or(r.Gateway, r.Via.Host)), cut(r.Dev),
				cut(r.Src), max(0, r.Metric), cut(r.Proto), cut(r.Scope),
			}
			if one.Dst != "" && len(r.Hops) == 0 {
				add(one)
			}
			for _, h := range r.Hops {
				if one.Gateway, one.Dev = cut(cmp.Or(h.Gateway, h.Via.Host)), cut(h.Dev); one.Dst != "" {
					add(one)
				}
			}
		}
	} else {
		var whose Route // whose next hops stand in the lines below it
		lines(text, func(line string) {
			words := strings.Fields(line)
			if len(words) > 0 && words[0] == "nexthop" && whose.Dst != "" {
				words[0] = whose.Dst
				if hop, ok := route(words); ok {
					one := whose
					one.Gateway, one.Dev = hop.Gateway, hop.Dev
					add(one)
				}
				return
			}
			r, ok := route(words)
			if whose = r; ok {
				add(r)
			}
		})
	}
	if len(routes) == 0 {
		return routes, ErrNoResult
	}
	return routes, nil
}

// route reads a line of words and values in pairs. The words that it doesn't know stand
// alone, or are of no interest.
func route(words []string) (Route, bool) {
	if len(words) > 0 && slices.Contains(routeTypes, words[0]) {
		words = words[1:]
	}
	// Any sentence has words in pairs: a destination is what makes a line a route.
	if len(words) < 3 || words[0] != "default" && !destination(words[0]) {
		return Route{}, false
	}
	r := Route{Dst: words[0]}
	for i := 1; i+1 < len(words); i++ {
		to := map[string]*string{
			"via": &r.Gateway, "dev": &r.Dev,
			"src": &r.Src, "proto": &r.Proto, "scope": &r.Scope,
		}[words[i]]
		switch {
		case words[i] == "via" && i+2 < len(words) && (words[i+1] == "inet" || words[i+1] == "inet6"):
			r.Gateway = cut(words[i+2])
			i += 2
		case to != nil:
			*to = cut(words[i+1])
			i++
		case words[i] == "metric":
			r.Metric, _ = strictnum.Count(words[i+1])
			i++
		}
	}
	return r, r.Dev != ""
}

func destination(s string) bool {
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	_, err := netip.ParseAddr(s)
	return err == nil
}

// BriefAddrs are a node's own addresses, with their prefixes, among the words that ip -br addr has of an interface: of
// one with another end, "10.8.0.1 peer 10.8.0.2/32", that end's prefix belongs to it and that end's address doesn't.
func BriefAddrs(words []string) []string {
	all := []string{}
	for i, w := range words {
		p, err := netip.ParsePrefix(w)
		if err != nil {
			continue
		}
		if i > 1 && words[i-1] == "peer" {
			local, err := netip.ParseAddr(words[i-2])
			if err != nil {
				continue
			}
			w = netip.PrefixFrom(local, p.Bits()).String()
		}
		all = append(all, w)
	}
	return all
}

// linkStates are operstates, as ip -br prints them in its second column.
var linkStates = []string{"UP", "DOWN", "UNKNOWN", "LOWERLAYERDOWN", "DORMANT", "NOTPRESENT", "TESTING"}

// BriefLinks reads ip -br link and ip -br addr.
func BriefLinks(text string) ([]Link, error) {
	links := []Link{}
	lines(text, func(line string) {
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains(linkStates, words[1]) || len(links) >= maxRows {
			return
		}
		l := Link{State: words[1], Flags: []string{}, Addrs: []string{}}
		l.Name, _, _ = strings.Cut(words[0], "@")
		l.Name = cut(l.Name)
		l.Addrs = BriefAddrs(words[2:])
		l.Addrs = l.Addrs[:min(len(l.Addrs), maxRows)]
		for _, w := range words[2:] {
			switch {
			case strings.Count(w, ":") == 5 && len(w) == 17:
				l.MAC = w
			case strings.HasPrefix(w, "<") && strings.HasSuffix(w, ">"):
				l.Flags = strings.Split(strings.Trim(w, "<>"), ",")
			}
		}
		if len(words) > 2 && len(l.Addrs) == 0 && l.MAC == "" {
			return // a sentence whose second word is UP
		}
		links = append(links, l)
	})
	if len(links) == 0 {
		return links, ErrNoResult
	}
	return links, nil
}
