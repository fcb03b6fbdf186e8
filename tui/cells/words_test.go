package cells

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

func TestBand(t *testing.T) {
	low, high := 92.5, 108.0
	for _, c := range []struct {
		x    steps.Expected
		unit string
		want string
	}{
		{steps.Expected{}, "Gb/s", ""},
		{steps.Expected{From: "the port's counters"}, "", "the port's counters"},
		{steps.Expected{Min: &low}, "Gb/s", "expected at least 92.5 Gb/s"},
		{steps.Expected{Max: &high}, "us", "expected at most 108 us"},
		{steps.Expected{Min: &low, Max: &high, From: "MTU 1024"}, "Gb/s", "expected 92.5 to 108 Gb/s · MTU 1024"},
		{steps.Expected{Min: &low, Max: &low}, "", "expected 92.5"},
	} {
		if got := Band(c.x, c.unit); got != c.want {
			t.Errorf("%+v: %q, want %q", c.x, got, c.want)
		}
	}
	// Where it comes from may quote a node.
	for _, x := range []steps.Expected{{From: "a\x1b[31mb"}, {Min: &low, From: "a\x1b[31mb"}} {
		if got := Band(x, ""); strings.ContainsRune(got, 0x1b) {
			t.Errorf("%q controls a terminal", got)
		}
	}
}

func TestEvidence(t *testing.T) {
	low := 90.0
	e := steps.Evidence{Name: "bandwidth", Value: 92.5, Unit: "Gb/s", Expected: &steps.Expected{Min: &low, From: "a test"}}
	if got := Evidence(e); got != "bandwidth: 92.5 Gb/s, expected at least 90 Gb/s · a test" {
		t.Errorf("%q", got)
	}
}

// Decimal units, as rates have them: 1 kB is 1000 bytes.
func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1024: "1.0 kB", 1_500_000: "1.5 MB",
		1_000_000_000: "1.00 GB", 12_345_678_901: "12.35 GB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
