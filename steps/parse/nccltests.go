package parse

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// An NCCLTest is a run of one of nccl-tests' programs. Bandwidths are 10^9 bytes a second:
// algbw is the size over the time, and busbw what each link had to carry for it.
type NCCLTest struct {
	Tool    string `json:"tool"`    // always "nccl-tests"
	Version string `json:"version"` // of nccl-tests; empty if it isn't printed, as before 2.17
	NCCL    int    `json:"nccl"`    // 22809 is 2.28.9; 0 if it isn't printed
	Program string `json:"program"` // all_gather_perf
	// Ranks are the processes' GPUs.
	Ranks []NCCLRank `json:"ranks"`
	Rows  []NCCLRow  `json:"rows"`
	// Nets are what NCCL said with NCCL_DEBUG=INFO that it moves data by.
	Nets []NCCLNet `json:"nets,omitempty"`
	// AverageBusGBps is over all rows; nil where the run was ended before it.
	AverageBusGBps *float64 `json:"averageBusGBps,omitempty"`
	// OutOfBounds counts the values that were wrong; nil if it isn't printed.
	OutOfBounds *int `json:"outOfBounds,omitempty"`
	// Exact says that the figures are those of -J, to six decimals, and the table's, which stands before them, come to
	// the same.
	Exact bool `json:"exact,omitempty"`
	// Differs is where they don't, or why what -J wrote can't be read: the figures are the table's then.
	Differs string   `json:"differs,omitempty"`
	Errors  []string `json:"errors"`
}

// An NCCLRank is one GPU of a run.
type NCCLRank struct {
	Rank int    `json:"rank"`
	Host string `json:"host"`
	GPU  string `json:"gpu"`
}

// maxDevices is how many devices of one host are read.
const maxDevices = 64

// An NCCLNet is what NCCL uses on a host.
type NCCLNet struct {
	Host string `json:"host"`
	By   string `json:"by"` // "IB" or "Socket"
	// Devices are RDMA devices, or interfaces.
	Devices []string `json:"devices"`
}

// An NCCLRow is one size.
type NCCLRow struct {
	Bytes int    `json:"bytes"`
	Type  string `json:"type"`
	// OutOfPlace and InPlace are nil where that was not measured.
	OutOfPlace *NCCLFigure `json:"outOfPlace,omitempty"`
	InPlace    *NCCLFigure `json:"inPlace,omitempty"`
}

// An NCCLFigure is what was measured of a size.
type NCCLFigure struct {
	TimeUS  float64 `json:"timeUS"`
	AlgGBps float64 `json:"algGBps"`
	BusGBps float64 `json:"busGBps"`
	// Wrong counts the values that were wrong; nil where they weren't checked.
	Wrong *int `json:"wrong,omitempty"`
}

var (
	ncclTag     = lazyregexp.New(`^\[\d{1,6},\d{1,6}\]<std(?:out|err)>: ?`) // mpirun --tag-output
	ncclVersion = lazyregexp.New(`^# nccl-tests version (\S+) .*nccl-library=(\d{1,9})`)
	ncclProgram = lazyregexp.New(`^# Collective test (?:starting|concluded): (\S+)`)
	ncclRank    = lazyregexp.New(`^#\s+Rank\s+(\d{1,6}) .* on\s+(\S+) device\s+\d+ \[[^\]]*\] (.+)$`)
	ncclBounds  = lazyregexp.New(`^# Out of bounds values\s*: (\d{1,9}) (OK|FAILED)`)
	ncclAverage = lazyregexp.New(`^# Avg bus bandwidth\s*: (\S+)`)
	ncclUsing   = lazyregexp.New(`(?:^|\s)([A-Za-z0-9][A-Za-z0-9._-]{0,99}):\d+:\d+ \[\d+\] NCCL INFO NET/(IB|Socket) ?: Using (.*)$`)
	ncclDevice  = lazyregexp.New(`\[\d{1,3}\]([A-Za-z0-9][A-Za-z0-9._-]{0,63}):`)
	ncclBanner  = lazyregexp.New(`^NCCL version (\d{1,2})\.(\d{1,3})\.(\d{1,3})`)
	ncclError   = lazyregexp.New(`Test NCCL failure|NCCL WARN |Test CUDA failure|Bootstrap : no socket interface|: Test failure |misc/.* error`)
	// A row is printed in three pieces, and what NCCL logs meanwhile stands between them, as it connects what a
	// size needs once that is its turn.
	ncclWithin = lazyregexp.New(`^([0-9].*?)(?:\[[0-9-]+ [0-9:.]+\] )?([A-Za-z][A-Za-z0-9._-]*:\d+:\d+ \[\d+\] .*NCCL .*)$`)
)

