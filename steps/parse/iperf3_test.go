package parse

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A stream of events that ends early is not a result, whatever it has so far.
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
	if v, err := Iperf3Output(failed); err != nil || v.Error != "control socket has closed unexpectedly" ||
		v.ReceivedGbps != 0 {
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

// The receiver reports what a UDP test lost: the sender's sums do not know of any loss.
func TestIperf3Datagrams(t *testing.T) {
	for text, want := range map[string]Datagrams{
		`{"end":{"sum":{"seconds":5,"bytes":1791813120,"bits_per_second":2858356221.9,"jitter_ms":0.13,"lost_packets":820880,` +
			`"packets":1234656},"sum_received":{"seconds":5,"bytes":597580416,"bits_per_second":956e6,"jitter_ms":0.13,` +
			`"lost_packets":820880,"packets":1234656},"sum_sent":{"seconds":5,"bits_per_second":2858356221.9,"lost_packets":0,` +
			`"packets":1234656}}}`: {Sent: 1234656, Lost: 820880, JitterMS: 0.13},
		`{"end":{"sum":{"seconds":10,"bytes":1322892,"bits_per_second":1058280.26,"jitter_ms":0.056,"lost_packets":7,` +
			`"packets":81}}}`: {Sent: 81, Lost: 7, JitterMS: 0.056},
		"[  5] local 10.0.0.1 port 1 connected to 10.0.0.2 port 5201\n" +
			"[  5]   0.00-3.00   sec   366 KBytes  1.00 Mbits/sec  0.000 ms  0/259 (0%)  sender\n" +
			"[  5]   0.00-3.01   sec   300 KBytes   817 Kbits/sec  1.250 ms  47/259 (18%)  receiver\n": {
			Sent: 259, Lost: 47,
			JitterMS: 1.25,
		},
		"[  5] local 10.0.0.1 port 1 connected to 10.0.0.2 port 5201\n" +
			"[  5]   0.00-3.01   sec   366 KBytes   997 Kbits/sec  1.250 ms  -2/259 (-0.77%)  receiver\n": {
			Sent:     259,
			JitterMS: 1.25,
		},
	} {
		v, err := Iperf3Output(text)
		if err != nil || v.UDP == nil || *v.UDP != want {
			t.Errorf("%+v, %v, want %+v of\n%s", v.UDP, err, want, text)
		}
	}
	// Only the sender has spoken: it is unknown what was lost.
	v, err := Iperf3Output("[  5] local 10.0.0.1 port 1 connected to 10.0.0.2 port 5201\n" +
		"[  5]   0.00-3.00   sec   366 KBytes  1.00 Mbits/sec  0.000 ms  0/259 (0%)  sender\n")
	if err != nil || v.UDP != nil || v.Protocol != "UDP" {
		t.Errorf("%+v, %v", v, err)
	}
}

// A node may have a bond for each two of 64 rails, and each keeps its own slaves.
func TestManyBonds(t *testing.T) {
	var named, plain strings.Builder
	for i := range 32 {
		body := fmt.Sprintf("Ethernet Channel Bonding Driver: v6.1.0\n\nBonding Mode: load balancing (xor)\n\n"+
			"Slave Interface: eth%d\nMII Status: up\n\nSlave Interface: eth%d\nMII Status: up\n", 2*i, 2*i+1)
		fmt.Fprintf(&named, "bond bond%d\n%s", i, body)
		plain.WriteString(body)
	}
	bonds, err := Bonds(named.String())
	if err != nil || len(bonds) != 32 {
		t.Fatalf("%d, %v", len(bonds), err)
	}
	for i, b := range bonds {
		if len(b.Slaves) != 2 || b.Slaves[0].Name != fmt.Sprintf("eth%d", 2*i) {
			t.Errorf("%s: %+v", b.Name, b.Slaves)
		}
	}
	if v, _, err := readBonding(plain.String()); err != nil || len(v.(*listing[NamedBond]).Rows) != 32 {
		t.Errorf("%v, %+v", err, v)
	}
}
