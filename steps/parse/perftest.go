package parse

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// Perftest is what every report of the perftest tools begins with.
type Perftest struct {
	Tool   string `json:"tool"` // always "perftest"
	Test   string `json:"test"` // "RDMA_Write BW Test"
	Device string `json:"device"`
	// GIDIndex is -1 if the report doesn't have it.
	GIDIndex int `json:"gidIndex"`
	// MTU is the RoCE MTU that both ends agreed on, bytes; 0 if not printed.
	MTU int `json:"mtu"`
	// Connection and Transport are the types that the head names (RC, IB), and QueuePairs how many; empty
	// and 0 where it doesn't.
	Connection string `json:"connection,omitempty"`
	Transport  string `json:"transport,omitempty"`
	QueuePairs int    `json:"queuePairs,omitempty"`
	// Link is the layer below it ("Ethernet", "IB"); empty if the head doesn't have it. DualPort says that it
	// went over two ports at once.
	Link     string `json:"link,omitempty"`
	DualPort bool   `json:"dualPort,omitempty"`
	// LocalGID and RemoteGID are the addresses that the first queue pair's ends had, as netip writes them (IPv4 where
	// they hold one); empty where none was printed, as on InfiniBand.
	LocalGID  string `json:"localGID,omitempty"`
	RemoteGID string `json:"remoteGID,omitempty"`
	// RelaxedOrdering is whether PCIe's was requested; nil if the head doesn't say.
	RelaxedOrdering *bool `json:"relaxedOrdering,omitempty"`
	// Memory is where the buffers are, where the head says that they are a GPU's: cuda, rocm; empty for the host's.
	Memory string `json:"memory,omitempty"`
	// Unknown are columns of the table that are not read.
	Unknown []string `json:"unknownColumns,omitempty"`
	// NUMANode is the node whose processors the program chose, from 6.29 on; nil if it is not printed.
	NUMANode *int `json:"numaNode,omitempty"`
	// Validation is what --data_validation says: PASSED, FAILED, WARNING or ERROR; empty
	// where it wasn't asked for, or this end doesn't check.
	Validation string `json:"validation,omitempty"`
	// Bare is the one number of --output. The output has neither its unit nor the message size, so it is not
	// a result.
	Bare *float64 `json:"bare,omitempty"`
}

// Bandwidth is the report of ib_write_bw and its siblings.
type Bandwidth struct {
	Perftest
	Rows   []BandwidthRow `json:"rows"`
	Errors []string       `json:"errors"`
}

// A BandwidthRow is one message size. Rates are 10^9 bits of payload a second.
type BandwidthRow struct {
	Bytes      int `json:"bytes"`
	Iterations int `json:"iterations"` // all queue pairs together
	// PeakGbps is 0 where none was measured, as with -D.
	PeakGbps        float64 `json:"peakGbps"`
	AverageGbps     float64 `json:"averageGbps"`
	MessageRateMpps float64 `json:"messageRateMpps"`
	// Side is "local" or "remote" in the extra blocks of --report-both, where the
	// first row is the sum of both.
	Side string `json:"side,omitempty"`
}

// Latency is the report of ib_write_lat and its siblings.
type Latency struct {
	Perftest
	Rows   []LatencyRow `json:"rows"`
	Errors []string     `json:"errors"`
}

// A LatencyRow is one message size. Times are microseconds and half the round trip, for WRITE and SEND. With
// -D only AvgUS is measured, and the rest is 0; before 3.0 AvgUS and the percentiles were not printed.
type LatencyRow struct {
	Bytes      int     `json:"bytes"`
	Iterations int     `json:"iterations"`
	MinUS      float64 `json:"minUS"`
	MaxUS      float64 `json:"maxUS"`
	TypicalUS  float64 `json:"typicalUS"` // the median
	AvgUS      float64 `json:"avgUS"`
	P99US      float64 `json:"p99US"`
	P999US     float64 `json:"p999US"`
}

// GbpsFromMiB converts perftest's "MB/sec". The tool divides by 0x100000 and
// called the result MB until release 24.07 (perftest_parameters.c, commit 1d202bb):
// it is MiB/s in both spellings (assets/docs/facts.md#units-of-perftest).
func GbpsFromMiB(mibPerSecond float64) float64 { return mibPerSecond * 1048576 * 8 / 1e9 }