// NCCLReport is before each piece of the file of -J where that stands below the table. It begins as all does
// that is for railbench alone (steps.ForRailbench).
const NCCLReport = "#railbench -J "

// NCCLTests reads the table of nccl-tests, or the file of -J, or both. The error is ErrNoResult if there is
// no row, a row can't be read, or the run has no end.
func NCCLTests(text string) (NCCLTest, error) {
	t := NCCLTest{Tool: "nccl-tests", Ranks: []NCCLRank{}, Rows: []NCCLRow{}, Errors: []string{}}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return t, t.readJSON(text)
	}
	r := ncclReader{t: &t}
	lines(text, r.line)
	r.broken()
	switch {
	case r.err != nil:
	case len(t.Rows) == 0:
		r.err = ErrNoResult
	case t.AverageBusGBps == nil:
		r.err = fmt.Errorf("%w: the run was ended before its average", ErrNoResult)
	case r.report.Len() > 0:
		t.refine(r.report.String())
	}
	return t, r.err
}

// refine takes the figures of -J in the table's place, where both come to the same.
func (t *NCCLTest) refine(report string) {
	exact := NCCLTest{Errors: []string{}}
	if err := exact.readJSON(report); err != nil {
		t.Differs = "what it wrote with -J can't be read: " + err.Error()
		return
	}
	if t.Differs = t.differs(exact); t.Differs == "" {
		t.Exact, t.Rows, t.AverageBusGBps = true, exact.Rows, exact.AverageBusGBps
	}
}

// differs says where the table has something else than the file of -J; empty where that is what it was rounded from.
func (t *NCCLTest) differs(exact NCCLTest) string {
	if len(t.Rows) != len(exact.Rows) {
		return fmt.Sprintf("the table has %d sizes, and -J wrote %d", len(t.Rows), len(exact.Rows))
	}
	for i, row := range t.Rows {
		other := exact.Rows[i]
		if row.Bytes != other.Bytes {
			return fmt.Sprintf("size %d of the table is %d bytes, and that of -J %d", i+1, row.Bytes, other.Bytes)
		}
		for _, both := range [][2]*NCCLFigure{{row.OutOfPlace, other.OutOfPlace}, {row.InPlace, other.InPlace}} {
			if why := both[0].differs(both[1]); why != "" {
				return fmt.Sprintf("with %d bytes the table says %s", row.Bytes, why)
			}
		}
	}
	switch a, b := t.OutOfBounds, exact.OutOfBounds; {
	case !rounded(*t.AverageBusGBps, *exact.AverageBusGBps):
		return fmt.Sprintf("the table's average is %g GB/s, and that of -J %g", *t.AverageBusGBps, *exact.AverageBusGBps)
	case a != nil && b != nil && *a != *b:
		return fmt.Sprintf("the table counts %d values out of bounds, and -J %d", *a, *b)
	}
	return ""
}

// differs says where a figure of the table can't be the one of -J; empty where it can.
func (f *NCCLFigure) differs(exact *NCCLFigure) string {
	if f == nil || exact == nil {
		if f == exact {
			return ""
		}
		return "one figure more or less than -J"
	}
	for _, x := range []struct {
		table, exact float64
		unit         string
	}{
		{f.TimeUS, exact.TimeUS, "us"},
		{f.AlgGBps, exact.AlgGBps, "GB/s of algbw"},
		{f.BusGBps, exact.BusGBps, "GB/s of busbw"},
	} {
		if !rounded(x.table, x.exact) {
			return fmt.Sprintf("%g %s, and -J %g", x.table, x.unit, x.exact)
		}
	}
	if f.Wrong != nil && exact.Wrong != nil && !rounded(float64(*f.Wrong), float64(*exact.Wrong)) {
		return fmt.Sprintf("%d wrong values, and -J %d", *f.Wrong, *exact.Wrong)
	}
	return ""
}

