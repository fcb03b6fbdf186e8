package parse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// NIXLBench is what one process of nixlbench printed. Only the initiator prints a configuration and rows; the
// target prints only its rank.
type NIXLBench struct {
	Tool string `json:"tool"` // always "nixlbench"
	// Rank is -1 if it was not printed. 0 is the initiator.
	Rank int `json:"rank"`
	// Items is how many processes its group has, with etcd; 0 if it was not printed.
	Items   int    `json:"items,omitempty"`
	Role    string `json:"role"`              // "initiator" or "target"; empty if it was not printed
	Host    string `json:"host,omitempty"`    // gethostname() of its node
	Runtime string `json:"runtime,omitempty"` // "ETCD" or "ASIO"
	// Config is the configuration by the name of its flag. Counts in it are those
	// that are run, not those that were asked for.
	Config map[string]string `json:"config"`
	Rows   []NIXLRow         `json:"rows"`
	// Warnings are those of UCX; Errors are what it says about its end.
	Warnings []string `json:"warnings"`
	Errors   []string `json:"errors"`
	UCXLog
}

// A NIXLRow is one block size and batch size. Times are microseconds; those that
// a release does not print are nil.
type NIXLRow struct {
	Bytes int     `json:"blockBytes"`
	Batch int     `json:"batch"`
	GBps  float64 `json:"bandwidthGBps"` // 10^9 bytes, of this initiator
	// AggregateGBps is over all initiators, where there are several.
	AggregateGBps float64  `json:"aggregateGBps,omitempty"`
	LatencyUS     float64  `json:"latencyUS"`
	PrepUS        *float64 `json:"prepUS"`
	PrepP99US     *float64 `json:"prepP99US"`
	PostUS        *float64 `json:"postUS"`
	PostP99US     *float64 `json:"postP99US"`
	TxUS          *float64 `json:"txUS"`
	TxP99US       *float64 `json:"txP99US"`
}

// OrZero is a time of a row, and 0 for one that was not printed.
func OrZero(us *float64) float64 {
	if us == nil {
		return 0
	}
	return *us
}

// Gbps is the throughput in 10^9 bits a second.
func (r NIXLRow) Gbps() float64 { return 8 * r.GBps }

// nixlSays are what a line that complains may hold anywhere: NIXL's words, and what the loader and the shell say of a
// program that can't be started.
var nixlSays = []string{
	"NIXL_ERR_", "Failed to create engine", "no active messages transport",
	"error while loading shared libraries", "symbol lookup error", "not found (required by", "Exec format error",
	"cannot execute",
}

var (
	nixlRank   = lazyregexp.New(`^ETCD Runtime: Registered as rank (\d{1,6}) item(?: \d{1,6} of (\d{1,6}))?`)
	nixlWorker = lazyregexp.New(`^Init nixl worker, dev .* rank (\d{1,6}), type (initiator|target), hostname (\S+)`)
	nixlASIO   = lazyregexp.New(`^Using address \S+ port \d+ for ASIO runtime`)
	// A description that is longer than its column isn't padded.
	nixlOption = lazyregexp.New(`\(--(\w+)=?[^)]*\)\s*: (.*)$`)
	// With --use_device_api the GPU posts by itself. --num_threads are the threads of its kernel then, which
	// the configuration prints under the same option as the processor's threads (utils.cpp).
	nixlDeviceAPI = lazyregexp.New(`^Device API (mode|Kernel block threads)\b[^:]*:\s*(\S.{0,199})$`)
	// The names of columns hold single blanks.
	blanks = lazyregexp.New(`\s{2,}|\t`)
	// Where a copy has lost the wide gaps: all names but one end in their unit.
	nixlName = lazyregexp.New(`Batch Size|[^\s()][^()]*\([^()]*\)`)
	ucxWarn  = lazyregexp.New(`UCX  ?WARN +(.+)$`)
	ucxError = lazyregexp.New(`UCX  ?(?:ERROR|FATAL) +(.+)$`)
	// Releases word their complaints in many ways, and none has a common mark. Most begin a line.
	nixlError = lazyregexp.New(`^(?:ERROR: |Invalid |Unsupported |Incorrect |Failed |` +
		`Error in |Timeout waiting|Transfer failed|Consistency check failed|` +
		`Rank \d+ is greater|NIXL: |NIXL Device API|CUDA: |VRAM not supported|Total_buffer_size must|` +
		`iter_factor must|--flagfile|free\(\): |\w+ must be >=|` +
		`what\(\): |Plugin (?:file does not exist|initialization failed|API version mismatch)|Error accessing directory|createBackend: )`)
	// NIXL's own log: I, W or E, the day, the time, a thread and a place.
	absl = lazyregexp.New(`^[IWEF]\d{4} [\d:.]+\s+\d+ \S+\] `)
)

// NIXLBenchOutput reads the output of either end, of every release: columns are found by their names, because
// 0.5.1 changed their order and their number. The error is ErrNoResult if it has no rank and no row, or a row
// can't be read; the value still holds the complaints then.
func NIXLBenchOutput(text string) (NIXLBench, error) {
	b := NIXLBench{
		Tool: "nixlbench", Rank: -1, Config: map[string]string{},
		Rows: []NIXLRow{}, Warnings: []string{}, Errors: []string{},
	}
	var names []string
	var problem error
	lines(text, func(line string) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, "Block Size (B)") && strings.Contains(line, "B/W ("):
			names = nixlColumns(line)
			return
		case b.complaint(line), b.info(line), b.who(line), b.device(line):
			return
		}
		if m := nixlOption.Regexp().FindStringSubmatch(line); m != nil {
			if len(b.Config) < 256 {
				b.Config[m[1]] = cut(strings.TrimSpace(m[2]))
			}
			return
		}
		if names == nil {
			return
		}
		fields, ok := rowOf(line, len(names))
		if !ok {
			return
		}
		row, err := nixlRow(names, fields)
		if err != nil {
			problem = err
			return
		}
		if len(b.Rows) < maxRows {
			b.Rows = append(b.Rows, row)
		}
	})
	if problem == nil && b.Rank < 0 && len(b.Rows) == 0 {
		problem = ErrNoResult
	}
	return b, problem
}

