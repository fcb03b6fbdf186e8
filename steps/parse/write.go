package parse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/sanitize"
)

// absent are the values that stand for what a tool did not print, by the key that they belong to. The object has null
// there: a zero could be a measurement.
var absent = map[string]map[string]string{
	"perftest": {
		"gidIndex": "-1", "mtu": "0", "peakGbps": "0", "messageRateMpps": "0", "avgUS": "0", "minUS": "0", "maxUS": "0",
		"typicalUS": "0", "p99US": "0", "p999US": "0",
	},
	"iperf3":     {"retransmits": "-1", "reordered": "-1", "cwndBytes": "0", "mssBytes": "0", "streams": "0"},
	"ip":         {"index": "0", "mtu": "0"},
	"ibstat":     {"rateGbps": "0"},
	"ethtool":    {"speedMbps": "0"},
	"nccl-tests": {"nccl": "0"},
	"nixlbench":  {"rank": "-1"},
}

var numberOfKey = regexp.MustCompile(`(?m)^( *"(\w+)": )(-?\d+)(,?)$`)

// WriteJSON writes an object with null for what was not printed.
func WriteJSON(out io.Writer, tool string, value any) error {
	var b bytes.Buffer
	if err := sanitize.JSON(&b, value); err != nil {
		return err
	}
	text := numberOfKey.ReplaceAllStringFunc(b.String(), func(line string) string {
		m := numberOfKey.FindStringSubmatch(line)
		if none, ok := absent[tool][m[2]]; ok && m[3] == none {
			return m[1] + "null" + m[4]
		}
		return line
	})
	return sanitize.WriteText(out, text)
}

// CannotTell says why it is not known which of these tools printed a text.
func CannotTell(names []string) error {
	switch len(names) {
	case 0:
		return errors.New("unknown output: railbench parse --help lists the known tools")
	case 1:
		return fmt.Errorf("this could be the output of %s, but is too short to be sure: run railbench parse %s",
			names[0], names[0])
	}
	return fmt.Errorf("this could be the output of %s: run railbench parse TOOL with one of them",
		strings.Join(names, " or "))
}

// NotRead says what is wrong with a text: a run that failed, or another tool's. Whether it
// is the tool's own is asked of the marks, not of the error: a failed run of the right tool
// must not be called another tool's.
func NotRead(known Tools, tool Tool, text, file string, why error) error {
	names, sure := known.Detect(text)
	if slices.Contains(names, tool.Name) || !IsNoResult(why) {
		return fmt.Errorf("%s: %w", tool.Name, why)
	}
	given := ""
	if file != "-" {
		given = " " + file
	}
	hint := "railbench parse --detect" + given + " guesses whose it is"
	if sure {
		hint = fmt.Sprintf("it reads like %s: railbench parse %s%s", names[0], names[0], given)
	}
	return fmt.Errorf("not the output of %s, or without a result: expected %s; %s",
		tool.Name, tool.Shows, hint)
}
