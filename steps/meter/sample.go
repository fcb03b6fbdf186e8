package meter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Place is one rail of one node, as the sampler and the gauges name it.
type Place struct {
	Dev    string
	Port   int
	Netdev string // empty where the port has none
}

// The time between two samples on a node, in seconds: while something moves, and
// once nothing has moved for a while.
const (
	Every     = 0.1
	EveryIdle = 0.5
)

// Script prints samples until it is ended. It reads what Vars gives.
var Script = scripts.Sampler

// The files of one rail.
const fieldsPerRail = 5

// Vars are what Script reads. speed is how much faster the node's clock runs than
// real time, 1 for a real node.
func Vars(places []Place, speed float64) map[string]string {
	var rails []string
	for _, p := range places {
		rails = append(rails, fmt.Sprintf("%s:%d:%s", p.Dev, p.Port, p.Netdev))
	}
	return map[string]string{
		"RAILS":    strings.Join(rails, " "),
		"INTERVAL": strconv.FormatFloat(Every*speed, 'g', -1, 64),
		"IDLE":     strconv.FormatFloat(EveryIdle*speed, 'g', -1, 64),
		"PERL":     scripts.SamplerPerl,
		// What only bash can parse must not be parsed by another shell.
		"LOOP": `if [ "${BASH_VERSION:+${EPOCHREALTIME-}}" ]; then eval ` +
			runner.Quote(scripts.SamplerBash+scripts.SamplerLoop) + "; else\n" +
			scripts.SamplerPOSIX + scripts.SamplerLoop + "fi",
	}
}

// A Sample is what the sampler printed at one moment.
type Sample struct {
	Clock float64 // seconds on the node, in the middle of the reading
	Took  float64 // seconds that the reading took: anything in it was read some time between
	Rails []Reading
}

// A Reading is one rail's counters. A counter that could not be read is not Known.
type Reading struct {
	Xmit, Rcv Count // RDMA, bytes on the wire
	Tx, Rx    Count // the netdev's, bytes
	Active    bool
}

// A Count is a counter's value.
type Count struct {
	Bytes uint64
	Known bool
}

// A Layout says which fields a sample has: those whose files exist.
type Layout []bool

// ParseLayout reads the sampler's line about its files, for n rails.
func ParseLayout(line string, n int) (Layout, error) {
	fields := strings.Fields(line)
	if len(fields) != 1+n*fieldsPerRail || fields[0] != "H" {
		return nil, fmt.Errorf("%q does not have the files of %d rails", line, n)
	}
	l := make(Layout, n*fieldsPerRail)
	for i, f := range fields[1:] {
		l[i] = f == "1"
	}
	return l, nil
}

// Parse reads one sample.
func (l Layout) Parse(line string) (Sample, error) {
	// A state reads "4: ACTIVE" and is one field.
	fields := strings.Fields(strings.ReplaceAll(line, ": ", ":"))
	want := 2
	for _, have := range l {
		if have {
			want++
		}
	}
	if len(l) == 0 || len(fields) != want || fields[0] != "S" {
		return Sample{}, fmt.Errorf("%q is not a sample of %d files", line, want-2)
	}
	before, after, _ := strings.Cut(fields[1], ":")
	from, ok := strictnum.Number(before)
	to, and := strictnum.Number(after)
	if !ok || !and {
		return Sample{}, fmt.Errorf("%q has no clock", line)
	}
	// A clock that was set back in between says nothing of the time.
	s := Sample{Clock: (from + to) / 2, Took: max(0, to-from), Rails: make([]Reading, len(l)/fieldsPerRail)}
	values := fields[2:]
	next := func(i int) (v string) {
		if l[i] {
			v, values = values[0], values[1:]
		}
		return v
	}
	for i := range s.Rails {
		at := i * fieldsPerRail
		s.Rails[i] = Reading{
			Xmit: count(next(at), wordBytes), Rcv: count(next(at+1), wordBytes),
			Tx: count(next(at+2), 1), Rx: count(next(at+3), 1),
		}
	}
	for i := range s.Rails {
		s.Rails[i].Active = strings.HasSuffix(next(i*fieldsPerRail+4), "ACTIVE")
	}
	return s, nil
}

// wordBytes is the unit of port_xmit_data: 32-bit words (InfiniBand
// specification, PortXmitData; kernel Documentation/ABI/stable/sysfs-class-infiniband).
const wordBytes = 4

// count reads a counter in its unit. One that could not be read is unknown, not 0: the
// difference of the next two would be a spike.
func count(s string, unit uint64) Count {
	v, ok := strictnum.Counter(s)
	return Count{Bytes: v * unit, Known: ok}
}
