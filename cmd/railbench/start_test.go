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

// What every start pays for is counted in allocations: they are the same on any machine.
func TestStartBuildsNoTables(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(shipped(t), "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line := regexp.MustCompile(`^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)
	own, others := 0, 0
	for l := range strings.Lines(string(out)) {
		m := line.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil {
			continue
		}
		if !strings.HasPrefix(m[1], module) {
			others++
			continue
		}
		own++
		n, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		if n > startAllocations {
			t.Errorf("%s allocates %d times (%s bytes) at every start, and at most %d are to be: build its tables where they "+
				"are used", m[1], n, m[2], startAllocations)
		}
	}
	if own == 0 || others == 0 {
		t.Errorf("%d packages of this module and %d others were seen: the trace reads differently", own, others)
	}
}
