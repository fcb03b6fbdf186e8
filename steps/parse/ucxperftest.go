package parse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// A UCXPerftest is one run of ucx_perftest, as its client reports it; a server's head has the test's
// parameters and no figure.
type UCXPerftest struct {
	Tool string `json:"tool"` // always "ucx_perftest"
	// Of a server's head; empty, and 0, if not printed.
	API        string `json:"api"`
	Test       string `json:"test"`
	SendMemory string `json:"sendMemory"`
	RecvMemory string `json:"recvMemory"`
	SizeBytes  int    `json:"sizeBytes"`
	// Latency says that the times are those of one way, and not what a message costs its
	// sender.
	Latency bool             `json:"latency"`
	Rows    []UCXPerftestRow `json:"rows"` // the progress rows, with Final as the last
	Errors  []string         `json:"errors"`
	UCXLog
}

// A UCXPerftestRow is the figures up to a moment. What ucx_perftest calls MB/s is 2^20 bytes a
// second: messages of 10,000,000 bytes at 871 a second are 8310 of them.
type UCXPerftestRow struct {
	Final      bool    `json:"final"`
	Iterations int     `json:"iterations"`
	TypicalUS  float64 `json:"typicalUS"` // the median
	AverageUS  float64 `json:"averageUS"` // since the row before
	OverallUS  float64 `json:"overallUS"`
	// 10^9 bits a second of payload, since the row before and overall.
	AverageGbps float64 `json:"averageGbps"`
	OverallGbps float64 `json:"overallGbps"`
	AverageRate float64 `json:"averageRate"` // messages a second
	OverallRate float64 `json:"overallRate"`
}

var (
	ucxStage = lazyregexp.New(`^\|\s+\|(?:\s+\|)?\s*(latency|overhead) \(usec\)\s*\|\s*bandwidth \(MB/s\)\s*\|`)
	ucxParam = lazyregexp.New(`^\| (API|Test|Send memory|Recv memory|Message size):\s+(.*?)\s*\|$`)
	ucxFatal = lazyregexp.New(`^\[[^\]]{1,200}\] +\S{1,80}:\d+ +Fatal: (.+)$`)
	ucxRow   = lazyregexp.New(`^(Final:|\[thread \d{1,4}\])?\s*(\d{1,15}(?:\s+\d{1,15}(?:\.\d{1,6})?){7})$`)
)

// UCXPerftestOutput reads what ucx_perftest prints at its client. The error is ErrNoResult if there is no
// row, or no final one.
func UCXPerftestOutput(text string) (UCXPerftest, error) {
	t := UCXPerftest{Tool: "ucx_perftest", Rows: []UCXPerftestRow{}, Errors: []string{}}
	head := false
	lines(text, func(line string) {
		line = strings.TrimSpace(line)
		if m := ucxStage.Regexp().FindStringSubmatch(line); m != nil {
			head, t.Latency = true, m[1] == "latency"
			return
		}
		if m := ucxParam.Regexp().FindStringSubmatch(line); m != nil {
			t.param(m[1], cut(m[2]))
			return
		}
		m := ucxError.Regexp().FindStringSubmatch(line)
		if m == nil {
			m = ucxFatal.Regexp().FindStringSubmatch(line)
		}
		if m != nil {
			if why := cut(m[1]); len(t.Errors) < maxErrors && !slices.Contains(t.Errors, why) {
				t.Errors = append(t.Errors, why)
			}
			return
		}
		if t.info(line) {
			return
		}
		// Without a head above it a line of numbers may be anybody's.
		if m := ucxRow.Regexp().FindStringSubmatch(line); m != nil && head && len(t.Rows) < maxRows {
			if row, ok := ucxFigures(m[1] == "Final:", strings.Fields(m[2])); ok {
				t.Rows = append(t.Rows, row)
			}
		}
	})
	switch {
	case len(t.Rows) == 0:
		return t, ErrNoResult
	case !t.Rows[len(t.Rows)-1].Final:
		return t, fmt.Errorf("%w: the run was ended before its final row", ErrNoResult)
	}
	return t, nil
}

func (t *UCXPerftest) param(name, value string) {
	switch name {
	case "API":
		t.API = value
	case "Test":
		t.Test = value
	case "Send memory":
		t.SendMemory = value
	case "Recv memory":
		t.RecvMemory = value
	case "Message size":
		t.SizeBytes, _ = strictnum.Count(value)
	}
}

// mebibit is 2^20 bytes in 10^9 bits.
const mebibit = 8 * (1 << 20) / 1e9

func ucxFigures(final bool, fields []string) (row UCXPerftestRow, ok bool) {
	n, ok := strictnum.Count(fields[0])
	row = UCXPerftestRow{Final: final, Iterations: n}
	for i, to := range []*float64{
		&row.TypicalUS, &row.AverageUS, &row.OverallUS, &row.AverageGbps, &row.OverallGbps, &row.AverageRate,
		&row.OverallRate,
	} {
		v, whole := strictnum.Number(fields[i+1])
		*to, ok = v, ok && whole
	}
	row.AverageGbps *= mebibit
	row.OverallGbps *= mebibit
	return row, ok
}

// UCXPerftestTool reads ucx_perftest.
func UCXPerftestTool() Tool {
	return Tool{
		Name: "ucx_perftest", Shows: "a table under \"Stage  # iterations  50.0%ile …\", up to its line \"Final:\"",
		Reads: func(text string) (any, *[]string, error) {
			t, err := UCXPerftestOutput(text)
			return &t, &t.Errors, atLimit(len(t.Rows), err)
		},
		Marks: []Mark{
			Sign(3, `(?:latency|overhead) \(usec\)\s*\|\s*bandwidth \(MB/s\)`),
			Sign(2, `^Final: +\d+ +\d`),
			Sign(2, `perftest(?:_run)?\.c:\d+ +UCX +(?:ERROR|WARN)`),
		},
	}
}
