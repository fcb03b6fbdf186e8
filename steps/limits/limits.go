package limits

// The limits of bandwidth, then of latency, of TCP and NIXL, of the account of bytes, and
// of what a node is.
const (
	// HalfAt1024 and HalfAt4096 are of one rail behind a PCIe Gen5 x4 link, and
	// HalfSharedAt1024 of two.
	HalfAt1024 Limit = iota + 1
	HalfSharedAt1024
	HalfAt4096
	// PCIeShare is what is left of a PCIe link's bits where no one measured it.
	PCIeShare
	PCIeShareAt1024
	// PCIeTLP is the least that a PCIe packet has next to its payload, bytes.
	PCIeTLP
	// LeastMessage and LeastPayload are what a run has to be for a bandwidth band.
	LeastMessage
	LeastPayload
	UCXMessages
	StreamBlock
	// Together is how much of their time two tests have to have run next to each other.
	Together
	// PassShare and WarnShare are how near to what is expected a rate has to be.
	PassShare
	WarnShare
	// OverShare of what physics allow is a misread unit, or tests that did not run at the same time.
	OverShare
	// LargestMTU is the RoCE MTU below which a link pays for its headers.
	LargestMTU
	// EndsApart is how far the reports of a test's two ends may differ, and PeakApart a peak
	// from its average.
	EndsApart
	PeakApart
	// LatencyEndsApart is how far the medians of a latency's two ends may be apart.
	LatencyEndsApart
	// RunsShorter is how much shorter than its reported test a program may have run.
	RunsShorter
	// CopperLength is how long a copper cable without electronics may be.
	CopperLength
	// DegradedAdapter is what a healthy link carries behind an adapter that came up wrong.
	DegradedAdapter

	WriteLatency
	WriteLatencyPass
	WriteLatencyWarn
	WriteLatencyLeast
	WriteLatencyTail
	WriteLatencyMean
	RailsApart
	RatesApart
	RatesApartSoft
	SoftLeast
	// PairBandwidth and PairLatency are beyond which a pair of a matrix is bad next to the best one.
	PairBandwidth
	PairLatency
	ReadLatency
	ReadLatencyPass
	ReadLatencyWarn
	ReadLatencyLeast
	Outliers
	SlowPing

	TCPOneStream
	TCPTutorialStream
	TCPFourStreams
	TCPUnseen
	TCPPassShare
	TCPWarnShare
	TCPNearZero
	TCPSmallWindow
	// TCPOwnWindow is the size of a socket's buffers, below which it is what ends TCP.
	TCPOwnWindow
	TCPResent
	TCPStarved
	ReadPassShare
	ReadWarnShare
	StagedGPU
	StagedRoom
	// WireOf100G is what a link of 100 Gb/s carries with headers, GB/s, and UCXOfReport what the
	// COTS report's programs reached over one.
	WireOf100G
	UCXOfReport
	LeastBlock
	BlockTail

	// BytesLeast to BusyBefore are the account's: how far counters may be from what was
	// predicted.
	BytesLeast
	BytesMore
	BytesMoreIP
	BytesMoreStaged
	BytesJumped
	BytesBeside
	BytesChatter
	BytesBackground
	EvenShare
	BusyBefore
	Gen5Link
	// TrafficExplains, ManyErrors and NarrowLeast say when other traffic, errors and a narrow PCIe link explain
	// what a rail lacks.
	TrafficExplains
	ManyErrors
	NarrowLeast
	// AtWork is when a test that reached its limit was at work all the while.
	AtWork
	PathLossWarn
	PathLossFail
	PathDelay
	LeastDisk
	LeastInodes
	ClocksApart
	SoftDropped
	SoftDropsLeast
	// AdapterWarm to OlderAdapterOff are what an adapter's heat comes to: see HeatOf.
	AdapterWarm
	AdapterCritical
	AdapterOff
	OlderAdapterWarm
	OlderAdapterOff
	// BusyClock is the share of its highest clock that a GPU under load has at least, and
	// LowClock that below which it is stuck.
	BusyClock
	LowClock
	// BusyGPU is how busy a GPU has to be, by nvidia-smi, for its clock to report anything.
	BusyGPU
	// ContainerShm is how much shared memory a container should have.
	ContainerShm
	// NCCLSwitched, NCCLRing and NCCLLongRing are what a collective of NCCL has to reach, and NCCLMore how many
	// bytes more than the ring's it may move.
	NCCLSwitched
	NCCLRing
	NCCLLongRing
	NCCLMore
	NCCLLeast
	// NCCLPorts is the share of what several ports carry that a collective has to reach.
	NCCLPorts

	limits // how many there are
)

