package parse

import (
	"os"
	"strings"
	"testing"
)

// A stream of events that ends early is no result, whatever it has so far.
func TestIperf3Stream(t *testing.T) {
	b, err := os.ReadFile("testdata/iperf3/3.21-stream.client.txt")
	if err != nil {
		t.Fatal(err)
	}
	events := strings.SplitAfter(strings.TrimSpace(string(b)), "\n")
	for n := range len(events) {
		if v, err := Iperf3Output(strings.Join(events[:n], "")); err == nil {
			t.Errorf("%d events of %d are %+v", n, len(events), v)
		}
	}
	failed := strings.Join(events[:2], "") + `{"event":"error","data":"control socket has closed unexpectedly"}` + "\n"
	if v, err := Iperf3Output(failed); err != nil || v.Error != "control socket has closed unexpectedly" || v.ReceivedGbps != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	for text, want := range map[string][2]bool{
		"iperf 3.12": {false, true}, "iperf 3.15+": {false, true}, "iperf 3.16": {true, true}, "iperf 3.21": {true, true},
		"iperf 4.0": {true, true}, "": {}, "3.12": {}, "iperf 2": {},
	} {
		threaded, ok := Iperf3{Version: text}.Threaded()
		if threaded != want[0] || ok != want[1] {
			t.Errorf("%q: %t, %t", text, threaded, ok)
		}
	}
}

func FuzzStream(f *testing.F) {
	fuzz(f, "stream", StreamOutput, func(t *testing.T, s Stream) {
		for _, w := range s.Ways {
			if w.Bytes < 0 || w.Gbps < 0 || w.At == "" {
				t.Errorf("%+v", w)
			}
		}
		if len(s.Ways) == 0 {
			t.Error("a stream of no way")
		}
	})
}
