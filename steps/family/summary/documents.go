package summary

import (
	"github.com/railbench/railbench/steps/limits"
)

// What the documents measured or claim, as data. A summary shows it next to what was measured here, and next to what
// is the case where a document is wrong.

// The documents, by their number.
var documentNames = map[string]string{
	"000": "nixlbench notebook",
	"001": "nixlbench article",
	"002": "multi-rail notebook",
	"003": "multi-rail article",
	"NB1": "first tutorial",
}

// A documented figure is one that a document gives.
type documented struct {
	value float64
	from  []string // numbers of documents
	fact  string   // what is the case, where it is another or says too little
	// wrong says that it is not a figure of this test: of another unit, or never measured.
	wrong bool
}

// documentedGbps are throughputs by cell, in 10^9 bits a second.
var documentedGbps = map[string]documented{
	"tcp-single": {
		value: limits.TCPTutorialStream.Value(), from: []string{"002", "003"},
		fact: "a core limits it, not the link; 34 without a bond",
	},
	"tcp-parallel": {
		value: limits.TCPFourStreams.High(), from: []string{"002", "003"},
		fact: "no link was counted: one may have carried it all",
	},
	"ib-write-bw": {
		value: 93.4, from: []string{"002", "003"},
		fact: "98.0: its MB are MiB; the first tutorial has 88.3 and 96.3", wrong: true,
	},
	"dual-link": {
		value: 186.8, from: []string{"002"},
		fact: "never measured: both rails share one PCIe x4 link of 112", wrong: true,
	},
	"nixl-transfer": {value: 81.8, from: []string{"002", "003"}, fact: "one read, and the time of its connection"},
	"nixl-transfer-dual": {
		value: 93.4, from: []string{"002", "003"}, fact: "both rails share one PCIe x4 link",
	},
	"nixl-transfer-gpu": {
		value: 3.5, from: []string{"002"},
		fact: "host-staged: a DGX Spark has no GPUDirect; 4.9 over two rails",
	},
	"nixl-single-dram": {
		value: 92.5, from: []string{"000", "001"},
		fact: "it expected 96; 92.5 to 97.3 were measured at RoCE MTU 1024",
	},
	"nixl-dual-dram": {
		value: 105.4, from: []string{"000", "001"},
		fact: "it expected 176; both rails share one PCIe x4 link",
	},
	"nixl-halves-dram": {fact: "not in the documents; 185 at RoCE MTU 1024 and 196 at 4096 elsewhere"},
	"nixl-single-vram": {
		value: 4.0, from: []string{"001"},
		fact: "the best row is 4.84, at 8 MiB; the notebook says 3.5",
	},
	"nixl-dual-vram": {
		value: 3.2, from: []string{"001"},
		fact: "the best row is 4.65, at 4 MiB; the notebook says 3.5",
	},
	"nixl-mt": {fact: "it timed out without a row, and was called confirmed"},
}

// documentedUS are latencies by cell, in microseconds.
var documentedUS = map[string]documented{
	"ping": {
		value: 631, from: []string{"002"},
		fact: "444 to 886; it wakes two kernels, which does not measure RDMA",
	},
	"ib-write-lat": {value: 1.96, from: []string{"NB1"}, fact: "its average, 1.96 to 1.99"},
	"nixl-latency": {
		value: 16.2, from: []string{"002", "003"},
		fact: "17.4 on average; with two rails 11.1, and 58.6 on average",
	},
}

// documentedLinkGB are the bytes on each link during the nixlbench tests, in GB.
var documentedLinkGB = map[string]string{
	"nixl-single-dram": "12.18 + 0",
	"nixl-dual-dram":   "6.09 + 6.09",
	"nixl-single-vram": "7.32 + 0",
	"nixl-dual-vram":   "7.33 + 0",
	"nixl-mt":          "3.71 + 3.71",
}

// documentedKV are the times to move a KV cache, in milliseconds by size in GB.
var documentedKV = []struct {
	what string
	gbps float64
	ms   map[float64]float64
	from string
}{
	{what: "two rails", gbps: 105.4, ms: map[float64]float64{1: 76, 4: 303, 8: 607}, from: "001"},
	{what: "two rails, Python", gbps: 93.4, ms: map[float64]float64{1: 86}, from: "003"},
	{what: "one rail", gbps: 92.5, ms: map[float64]float64{1: 86, 4: 346, 8: 691}, from: "001"},
	{what: "one rail, Python", gbps: 81.8, ms: map[float64]float64{1: 98}, from: "003"},
	{what: "TCP, 1 stream", gbps: 33.7, ms: map[float64]float64{1: 237}, from: "003"},
}

// documentedLink is what the documents take the link for, in Gb/s.
const documentedLink = 100

// documentedModes are the modes that the documents compare.
var documentedModes = []struct {
	number, name, deals, good, needs string
}{
	{
		"0", "balance-rr", "each packet to the next link",
		"one fast stream, in the documents; its packets arrive in disorder", "no",
	},
	{"1", "active-backup", "all to one link; the other waits", "failover: SSH and management", "no"},
	{"2", "balance-xor", "each connection to one link, by addresses and ports", "several connections, in order", "no"},
	{"4", "802.3ad", "each connection to one link, agreed by LACP", "links to a switch", "one that speaks LACP"},
}