// PerftestBandwidth reads the output of a bandwidth test: the table in any of its units, or either form of
// the JSON report. The error is ErrNoResult if there is no row; the value still holds the header and the
// error lines then.
func PerftestBandwidth(text string) (Bandwidth, error) {
	b := Bandwidth{Perftest: head(text), Rows: []BandwidthRow{}, Errors: PerftestErrors(text)}
	var problem error
	err := table(text, func(side string, cell func(string) (float64, string, bool)) error {
		average, unit, ok := cell("BW average")
		if !ok {
			return fmt.Errorf("%w: the table has no column BW average: a latency test?", ErrNoResult)
		}
		scale, err := toGbps(unit)
		if err != nil {
			return err
		}
		r := BandwidthRow{AverageGbps: round(average * scale), Side: side}
		if peak, unit, ok := cell("BW peak"); ok {
			if scale, err = toGbps(unit); err != nil {
				return err
			}
			r.PeakGbps = round(peak * scale)
		}
		messages, unit, told := cell("MsgRate")
		if told && unit != "Mpps" {
			return fmt.Errorf("%w: a rate of messages in the unknown unit %q", ErrNoResult, unit)
		}
		r.MessageRateMpps = messages
		var whole bool
		if r.Bytes, r.Iterations, whole = sizes(cell); !whole {
			return fmt.Errorf("%w: #bytes or #iterations is not a whole number", ErrNoResult)
		}
		b.Rows = append(b.Rows, r)
		return nil
	})
	if err != nil {
		problem = err
	}
	// The report of --out_json may stand behind the table. The table has the units, so it comes first.
	if len(b.Rows) == 0 {
		if r, ok := jsonBandwidth(keyValues(text)); ok {
			b.Rows = append(b.Rows, r)
			problem = nil
		}
	}
	if len(b.Rows) == 0 && problem == nil {
		problem = b.noRow()
	}
	return b, problem
}

// PerftestLatency is PerftestBandwidth for a latency test.
func PerftestLatency(text string) (Latency, error) {
	l := Latency{Perftest: head(text), Rows: []LatencyRow{}, Errors: PerftestErrors(text)}
	err := table(text, func(_ string, cell func(string) (float64, string, bool)) error {
		avg, unit, ok := cell("t_avg")
		if !ok { // before 3.0 the median was the last column
			_, unit, ok = cell("t_typical")
		}
		switch {
		case !ok:
			return fmt.Errorf("%w: the table has neither a column t_avg nor t_typical: a bandwidth test?", ErrNoResult)
		case unit != "usec": // with -C they are cycles
			return fmt.Errorf("%w: latency in the unknown unit %q", ErrNoResult, unit)
		}
		r := LatencyRow{AvgUS: avg}
		r.MinUS, _, _ = cell("t_min")
		r.MaxUS, _, _ = cell("t_max")
		r.TypicalUS, _, _ = cell("t_typical")
		r.P99US, _, _ = cell("99% percentile")
		r.P999US, _, _ = cell("99.9% percentile")
		var whole bool
		if r.Bytes, r.Iterations, whole = sizes(cell); !whole {
			return fmt.Errorf("%w: #bytes or #iterations is not a whole number", ErrNoResult)
		}
		l.Rows = append(l.Rows, r)
		return nil
	})
	if len(l.Rows) == 0 {
		if r, ok := jsonLatency(keyValues(text)); ok {
			l.Rows = append(l.Rows, r)
			err = nil
		}
	}
	if len(l.Rows) == 0 && err == nil {
		err = l.noRow()
	}
	return l, err
}

// noRow is the error of a report without a row.
func (p Perftest) noRow() error {
	if p.Bare == nil {
		return ErrNoResult
	}
	return fmt.Errorf("%w: only the number %g of --output, which has neither its unit nor the size of a message; "+
		"leave --output away", ErrNoResult, *p.Bare)
}