// entries are the figures themselves. facts.md reports the stories behind them.
var entries = [limits]Entry{
	HalfAt1024: {
		Of:  "payload of one rail behind a PCIe Gen5 x4 link, which does not end it there",
		Low: 92.5, High: 97.3, Unit: "Gb/s", Basis: Measured,
		When: "at RoCE MTU 1024 on DGX Spark",
		Source: "ib_write_bw: 92.55 in the multi-rail tutorial's saved run, 92.57 and 97.28, which cannot have " +
			"run at once, in NVIDIA's guide: https://build.nvidia.com/spark/connect-two-sparks",
		Fact: "bandwidth-at-a-roce-mtu-of-1024",
	},
	HalfSharedAt1024: {
		Of:  "payload of two rails through one PCIe Gen5 x4 link",
		Low: 105.4, High: 105.4, Unit: "Gb/s", Basis: Measured,
		When:   "at RoCE MTU 1024 on DGX Spark",
		Source: "nixlbench over two rails, in the NIXL benchmark tutorial",
		Fact:   "pcie-halves",
	},
	HalfAt4096: {
		Of:  "payload through one PCIe Gen5 x4 link",
		Low: 111.7, High: 111.9, Unit: "Gb/s", Basis: Measured,
		When:   "at RoCE MTU 4096 on DGX Spark",
		Source: "perftest: https://github.com/capetron/gb10-cluster-guide",
		Fact:   "pcie-halves",
	},
	PCIeShare: {
		Of:  "share of a PCIe link's bits, after their encoding, that is payload",
		Low: 0.887, High: 0.887, Basis: Chosen,
		When:   "for links that were never measured, at RoCE MTU 4096",
		Source: "what one Gen5 x4 link carried on DGX Spark, 111.8 of 126.0 Gb/s, taken for every other",
		Fact:   "pcie-halves",
	},
	PCIeShareAt1024: {
		Of:  "the same, for one rail and for two behind the link",
		Low: 0.735, High: 0.836, Basis: Chosen,
		When: "for links that were never measured, at RoCE MTU 1024",
		Source: "what one Gen5 x4 link carried on DGX Spark, 92.6 and 105.4 of 126.0 Gb/s, taken for every other; 92.6 is " +
			"also what a line of 100 Gb/s leaves, so one rail may bring more",
		Fact: "pcie-halves",
	},
	PCIeTLP: {
		Of:  "bytes of a PCIe packet beside its payload, at least",
		Low: 20, High: 20, Unit: "bytes", Basis: Derived,
		When: "from Gen3 to Gen5",
		Source: "4 of framing, 12 of header, 4 of LCRC (PCI Express base specification 5.0, chapters 2 and 4); a payload " +
			"has as many bytes as the device's MPS says, which root can read (lspci -vv), or else 4,096, the most",
		Fact: "pcie-halves",
	},
	LeastMessage: {
		Of:  "message of a bandwidth test, at least",
		Low: 65536, High: 65536, Unit: "bytes", Basis: Chosen,
		When:   "for a bandwidth to have a band",
		Source: "the size that the measured runs have; smaller messages have other limits, which were never measured here",
		Fact:   "what-a-bandwidth-needs",
	},
	UCXMessages: {
		Of:  "messages of ucx_perftest, at least",
		Low: 100, High: 100, Basis: Chosen, When: "for a bandwidth to FAIL",
		Source: "it sends one more that says that it is over, and waits for that: of a hundred it is a percent",
		Fact:   "what-a-bandwidth-needs",
	},
	StreamBlock: {
		Of:  "blocks of railbench stream, at least",
		Low: 65536, High: 65536, Unit: "bytes", Basis: Chosen, When: "for a rate to FAIL",
		Source: "each block is a call of the kernel's, of which a stream made 0.8 million a second over loopback: from " +
			"64 KiB on these are not a limit below 400 Gb/s",
		Fact: "what-a-bandwidth-needs",
	},
	LeastPayload: {
		Of:  "payload of a bandwidth test, at least",
		Low: 50e6, High: 50e6, Unit: "bytes", Basis: Chosen,
		When:   "for a bandwidth to have a band",
		Source: "4 ms at 100 Gb/s: beside that the 10 us or so in which a test starts and ends are a quarter of a percent",
		Fact:   "what-a-bandwidth-needs",
	},
	Together: {
		Of:  "share of the shorter one's time that two tests surely ran beside each other, at least",
		Low: 0.5, High: 0.5, Basis: Chosen,
		When: "for their sum to have a band",
		Source: "each moved data for bytes by rate, somewhere between the moments at which its program began and ended; " +
			"what those two spans share wherever they lie is sure, and less than half of it is two tests one after the other",
		Fact: "what-a-bandwidth-needs",
	},
	PassShare: {
		Of:  "share of what is expected, from which a bandwidth of RDMA passes",
		Low: 0.95, High: 0.95, Basis: Chosen, When: "for RDMA",
		Source: "two published runs of one rail differ by 0.02 %, and two rails side by side by 5 %",
		Fact:   "shares-of-a-band",
	},
	WarnShare: {
		Of:  "share of what is expected, below which a bandwidth of RDMA fails",
		Low: 0.80, High: 0.80, Basis: Chosen, When: "for RDMA",
		Source: "what is missing then has a cause", Fact: "shares-of-a-band",
	},
	OverShare: {
		Of:  "share of what physics allow, above which a figure is not a measurement",
		Low: 1.02, High: 1.02, Basis: Chosen, When: "for one test",
		Source: "MB taken for MiB are 4.9 % more, which shows in a rail at its limit; in a slower one only the rate of " +
			"messages shows it", Fact: "shares-of-a-band",
	},
	LargestMTU: {
		Of:  "RoCE MTU, at most; below it the check roce-mtu warns with the price",
		Low: 4096, High: 4096, Unit: "bytes", Basis: Derived,
		When: "RoCE over an interface with an MTU of 4192 or more",
		Source: "the largest of InfiniBand's five; the kernel keeps 96 bytes of the interface's MTU for headers " +
			"(iboe_get_mtu)",
		Fact: "headers-of-roce",
	},
	EndsApart: {
		Of:  "share that the two ends' reports of one test may differ by",
		Low: 0.05, High: 0.05, Basis: Chosen, When: "where both print a figure",
		Source: "perftest's server prints the client's own; iperf3's ends measure their seconds apart, and its text has " +
			"three digits",
		Fact: "shares-of-a-band",
	},
	PeakApart: {
		Of:  "peak of a bandwidth test against its average, from which something stopped it in between",
		Low: 1.5, High: 1.5, Unit: "times", Basis: Chosen, When: "where perftest prints a peak",
		Source: "in real outputs of adapters they are apart by less than 1 %, and over soft-RoCE by 15 %",
		Fact:   "shares-of-a-band",
	},
	LatencyEndsApart: {
		Of:  "median of a write's latency at one end against that at the other, at most",
		Low: 1.3, High: 1.3, Unit: "times", Basis: Chosen, When: "where both ends print one",
		Source: "both ends time the same round trips, so only the spread of single ones differs",
		Fact:   "latency",
	},
	RunsShorter: {
		Of:  "how much shorter than the test that it reports a program may have run: as a share, and in seconds in addition",
		Low: 0.02, High: 0.02, Basis: Chosen, When: "where railbench timed the program",
		Source: "two clocks, and the moment at which a shell starts and ends a program", Fact: "shares-of-a-band",
	},
	CopperLength: {
		Of:  "length of a copper cable without electronics, at most",
		Low: 3, High: 3, Unit: "m", Basis: Derived,
		When:   "lanes of 50 Gb/s, as a port of 200 Gb/s has four",
		Source: "200GBASE-CR4 is made for 3 m (IEEE 802.3cd, clause 136); lanes of 100 Gb/s go 2 m (802.3ck)",
		Fact:   "cables",
	},
	DegradedAdapter: {
		Of:  "payload over an adapter that came up degraded",
		Low: 8, High: 25, Unit: "Gb/s", Basis: Chosen,
		When: "on links of 100 Gb/s and more",
		Source: "a range around the some 13 Gb/s that owners measured on a DGX Spark with healthy links " +
			"(dgx-spark-playbooks PR 108)",
		Fact: "degraded-adapters",
	},
	WriteLatency: {
		Of:  "one RDMA write one way, the median",
		Low: 1.4, High: 2, Unit: "us", Basis: Chosen,
		When:   "between two ConnectX-7 back to back",
		Source: "a range around the 1.96 to 1.99 of ib_write_lat in the first tutorial", Fact: "latency",
	},
	WriteLatencyPass: {
		Of:  "the same, from which railbench warns",
		Low: 2.5, High: 2.5, Unit: "us", Basis: Chosen, When: "on hardware", Source: "a quarter above what was measured",
		Fact: "latency",
	},
	WriteLatencyWarn: {
		Of:  "the same, from which it fails",
		Low: 10, High: 10, Unit: "us", Basis: Chosen, When: "on hardware",
		Source: "five times what was measured: something stands between", Fact: "latency",
	},
	WriteLatencyLeast: {
		Of:  "the same, below which it is not a measurement",
		Low: 0.3, High: 0.3, Unit: "us", Basis: Chosen, When: "between two machines",
		Source: "a PCIe round trip at either end takes longer", Fact: "latency",
	},
	WriteLatencyTail: {
		Of:  "99th percentile against the median, from which a latency's tail is a finding",
		Low: 10, High: 10, Unit: "times", Basis: Chosen, When: "for ib_write_lat on hardware",
		Source: "nothing on a direct link waits so long but a processor that slept or did something else", Fact: "averages",
	},
	WriteLatencyMean: {
		Of:  "average of a latency against its median, from which a few very long ones are a finding",
		Low: 3, High: 3, Unit: "times", Basis: Chosen, When: "for ib_write_lat on hardware",
		Source: "in the first tutorial both are alike; what is longer in less than one of a hundred shows in no percentile " +
			"that is shown",
		Fact: "averages",
	},
	RailsApart: {
		Of:  "latency of one rail against that of the best, from which they are apart",
		Low: 3, High: 3, Unit: "times", Basis: Chosen, When: "for rails of one rig, also where no band holds",
		Source: "those of the first tutorial differ by 2 %, 1.96 to 1.99 us", Fact: "latency",
	},
	RatesApart: {
		Of:  "bandwidth of one rail against that of the best, below which they are apart",
		Low: 0.8, High: 0.8, Basis: Chosen, When: "for rails of one rig that have the same link, also where no band holds",
		Source: "as for a band: what is missing then has a cause; the vendor's pair, 92.57 and 97.28, is 5 % apart",
		Fact:   "shares-of-a-band",
	},
	RatesApartSoft: {
		Of:  "the same",
		Low: 0.5, High: 0.5, Basis: Chosen, When: "over soft-RoCE",
		Source: "it is as fast as the processor, and between emulated machines two tests in a row were 30 % apart",
		Fact:   "shares-of-a-band",
	},
	SoftLeast: {
		Of:  "bandwidth over soft-RoCE as a share of the speed that the links declare, below which something slows it",
		Low: 0.01, High: 0.01, Basis: Chosen, When: "over soft-RoCE, where the links declare a speed",
		Source: "processors carry some Gb/s of it, on links of 10 to 400 Gb/s", Fact: "shares-of-a-band",
	},
	PairBandwidth: {
		Of:  "bandwidth of a pair of nodes against that of the best pair, below which the pair is bad",
		Low: 0.93, High: 0.93, Basis: Chosen, When: "for pairs of like nodes and like rails, on hardware",
		Source: "NVIDIA's ClusterKit has the same by default", Fact: "pair-matrix",
	},
	PairLatency: {
		Of:  "latency of a pair of nodes against that of the best pair, above which the pair is bad",
		Low: 2.1, High: 2.1, Unit: "times", Basis: Chosen, When: "for pairs of like nodes and like rails, on hardware",
		Source: "NVIDIA's ClusterKit has the same by default", Fact: "pair-matrix",
	},
	ReadLatency: {
		Of:  "one NIXL read of 4 KiB from Python, the median",
		Low: 11.1, High: 16.2, Unit: "us", Basis: Measured, When: "on DGX Spark",
		Source: "the multi-rail tutorial, two rails and one", Fact: "latency-of-nixl",
	},
	ReadLatencyPass: {
		Of:  "the same, from which railbench warns",
		Low: 30, High: 30, Unit: "us", Basis: Chosen, When: "on hardware", Source: "twice what was measured",
		Fact: "latency-of-nixl",
	},
	ReadLatencyWarn: {
		Of:  "the same, from which it fails",
		Low: 50, High: 50, Unit: "us", Basis: Chosen, When: "on hardware",
		Source: "the multi-rail tutorial has 50 to 200 for TCP", Fact: "latency-of-nixl",
	},
	ReadLatencyLeast: {
		Of:  "the same, below which it is not a measurement",
		Low: 1, High: 1, Unit: "us", Basis: Chosen, When: "between two machines", Source: "less than a write takes, twice",
		Fact: "latency-of-nixl",
	},
	Outliers: {
		Of:  "95th percentile against the median, from which an average says nothing",
		Low: 5, High: 5, Unit: "times", Basis: Chosen, When: "always",
		Source: "it was 15 where the multi-rail tutorial's averages misled it", Fact: "averages",
	},
	SlowPing: {
		Of:  "a ping's average, from which railbench warns",
		Low: 10, High: 10, Unit: "ms", Basis: Chosen, When: "on any rail",
		Source: "the first tutorial takes 10 ms and more for another network", Fact: "latency",
	},
	TCPOneStream: {
		Of:  "TCP with one stream",
		Low: 12, High: 35, Unit: "Gb/s", Basis: Measured, When: "on DGX Spark",
		Source: "iperf3: 33.7 in the multi-rail tutorial, some 35 in the first; the lower end is chosen, as a processor " +
			"core limits it",
		Fact: "tcp",
	},
	TCPTutorialStream: {
		Of:  "TCP with one stream, in the multi-rail tutorial",
		Low: 33.7, High: 33.7, Unit: "Gb/s", Basis: Measured, When: "on the tutorial's DGX Spark",
		Source: "iperf3 in the multi-rail tutorial's saved runs, over one rail and over the bond", Fact: "tcp",
	},
	TCPFourStreams: {
		Of:  "TCP with four streams over a bond of two rails",
		Low: 70, High: 93, Unit: "Gb/s", Basis: Measured, When: "on DGX Spark",
		Source: "iperf3: 93.0 in the multi-rail tutorial, some 70 in the first; neither counted the links", Fact: "tcp",
	},
	TCPUnseen: {
		Of:  "times the most that was measured of TCP over a bond, above which railbench says so",
		Low: 1.1, High: 1.1, Basis: Chosen, When: "for several streams over a bond, where the links allow more",
		Source: "the links were not counted when 93 was measured: more may be true; both of a bond's links, or a figure " +
			"twice, look alike",
		Fact: "tcp",
	},
	TCPPassShare: {
		Of:  "share of what is expected, from which TCP passes",
		Low: 0.8, High: 0.8, Basis: Chosen, When: "for TCP",
		Source: "it depends on processors and their settings", Fact: "tcp",
	},
	TCPWarnShare: {
		Of:  "share of what is expected, below which TCP fails",
		Low: 0.5, High: 0.5, Basis: Chosen, When: "for TCP",
		Source: "it depends on processors and their settings", Fact: "tcp",
	},
	TCPNearZero: {
		Of:  "TCP that connects and has lost its large packets, at most",
		Low: 1, High: 1, Unit: "Gb/s", Basis: Chosen, When: "where more than twice as much is expected",
		Source: "the multi-rail tutorial's sign of MTUs that differ", Fact: "tcp-near-zero",
	},
	TCPSmallWindow: {
		Of:  "congestion window that is a few segments, at most",
		Low: 65536, High: 65536, Unit: "bytes", Basis: Chosen, When: "on a direct link, which has a megabyte",
		Source: "TCP waits for each of them then", Fact: "tcp-near-zero",
	},
	TCPOwnWindow: {
		Of:  "socket buffers that a test asks for (iperf3 -w), below which they are the cause of a low rate",
		Low: 1 << 20, High: 1 << 20, Unit: "bytes", Basis: Chosen, When: "on a direct link",
		Source: "as for a congestion window: a direct link has about a megabyte on its way and in its ends",
		Fact:   "tcp-near-zero",
	},
	TCPResent: {
		Of:  "share of a test's segments that were sent again, from which it is a finding",
		Low: 0.001, High: 0.001, Basis: Chosen, When: "for TCP over a link of one's own",
		Source: "TCP loses some where a stream begins, and then nothing", Fact: "tcp-near-zero",
	},
	TCPStarved: {
		Of:  "share of an even share of a test's rate, below which one of its streams is a finding",
		Low: 0.1, High: 0.1, Basis: Chosen, When: "for several streams of TCP",
		Source: "streams that share a link divide it within a few times of each other, and those of a bond by its links",
		Fact:   "tcp",
	},
	ReadPassShare: {
		Of:  "share of what is expected, from which reads from Python pass",
		Low: 0.80, High: 0.80, Basis: Chosen, When: "for NIXL from Python",
		Source: "each read waits for the one before: the multi-rail tutorial's 81.8 and 93.4 are 0.88 of what was expected",
		Fact:   "latency-of-nixl",
	},
	ReadWarnShare: {
		Of:  "share of what is expected, below which they fail",
		Low: 0.50, High: 0.50, Basis: Chosen, When: "for NIXL from Python", Source: "more than half is waiting then",
		Fact: "latency-of-nixl",
	},
	StagedGPU: {
		Of:  "payload from or to GPU memory that is staged through host memory",
		Low: 2.1, High: 4.9, Unit: "Gb/s", Basis: Measured, When: "on DGX Spark",
		Source: "rows of nixlbench in the NIXL benchmark tutorial, and reads of the multi-rail tutorial", Fact: "gpu-memory",
	},
	StagedRoom: {
		Of:  "how many times more or less is still taken for staged",
		Low: 2, High: 2, Unit: "times", Basis: Chosen, When: "for GPU memory",
		Source: "it depends on processors and on what they do beside it", Fact: "gpu-memory",
	},
	WireOf100G: {
		Of:  "bytes over a link of 100 Gb/s, headers included",
		Low: 12.5, High: 12.5, Unit: "GB/s", Basis: Derived, When: "a link of 100 Gb/s",
		Source: "100 Gb/s by 8; of payload 11.57 at RoCE MTU 1024 and 12.25 at 4096", Fact: "ucx-by-itself",
	},
	UCXOfReport: {
		Of:  "payload from GPU to GPU with UCX, in messages of 2^26 bytes",
		Low: 5.78, High: 5.78, Unit: "GB/s", Basis: Measured,
		When: "between two workstations with a ConnectX-6 Dx at 100 Gb/s, PCIe 3 x16",
		Source: "UCX-PY, in the COTS report: a rolling average over whole loops, in which an array is made, waits and is " +
			"written",
		Fact: "the-cots-report",
	},
	LeastBlock: {
		Of:  "block of NIXL, from which its throughput has a band",
		Low: 2 << 20, High: 2 << 20, Unit: "bytes", Basis: Chosen, When: "for nixlbench and NIXL from Python",
		Source: "in the NIXL benchmark tutorial's rows blocks of 2 MiB have 97 % of the best, and those of 64 KiB half or " +
			"59 %",
		Fact: "rows-of-nixlbench",
	},
	BlockTail: {
		Of:  "99th percentile of a block's transfer against what is usual, from which it is a finding",
		Low: 10, High: 10, Unit: "times", Basis: Chosen, When: "for blocks of NIXL that have a band",
		Source: "as for ib_write_lat: nothing on a direct link waits so long but a processor that slept or did something " +
			"else",
		Fact: "averages",
	},
	BytesLeast: {
		Of:  "bytes that a port counted, against those predicted, at least",
		Low: 0.98, High: 0.98, Unit: "times", Basis: Chosen, When: "for every flow",
		Source: "counters are read before the first packet and after the last, so only what an idle rate took off is missing",
		Fact:   "more-bytes-than-predicted",
	},
	BytesMore: {
		Of:  "the same, at most",
		Low: 1.03, High: 1.03, Unit: "times", Basis: Chosen, When: "at port counters, where headers are known to the byte",
		Source: "what is above was sent again; how much of that is nothing yet is chosen", Fact: "more-bytes-than-predicted",
	},
	BytesMoreIP: {
		Of:  "the same, at most",
		Low: 1.08, High: 1.08, Unit: "times", Basis: Chosen, When: "at an interface, which counts ARP and " +
			"acknowledgements, too",
		Source: "all protocols are in an interface's bytes, and how many segments have a header of their own isn't known",
		Fact:   "more-bytes-than-predicted",
	},
	BytesMoreStaged: {
		Of:  "the same, at most",
		Low: 1.06, High: 1.06, Unit: "times", Basis: Chosen, When: "for GPU memory that UCX stages, in messages of its own",
		Source: "four times the 1.5 % that the NIXL benchmark tutorial counted", Fact: "bytes-of-nixlbench",
	},
	BytesJumped: {
		Of:  "the same, from which a counter jumped",
		Low: 3, High: 3, Unit: "times", Basis: Chosen, When: "for every flow",
		Source: "beside what an adapter says that it had sent again, nothing makes a transfer three times as large",
		Fact:   "more-bytes-than-predicted",
	},
	BytesBeside: {
		Of:  "share of the payload that may move where the test sends nothing",
		Low: 0.01, High: 0.01, Basis: Chosen,
		When:   "on each rail that it doesn't use, on all of them together, and back",
		Source: "what a rig does for itself is less by orders of magnitude", Fact: "bytes-beside-a-test",
	},
	BytesChatter: {
		Of:  "bytes that an interface may move by itself",
		Low: 10e6, High: 10e6, Unit: "bytes", Basis: Chosen, When: "during any test",
		Source: "railbench's own SSH connections may lead over a rail", Fact: "bytes-beside-a-test",
	},
	BytesBackground: {
		Of:  "bytes that a port may move by itself, where 1 % of a test is less",
		Low: 16e3, High: 64e3, Unit: "bytes", Basis: Chosen, When: "during a test of latency: the least at port counters, " +
			"the most at interfaces",
		Source: "sixty management datagrams of 256 bytes, or a few hundred packets of ARP, neighbour discovery and " +
			"perftest's own TCP",
		Fact: "bytes-beside-a-test",
	},
	EvenShare: {
		Of:  "share that each of two equal rails has of a flow that they share evenly, at least",
		Low: 0.35, High: 0.35, Basis: Chosen, When: "for UCX",
		Source: "it cuts a block by the speeds that ports report, so less is not a half", Fact: "bytes-of-nixlbench",
	},
	BusyBefore: {
		Of:  "other traffic on a rail before a test, from which it is named",
		Low: 1, High: 1, Unit: "Gb/s", Basis: Chosen, When: "on any link",
		Source: "less changes no verdict", Fact: "bytes-beside-a-test",
	},
	Gen5Link: {
		Of:  "link rate of an adapter of PCIe Gen5, below which it may have come up slower than its port can do",
		Low: 100, High: 100, Unit: "Gb/s", Basis: Chosen, When: "for Ethernet links that are as slow at both ends",
		Source: "ConnectX-7's ports with PCIe Gen5 begin at 100 Gb/s; what a port could do is not on record where nodes " +
			"are looked at",
		Fact: "shares-of-a-band",
	},
	TrafficExplains: {
		Of:  "share of what is missing that a cause must explain: the upper one for one rail, the lower one for several",
		Low: 0.5, High: 0.75, Basis: Chosen, When: "beside a band",
		Source: "a rail loses what other traffic takes beyond the room that both have; of several rails that share a " +
			"test each loses as much",
		Fact: "shares-of-a-band",
	},
	ManyErrors: {
		Of:  "errors on a rail's ports during a test, from which its link doesn't look right",
		Low: 1000, High: 1000, Unit: "errors", Basis: Chosen, When: "for an adapter that looks degraded",
		Source: "a degraded adapter slows down without an error; a cable that loses that many packets in seconds is a " +
			"cause of its own",
		Fact: "shares-of-a-band",
	},
	NarrowLeast: {
		Of:  "share of what a narrow PCIe link carries, above which it is what ends a rail",
		Low: 0.4, High: 0.4, Basis: Chosen, When: "for one rail, or each of two behind it",
		Source: "two rails have a half of it each; a rate far below comes from something else", Fact: "shares-of-a-band",
	},
	AtWork: {
		Of:  "share of what one rail can carry that a test's carried on average, from which it was at work to its limit",
		Low: 0.8, High: 0.8, Basis: Chosen, When: "for a test that was ended at its time limit",
		Source: "one that hangs carries nothing from then on: it did so for a fifth of the time at most",
		Fact:   "shares-of-a-band",
	},
	PathLossWarn: {
		Of:  "share of large pings that a path may lose",
		Low: 0.002, High: 0.002, Basis: Chosen, When: "of 500 over each rail, all at once",
		Source: "a direct cable loses none; one of 500 may be a processor's that was late", Fact: "what-is-between-the-nodes",
	},
	PathLossFail: {
		Of:  "the same, from which it fails",
		Low: 0.01, High: 0.01, Basis: Chosen, When: "of 500 over each rail, all at once",
		Source: "RDMA sends all behind a lost packet again: at 1 % hardly a window of 64 KiB is whole",
		Fact:   "what-is-between-the-nodes",
	},
	PathDelay: {
		Of:  "how much longer the fastest ping of a rail may take than that of the best one",
		Low: 1, High: 1, Unit: "ms", Basis: Chosen, When: "beside three times as long",
		Source: "a switch adds microseconds", Fact: "what-is-between-the-nodes",
	},
	LeastDisk: {
		Of:  "room in a place where programs write, at least",
		Low: 65536, High: 65536, Unit: "kB", Basis: Chosen, When: "on each node",
		Source: "a test prints some hundred kB at most, and a package's lock or a log needs a few MB",
		Fact:   "what-is-between-the-nodes",
	},
	LeastInodes: {
		Of:  "inodes there, at least",
		Low: 100, High: 100, Unit: "inodes", Basis: Chosen, When: "on each node",
		Source: "a test makes a few files", Fact: "what-is-between-the-nodes",
	},
	ClocksApart: {
		Of:  "how far the clocks of the nodes may be apart",
		Low: 10, High: 10, Unit: "s", Basis: Chosen, When: "asked at the same time over SSH",
		Source: "a busy node answers seconds later; a clock without synchronization is off by minutes",
		Fact:   "what-is-between-the-nodes",
	},
	SoftDropped: {
		Of:  "share of the packets that soft-RoCE's error counters may grow by",
		Low: 0.2, High: 0.2, Basis: Chosen, When: "over soft-RoCE",
		Source: "a late processor answers after the time-out: 6.5 % in a latency between two emulated machines with " +
			"nothing wrong; what a path loses path-loss shows", Fact: "more-bytes-than-predicted",
	},
	SoftDropsLeast: {
		Of:  "how far they may grow whatever was sent",
		Low: 20, High: 20, Unit: "packets", Basis: Chosen, When: "over soft-RoCE",
		Source: "a short test has a few dropped packets and few others", Fact: "more-bytes-than-predicted",
	},
	AdapterWarm: {
		Of:  "heat of an adapter, from which its maker warns",
		Low: 97, High: 97, Unit: "degrees", Basis: Stated,
		When: "for a ConnectX-7; for any other but a ConnectX-5 it is chosen",
		Source: "its maker's manual of the ConnectX-7, monitoring: " +
			"https://docs.nvidia.com/networking/display/connectx7vpi/monitoring", Fact: "heat-of-adapters",
	},
	AdapterCritical: {
		Of:  "heat of an adapter that its maker calls critical",
		Low: 102, High: 102, Unit: "degrees", Basis: Stated, When: "for the same",
		Source: "the same: " +
			"https://docs.nvidia.com/networking/display/connectx7vpi/monitoring",
		Fact: "heat-of-adapters",
	},
	AdapterOff: {
		Of:  "heat of an adapter, at which its firmware switches it off",
		Low: 110, High: 110, Unit: "degrees", Basis: Stated, When: "for the same",
		Source: "the same: " +
			"https://docs.nvidia.com/networking/display/connectx7vpi/monitoring",
		Fact: "heat-of-adapters",
	},
	OlderAdapterWarm: {
		Of:  "heat of an adapter, from which its maker warns",
		Low: 105, High: 105, Unit: "degrees", Basis: Stated, When: "for a ConnectX-5",
		Source: "its maker's manual of the ConnectX-5: " +
			"https://docs.nvidia.com/networking/display/ConnectX5EN/Thermal+Sensors", Fact: "heat-of-adapters",
	},
	OlderAdapterOff: {
		Of:  "heat of an adapter, at which its firmware switches it off",
		Low: 115, High: 115, Unit: "degrees", Basis: Stated, When: "for the same",
		Source: "the same: " +
			"https://docs.nvidia.com/networking/display/ConnectX5EN/Thermal+Sensors; " +
			"a driver was seen to go at 110, and at 130 the device goes off even where its firmware did not",
		Fact: "heat-of-adapters",
	},
	BusyClock: {
		Of:  "share of a GPU's highest clock that it has under load, from which all is well",
		Low: 0.6, High: 0.6, Basis: Chosen, When: "for a GPU at work",
		Source: "GB10s were seen to hold some 2,400 of 3,003 MHz, 0.80; one that is capped by hand to 2,000 or 2,100 is " +
			"slower by its owner's will",
		Fact: "clocks-of-the-gpu",
	},
	LowClock: {
		Of:  "the same, below which it is stuck",
		Low: 0.35, High: 0.35, Basis: Chosen, When: "for a GPU at work",
		Source: "GB10s that were stuck were seen at 513 to 950 of 3,003 MHz, 0.17 to 0.32", Fact: "clocks-of-the-gpu",
	},
	BusyGPU: {
		Of:  "utilisation of a GPU, from which its clock is one under load",
		Low: 50, High: 50, Unit: "%", Basis: Chosen, When: "while railbench's own load runs",
		Source: "the load keeps the GPU busy all the time, and nvidia-smi reports the mean of up to a second, in which it " +
			"may have begun",
		Fact: "clocks-of-the-gpu",
	},
	ContainerShm: {
		Of:  "shared memory of a container, from which it is enough",
		Low: 1 << 30, High: 1 << 30, Unit: "bytes", Basis: Chosen, When: "for NCCL and UCX in a container",
		Source: "NCCL's own guide starts containers with --shm-size=1g; docker gives 64 MiB by itself", Fact: "containers",
	},
	NCCLSwitched: {
		Of:  "bus bandwidth of a collective of NCCL, at least",
		Low: 21.875, High: 21.875, Unit: "GB/s", Basis: Chosen,
		When: "for two nodes, or for nodes on a switch, with both halves of a port of 200 Gb/s",
		Source: "the set-up script of NVIDIA's playbooks for DGX Spark holds all_gather_perf to it: 175 of the cable's 200 " +
			"Gb/s",
		Fact: "collectives",
	},
	NCCLRing: {
		Of:  "the same",
		Low: 10, High: 10, Unit: "GB/s", Basis: Chosen, When: "for three nodes in a ring, cabled to each other",
		Source: "the same script", Fact: "collectives",
	},
	NCCLLongRing: {
		Of:  "the same",
		Low: 10, High: 10, Unit: "GB/s", Basis: Chosen, When: "for four nodes or more in a ring, cabled to each other",
		Source: "the vendor's for three, as each node sends over the same cables to the next, however many they are; " +
			"one was never published",
		Fact: "collectives",
	},
	NCCLMore: {
		Of:  "how many times the bytes of a collective's ring or tree a port may move",
		Low: 1.08, High: 1.08, Unit: "times", Basis: Chosen, When: "for NCCL's collectives",
		Source: "its protocol LL128 sends 128 bytes for 120 (1.067 times); LL, which doubles them, is for small messages " +
			"alone",
		Fact: "collectives",
	},
	NCCLLeast: {
		Of:  "size with which a slow collective is a FAIL, at least",
		Low: 4 << 30, High: 4 << 30, Unit: "bytes", Basis: Chosen, When: "for NCCL's collectives",
		Source: "smaller sizes leave the links idle between their steps; how much that takes was not measured by us",
		Fact:   "collectives",
	},
	NCCLPorts: {
		Of:  "share of what a node's cables and PCIe halves carry, below which a collective over several ports warns",
		Low: 0.875, High: 0.875, Basis: Chosen, When: "for two nodes, or for nodes on a switch, with more than one port of " +
			"each",
		Source: "the vendor's bar is for one port, 175 of 200 Gb/s; the same share is taken for several, which was " +
			"never published",
		Fact: "collectives",
	},
}
