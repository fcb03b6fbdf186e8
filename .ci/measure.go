//go:build ignore

// The half of .ci/measure that reads what "go test" prints: it is run by "go run", and no part of the product.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	err := errors.New("usage: .ci/measure bench|promises")
	switch {
	case len(os.Args) != 3:
	case os.Args[1] == "bench":
		err = bench(os.Args[2])
	case os.Args[1] == "promises":
		err = promises(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// A benchmark is every value of it by its unit, in the order of their appearance.
type benchmark struct {
	name, pkg string
	units     []string
	values    map[string][]float64
}

// bench puts the medians of bench.out between the two marks of PERFORMANCE.md.
func bench(machine string) error {
	const page, begin, end = "PERFORMANCE.md", "<!-- measured -->\n", "<!-- /measured -->\n"
	out, err := os.ReadFile("bench.out")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for figures between %q and %q", page, begin, end)
	}
	all, cpu := benchmarks(string(out))
	if len(all) == 0 {
		return errors.New("bench.out has no benchmark")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s: %s, %s.\n\n", today(), cpu, machine)
	b.WriteString("| benchmark | package | ratios and counts | time |\n|---|---|---|---|\n")
	for _, bm := range all {
		counts, times := bm.columns()
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", bm.name, bm.pkg, counts, times)
	}
	return os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644)
}

// benchLine is a benchmark's name without the number of processors, how often it ran, and its figures.
var benchLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// benchmarks reads the output of go test -bench. What has a ratio comes first, and what has times alone last.
func benchmarks(out string) (all []*benchmark, cpu string) {
	pkg := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = strings.TrimPrefix(name, "github.com/railbench/railbench/")
		}
		if name, ok := strings.CutPrefix(line, "cpu: "); ok {
			cpu = name
		}
		m := benchLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		i := slices.IndexFunc(all, func(b *benchmark) bool { return b.name == m[1] && b.pkg == pkg })
		if i < 0 {
			i, all = len(all), append(all, &benchmark{name: m[1], pkg: pkg, values: map[string][]float64{}})
		}
		fields := strings.Fields(m[2])
		for j := 0; j+1 < len(fields); j += 2 {
			v, err := strconv.ParseFloat(fields[j], 64)
			unit := fields[j+1]
			if err != nil {
				continue
			}
			if all[i].values[unit] == nil {
				all[i].units = append(all[i].units, unit)
			}
			all[i].values[unit] = append(all[i].values[unit], v)
		}
	}
	slices.SortStableFunc(all, func(a, b *benchmark) int { return a.rank() - b.rank() })
	return all, cpu
}

// rank is 0 for a ratio, 1 for another count and 2 for a time.
func rank(unit string) int {
	switch {
	case strings.HasPrefix(unit, "x-"), unit == "cell/ssh":
		return 0
	case strings.HasPrefix(unit, "ns/"), strings.HasPrefix(unit, "ms/"), unit == "CPU-s":
		return 2
	}
	return 1
}

func (b *benchmark) rank() int {
	least := 2
	for _, u := range b.units {
		least = min(least, rank(u))
	}
	return least
}

// columns are the medians, ratios first.
func (b *benchmark) columns() (counts, times string) {
	units := slices.Clone(b.units)
	slices.SortStableFunc(units, func(x, y string) int { return rank(x) - rank(y) })
	var c, t []string
	for _, u := range units {
		v := slices.Sorted(slices.Values(b.values[u]))
		m := v[len(v)/2]
		switch {
		case u == "ns/op" && m >= 1e9:
			t = append(t, fmt.Sprintf("%.3g s", m/1e9))
		case u == "ns/op":
			t = append(t, fmt.Sprintf("%.3g ms", m/1e6))
		case rank(u) == 2:
			t = append(t, fmt.Sprintf("%.3g %s", m, u))
		case m >= 100:
			c = append(c, fmt.Sprintf("%.0f %s", m, u))
		default:
			c = append(c, fmt.Sprintf("%.3g %s", m, u))
		}
	}
	return strings.Join(c, ", "), strings.Join(t, ", ")
}

// A promise has tests that would fail if it did not hold: a line of .ci/promises.tsv.
type promise struct{ group, name, says, in, tests, env, args string }

// key is by what a result is kept: what another test tried was another promise.
func (p promise) key() string { return p.name + " " + p.in + " " + p.tests }

// A result is what a promise's tests came to.
type result struct {
	Tried, Held int
	Slowest     float64 `json:",omitempty"` // seconds, of what a test logs as "N s after"; 0 where it logs none
	At          string  // the day
}

// facts keeps what is known of every promise, so that what does not run stays as it was, with its day.
const facts = ".ci/held.json"