// rounded reports whether a figure of the table can be the exact one: it has two decimals, fewer of large ones, and
// from ten millions on two digits (getFloatStr in util.cu).
func rounded(table, exact float64) bool {
	room := 0.0051 + 0.0006*exact
	if exact >= 9.9e6 {
		room = 0.051 * exact
	}
	return math.Abs(table-exact) <= room
}

// An ncclReader reads the output of all ranks as one text, in which a row may be broken by what NCCL logs.
type ncclReader struct {
	t     *NCCLTest
	names []string
	row   []string // the cells of one that is not whole yet
	// report is the file of -J that stands below.
	report strings.Builder
	err    error
}

func (r *ncclReader) line(line string) {
	line = strings.TrimSpace(ncclTag.Regexp().ReplaceAllString(line, ""))
	if m := ncclWithin.Regexp().FindStringSubmatch(line); m != nil {
		r.cells(strings.Fields(m[1]))
		line = m[2]
	}
	if strings.HasPrefix(line, "#") {
		r.broken()
		r.comment(line)
		return
	}
	if ncclError.Regexp().MatchString(line) {
		r.t.complain(line)
		return
	}
	if strings.Contains(line, "NCCL ") {
		r.log(line)
		return
	}
	r.cells(strings.Fields(line))
}

// complain keeps a line that says what went wrong, once.
func (t *NCCLTest) complain(line string) {
	if line = cut(line); len(t.Errors) < maxErrors && !slices.Contains(t.Errors, line) {
		t.Errors = append(t.Errors, line)
	}
}

// cells takes what may be a row, or the next piece of one: that has figures alone.
func (r *ncclReader) cells(fields []string) {
	figure := func(word string) bool { return word == "N/A" || strictnum.Looks(word) }
	switch {
	case r.names == nil || len(fields) == 0:
		return
	case r.row != nil && !slices.ContainsFunc(fields, func(word string) bool { return !figure(word) }):
		r.row = append(r.row, fields...)
	case len(fields) >= 5 && strictnum.Looks(fields[0]) && strictnum.Looks(fields[1]): // a row begins with two counts
		r.broken()
		r.row = slices.Clone(fields)
	default:
		return
	}
	if len(r.row) < len(r.names) {
		return
	}
	row, err := ncclRow(r.names, r.row)
	r.row = nil
	if err != nil {
		r.err = err
	} else if len(r.t.Rows) < maxRows {
		r.t.Rows = append(r.t.Rows, row)
	}
}

// broken says of a row that was begun that its end never came.
func (r *ncclReader) broken() {
	if r.row != nil {
		_, r.err = ncclRow(r.names, r.row)
		r.row = nil
	}
}

// log reads a line of NCCL's own.
func (r *ncclReader) log(line string) {
	t := r.t
	if m := ncclBanner.Regexp().FindStringSubmatch(line); m != nil && t.NCCL == 0 {
		for i, unit := range []int{10000, 100, 1} {
			n, _ := strictnum.Count(m[i+1])
			t.NCCL += n * unit
		}
	}
	m := ncclUsing.Regexp().FindStringSubmatch(line)
	if m == nil || len(t.Nets) >= maxRows {
		return
	}
	net := NCCLNet{Host: m[1], By: m[2]}
	// What stands behind the devices is the interface over which the ranks found each other.
	list, _, _ := strings.Cut(m[3], "; OOB")
	for _, d := range ncclDevice.Regexp().FindAllStringSubmatch(list, maxDevices) {
		net.Devices = append(net.Devices, d[1])
	}
	known := slices.ContainsFunc(t.Nets, func(n NCCLNet) bool { return n.Host == net.Host && n.By == net.By })
	if !known && net.Devices != nil {
		t.Nets = append(t.Nets, net)
	}
}