// PerftestErrors lists the lines in which perftest says what went wrong. It
// reports on stdout and stderr, and a failure seldom has one line only.
func PerftestErrors(text string) []string {
	errs := []string{}
	// Some messages lack their line end, and the next one is glued to them.
	text = strings.ReplaceAll(text, " Unable to init", "\nUnable to init")
	lines(text, func(line string) {
		line = cut(strings.TrimSpace(line))
		if isError(line) && len(errs) < maxErrors && !slices.Contains(errs, line) {
			errs = append(errs, line)
		}
	})
	return errs
}

var (
	errorLine = lazyregexp.New(`^(Couldn't|Failed|failed|Unable|Cannot|Can't|Did not detect|If device exists|` +
		`Completion with error|Port number \d+ state is|Invalid|Problem in|Temporary failure|Name or service|` +
		`Found Incompatibility|ethernet_read_keys|scnt=|Duration mode|please check|` +
		`VALIDATION: (?:FAILED|WARNING|ERROR)|Data validation(?:: | failed| error)|` +
		`Parser function|Segmentation fault|Bus error|Aborted|Killed|Terminated|terminate called|Correlation coefficient|Conflicting|Wrong|Mlx5dv)`)
	// Behind the program's name, or anywhere.
	errorWords = []string{
		"unrecognized option", "invalid option",
		"mismatch: local=", "No space left", "Memory allocation failed",
	}
	errorDevice = lazyregexp.New(`IB device \S+ not found`)
)

// isError reports whether perftest complains in a line. It has no mark of its own for
// that. What it says of processors whose clocks differ stands above most good results.
func isError(line string) bool {
	if strings.HasPrefix(line, "Conflicting CPU frequency") {
		return false
	}
	return errorLine.Regexp().MatchString(line) ||
		slices.ContainsFunc(errorWords, func(words string) bool { return strings.Contains(line, words) }) ||
		strings.Contains(line, "IB device") && errorDevice.Regexp().MatchString(line)
}

// toGbps is the factor from a header's unit to 10^9 bits a second.
func toGbps(unit string) (float64, error) {
	switch unit {
	case "Gb/sec":
		return 1, nil
	case "MB/sec", "MiB/sec":
		return GbpsFromMiB(1), nil
	}
	return 0, fmt.Errorf("%w: bandwidth in the unknown unit %q", ErrNoResult, unit)
}

// round takes off what the conversion from MiB/s added: no tool prints that many digits.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

var (
	deviceField = lazyregexp.New(`(?:^|\s)Device\s*:\s*(\S+)`)
	mtuField    = lazyregexp.New(`^Mtu\s*:\s*(\d{1,6})\[B\]`)
	gidField    = lazyregexp.New(`^GID index\s*:\s*(\d{1,6})`)
	numaField   = lazyregexp.New(`^NUMA node\s*:\s*(\d{1,6})$`)
	connField   = lazyregexp.New(`(?:^|\s)Connection type\s*:\s*(\w{1,8})`)
	wayField    = lazyregexp.New(`(?:^|\s)Transport type\s*:\s*(\w{1,12})`)
	linkField   = lazyregexp.New(`(?:^|\s)Link type\s*:\s*(\w{1,12})`)
	portsField  = lazyregexp.New(`^Dual-port\s*:\s*ON\b`)
	queueField  = lazyregexp.New(`^Number of qps\s*:\s*(\d{1,6})`)
	orderField  = lazyregexp.New(`^PCIe relax order\s*:\s*(ON|OFF)\b`)
	sideField   = lazyregexp.New(`^(local|remote) address:`)
	sideGID     = lazyregexp.New(`^GID: ([0-9a-fA-F:.]{2,80})$`)
	validation  = lazyregexp.New(`^VALIDATION: (PASSED|FAILED|WARNING|ERROR)\b`)
	testTitle   = lazyregexp.New(`^\w+[\w /-]* (BW|Latency|Lat)( -? ?[\w ]+)? ?Test$|^\w+ (BW|Latency) Test\b`)
)

// head reads what stands above the table: the test, the device, and what limits it.
func head(text string) Perftest {
	p := Perftest{Tool: "perftest", GIDIndex: -1}
	side := "" // whose address the last line was
	lines(text, func(line string) {
		p.headLine(line)
		side = p.addressLine(strings.TrimSpace(line), side)
	})
	if p.Test == "" {
		p.headOfReport(keyValues(text))
	}
	return p
}

