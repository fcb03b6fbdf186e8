package catalog

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps/parse"
)

// unjudged are the fields of a measured output that no judge reads, and why. Whatever a parser reads is judged,
// compared with something, or stands here.
var unjudged = map[string]string{
	"Perftest.Tool":              "always perftest",
	"Perftest.Memory":            "the cell knows whose memory its script asks for",
	"Perftest.Unknown":           "names of columns that nothing reads",
	"Perftest.Validation":        "a failed one is an error line, which is judged",
	"Perftest.Bare":              "the one number of --output, which is no result: the parser refuses it",
	"Iperf3.SentGbps":            "what was written; what arrived is judged, and the bytes of both are compared",
	"Iperf3.UDP":                 "the cells are of TCP, and another protocol is refused",
	"NIXLBench.Runtime":          "how the ends met, which no figure depends on",
	"UCXPerftestRow.AverageUS":   "of a stretch, whose bandwidth says the same",
	"UCXPerftestRow.AverageRate": "of a stretch, whose bandwidth says the same",
	"NIXLBench.Tool":             "always nixlbench",
	"NIXLBench.Rank":             "the role says the same",
	"NIXLBench.Host":             "a node's own name, which may be another than the rig's",
	"NIXLRow.AggregateGBps":      "the cells have one initiator, whose own figure is judged",
	"UCXPerftest.Tool":           "always ucx_perftest",
}

// What a cell parses is judged, compared or listed as not judged: a figure that is shown and judged by no one passes
// whatever it is.
func TestEveryParsedFieldIsJudged(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		family string
		of     []any
	}{
		{"perftest", []any{parse.Perftest{}, parse.Bandwidth{}, parse.BandwidthRow{}, parse.Latency{}, parse.LatencyRow{}}},
		{"tcp", []any{parse.Iperf3{}, parse.IperfAsked{}}},
		{"nixl", []any{parse.NIXLBench{}, parse.NIXLRow{}, parse.NIXLResult{}, parse.UCXPerftest{}, parse.UCXPerftestRow{}}},
	} {
		files, err := filepath.Glob("../family/" + c.family + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(c.family, err)
		}
		var code strings.Builder
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
		for _, v := range c.of {
			of := reflect.TypeOf(v)
			for f := range of.Fields() {
				name := of.Name() + "." + f.Name
				read := regexp.MustCompile(`\.` + f.Name + `\b`).MatchString(code.String())
				_, listed := unjudged[name]
				seen[name] = true
				switch {
				case f.Anonymous || !f.IsExported():
				case !read && !listed:
					t.Errorf("%s is parsed, and nothing in steps/family/%s reads it: judge it, or list it with a reason", name,
						c.family)
				}
			}
		}
	}
	for name, why := range unjudged {
		if !seen[name] {
			t.Errorf("%s is listed as not judged, and is not a field of an output", name)
		}
		if len(strings.Fields(why)) < 2 {
			t.Errorf("%s is not judged, and nothing says why: %q", name, why)
		}
	}
}
