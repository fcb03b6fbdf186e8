package verify

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// Only what a script gave the tool itself is what was asked of it.
func TestNumber(t *testing.T) {
	o := steps.Output{Role: "client", Asked: map[string]string{"N": "50", "EMPTY": ""}}
	for script, want := range map[string]int{
		`tool -n 7`:                    7,
		`tool -n "$N"`:                 50,
		`tool -n "${N}" x`:             50,
		"tool -a \\\n\t-n 7":           7,
		`/usr/bin/tool -n 7`:           7,
		"# tool -n 9\ntool -n 7":       7,
		"head -n 5 log\ntool -n 7":     7,
		"tool -a; head -n 5 log":       0,
		"tool | head -n 5":             0,
		`if [ -n "$N" ]; then`:         0,
		`tool -n $((N * 2))`:           0,
		`tool -n "$EMPTY"`:             0,
		`tool -n`:                      0,
		`other -n 7`:                   0,
		`tool -n 64K`:                  0,
		"":                             0,
		"other -n 5\n\n# -n 6\n\ttool": 0,
	} {
		c := steps.Cell{Roles: []steps.Role{{Name: "server", Script: "tool -n 99"}, {Name: "client", Script: script}}}
		if got, ok := Number(c, o, "tool", "-n"); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", script, got, ok, want)
		}
	}
	if _, ok := Number(steps.Cell{}, o, "tool", "-n"); ok {
		t.Error("a role that the cell hasn't got asked for a number")
	}
}

func TestContradictions(t *testing.T) {
	q := func(values ...float64) string {
		var all []Quantile
		for i, v := range values {
			all = append(all, Quantile{strings.Repeat("q", i+1), v})
		}
		return Ascending(all...)
	}
	for _, c := range []struct {
		name, said, want string
	}{
		{"in order", q(1, 2, 2, 3), ""},
		{"nothing", q(), ""},
		{"one that wasn't told", q(1, 0, 2), ""},
		{"out of order", q(1, 3, 2), "its qq is 3 us and its qqq 2, which is less"},
		{"out of order around one that wasn't told", q(3, 0, 2), "its q is 3 us and its qqq 2"},
		{"bytes that make the rate", Makes(8, 1e9, 1, 0.01), ""},
		{"within the room", Makes(8.05, 1e9, 1, 0.01), ""},
		{"no seconds", Makes(8, 1e9, 0, 0.01), ""},
		{"bytes that make another", Makes(16, 1e9, 1, 0.01), "1.00 GB in 1 s are 8 Gb/s, and it says 16.0 Gb/s"},
		{"the right test", OfTest("RDMA_Write Latency Test", "Write", "Latency"), ""},
		{"another operation", OfTest("RDMA_Read Latency Test", "Write", "Latency"), "another test"},
		{"no name", OfTest("", "Write"), ""},
	} {
		if !strings.Contains(c.said, c.want) || (c.said == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, c.said, c.want)
		}
	}
}