func (p *Perftest) headLine(line string) {
	line = strings.TrimSpace(line)
	if p.Test == "" && strings.Contains(line, "Test") && testTitle.Regexp().MatchString(line) {
		p.Test = line
	}
	if p.Device == "" && strings.Contains(line, "Device") {
		if m := deviceField.Regexp().FindStringSubmatch(line); m != nil {
			p.Device = m[1]
		}
	}
	if m := mtuField.Regexp().FindStringSubmatch(line); m != nil {
		p.MTU, _ = strictnum.Count(m[1])
	}
	if m := gidField.Regexp().FindStringSubmatch(line); m != nil {
		p.GIDIndex, _ = strictnum.Count(m[1])
	}
	p.kindLine(line)
	p.newerLine(line)
	p.memoryLine(line)
}

// addressLine reads the GIDs of the first queue pair's ends: each stands behind a line that says whose it is.
func (p *Perftest) addressLine(line, side string) (next string) {
	if m := sideField.Regexp().FindStringSubmatch(line); m != nil {
		return m[1]
	}
	m := sideGID.Regexp().FindStringSubmatch(line)
	if m == nil {
		return side
	}
	switch gid := gidOf(m[1]); {
	case side == "local" && p.LocalGID == "":
		p.LocalGID = gid
	case side == "remote" && p.RemoteGID == "":
		p.RemoteGID = gid
	}
	return ""
}

// gidOf is an address that perftest printed: sixteen bytes, each in decimal, or as IPv6 is written; empty where it is
// neither.
func gidOf(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Unmap().String()
	}
	parts := strings.Split(text, ":")
	var bytes [16]byte
	if len(parts) != len(bytes) {
		return ""
	}
	for i, part := range parts {
		v, ok := strictnum.Count(strings.TrimPrefix(part, "0"))
		if part == "0" || part == "00" {
			v, ok = 0, true
		}
		if !ok || v > 255 {
			return ""
		}
		bytes[i] = byte(v)
	}
	return netip.AddrFrom16(bytes).Unmap().String()
}

var (
	gpuMemory   = lazyregexp.New(`^(?:initializing |creating |Using )?(CUDA|ROCm|HIP)\b|^(?:cu|hip)MemAlloc`)
	knownColumn = lazyregexp.New(`#?(?:bytes|iterations)|BW (?:peak|average)|MsgRate|t_\w+|\d\d[.\d]*% percentile|tps average|` +
		`CPU_Util\w*|\[[^\]]*\]`)
)

// memoryLine reads whose memory a test moves, and which columns its table has that nothing reads.
func (p *Perftest) memoryLine(line string) {
	if m := gpuMemory.Regexp().FindStringSubmatch(line); m != nil && p.Memory == "" {
		if p.Memory = "cuda"; m[1] == "ROCm" || m[1] == "HIP" || strings.HasPrefix(line, "hip") {
			p.Memory = "rocm"
		}
	}
	if strings.HasPrefix(line, "#bytes") && strings.Contains(line, "#iterations") && p.Unknown == nil {
		for rest := range strings.FieldsSeq(knownColumn.Regexp().ReplaceAllString(line, " ")) {
			p.Unknown = append(p.Unknown, cut(rest))
		}
	}
}

// kindLine reads what kind of a test it is, apart from its name.
func (p *Perftest) kindLine(line string) {
	if p.DualPort = p.DualPort || strings.HasPrefix(line, "Dual-port") &&
		portsField.Regexp().MatchString(line); !strings.Contains(line, " type") &&
		!strings.HasPrefix(line, "Number of qps") {
		return
	}
	for _, f := range []struct {
		form *lazyregexp.Pattern
		into *string
	}{{connField, &p.Connection}, {wayField, &p.Transport}, {linkField, &p.Link}} {
		if m := f.form.Regexp().FindStringSubmatch(line); m != nil {
			*f.into = m[1]
		}
	}
	if m := queueField.Regexp().FindStringSubmatch(line); m != nil {
		p.QueuePairs, _ = strictnum.Count(m[1])
	}
}

