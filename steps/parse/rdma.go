package parse

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// An RDMALink is a port of an RDMA device, as rdma link shows it.
type RDMALink struct {
	Dev      string `json:"dev"`
	Port     int    `json:"port"`
	State    string `json:"state"`    // ACTIVE, DOWN, INIT …
	Physical string `json:"physical"` // LINK_UP, DISABLED, POLLING …
	Netdev   string `json:"netdev"`   // empty where it has none
	// The lids of an InfiniBand port and of its subnet manager; null if they aren't printed.
	LID   *int `json:"lid"`
	SMLID *int `json:"smLID"`
}

// RDMACounters are those of a port, as rdma statistic shows them. Which there are is the
// driver's.
type RDMACounters struct {
	Dev      string            `json:"dev"`
	Port     int               `json:"port"`
	Counters map[string]uint64 `json:"counters"`
}

// link rocep1s0f0/1 …, and before iproute2 5.0 1/1: mlx5_0/1: …
var rdmaLine = lazyregexp.New(`^(?:link |\d{1,9}/\d{1,9}: )(\S+?)/(\d{1,9}):? (.*)$`)

// rdmaText calls row for each port in a text, with its words in pairs.
func rdmaText(text string, row func(dev string, port int, words []string)) {
	lines(text, func(line string) {
		m := rdmaLine.Regexp().FindStringSubmatch(line)
		if m == nil {
			return
		}
		if port, ok := strictnum.Count(m[2]); ok {
			row(m[1], port, strings.Fields(m[3]))
		}
	})
}

// rdmaJSON calls row for each object of rdma -j.
func rdmaJSON(text string, row func(dev string, port int, values map[string]json.RawMessage)) error {
	var raw []map[string]json.RawMessage
	if err := unmarshalPieces(text, &raw); err != nil {
		return fmt.Errorf("%w: rdma -j: %w", ErrNoResult, err)
	}
	for _, r := range raw {
		var dev string
		port, ok := strictnum.Count(string(r["port"]))
		if ok && json.Unmarshal(r["ifname"], &dev) == nil && dev != "" {
			row(dev, port, r)
		}
	}
	return nil
}

// isArray reports whether a text is JSON that is a list, whatever warning is before it.
func isArray(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "[") || strings.Contains(text, "\n[")
}

// lid is a number; nil where there is none.
func lid(s string) *int {
	if n, ok := strictnum.Count(s); ok {
		return &n
	}
	return nil
}

// RDMALinks reads rdma link, also with -d and -j.
func RDMALinks(text string) ([]RDMALink, error) {
	links := []RDMALink{}
	add := func(l RDMALink) {
		// A row of rdma statistic begins as one of rdma link, and has no state.
		if l.State != "" && len(links) < maxRows {
			links = append(links, l)
		}
	}
	var err error
	if isArray(text) {
		err = rdmaJSON(text, func(dev string, port int, values map[string]json.RawMessage) {
			word := func(name string) (s string) {
				_ = json.Unmarshal(values[name], &s) // values that are not text are left out
				return s
			}
			add(RDMALink{
				dev, port, word("state"), word("physical_state"), word("netdev"), lid(string(values["lid"])),
				lid(string(values["sm_lid"])),
			})
		})
	} else {
		rdmaText(text, func(dev string, port int, words []string) {
			l := RDMALink{Dev: dev, Port: port}
			// By their names and not by their places: an InfiniBand port has its subnet_prefix and its lid before the
			// state.
			for i := 0; i+1 < len(words); i += 2 {
				switch words[i] {
				case "state":
					l.State = words[i+1]
				case "physical_state":
					l.Physical = words[i+1]
				case "netdev":
					l.Netdev = words[i+1]
				case "lid":
					l.LID = lid(words[i+1])
				case "sm_lid":
					l.SMLID = lid(words[i+1])
				}
			}
			add(l)
		})
	}
	if err == nil && len(links) == 0 {
		err = ErrNoResult
	}
	return links, err
}

// RDMAStatistic reads rdma statistic, also with -j. A counter that is not a number is left out.
func RDMAStatistic(text string) ([]RDMACounters, error) {
	all := []RDMACounters{}
	add := func(dev string, port int, pairs func(take func(name, value string))) {
		c := RDMACounters{Dev: dev, Port: port, Counters: map[string]uint64{}}
		pairs(func(name, value string) {
			if n, ok := strictnum.Counter(value); ok && len(c.Counters) < maxRows {
				c.Counters[name] = n
			}
		})
		if len(c.Counters) > 0 && len(all) < maxRows {
			all = append(all, c)
		}
	}
	var err error
	if isArray(text) {
		err = rdmaJSON(text, func(dev string, port int, values map[string]json.RawMessage) {
			if values["state"] != nil {
				return // rdma link's
			}
			add(dev, port, func(take func(name, value string)) {
				for name, value := range values {
					if name != "port" && name != "ifindex" {
						take(name, string(value))
					}
				}
			})
		})
	} else {
		rdmaText(text, func(dev string, port int, words []string) {
			if len(words) > 0 && words[0] == "state" {
				return // rdma link's
			}
			add(dev, port, func(take func(name, value string)) {
				for i := 0; i+1 < len(words); i += 2 {
					take(words[i], words[i+1])
				}
			})
		})
	}
	if err == nil && len(all) == 0 {
		err = ErrNoResult
	}
	return all, err
}

// RDMATool reads rdma of iproute2.
func RDMATool() Tool {
	return Tool{
		Name: "rdma", Shows: "ports or counters, as rdma link and rdma statistic print them, also with -j",
		Reads: readRDMA,
		Marks: []Mark{
			Sign(3, `^(?:link |\d+/\d+: )\S+/\d+:? state [A-Z]+ physical_state `),
			Sign(3, `^link \S+/\d+ (?:[a-z]\w* \d+ ){3}`),
			// ip's JSON has an ifname, too.
			Sign(3, `"physical_state" *:`),
			Sign(3, `"port" *: *\d+ *,`),
			Sign(3, `"(?:sent_pkts|rx_write_requests|out_of_sequence|out_of_buffer|np_cnp_sent)" *: *\d`),
		},
	}
}

// readRDMA decides by the contents whether the text is of ports or of counters.
func readRDMA(text string) (any, *[]string, error) {
	v := struct {
		Tool   string   `json:"tool"`
		Object string   `json:"object"` // link or statistic
		Rows   any      `json:"rows"`
		Errors []string `json:"errors"`
	}{Tool: "rdma", Object: "link", Rows: []RDMALink{}, Errors: []string{}}
	links, err := RDMALinks(text)
	n := len(links)
	if n > 0 {
		v.Rows = links
		return &v, &v.Errors, atLimit(n, err)
	}
	counters, errCounters := RDMAStatistic(text)
	if n = len(counters); n > 0 {
		v.Object, v.Rows, err = "statistic", counters, errCounters
	}
	return &v, &v.Errors, atLimit(n, err)
}
