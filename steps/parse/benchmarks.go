package parse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// Here are benchmarks that no cell runs and that people paste: OSU, fabtests, cloudai, nvbandwidth, ibv_rc_pingpong,
// rping and iperf 2. What one of them did not print is nil.

// A Benchmark is what one of them printed.
type Benchmark[Row any] struct {
	Tool   string   `json:"tool"`
	Test   *string  `json:"test"` // its title
	Rows   []Row    `json:"rows"`
	Errors []string `json:"errors"`
	// UnknownColumns are those of its table that nothing reads.
	UnknownColumns []string `json:"unknownColumns,omitempty"`
}

// A SizeRow is a row of a table by message size: OSU's, fabtests' and cloudai's.
type SizeRow struct {
	Line      int      `json:"line"`
	Bytes     *float64 `json:"bytes"`
	Batch     *float64 `json:"batch"`
	Messages  *float64 `json:"messages"`
	Seconds   *float64 `json:"seconds"`
	RateGbps  *float64 `json:"rateGbps"` // 10^9 bits a second
	AverageUS *float64 `json:"averageUS"`
	MinUS     *float64 `json:"minUS"`
	MaxUS     *float64 `json:"maxUS"`
	RateMpps  *float64 `json:"rateMpps"` // 10^6 messages a second
}

// A column of a table by message size, and what a figure of it is multiplied by. A nil into says nothing new.
type column struct {
	into  func(*SizeRow) **float64
	scale float64
}

func sizeColumns() map[string]column {
	bytes := column{func(r *SizeRow) **float64 { return &r.Bytes }, 1}
	messages := column{func(r *SizeRow) **float64 { return &r.Messages }, 1}
	rate := func(scale float64) column { return column{func(r *SizeRow) **float64 { return &r.RateGbps }, scale} }
	average := column{func(r *SizeRow) **float64 { return &r.AverageUS }, 1}
	mpps := func(scale float64) column { return column{func(r *SizeRow) **float64 { return &r.RateMpps }, scale} }
	return map[string]column{
		"size": bytes, "bytes": bytes, "block_size": bytes,
		"iterations": messages, "#sent": messages, "iters": messages,
		// MB are 10^6 bytes in all three.
		"bandwidth (mb/s)": rate(0.008), "mb/sec": rate(0.008), "gb/sec": rate(1), "bw_gb_sec": rate(8),
		"latency (us)": average, "latency(us)": average, "avg latency(us)": average, "avg latency (us)": average,
		"avg_lat": average, "usec/xfer": average,
		"min latency(us)": {func(r *SizeRow) **float64 { return &r.MinUS }, 1},
		"max latency(us)": {func(r *SizeRow) **float64 { return &r.MaxUS }, 1},
		"messages/s":      mpps(1e-6), "mxfers/sec": mpps(1),
		"time":       {func(r *SizeRow) **float64 { return &r.Seconds }, 1},
		"batch_size": {func(r *SizeRow) **float64 { return &r.Batch }, 1},
		"#ack":       {}, "total": {}, "name": {}, "xfers": {}, "bw_mib_sec": {}, "bw_gib_sec": {},
	}
}

var (
	osuHead  = lazyregexp.New(`^#\s*(Size\s.*(?:Bandwidth|Latency).*)$`)
	osuNames = lazyregexp.New(`Size|Bandwidth \(MB/s\)|(?:Avg |Min |Max )?Latency ?\(us\)|\S+`)
	osuTitle = lazyregexp.New(`^# (OSU .+)$`)
	fabHead  = lazyregexp.New(`^((?:name\s+)?bytes\s+(?:#sent|iters|xfers)\s.*/sec.*)$`)
	fabNames = lazyregexp.New(`\S+`)
	csvHead  = lazyregexp.New(`^(block_size,batch_size,avg_lat,.*)$`)
	csvNames = lazyregexp.New(`[^,]+`)
)