// newerLine reads what 6.29 added.
func (p *Perftest) newerLine(line string) {
	if m := numaField.Regexp().FindStringSubmatch(line); m != nil {
		if node, ok := strictnum.Count(m[1]); ok {
			p.NUMANode = &node
		}
	}
	// Both ends may be in one text: the worst that either says counts.
	if m := validation.Regexp().FindStringSubmatch(line); m != nil && (p.Validation == "" || p.Validation == "PASSED") {
		p.Validation = m[1]
	}
	if m := orderField.Regexp().FindStringSubmatch(line); m != nil && p.RelaxedOrdering == nil {
		on := m[1] == "ON"
		p.RelaxedOrdering = &on
	}
	if v, ok := strictnum.Number(line); ok && p.Bare == nil {
		p.Bare = &v
	}
}

// headOfReport reads the same of --out_json.
func (p *Perftest) headOfReport(kv map[string]string) {
	// "RDMA_Write_BW_Test" is "RDMA_Write BW Test" in the head.
	p.Test = strings.ReplaceAll(kv["test"], "_", " ")
	p.Test = strings.Replace(p.Test, "RDMA ", "RDMA_", 1)
	if d := kv["Device"]; d != "" {
		p.Device = d
	}
	if v, ok := strictnum.Count(kv["Mtu"]); ok {
		p.MTU = v
	}
	if v, ok := strictnum.Count(kv["GID_index"]); ok {
		p.GIDIndex = v
	}
	if order := kv["PCIe_relax_order"]; order == "ON" || order == "OFF" {
		on := order == "ON"
		p.RelaxedOrdering = &on
	}
	// With --output the report has one of these, and nothing else of a result.
	for _, name := range []string{"bw_avg", "msgRate_avg", "avg_lat"} {
		if v, ok := strictnum.Number(kv[name]); ok {
			p.Bare = &v
		}
	}
}

// headerName matches one column's name: the names of two words are known.
var headerName = lazyregexp.New(`(?:(?:BW|MsgRate|tps|99%|99\.9%)[ \t]+)?[^\s\[]+(?:\[([^\]\s]*)\])?`)

// table calls row for each line of numbers under a header with #bytes in it. cell finds a
// column by its name without the unit.
func table(text string,
	row func(side string, cell func(name string) (value float64, unit string, ok bool)) error,
) error {
	var names, units []string
	var side string
	var problem error
	rows, under := 0, 0 // of all, and of the last header
	lines(text, func(line string) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, "#bytes") && strings.Contains(line, "#iterations"):
			names, units, under = nil, nil, 0
			for _, m := range headerName.Regexp().FindAllStringSubmatch(line, 32) {
				name, _, _ := strings.Cut(m[0], "[")
				names = append(names, strings.Join(strings.Fields(name), " "))
				units = append(units, m[1])
			}
			return
		// Each block has a header of its own below.
		case strings.HasPrefix(line, "Local results"):
			side, names = "local", nil
			return
		case strings.HasPrefix(line, "Remote results"):
			side, names = "remote", nil
			return
		}
		if names == nil {
			return
		}
		fields, ok := rowOf(line, len(names))
		if !ok {
			return
		}
		if len(fields) != len(names) {
			problem = fmt.Errorf("%w: %d columns under a header of %d: %q",
				ErrNoResult, len(fields), len(names), cut(line))
			return
		}
		values := make([]float64, len(fields))
		for i, f := range fields {
			v, ok := strictnum.Number(f)
			if !ok {
				problem = fmt.Errorf("%w: %s is %q", ErrNoResult, names[i], cut(f))
				return
			}
			values[i] = v
		}
		// -a has 23 rows: more than thousands is something else's.
		under++
		if rows++; rows > maxRows {
			return
		}
		err := row(side, func(name string) (float64, string, bool) {
			if i := slices.Index(names, name); i >= 0 {
				return values[i], units[i], true
			}
			return 0, "", false
		})
		if err != nil {
			problem = err
		}
	})
	if problem == nil && names != nil && rows > 0 && under == 0 {
		return fmt.Errorf("%w: a second table begins behind the rows and has none", ErrNoResult)
	}
	return problem
}