// comment reads a line of the head or of the foot.
func (r *ncclReader) comment(line string) {
	t := r.t
	if piece, ok := strings.CutPrefix(line, NCCLReport); ok {
		r.report.WriteString(piece)
		return
	}
	words := strings.Fields(strings.TrimLeft(line, "# "))
	if len(words) > 5 && words[0] == "size" && words[1] == "count" {
		r.names = words
		if words[len(words)-1] == "timestamp" { // -S: a day and a time
			r.names = append(words, "")
		}
		return
	}
	if said, ok := strings.CutPrefix(line, "# error: "); ok { // what NCCL said last
		t.complain("error: " + said)
	}
	if m := ncclVersion.Regexp().FindStringSubmatch(line); m != nil {
		t.Version = cut(m[1])
		t.NCCL, _ = strictnum.Count(m[2])
	}
	if m := ncclProgram.Regexp().FindStringSubmatch(line); m != nil {
		t.Program = cut(m[1])
	}
	if m := ncclRank.Regexp().FindStringSubmatch(line); m != nil && len(t.Ranks) < maxRows {
		rank, _ := strictnum.Count(m[1])
		t.Ranks = append(t.Ranks, NCCLRank{rank, cut(m[2]), cut(m[3])})
	}
	if m := ncclBounds.Regexp().FindStringSubmatch(line); m != nil {
		t.bounds(m[1], m[2] == "OK")
	}
	if m := ncclAverage.Regexp().FindStringSubmatch(line); m != nil {
		if v, ok := strictnum.Number(m[1]); ok {
			if t.AverageBusGBps = &v; strings.HasSuffix(line, "FAILED") {
				t.Errors = append(t.Errors, cut(strings.TrimLeft(line, "# ")))
			}
		} else {
			r.err = fmt.Errorf("%w: the average is %q", ErrNoResult, cut(m[1]))
		}
	}
}

// bounds keeps how many values were wrong, and says so.
func (t *NCCLTest) bounds(text string, okay bool) {
	n, ok := strictnum.Count(text)
	if ok {
		t.OutOfBounds = &n
	}
	if !okay || n > 0 {
		t.Errors = append(t.Errors, fmt.Sprintf("Out of bounds values: %d", n))
	}
}

// ncclRow reads a row by the header's names: before 2.13 there is another word for #wrong,
// and not every program has a redop. The names come twice, out of place first.
func ncclRow(names, fields []string) (row NCCLRow, err error) {
	if len(fields) != len(names) {
		return row, fmt.Errorf("%w: %d columns under a header of %d: %q", ErrNoResult, len(fields), len(names),
			cut(strings.Join(fields, " ")))
	}
	bytes, ok := strictnum.Count(fields[0])
	if !ok {
		return row, fmt.Errorf("%w: size is %q", ErrNoResult, cut(fields[0]))
	}
	row.Bytes = bytes
	var open *NCCLFigure
	for i, name := range names {
		var to *float64
		switch name {
		case "type":
			row.Type = cut(fields[i])
		case "time", "cputime": // with -C 1 it has the processor's in its place
			open = &NCCLFigure{}
			if row.OutOfPlace == nil {
				row.OutOfPlace = open
			} else {
				row.InPlace = open
			}
			to = &open.TimeUS
		case "algbw", "busbw", "#wrong", "error":
			if open == nil {
				return row, fmt.Errorf("%w: a header without time", ErrNoResult)
			}
			switch name {
			case "algbw":
				to = &open.AlgGBps
			case "busbw":
				to = &open.BusGBps
			default:
				if err := open.wrong(name, fields[i]); err != nil {
					return row, err
				}
			}
		}
		if to == nil {
			continue
		}
		if *to, ok = strictnum.Signed(fields[i]); !ok || *to < 0 { // a time of 10 s on is 1.5e+07: it has room for seven
			return row, fmt.Errorf("%w: %s is %q", ErrNoResult, name, cut(fields[i]))
		}
	}
	if row.OutOfPlace == nil {
		return row, fmt.Errorf("%w: a header without time", ErrNoResult)
	}
	return row, nil
}

// wrong reads the last column: a count, or before 2.13 the greatest deviation.
func (f *NCCLFigure) wrong(name, text string) error {
	if name == "error" || text == "N/A" {
		return nil
	}
	n, ok := strictnum.Signed(text) // %g: many are 1.04858e+06
	if !ok || n < 0 || n >= 1<<53 {
		return fmt.Errorf("%w: #wrong is %q", ErrNoResult, cut(text))
	}
	f.Wrong = new(int(n))
	return nil
}