// who reads the lines that say which end it is.
func (b *NIXLBench) who(line string) bool {
	if m := nixlRank.Regexp().FindStringSubmatch(line); m != nil {
		b.Rank, _ = strictnum.Count(m[1])
		if n, ok := strictnum.Count(m[2]); ok {
			b.Items = max(b.Items, n)
		}
		b.Runtime = "ETCD"
		return true
	}
	if m := nixlWorker.Regexp().FindStringSubmatch(line); m != nil {
		b.Rank, _ = strictnum.Count(m[1])
		b.Role, b.Host = m[2], cut(m[3])
		return true
	}
	if nixlASIO.Regexp().MatchString(line) {
		b.Runtime = "ASIO"
		return true
	}
	return false
}

// device reads the lines about the device API: its mode, and the threads of the GPU's kernel.
func (b *NIXLBench) device(line string) bool {
	m := nixlDeviceAPI.Regexp().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	name := map[string]string{"mode": "device_api_mode", "Kernel block threads": "device_block_threads"}[m[1]]
	b.Config[name] = cut(strings.TrimSpace(m[2]))
	return true
}

// complaint keeps a warning or an error, each once.
func (b *NIXLBench) complaint(line string) bool {
	to, said := &b.Errors, ""
	if m := ucxWarn.Regexp().FindStringSubmatch(line); m != nil {
		to, said = &b.Warnings, m[1]
	} else if m := ucxError.Regexp().FindStringSubmatch(line); m != nil {
		said = m[1]
	} else if m := ucxFatal.Regexp().FindStringSubmatch(line); m != nil {
		said = m[1] // UCX ends the process with these words, and no other program says why
	} else if plain := absl.Regexp().ReplaceAllString(line, ""); isNIXLError(plain) {
		said = plain
	} else {
		return false
	}
	said = cut(said)
	if len(*to) < maxErrors && !slices.Contains(*to, said) {
		*to = append(*to, said)
	}
	return true
}

// isNIXLError reports whether a line complains.
func isNIXLError(line string) bool {
	return nixlError.Regexp().MatchString(line) ||
		slices.ContainsFunc(nixlSays, func(said string) bool { return strings.Contains(line, said) })
}

// nixlColumns are the names of a header. They have blanks in them, so that several blanks
// part them where the columns are wide enough, and their form where not.
func nixlColumns(header string) []string {
	if blanks.Regexp().MatchString(header) {
		return blanks.Regexp().Split(header, 64)
	}
	return nixlName.Regexp().FindAllString(header, 64)
}

// nixlRow reads a row by the names of the header: versions have other columns. A figure
// that is missing is an error, never 0.
func nixlRow(names, fields []string) (NIXLRow, error) {
	if len(fields) != len(names) {
		return NIXLRow{}, fmt.Errorf("%w: %d columns under a header of %d: %q",
			ErrNoResult, len(fields), len(names), cut(strings.Join(fields, " ")))
	}
	values := map[string]float64{}
	for i, f := range fields {
		v, ok := strictnum.Number(f)
		if !ok {
			return NIXLRow{}, fmt.Errorf("%w: %s is %q", ErrNoResult, cut(names[i]), cut(f))
		}
		values[names[i]] = v
	}
	_, hasRate := values["B/W (GB/Sec)"]
	_, hasLatency := values["Avg Lat. (us)"]
	size, batch := values["Block Size (B)"], values["Batch Size"]
	const most = 1 << 53 // where a float stops being every whole number
	if !hasRate || !hasLatency || size != math.Trunc(size) ||
		batch != math.Trunc(batch) || size >= most || batch >= most {
		return NIXLRow{}, fmt.Errorf("%w: a row without block size, batch size, B/W (GB/Sec) or Avg Lat. (us)",
			ErrNoResult)
	}
	return NIXLRow{
		Bytes: int(size), Batch: int(batch),
		GBps: values["B/W (GB/Sec)"], AggregateGBps: values["Aggregate B/W (GB/Sec)"],
		LatencyUS: values["Avg Lat. (us)"],
		PrepUS:    has(values, "Avg Prep (us)"), PrepP99US: has(values, "P99 Prep (us)"),
		PostUS: has(values, "Avg Post (us)"), PostP99US: has(values, "P99 Post (us)"),
		TxUS: has(values, "Avg Tx (us)"), TxP99US: has(values, "P99 Tx (us)"),
	}, nil
}

// nixlReleases are nixlbench's releases by an option that each brought, the newest
// first (utils.cpp at its tags).
var nixlReleases = []struct{ option, release string }{
	{"use_device_api", "later than 1.4.0"},
	{"prepared_xfer", "1.3.0, 1.3.1 or 1.4.0"},
	{"infinia_config_file", "1.3.2"}, // it lacks what 1.3.1 had
	{"pipeline_depth", "1.2.0"},
	{"asio_address", "1.1.0"},
	{"recreate_xfer", "1.0.0"},
	{"config_file", "0.10.0"},
	{"progress_threads", "0.5.1 to 0.9.0"},
	{"benchmark_group", "0.5.0"},
}

// NIXLBenchRelease infers the release from its options, because the program does not print it.
func NIXLBenchRelease(has func(option string) bool) string {
	for _, r := range nixlReleases {
		if has(r.option) {
			return r.release
		}
	}
	return "older than 0.5.0"
}