// promises tries those that are named, with commas, or all, and writes RELIABILITY.md.
func promises(only string) error {
	all, err := table()
	if err != nil {
		return err
	}
	known := map[string]result{}
	text, err := os.ReadFile(facts)
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		return err
	}
	var wrong []error
	for _, p := range all {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, p.says)
		r, err := p.try()
		if err != nil {
			wrong = append(wrong, err)
		}
		if r.Tried > 0 { // what is skipped on this machine was not run
			known[p.key()] = r
		}
	}
	maps.DeleteFunc(known, func(key string, _ result) bool {
		return !slices.ContainsFunc(all, func(p promise) bool { return p.key() == key })
	})
	text, err = json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(append(wrong, os.WriteFile(facts, append(text, '\n'), 0o644),
		os.WriteFile("RELIABILITY.md", page(all, known), 0o644))...)
}

func table() (all []promise, err error) {
	const file = ".ci/promises.tsv"
	text, err := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		f := append(strings.Split(line, "\t"), "", "") // the last two may be missing
		if len(f) < 7 {
			return nil, fmt.Errorf("%s: too few columns: %q", file, line)
		}
		all = append(all, promise{f[0], f[1], f[2], f[3], f[4], f[5], f[6]})
	}
	return all, err
}

// try runs a promise's tests.
func (p promise) try() (result, error) {
	args := append([]string{
		"test", "-json", "-v", "-count=1", "-vet=off", "-timeout=30m", "-run", p.tests, p.in,
	}, strings.Fields(p.args)...)
	cmd := exec.Command("go", args...)
	// What a promise does not ask for is not set: its tests are tried in the form that it names.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "RAILBENCH_FULL=") || strings.HasPrefix(v, "RAILBENCH_NETNS=") ||
			strings.HasPrefix(v, "RAILBENCH_LONG=") || strings.HasPrefix(v, "RAILBENCH_VIRTUAL=")
	})
	cmd.Env = append(cmd.Env, strings.Fields(p.env)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	tried, held := count(out)
	if err != nil && tried == held {
		err = fmt.Errorf("%s: go test %s: %w", p.name, p.in, err) // it did not build, or a test around others failed
	} else {
		err = nil // the page says it
	}
	return result{Tried: tried, Held: held, Slowest: slowest(out), At: today()}, err
}

// duration is how a test says how long after an event something had happened.
var duration = regexp.MustCompile(`\b(\d+\.\d+) s after\b`)

// slowest is the longest of these, seconds.
func slowest(out []byte) (most float64) {
	for _, m := range duration.FindAllSubmatch(out, -1) {
		if s, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
			most = max(most, s)
		}
	}
	return most
}

// counted is how a test says how many it tried of which so many held.
var counted = regexp.MustCompile(`tried (\d+), (?:held|gone) (\d+)`)

// count reads go test -json. What a test counts by itself counts as that; else each test that has no tests below it is
// one. What was skipped was not tried.
func count(out []byte) (tried, held int) {
	ended := map[string]string{}
	figures := map[string][2]int{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		switch e.Action {
		case "pass", "fail", "skip":
			ended[e.Test] = e.Action
		case "output":
			if m := counted.FindStringSubmatch(e.Output); m != nil {
				t, _ := strconv.Atoi(m[1]) // digits
				h, _ := strconv.Atoi(m[2])
				was := figures[e.Test]
				figures[e.Test] = [2]int{was[0] + t, was[1] + h}
			}
		}
	}
	for test, how := range ended {
		parent := false
		for other := range ended {
			parent = parent || strings.HasPrefix(other, test+"/")
		}
		f, says := figures[test]
		switch {
		case how == "skip", parent && !says:
		case says:
			tried, held = tried+f[0], held+f[1]
			if how == "fail" && f[0] == f[1] {
				held-- // it failed for something that it does not count
			}
		case how == "pass":
			tried, held = tried+1, held+1
		default:
			tried++
		}
	}
	return tried, held
}

// page is all of RELIABILITY.md.
func page(all []promise, known map[string]result) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	group := ""
	var missing []string
	for _, p := range all {
		test := fmt.Sprintf("`%s` in `%s`", p.tests, p.in)
		if p.env != "" {
			test += fmt.Sprintf(" with `%s`", p.env)
		}
		r, ok := known[p.key()]
		if !ok {
			missing = append(missing, fmt.Sprintf("- %s: %s (%s)\n", p.name, p.says, test))
			continue
		}
		if p.group != group {
			group = p.group
			fmt.Fprintf(&b, "\n## %s\n\n| | promise | test | tried | held | slowest | day |\n|---|---|---|---|---|---|---|\n",
				group)
		}
		took := "–"
		if r.Slowest > 0 {
			took = fmt.Sprintf("%.1f s", r.Slowest)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s | %s |\n",
			p.name, p.says, strings.ReplaceAll(test, "|", `\|`), r.Tried, r.Held, took, r.At)
	}
	if missing != nil {
		b.WriteString("\n## Not run\n\nThese have tests, and none of them ran where this page was made:\n\n" +
			strings.Join(missing, ""))
	}
	return b.Bytes()
}

const head = `# What railbench promises, and what became of it

Made by ` + "`.ci/measure promises`" + `, which runs the tests and counts: every figure was measured on the day in its row.
Tried and held are what a test counts by itself, else its cases; a promise holds where they are equal. Slowest is the
longest time that a test logs between an event and its end. It is measured, and no test asserts it. What is not promised
is in [SECURITY.md](SECURITY.md).
`
