package meter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps/strictnum"
)

// EveryInterface has ReadCounters ask for the details of all interfaces.
const EveryInterface = "*"

// ReadCounters has a node print what ParseCounters reads. details is the interface whose driver is asked for what it
// reports ethtool alone, EveryInterface, or empty: it takes a process for each.
func ReadCounters(name, details string) runner.Script {
	return runner.Script{Name: name, Body: scripts.Counters, Vars: map[string]string{"DETAILS": details}}
}

const bootFile = "/proc/sys/kernel/random/boot_id"

// Counters is what a node printed for ReadCounters.
type Counters struct {
	boot string // another one each time the machine starts; empty where it isn't known
	// By the node's own clock: two readings are compared with each other, and with no clock of
	// ours.
	Clock float64 // seconds on the node
	ports map[string]map[string]uint64
	nets  map[string]map[string]uint64
	// By device, in thousandths of a degree: what a sensor shows, and the most that it ever showed.
	heat, most map[string]uint64
}

// ParseCounters reads what a node printed for ReadCounters.
func ParseCounters(stdout string) (Counters, error) {
	first, rest, _ := strings.Cut(stdout, "\n")
	clock, ok := strictnum.Number(strings.TrimSpace(first))
	if !ok {
		return Counters{}, fmt.Errorf("counters have no clock: %q", first)
	}
	c := Counters{
		Clock: clock, ports: map[string]map[string]uint64{}, nets: map[string]map[string]uint64{},
		heat: map[string]uint64{}, most: map[string]uint64{},
	}
	netdev := "" // that ethtool's lines are of
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "interface "); ok {
			netdev = name
			continue
		}
		path, value, ok := strings.Cut(line, ":")
		if path == bootFile {
			c.boot = value
			continue
		}
		v, whole := strictnum.Counter(strings.TrimPrefix(value, " "))
		if !ok || !whole {
			continue // a counter that is not a number, or not to be read
		}
		if !strings.HasPrefix(path, "/") {
			// no other line of a node passes for a counter
			if name := strings.TrimSpace(path); netdev != "" && TroubleOf(name) != None {
				put(c.nets, netdev, name, v)
			}
			continue
		}
		c.put(path, v)
	}
	return c, nil
}

// put keeps the value of a file of sysfs.
func (c *Counters) put(path string, v uint64) {
	// The path begins with a slash, so part[0] is empty.
	part := strings.Split(path, "/")
	switch {
	case len(part) == 9 && part[8] == "temp1_input": // /sys/class/infiniband/DEV/device/hwmon/hwmonN/temp1_input
		c.heat[part[4]] = v
	case len(part) == 9 && part[8] == "temp1_highest":
		c.most[part[4]] = v
	case len(part) == 9 && part[3] == "infiniband": // /sys/class/infiniband/DEV/ports/N/counters/NAME
		put(c.ports, part[4]+"/"+part[6], part[8], v)
	case len(part) >= 6 && part[3] == "net": // /sys/class/net/IF/statistics/NAME, …/IF/carrier_changes
		put(c.nets, part[4], part[len(part)-1], v)
	}
}

// Restarted reports whether the machine has started again between two readings.
func Restarted(before, after Counters) bool {
	return before.boot != "" && after.boot != "" && before.boot != after.boot
}

func put(m map[string]map[string]uint64, key, name string, v uint64) {
	if m[key] == nil {
		m[key] = map[string]uint64{}
	}
	m[key][name] = v
}

// Moved is what one rail carried between two readings.
type Moved struct {
	Tx, Rx  uint64 // bytes on the wire, without the idle baseline
	Source  Source
	Seconds float64 // between both readings, by the node's clock
	// 10^9 bits a second, on the wire.
	IdleGbps       float64 // both directions together, before
	IdleTx, IdleRx uint64  // bytes of it that Tx and Rx are without
	Degrees        float64 // of the adapter, afterwards or at its hottest meanwhile; 0 where unknown
	// IPTx and IPRx are the interface's bytes, whatever Source is. IPErr says why they are unknown; it is
	// separate from Between's error.
	IPTx, IPRx uint64
	IPErr      error
	// Errors are the error counters that grew, and by how much.
	Errors map[string]uint64
}

