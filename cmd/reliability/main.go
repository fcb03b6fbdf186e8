// Reliability runs the tests of what railbench promises and writes RELIABILITY.md: the promise, the
// test, how much was tried and how much of that held. Only what ran stands there.
//
// Which promises there are lives here; what they mean is their tests'.
//
//	go run ./cmd/reliability              all of them, as the gate's long form
//	go run ./cmd/reliability -run Q7,rig  those alone; the others stay as they were, with their date
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
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

// file is what is written, and facts what is kept of the rows that do not run this time.
const (
	file  = "RELIABILITY.md"
	facts = "cmd/reliability/testdata/held.json"
)

// A result is what a promise's test came to.
type result struct {
	Tried, Held int
	At          string // the day
}

func main() {
	only := flag.String("run", "", "the promises to try, by their names, with commas")
	limit := flag.Duration("timeout", 30*time.Minute, "limit of each promise's tests")
	flag.Parse()
	if err := update(*only, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "reliability:", err)
		os.Exit(1)
	}
}

// update tries the promises that are named, or all, and writes what is known of all.
func update(only string, limit time.Duration) error {
	known, err := readFacts()
	if err != nil {
		return err
	}
	var wrong []error
	for _, p := range promises {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, p.says)
		r, err := p.try(limit)
		if err != nil {
			wrong = append(wrong, err)
		}
		if r.Tried == 0 {
			delete(known, p.key()) // what is skipped here was not run
			continue
		}
		known[p.key()] = r
	}
	for key := range known {
		if !slices.ContainsFunc(promises, func(p promise) bool { return p.key() == key }) {
			delete(known, key)
		}
	}
	b, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(facts, append(b, '\n'), 0o644); err != nil {
		return err
	}
	wrong = append(wrong, os.WriteFile(file, page(known), 0o644))
	return errors.Join(wrong...)
}

func readFacts() (map[string]result, error) {
	known := map[string]result{}
	b, err := os.ReadFile(facts)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	return known, json.Unmarshal(b, &known)
}

// counted is how a test says how many it tried of which so many held.
var counted = regexp.MustCompile(`tried (\d+), (?:held|gone) (\d+)`)

// try runs a promise's tests. What a test counts by itself counts as that; else each test that has no
// tests below it is one. What was skipped was not tried.
func (p promise) try(limit time.Duration) (result, error) {
	args := []string{"test", "-json", "-v", "-count=1", "-vet=off", "-timeout", limit.String(), "-run", p.tests, p.in}
	cmd := exec.Command("go", append(args, p.args...)...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	r := result{At: time.Now().UTC().Format(time.DateOnly)}
	tried, held := count(out)
	r.Tried, r.Held = tried, held
	if err != nil && tried == held {
		return r, fmt.Errorf("%s: go test %s: %w", p.name, p.in, err) // it did not build, or a test around others failed
	}
	return r, nil
}

// An event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// count reads what go test -json says.
func count(out []byte) (tried, held int) {
	ended := map[string]string{}
	figures := map[string][2]int{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
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
	names := slices.Collect(maps.Keys(ended))
	for test, how := range ended {
		parent := slices.ContainsFunc(names, func(x string) bool { return strings.HasPrefix(x, test+"/") })
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

// page is the whole file.
func page(known map[string]result) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	group := ""
	var missing []string
	for _, p := range promises {
		r, ok := known[p.key()]
		if !ok {
			missing = append(missing, fmt.Sprintf("- %s: %s (`%s` in `%s`%s)", p.name, p.says, p.tests, p.in, p.with()))
			continue
		}
		if p.group != group {
			group = p.group
			fmt.Fprintf(&b, "\n## %s\n\n| | promise | test | tried | held | day |\n|---|---|---|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` in `%s`%s | %d | %d | %s |\n",
			p.name, p.says, strings.ReplaceAll(p.tests, "|", `\|`), p.in, p.with(), r.Tried, r.Held, r.At)
	}
	if missing != nil {
		b.WriteString("\n## Not run\n\nThese have tests, and none of them ran where this page was made:\n\n" +
			strings.Join(missing, "\n") + "\n")
	}
	return b.Bytes()
}

const head = `# What railbench promises, and what became of it

Made by ` + "`go run ./cmd/reliability`" + `, which runs the tests and counts: nothing stands here that was not
run, on the day that it says. Tried and held are what a test counts by itself, else its cases; a
promise holds where they are equal. What isn't promised is in [SECURITY.md](SECURITY.md).
`