// bySize is what reads the table of one of three tools.
func bySize(tool string, head, names, title *lazyregexp.Pattern) func(string) (any, *[]string, error) {
	return func(text string) (any, *[]string, error) {
		b := Benchmark[SizeRow]{Tool: tool, Rows: []SizeRow{}, Errors: []string{}}
		known := sizeColumns()
		var heads []string
		n := 0
		lines(text, func(line string) {
			n++
			line = strings.TrimSpace(line)
			if title != nil {
				if m := title.Regexp().FindStringSubmatch(line); m != nil {
					b.Test = &m[1]
				}
			}
			if m := head.Regexp().FindStringSubmatch(line); m != nil {
				heads = names.Regexp().FindAllString(m[1], -1)
				for i, h := range heads {
					heads[i] = strings.ToLower(h)
					if _, ok := known[heads[i]]; !ok && !slices.Contains(b.UnknownColumns, h) {
						b.UnknownColumns = append(b.UnknownColumns, h)
					}
				}
				return
			}
			if row, ok := sizeRow(line, heads, known); ok && len(b.Rows) < maxRows {
				row.Line = n
				b.Rows = append(b.Rows, row)
			}
		})
		return &b, &b.Errors, atLimit(len(b.Rows), noRows(len(b.Rows)))
	}
}

func noRows(n int) error {
	if n == 0 {
		return ErrNoResult
	}
	return nil
}