// An ncclJSON is the file of -J (util.cu, version 3 of the format). It has its bools as
// strings, and "nan" for a figure that is none.
type ncclJSON struct {
	NCCL   float64  `json:"nccl_version"`
	Args   []string `json:"args"`
	Config struct {
		Devices []struct {
			Rank float64 `json:"rank"`
			Host string  `json:"hostname"`
			GPU  string  `json:"device_info"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size       float64          `json:"size"`
		Type       string           `json:"type"`
		OutOfPlace *ncclPlaceReport `json:"out_of_place"`
		InPlace    *ncclPlaceReport `json:"in_place"`
	} `json:"results"`
	Bounds *struct {
		Count float64 `json:"count"`
		Okay  string  `json:"okay"`
	} `json:"out_of_bounds"`
	Average *struct {
		Bandwidth float64 `json:"bandwidth"`
		Okay      string  `json:"okay"`
	} `json:"average_bus_bandwidth"`
	Errors []string `json:"errors"` // what NCCL said last, or ""
}

// CPU is in Time's place with -C 1. Wrong is nil where nothing was checked.
type ncclPlaceReport struct {
	Time  *float64 `json:"time"`
	CPU   *float64 `json:"cpu_time"`
	Alg   float64  `json:"alg_bw"`
	Bus   float64  `json:"bus_bw"`
	Wrong *float64 `json:"nwrong"`
}

func (p *ncclPlaceReport) figure() *NCCLFigure {
	if p == nil {
		return nil
	}
	f := NCCLFigure{AlgGBps: least(p.Alg), BusGBps: least(p.Bus)}
	for _, time := range []*float64{p.CPU, p.Time} {
		if time != nil {
			f.TimeUS = least(*time)
		}
	}
	if p.Wrong != nil {
		f.Wrong = new(whole(*p.Wrong))
	}
	return &f
}

// readJSON reads the file of -J, all of it or nothing: a file that was cut is not valid JSON.
func (t *NCCLTest) readJSON(text string) error {
	var raw ncclJSON
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&raw); err != nil {
		return fmt.Errorf("%w: nccl-tests -J: %w", ErrNoResult, err)
	}
	if raw.Results == nil {
		return ErrNoResult
	}
	t.NCCL = whole(raw.NCCL)
	if len(raw.Args) > 0 {
		t.Program = cut(raw.Args[0][strings.LastIndexByte(raw.Args[0], '/')+1:])
	}
	for _, d := range raw.Config.Devices[:min(len(raw.Config.Devices), maxRows)] {
		t.Ranks = append(t.Ranks, NCCLRank{whole(d.Rank), cut(d.Host), cut(d.GPU)})
	}
	for _, r := range raw.Results[:min(len(raw.Results), maxRows)] {
		if r.Size < 0 || r.Size >= 1<<53 || r.OutOfPlace == nil && r.InPlace == nil {
			return fmt.Errorf("%w: a result without size or figure", ErrNoResult)
		}
		t.Rows = append(t.Rows, NCCLRow{
			Bytes: int(r.Size), Type: cut(r.Type), OutOfPlace: r.OutOfPlace.figure(), InPlace: r.InPlace.figure(),
		})
	}
	for _, said := range raw.Errors {
		if said != "" {
			t.complain("error: " + said)
		}
	}
	if b := raw.Bounds; b != nil {
		t.bounds(fmt.Sprint(whole(b.Count)), b.Okay == "true")
	}
	if raw.Average == nil || len(t.Rows) == 0 {
		return fmt.Errorf("%w: the run was ended before its average", ErrNoResult)
	}
	t.AverageBusGBps = new(least(raw.Average.Bandwidth))
	if raw.Average.Okay == "false" {
		t.Errors = append(t.Errors, "the average bus bandwidth is below the one that was asked for")
	}
	return nil
}

// NCCLTestsTool reads nccl-tests.
func NCCLTestsTool() Tool {
	return Tool{
		Name: "nccl-tests", Also: []string{
			"all_gather_perf", "all_reduce_perf", "reduce_scatter_perf", "broadcast_perf", "reduce_perf", "alltoall_perf",
			"sendrecv_perf",
		},
		Shows: "a table under \"size  count  type …\" up to its average, or the file of -J",
		Reads: func(text string) (any, *[]string, error) {
			t, err := NCCLTests(text)
			return &t, &t.Errors, atLimit(len(t.Rows), err)
		},
		Marks: []Mark{
			Sign(3, `# nccl-tests version |# nThread \d+ nGpus \d+ minBytes `),
			Sign(3, `#\s+size\s+count\s+type\s`),
			Sign(2, `# Avg bus bandwidth\s+: `),
			Sign(3, `"average_bus_bandwidth" *:`),
			Sign(2, `Test NCCL failure `),
		},
	}
}
