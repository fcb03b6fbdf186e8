package parse

import (
	"errors"
	"strings"
	"testing"
)

// iperf3 3.7 writes the sums of both ways of --bidir under one name each, and a reader of JSON sees the
// second ones alone (esnet/iperf#952).
func TestIperf3BothWaysUnderOneName(t *testing.T) {
	const text = `{"start":{"version":"iperf 3.7","test_start":{"protocol":"TCP","num_streams":1}},"intervals":[],"end":{
"streams":[
{"sender":{"socket":5,"seconds":10,"bytes":117500000000,"bits_per_second":94000000000,"retransmits":12345,"sender":true},
 "receiver":{"socket":5,"seconds":10,"bytes":117400000000,"bits_per_second":93900000000,"sender":true}},
{"sender":{"socket":7,"seconds":10,"bytes":12500000000,"bits_per_second":10000000000,"retransmits":0,"sender":false},
 "receiver":{"socket":7,"seconds":10,"bytes":12500000000,"bits_per_second":10000000000,"sender":false}}],
"sum_sent":{"seconds":10,"bytes":117500000000,"bits_per_second":94000000000,"retransmits":12345},
"sum_received":{"seconds":10,"bytes":117400000000,"bits_per_second":93900000000},
"sum_sent":{"seconds":10,"bytes":12500000000,"bits_per_second":10000000000,"retransmits":0},
"sum_received":{"seconds":10,"bytes":12500000000,"bits_per_second":10000000000}}}`
	v, err := Iperf3Output(text)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Bidir || v.SentGbps != 94 || v.ReceivedGbps != 93.9 || v.Retransmits != 12345 || v.Streams != 1 ||
		len(v.Each) != 1 {
		t.Errorf("%+v", v)
	}
}

// A server that was left running prints test after test: none of them is the sum of all.
func TestIperf3TwoTestsInAText(t *testing.T) {
	test := func(gbps string) string {
		return "[  5] local 192.168.100.10 port 5201 connected to 192.168.100.11 port 40000\n" +
			"[ ID] Interval           Transfer     Bitrate\n" +
			"[  5]   0.00-10.00  sec  39.2 GBytes  " + gbps + " Gbits/sec                  receiver\n"
	}
	if v, err := Iperf3Output(test("33.7")); err != nil || v.ReceivedGbps != 33.7 || v.Streams != 1 {
		t.Errorf("one: %+v, %v", v, err)
	}
	if _, err := Iperf3Output(test("33.7") + test("6.7")); !errors.Is(err, ErrNoResult) ||
		!strings.Contains(err.Error(), "two tests") {
		t.Errorf("two: %v", err)
	}
}

// nccl-tests say FAILED behind an average that is below what NCCL_TESTS_MIN_BW asks for, and -C 1 has
// the processor's time in place of the wall's.
func TestNCCLTestsOfOtherSettings(t *testing.T) {
	table := func(time, average string) string {
		return "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n" +
			"#       size         count      type   redop    root     " + time + "   algbw   busbw  #wrong     " + time +
			"   algbw   busbw  #wrong\n" +
			"     1048576        262144     float     sum      -1    105.5    9.94    9.94       0    105.5    9.94    9.94  " +
			"     0\n" +
			"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : " + average + "\n"
	}
	if v, err := NCCLTests(table("time", "9.94 FAILED")); err != nil || len(v.Errors) != 1 ||
		!strings.Contains(v.Errors[0], "FAILED") {
		t.Errorf("%v, errors %q", err, v.Errors)
	}
	if v, err := NCCLTests(table("cputime", "9.94")); err != nil || len(v.Errors) != 0 || len(v.Rows) != 1 ||
		v.Rows[0].OutOfPlace.BusGBps != 9.94 {
		t.Errorf("%+v, %v", v, err)
	}
}