func sizeRow(line string, heads []string, known map[string]column) (row SizeRow, ok bool) {
	cells := strings.FieldsFunc(line, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	if len(heads) == 0 || len(cells) < 2 || len(cells) > len(heads) {
		return row, false
	}
	for i, cell := range cells {
		c := known[heads[i]]
		if c.into == nil {
			continue
		}
		v, ok := sized(cell, heads[i])
		if !ok {
			return row, false
		}
		v = inUnit(v, c.scale)
		*c.into(&row) = &v
	}
	return row, row.Bytes != nil && (row.RateGbps != nil || row.AverageUS != nil)
}

// sized reads a figure as fabtests writes it: 64k bytes are 65536, 10k messages 10,000, and a time ends in s.
func sized(cell, head string) (float64, bool) {
	cell = strings.TrimPrefix(cell, "=")
	if head == "time" {
		cell = strings.TrimSuffix(cell, "s")
	}
	base := 1000.0
	if head == "bytes" {
		base = 1024
	}
	scale := 1.0
	for i, suffix := range []string{"k", "m", "g"} {
		if rest, ok := strings.CutSuffix(cell, suffix); ok {
			cell = rest
			for range i + 1 {
				scale *= base
			}
			break
		}
	}
	v, ok := strictnum.Number(cell)
	return v * scale, ok
}

// OSUTool reads the tables of the OSU micro-benchmarks.
func OSUTool() Tool {
	return Tool{
		Name: "osu", Also: []string{"osu_bw", "osu_bibw", "osu_latency"},
		Shows: "a table under \"# Size  Bandwidth (MB/s)\" or \"# Size  Latency (us)\"",
		Reads: bySize("osu", osuHead, osuNames, osuTitle),
		Marks: []Mark{Sign(3, `^# OSU `), Sign(3, `^# Size\s.*(?:Bandwidth \(MB/s\)|Latency ?\(us\))`)},
	}
}

// FabtestsTool reads the tables of libfabric's fabtests.
func FabtestsTool() Tool {
	return Tool{
		Name: "fabtests", Also: []string{"fi_rma_bw", "fi_rdm_pingpong", "fi_pingpong"},
		Shows: "a table under \"bytes  #sent  #ack  total  time  MB/sec  usec/xfer\"",
		Reads: bySize("fabtests", fabHead, fabNames, nil),
		Marks: []Mark{Sign(3, `^(?:name\s+)?bytes\s+(?:#sent|iters|xfers)\s.*usec/xfer`)},
	}
}

// CloudAITool reads the CSV that cloudai makes of nixlbench's table.
func CloudAITool() Tool {
	return Tool{
		Name: "cloudai", Shows: "CSV under \"block_size,batch_size,avg_lat,…\"",
		Reads: bySize("cloudai", csvHead, csvNames, nil),
		Marks: []Mark{Sign(3, `^block_size,batch_size,avg_lat,`)},
	}
}

// A CopyRow is one test of nvbandwidth. GB are 10^9 bytes.
type CopyRow struct {
	Line int     `json:"line"`
	Test string  `json:"test"` // host_to_device_memcpy_ce
	What *string `json:"what"` // memcpy CE CPU(row) -> GPU(column)
	// GBps has a row for each source and a column for each destination; a pair that was not measured is nil.
	GBps    [][]*float64 `json:"gbps"`
	SumGBps *float64     `json:"sumGBps"`
}

var (
	copyWhat = lazyregexp.New(`^(memcpy .*) bandwidth \(GB/s\)`)
	copySum  = lazyregexp.New(`^SUM (\S+) ([\d.]+)`)
)

func readNvbandwidth(text string) (any, *[]string, error) {
	b := Benchmark[CopyRow]{Tool: "nvbandwidth", Rows: []CopyRow{}, Errors: []string{}}
	row, n := CopyRow{GBps: [][]*float64{}}, 0
	lines(text, func(line string) {
		n++
		line = strings.TrimSpace(line)
		if m := copyWhat.Regexp().FindStringSubmatch(line); m != nil {
			row = CopyRow{What: &m[1], GBps: [][]*float64{}}
			return
		}
		if m := copySum.Regexp().FindStringSubmatch(line); m != nil {
			if sum, ok := strictnum.Number(m[2]); ok && len(b.Rows) < maxRows {
				row.Line, row.Test, row.SumGBps = n, m[1], &sum
				b.Rows = append(b.Rows, row)
			}
			row = CopyRow{GBps: [][]*float64{}}
			return
		}
		if cells, ok := copyCells(line); ok && row.What != nil && len(row.GBps) < maxDevices {
			row.GBps = append(row.GBps, cells)
		}
	})
	return &b, &b.Errors, atLimit(len(b.Rows), noRows(len(b.Rows)))
}

// copyCells reads a row of a matrix: its number, and figures with a point or N/A. The row of columns' numbers is none.
func copyCells(line string) (cells []*float64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 2 || len(f) > maxDevices {
		return nil, false
	}
	if _, ok := strictnum.Count(f[0]); !ok {
		return nil, false
	}
	for _, s := range f[1:] {
		v, number := strictnum.Number(s)
		switch {
		case s == "N/A":
			cells = append(cells, nil)
		case number && strings.Contains(s, "."):
			cells = append(cells, &v)
		default:
			return nil, false
		}
	}
	return cells, true
}

// NvbandwidthTool reads NVIDIA's nvbandwidth.
func NvbandwidthTool() Tool {
	return Tool{
		Name: "nvbandwidth", Shows: "matrices, each with a line \"SUM TEST GB/s\" under it",
		Reads: readNvbandwidth,
		Marks: []Mark{Sign(3, `^SUM \w+_memcpy_\w+ [\d.]+`), Sign(3, `^nvbandwidth Version`)},
	}
}

// A PingPongRow is one run of ibv_rc_pingpong and its relatives, of one end.
type PingPongRow struct {
	Line       int      `json:"line"`
	LocalGID   *string  `json:"localGID"`
	RemoteGID  *string  `json:"remoteGID"`
	Bytes      *float64 `json:"bytes"`
	Seconds    *float64 `json:"seconds"`
	RateGbps   *float64 `json:"rateGbps"`
	Iterations *float64 `json:"iterations"`
	AverageUS  *float64 `json:"averageUS"`
}

var (
	pingPongEnd  = lazyregexp.New(`^(local|remote) address:\s+LID 0x[0-9a-f]+, QPN 0x[0-9a-f]+, PSN 0x[0-9a-f]+(?:, GID (\S+))?`)
	pingPongRate = lazyregexp.New(`^(\d+) bytes in ([\d.]+) seconds = ([\d.]+) Mbit/sec`)
	pingPongTime = lazyregexp.New(`^(\d+) iters in [\d.]+ seconds = ([\d.]+) usec/iter`)
)

func readPingPong(text string) (any, *[]string, error) {
	b := Benchmark[PingPongRow]{Tool: "ibv_rc_pingpong", Rows: []PingPongRow{}, Errors: []string{}}
	row, n := PingPongRow{}, 0
	lines(text, func(line string) {
		n++
		line = strings.TrimSpace(line)
		if m := pingPongEnd.Regexp().FindStringSubmatch(line); m != nil && m[2] != "" {
			if m[1] == "local" {
				row = PingPongRow{LocalGID: &m[2]}
			} else {
				row.RemoteGID = &m[2]
			}
		}
		if m := pingPongRate.Regexp().FindStringSubmatch(line); m != nil && len(b.Rows) < maxRows {
			row.Line, row.Bytes, row.Seconds, row.RateGbps = n, figure(m[1], 1), figure(m[2], 1), figure(m[3], 0.001)
			b.Rows = append(b.Rows, row)
			row = PingPongRow{}
		}
		if m := pingPongTime.Regexp().FindStringSubmatch(line); m != nil && len(b.Rows) > 0 {
			last := &b.Rows[len(b.Rows)-1]
			last.Iterations, last.AverageUS = figure(m[1], 1), figure(m[2], 1)
		}
	})
	return &b, &b.Errors, atLimit(len(b.Rows), noRows(len(b.Rows)))
}

// figure is a number that was printed, in another unit; nil where it is none.
func figure(s string, scale float64) *float64 {
	v, ok := strictnum.Number(s)
	if !ok {
		return nil
	}
	v = inUnit(v, scale)
	return &v
}

// inUnit is a figure in another unit, without the last digits that a binary product makes up.
func inUnit(v, scale float64) float64 {
	const digits = 1e6
	return math.Round(v*scale*digits) / digits
}

// PingPongTool reads ibv_rc_pingpong, ibv_uc_pingpong and ibv_ud_pingpong.
func PingPongTool() Tool {
	return Tool{
		Name: "ibv_rc_pingpong", Also: []string{"ibv_uc_pingpong", "ibv_ud_pingpong"},
		Shows: "\"N bytes in S seconds = R Mbit/sec\"",
		Reads: readPingPong,
		Marks: []Mark{Sign(3, `^\d+ bytes in [\d.]+ seconds = [\d.]+ Mbit/sec`)},
	}
}

// An RpingRow is what one end of rping said: how many pings it printed, and how it ended.
type RpingRow struct {
	Line  int     `json:"line"`
	Pings int     `json:"pings"`
	Last  *string `json:"last"` // rdma-ping-99
	// Event is the one of the connection manager that ended it, with its error: a negative errno.
	Event *string `json:"event"`
	Error *int    `json:"error"`
	// Completion is the status of the completion that failed; State what it waited for when it gave up.
	Completion   *int    `json:"completion"`
	State        *string `json:"state"`
	Disconnected bool    `json:"disconnected"`
}

var (
	rpingData  = lazyregexp.New(`^(?:server )?ping data: (rdma-ping-\d+):`)
	rpingEvent = lazyregexp.New(`cma event (RDMA_CM_EVENT_\w+), error (-?\d{1,6})`)
	rpingWait  = lazyregexp.New(`wait for (\w+(?: state)?) (?:state )?\d+`)
	rpingCQ    = lazyregexp.New(`cq completion failed status (\d{1,3})`)
	rpingGone  = lazyregexp.New(`(?:client|server) DISCONNECT EVENT`)
)

func readRping(text string) (any, *[]string, error) {
	b := Benchmark[RpingRow]{Tool: "rping", Rows: []RpingRow{}, Errors: []string{}}
	row, n, any := RpingRow{}, 0, false
	lines(text, func(line string) {
		n++
		line = strings.TrimSpace(line)
		said := true
		if m := rpingData.Regexp().FindStringSubmatch(line); m != nil {
			row.Pings, row.Last = row.Pings+1, &m[1]
		} else if m := rpingEvent.Regexp().FindStringSubmatch(line); m != nil {
			of, _ := strictnum.Count(strings.TrimPrefix(m[2], "-"))
			if strings.HasPrefix(m[2], "-") {
				of = -of
			}
			row.Event, row.Error = &m[1], &of
			b.Errors = append(b.Errors, cut(line))
		} else if m := rpingCQ.Regexp().FindStringSubmatch(line); m != nil {
			status, _ := strictnum.Count(m[1])
			row.Completion = &status
			b.Errors = append(b.Errors, cut(line))
		} else if m := rpingWait.Regexp().FindStringSubmatch(line); m != nil {
			row.State = &m[1]
			b.Errors = append(b.Errors, cut(line))
		} else if said = rpingGone.Regexp().MatchString(line); said {
			row.Disconnected = true
		}
		b.Errors = b.Errors[:min(len(b.Errors), maxErrors)]
		if said && !any {
			row.Line, any = n, true
		}
	})
	if !any {
		return &b, &b.Errors, ErrNoResult
	}
	b.Rows = append(b.Rows, row)
	if row.Pings == 0 && len(b.Errors) > 0 {
		return &b, &b.Errors, fmt.Errorf("%w: %s", ErrNoResult, b.Errors[0])
	}
	return &b, &b.Errors, nil
}

// RpingTool reads one end of rping.
func RpingTool() Tool {
	return Tool{
		Name: "rping", Shows: "\"ping data: rdma-ping-0: …\" (-v), or \"cma event …, error …\"",
		Reads: readRping,
		Marks: []Mark{Sign(3, `^\s*(?:server )?ping data: rdma-ping-\d+:`), Sign(3, `^cma event RDMA_CM_EVENT_\w+, error `)},
	}
}

// An Iperf2Row is the whole of one stream of iperf 2, or their sum.
type Iperf2Row struct {
	Line        int      `json:"line"`
	Stream      string   `json:"stream"` // its number, or SUM
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"` // as printed, with two or three digits
	RateGbps    *float64 `json:"rateGbps"`
	Retransmits *float64 `json:"retransmits"`
	JitterMS    *float64 `json:"jitterMS"`
	Lost        *float64 `json:"lost"`
	Datagrams   *float64 `json:"datagrams"`
}

var (
	iperf2Row = lazyregexp.New(`^\[ *(\d+|SUM)\] +0\.0+- ?([\d.]+) sec +([\d.]+) ([KMGT]?)Bytes +([\d.]+) ([KMGT]?)bits/sec(.*)$`)
	iperf2TCP = lazyregexp.New(`^ +\d+/\d+ +(\d+)(?: |$)`)
	iperf2UDP = lazyregexp.New(`^ +([\d.]+) ms +(\d+)/ *(\d+)`)
)

func readIperf2(text string) (any, *[]string, error) {
	b := Benchmark[Iperf2Row]{Tool: "iperf2", Rows: []Iperf2Row{}, Errors: []string{}}
	bytes := map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
	bits := map[string]float64{"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1, "T": 1e3}
	n := 0
	lines(text, func(line string) {
		n++
		m := iperf2Row.Regexp().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.HasSuffix(m[7], "sender") || strings.HasSuffix(m[7], "receiver") || len(b.Rows) == maxRows {
			return
		}
		row := Iperf2Row{
			Line: n, Stream: m[1], Seconds: figure(m[2], 1), Bytes: figure(m[3], bytes[m[4]]),
			RateGbps: figure(m[5], bits[m[6]]),
		}
		if again := iperf2TCP.Regexp().FindStringSubmatch(m[7]); again != nil {
			row.Retransmits = figure(again[1], 1)
		}
		if udp := iperf2UDP.Regexp().FindStringSubmatch(m[7]); udp != nil {
			row.JitterMS, row.Lost, row.Datagrams = figure(udp[1], 1), figure(udp[2], 1), figure(udp[3], 1)
		}
		// The first second, of -i 1, begins as the whole does: the longest is the whole.
		i := slices.IndexFunc(b.Rows, func(o Iperf2Row) bool { return o.Stream == row.Stream })
		switch {
		case i < 0:
			b.Rows = append(b.Rows, row)
		case row.Seconds != nil && (b.Rows[i].Seconds == nil || *row.Seconds >= *b.Rows[i].Seconds):
			b.Rows[i] = row
		}
	})
	return &b, &b.Errors, atLimit(len(b.Rows), noRows(len(b.Rows)))
}

// Iperf2Tool reads the table of iperf 2, which has no JSON.
func Iperf2Tool() Tool {
	return Tool{
		Name: "iperf2", Also: []string{"iperf"},
		Shows: "rows \"[ 3] 0.0-10.0 sec  … Gbits/sec\", which do not end in sender or receiver",
		Reads: readIperf2,
		Marks: []Mark{
			Sign(5, `^(?:Client connecting to \S+, (?:TCP|UDP) port \d+|Server listening on (?:TCP|UDP) port \d+)`),
			Sign(5, `^\[ *(?:\d+|SUM)\] +0\.0+- ?\d+\.\d+ sec +[\d.]+ [KMGT]?Bytes +[\d.]+ [KMGT]?bits/sec(?: +\d.*|\s*)$`),
		},
	}
}
