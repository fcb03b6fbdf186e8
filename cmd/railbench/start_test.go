package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// startAllocations is what one package of this module may allocate before main. Tables
// are built when they are used: two hundred regular expressions were 7,000 allocations.
const startAllocations = 256

// A beforeMain is what a package did before main.
type beforeMain struct {
	pkg           string
	bytes, allocs int
}

func (s beforeMain) own() bool { return strings.HasPrefix(s.pkg, module) }

// initLine is Go's trace of one package.
var initLine = regexp.MustCompile(`^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)

// initAllocations asks a program what its packages allocate before main.
func initAllocations(tb testing.TB, bin string) (all []beforeMain) {
	tb.Helper()
	cmd := exec.Command(bin, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	for l := range strings.Lines(string(out)) {
		if m := initLine.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			bytes, _ := strconv.Atoi(m[2]) // digits
			allocs, _ := strconv.Atoi(m[3])
			all = append(all, beforeMain{m[1], bytes, allocs})
		}
	}
	return all
}

// What every start pays for is counted in allocations: they are the same on any machine.
func TestStartBuildsNoTables(t *testing.T) {
	t.Parallel()
	own, others := 0, 0
	for _, p := range initAllocations(t, shipped(t)) {
		if !p.own() {
			others++
			continue
		}
		own++
		if p.allocs > startAllocations {
			t.Errorf("%s allocates %d times (%d bytes) at every start, and at most %d are to be: build its tables where they "+
				"are used", p.pkg, p.allocs, p.bytes, startAllocations)
		}
	}
	if own == 0 || others == 0 {
		t.Errorf("%d packages of this module and %d others were seen: the trace reads differently", own, others)
	}
}
