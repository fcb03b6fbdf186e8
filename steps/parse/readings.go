package parse

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Reading is every counter that a script read at one moment.
type Reading struct {
	Clock float64 `json:"clock"` // seconds on the node
	// Devices are the counters of RDMA devices, Netdevs those of interfaces: by
	// name, and then by the counter's.
	Devices map[string]map[string]uint64 `json:"devices"`
	Netdevs map[string]map[string]uint64 `json:"netdevs"`
	// Users are the processes that hold queue pairs then, as rdma lists them.
	Users []QueuePairUser `json:"users,omitempty"`
}

// A QueuePairUser is a process that holds a queue pair on a device.
type QueuePairUser struct {
	Dev     string `json:"dev"`
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// link rocep1s0f0/1 lqpn 139 … type RC state RTS … pid 2212 comm ib_write_bw
var queuePair = lazyregexp.New(`^link (\S+)/\d+ .*\bpid (\d{1,9}) comm (\S+)`)

// Readings reads what the checks of counters print. Each reading begins with a line "clock SECONDS"; the
// counters are sysfs files as grep -H prints them, and what ethtool -S prints after a line "interface NAME".
// What rdma resource show qp prints stands after the last reading, and belongs to it. A counter that is not a
// number is left out. ErrNoResult means that there is no reading.
func Readings(text string) ([]Reading, error) {
	var all []Reading
	netdev := ""
	lines(text, func(line string) {
		if v, ok := strings.CutPrefix(line, "clock "); ok {
			if at, ok := strictnum.Number(v); ok && len(all) < maxRows {
				all = append(all, Reading{
					Clock: at, Devices: map[string]map[string]uint64{},
					Netdevs: map[string]map[string]uint64{},
				})
			}
			netdev = ""
			return
		}
		if v, ok := strings.CutPrefix(line, "interface "); ok {
			netdev = v
			return
		}
		if len(all) > 0 {
			all[len(all)-1].take(line, netdev)
		}
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}

// take reads a counter or a queue pair. netdev is the interface that ethtool was asked
// about; empty before the first one.
func (r *Reading) take(line, netdev string) {
	if m := queuePair.Regexp().FindStringSubmatch(line); m != nil {
		if pid, ok := strictnum.Count(m[2]); ok && len(r.Users) < maxRows {
			r.Users = append(r.Users, QueuePairUser{m[1], pid, m[3]})
		}
		return
	}
	name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
	n, whole := strictnum.Counter(strings.TrimSpace(value))
	if !ok || !whole {
		return
	}
	switch part := strings.Split(name, "/"); {
	case len(part) == 9 && part[3] == "infiniband": // /sys/class/infiniband/DEV/ports/N/counters/NAME
		note(r.Devices, part[4], part[8], n)
	case len(part) == 7 && part[3] == "net": // /sys/class/net/IF/statistics/NAME
		note(r.Netdevs, part[4], part[6], n)
	case len(part) == 1 && netdev != "":
		note(r.Netdevs, netdev, name, n)
	}
}

// note keeps a counter, of as many as a node can have.
func note(m map[string]map[string]uint64, of, name string, v uint64) {
	if m[of] == nil && len(m) < maxRows {
		m[of] = map[string]uint64{}
	}
	if c := m[of]; c != nil && len(c) < maxRows {
		c[name] = v
	}
}
