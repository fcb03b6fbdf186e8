package session

import (
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
)

// A table is read at every line of a short output, and a bounded number of times of a long one.
func TestLiveTablesAreReadBounded(t *testing.T) {
	var said spoken
	line := runner.Line{Text: strings.Repeat("x", 99)}
	read, lines := 0, 0
	for ; !said.cut; lines++ {
		said.add(line)
		if said.worth(time.Millisecond) {
			read++
		}
	}
	if want := liveText/100 + 1; read < want-2 || read > want {
		t.Errorf("%d of %d lines were read, want those of the first %d bytes", read, lines, liveText)
	}
	long := spoken{}
	for range 1000 {
		long.add(line)
	}
	if !long.worth(time.Second) || long.worth(time.Millisecond) || said.worth(time.Second) {
		t.Error("a long output is read once in a while, and one that was cut never")
	}
}
