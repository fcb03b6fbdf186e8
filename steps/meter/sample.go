package meter

import (
	"fmt"
	"strconv"
	"strings"
)

// A Place is one rail of one node, as the sampler and the gauges name it.
type Place struct {
	Dev    string
	Port   int
	Netdev string // empty where the port has none
}

// Every is the time between two samples on a node.
const Every = 0.1 // seconds

// Script prints a sample each $INTERVAL seconds until it is ended. It reads $LOOP,
// $RAILS and $INTERVAL. A bash reads files, the clock and waits without a process
// of its own, which keeps it under 1 % of a core; any other shell forks twice a
// sample.
const Script = `if command -v bash >/dev/null; then
  export RAILS INTERVAL
  exec bash -c "$LOOP"
fi
eval "$LOOP"`

// loop prints one line a sample: S, the node's clock in seconds, and for each
// rail port_xmit_data, port_rcv_data, tx_bytes, rx_bytes and the port's state, "-"
// where a file is missing.
const loop = `get() {
  v=
  { read -r v <"$1"; } 2>/dev/null
  line="$line ${v:--}"
}
if [ "${EPOCHREALTIME-}" ]; then
  exec {never}<> <(:)
  now() { t=${EPOCHREALTIME/,/.}; }
  pause() { read -r -t "$INTERVAL" -u "$never"; }
else
  now() {
    t=$(date +%s.%N)
    case $t in *N) read -r t _ </proc/uptime ;; esac
  }
  pause() { sleep "$INTERVAL"; }
fi
while :; do
  now
  line="S $t"
  for r in $RAILS; do
    n=${r##*:} d=${r%:*}
    p=/sys/class/infiniband/${d%:*}/ports/${d##*:}
    get "$p/counters/port_xmit_data"
    get "$p/counters/port_rcv_data"
    get "/sys/class/net/$n/statistics/tx_bytes"
    get "/sys/class/net/$n/statistics/rx_bytes"
    get "$p/state"
  done
  printf '%s\n' "$line"
  pause
done`

// posixLoop is loop for a shell that cannot even parse what bash has.
var posixLoop = func() string {
	head, rest, _ := strings.Cut(loop, `if [ "${EPOCHREALTIME-}" ]; then`)
	_, rest, _ = strings.Cut(rest, "else\n")
	return head + strings.Replace(rest, "\nfi\n", "\n", 1)
}()

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
		"LOOP":     "if [ \"${BASH_VERSION-}\" ]; then eval " + quote(loop) + "; else\n" + posixLoop + "\nfi",
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A Sample is what the sampler printed at one moment.
type Sample struct {
	Clock float64 // seconds on the node
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

// fieldsPerRail is how many fields of a sample belong to one rail. A state reads
// "4: ACTIVE" and takes two.
const fieldsPerRail = 5

// ParseSample reads one line of the sampler for n rails.
func ParseSample(line string, n int) (Sample, error) {
	fields := strings.Fields(strings.ReplaceAll(line, ": ", ":"))
	if len(fields) != 2+n*fieldsPerRail || fields[0] != "S" {
		return Sample{}, fmt.Errorf("%q is no sample of %d rails", line, n)
	}
	clock, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return Sample{}, fmt.Errorf("%q has no clock: %w", line, err)
	}
	s := Sample{Clock: clock, Rails: make([]Reading, n)}
	for i := range s.Rails {
		f := fields[2+i*fieldsPerRail:]
		s.Rails[i] = Reading{
			Xmit: count(f[0], wordBytes), Rcv: count(f[1], wordBytes), Tx: count(f[2], 1), Rx: count(f[3], 1),
			Active: strings.HasSuffix(f[4], "ACTIVE"),
		}
	}
	return s, nil
}

// wordBytes is the unit of port_xmit_data: 32-bit words (InfiniBand
// specification, PortXmitData; kernel Documentation/ABI/stable/sysfs-class-infiniband).
const wordBytes = 4

func count(s string, unit uint64) Count {
	v, err := strconv.ParseUint(s, 10, 64)
	return Count{Bytes: v * unit, Known: err == nil}
}
