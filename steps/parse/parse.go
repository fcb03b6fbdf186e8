// Package parse turns what tools print into typed values: perftest, the verbs
// tools, ping, ip, the GID tables, the bonding driver.
//
// A parser is pure and total: whatever the text is, it answers with a value, an
// error, or both, and never panics. Columns are found by the header's names,
// because their widths and their number differ between versions. Lines that a
// parser doesn't know are skipped: real output has warnings and log lines in it.
// What a value means is the catalog's; the simulator shares no code with this.
package parse

import (
	"errors"
	"strings"

	"github.com/railbench/railbench/steps/strictnum"
)

// ErrNoResult is for a text that holds no result: a tool that failed, was ended
// before it printed one, or something else's output.
var ErrNoResult = errors.New("no result in the output")

// Limits on what is read, so that output without end keeps memory bounded.
const (
	maxLine   = 1 << 20 // bytes of one line
	maxRows   = 4096    // rows of one table, entries of one list
	maxErrors = 20
	maxError  = 300 // bytes of one error line
)

// lines cuts a text into lines without their ends. A line longer than maxLine is skipped: no tool prints
// such.
func lines(text string, visit func(line string)) {
	for line := range strings.Lines(text) {
		if len(line) <= maxLine {
			// A copy: what is kept of a line must not keep the whole text.
			visit(strings.Clone(strings.TrimRight(line, "\r\n")))
		}
	}
}

// rowOf cuts a line below a header into cells. A log line between two rows is not a row: not every word in it
// is a number. A line of numbers is one, even if some are missing or it contains nan, which is an error then.
func rowOf(line string, columns int) (fields []string, ok bool) {
	fields = strings.Fields(line)
	if len(fields) == 0 {
		return nil, false
	}
	figures := 0
	for _, f := range fields {
		if strictnum.Looks(f) {
			figures++
		}
	}
	// A row begins with a size: one whole number alone is a row that was cut short, and any other number
	// alone is not a row.
	_, whole := strictnum.Count(fields[0])
	return fields, figures == len(fields) && (len(fields) > 1 || whole) || len(fields) == columns && figures > columns/2
}

// field is the value in "name: value", with any white space around the colon.
func field(line, name string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutPrefix(strings.TrimSpace(rest), ":")
	return strings.TrimSpace(rest), ok
}

// cut shortens an error line.
func cut(s string) string {
	if len(s) <= maxError {
		return s
	}
	return strings.ToValidUTF8(s[:maxError], "") + "…"
}