// sizes reads the columns of the message.
func sizes(cell func(string) (float64, string, bool)) (bytes, iterations int, ok bool) {
	b, _, okB := cell("#bytes")
	n, _, okN := cell("#iterations")
	const most = 1 << 53 // where a float stops being every whole number
	ok = okB && okN && b == math.Trunc(b) && n == math.Trunc(n) && b < most && n < most
	if !ok {
		return 0, 0, false
	}
	return int(b), int(n), true
}

// keyValue matches a line of the JSON report. Before 24.01.0 its keys and
// strings had no quotes and its last values a comma (perftest#216), so no JSON
// reader takes it; one line is one pair in every version.
var keyValue = lazyregexp.New(`^\s*"?([A-Za-z_][\w.]*)"?\s*:\s*(?:"([^"]*)"|([^,{"]+?))\s*,?\s*$`)

// keyValues reads the lines between test_info and the end. It is nil where the
// text holds no JSON report.
func keyValues(text string) map[string]string {
	if !strings.Contains(text, "test_info") {
		return nil
	}
	kv := map[string]string{}
	inside := false
	lines(text, func(line string) {
		inside = inside || strings.Contains(line, "test_info")
		if m := keyValue.Regexp().FindStringSubmatch(line); m != nil && inside && len(kv) < 256 {
			kv[m[1]] = m[2] + m[3]
		}
	})
	return kv
}

// jsonBandwidth is a row of --out_json. Without size, iterations, average and rate of messages it is none: a
// test that was ended leaves a file without them.
func jsonBandwidth(kv map[string]string) (BandwidthRow, bool) {
	average, ok := strictnum.Number(kv["BW_average"])
	size, okSize := strictnum.Count(kv["MsgSize"])
	n, okN := strictnum.Count(kv["n_iterations"])
	rate, okRate := strictnum.Number(kv["MsgRate"])
	if !ok || !okSize || !okN || !okRate {
		return BandwidthRow{}, false
	}
	peak, ok := numberOf(kv, "BW_peak")
	if !ok {
		return BandwidthRow{}, false
	}
	r := BandwidthRow{Bytes: size, Iterations: n, PeakGbps: peak, AverageGbps: average, MessageRateMpps: rate}
	// The report has no unit. The message rate gives it away: rate x size is the
	// bandwidth in one unit or the other, and they are a factor of 119 apart.
	gbps := rate * float64(size) * 8 / 1e3
	if gbps == 0 && average > 0 {
		return BandwidthRow{}, false // unknown with so few messages a second
	}
	if gbps > 0 && math.Abs(math.Log(average/gbps)) > math.Abs(math.Log(GbpsFromMiB(average)/gbps)) {
		r.PeakGbps, r.AverageGbps = round(GbpsFromMiB(peak)), round(GbpsFromMiB(average))
	}
	return r, true
}

// jsonLatency needs the average, the size and the number of iterations: without them it is
// the report of a test that was ended.
func jsonLatency(kv map[string]string) (LatencyRow, bool) {
	avg, ok := strictnum.Number(kv["t_avg"])
	size, okSize := strictnum.Count(kv["MsgSize"])
	n, okN := strictnum.Count(kv["n_iterations"])
	if !ok || !okSize || !okN {
		return LatencyRow{}, false
	}
	r := LatencyRow{Bytes: size, Iterations: n, AvgUS: avg}
	for name, to := range map[string]*float64{
		"t_min": &r.MinUS, "t_max": &r.MaxUS, "t_typical": &r.TypicalUS,
		"percentile_99": &r.P99US, "percentile_99.9": &r.P999US,
	} {
		if *to, ok = numberOf(kv, name); !ok {
			return LatencyRow{}, false
		}
	}
	return r, true
}

// numberOf is a value of the report; 0 if it is missing, as with -D. A value that is not a number is a sign
// of a damaged report.
func numberOf(kv map[string]string, name string) (v float64, ok bool) {
	text, there := kv[name]
	if !there {
		return 0, true
	}
	return strictnum.Number(text)
}

// IsNoResult reports whether err means a text without a result.
func IsNoResult(err error) bool { return errors.Is(err, ErrNoResult) }