// Between gives what a rail carried between before and after, less what moved at the rate seen from idle to
// before. An error says why that is unknown.
func Between(idle, before, after Counters, p Place) (Moved, error) {
	key := p.Dev + "/" + strconv.Itoa(p.Port)
	m := Moved{Source: PortCounters}
	ofPort := func(c Counters) map[string]uint64 { return c.ports[key] }
	ofNetdev := func(c Counters) map[string]uint64 { return c.nets[p.Netdev] }
	netdevNames := [2]string{"tx_bytes", "rx_bytes"}

	// RDMA bypasses the interface, so the port's own counters are the ones to ask. A device
	// that has none (soft-RoCE) sends by way of the interface, which counts all of it.
	names, unit, of := [2]string{"port_xmit_data", "port_rcv_data"}, uint64(wordBytes), ofPort
	if _, ok := before.ports[key][names[0]]; !ok {
		m.Source = NetdevBytes
		names, unit, of = netdevNames, 1, ofNetdev
	}
	// NTP may have set it. The bytes could still be known, but not the idle part of them.
	if after.Clock <= before.Clock {
		m.IPErr = errors.New("the node's clock went backwards")
		return m, m.IPErr
	}
	m.Seconds = after.Clock - before.Clock
	for i, out := range []*uint64{&m.IPTx, &m.IPRx} {
		name := netdevNames[i]
		v, _, _, err := grew(idle, before, after, name, 1, ofNetdev)
		if *out = v; err != nil && m.IPErr == nil {
			m.IPErr = fmt.Errorf("the counter %s of %s %w", name, p.Netdev, err)
		}
	}
	off := []*uint64{&m.IdleTx, &m.IdleRx}
	for i, out := range []*uint64{&m.Tx, &m.Rx} {
		v, taken, idleGbps, err := grew(idle, before, after, names[i], unit, of)
		if err != nil {
			return m, fmt.Errorf("the counter %s of %s %w", names[i], p.Dev, err)
		}
		*out, *off[i] = v, taken
		m.IdleGbps += idleGbps
	}
	hottest := after.heat[p.Dev]
	// The most that it ever was is of this time where it wasn't that before: an adapter may have cooled down since.
	if most := after.most[p.Dev]; most > before.most[p.Dev] && before.most[p.Dev] > 0 {
		hottest = max(hottest, most)
	}
	m.Degrees = float64(hottest) / 1000
	m.Errors = grown(before.ports[key], after.ports[key])
	for name, n := range grown(before.nets[p.Netdev], after.nets[p.Netdev]) {
		if m.Errors == nil {
			m.Errors = map[string]uint64{}
		}
		m.Errors[name] = n
	}
	return m, nil
}

// grew says what one counter grew by, less the idle baseline, and what that took off, in bytes.
func grew(idle, before, after Counters, name string, unit uint64,
	of func(Counters) map[string]uint64,
) (bytes, taken uint64, idleGbps float64, err error) {
	b, ok := of(before)[name]
	a, still := of(after)[name]
	switch {
	case !ok || !still:
		return 0, 0, 0, errors.New("is missing")
	case a < b:
		return 0, 0, 0, fmt.Errorf("went backwards, from %d to %d", b, a)
	}
	bytes = (a - b) * unit
	i0, ok := of(idle)[name]
	if seconds := before.Clock - idle.Clock; ok && seconds > 0 && b >= i0 {
		perSecond := float64((b-i0)*unit) / seconds
		idleGbps = perSecond * 8 / 1e9
		// Never below 0: what was idle before may have stopped since.
		taken = min(bytes, uint64(perSecond*(after.Clock-before.Clock)))
		bytes -= taken
	}
	return bytes, taken, idleGbps, nil
}

// grown gives the error counters that are higher afterwards; nil where none is.
func grown(before, after map[string]uint64) map[string]uint64 {
	var errs map[string]uint64
	for name, a := range after {
		if b, ok := before[name]; ok && a > b && TroubleOf(name) != None {
			if errs == nil {
				errs = map[string]uint64{}
			}
			errs[name] = a - b
		}
	}
	return errs
}
