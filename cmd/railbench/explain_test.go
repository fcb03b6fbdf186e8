package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
)

func knowing(t *testing.T) *explain.Knowledge {
	t.Helper()
	k, err := knowledge()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// led are the entries that a text leads to.
func led(k *explain.Knowledge, text string) (ids []string) {
	a := k.Text(text, catalog.New().Tools, explain.Omitted{})
	for _, f := range slices.Concat(a.Causes, a.Healthy) {
		if f.Sure != explain.Weak {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// Each entry of the knowledge is whole: its codes and checks exist, its source is one, and its examples lead to it.
func TestKnowledge(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	checks, codes := map[string]bool{}, map[steps.Code]bool{}
	for _, c := range tut.Checks() {
		checks[c.ID] = true
	}
	for _, g := range codeGroups(t) {
		for _, c := range g.codes {
			codes[steps.Code(c.value)] = true
		}
	}
	for _, c := range k.Causes {
		for _, command := range regexp.MustCompile("railbench [^`,;()]*").FindAllString(c.Fix+"; "+c.Next, -1) {
			flagsExist(t, c.ID, command)
		}
		for name, s := range map[string]string{"title": c.Title, "why": c.Why, "fix": c.Fix, "next": c.Next} {
			if strings.TrimSpace(s) == "" || oldWord.MatchString(s) {
				t.Errorf("%s: the %s is %q", c.ID, name, s)
			}
		}
		if len(c.Checks) == 0 || len(c.Words) == 0 && c.Confirm != "" {
			t.Errorf("%s: %d checks, %d words", c.ID, len(c.Checks), len(c.Words))
		}
		u, err := url.Parse(c.Source)
		if err != nil || u.Scheme != "https" || !strings.Contains(u.Host, ".") || strings.Trim(u.Path, "/") == "" ||
			strings.ContainsAny(c.Source, " <>") {
			t.Errorf("%s: the source is %q", c.ID, c.Source)
		}
		if c.Code != "" && !codes[c.Code] {
			t.Errorf("%s: unknown code %s", c.ID, c.Code)
		}
		if n := len(strings.Fields(c.Title)); n > 25 {
			t.Errorf("%s: the title has %d words", c.ID, n)
		}
		for _, id := range c.Checks {
			if !checks[id] {
				t.Errorf("%s: unknown check %s", c.ID, id)
			}
		}
		for _, id := range c.Over {
			if !slices.ContainsFunc(k.Causes, func(o *explain.Cause) bool { return o.ID == id }) {
				t.Errorf("%s: unknown entry %s", c.ID, id)
			}
		}
		if _, ok := docFiles(t)[docPath(c.Docs)]; c.Docs != "" && !ok {
			t.Errorf("%s: unknown page %s", c.ID, c.Docs)
		}
		if len(c.Any)+len(c.All) > 0 && len(c.Examples) == 0 {
			t.Errorf("%s has no example", c.ID)
		}
		for _, e := range c.Examples {
			if ids := led(k, e); !slices.Contains(ids, c.ID) {
				t.Errorf("%s: its example leads to %v: %s", c.ID, ids, e)
			}
		}
	}
	if len(k.Causes) < 120 {
		t.Errorf("%d entries", len(k.Causes))
	}
}

// Each case of testdata/explain begins with the line "want: ENTRY…": the first of them leads the answer, all are in
// it. Without an entry the text must lead nowhere. A line "not: ENTRY…" may follow.
func TestExplainCases(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	files, err := filepath.Glob("testdata/explain/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, rest, _ := strings.Cut(string(text), "\n")
		ids := strings.Fields(strings.TrimPrefix(want, "want:"))
		not := ""
		if strings.HasPrefix(rest, "not:") {
			not, rest, _ = strings.Cut(rest, "\n")
		}
		got := led(k, rest)
		if k.Text(rest, catalog.New().Tools, explain.Omitted{}).Explained() != (len(ids) > 0) {
			t.Errorf("%s: it leads to %v, not to %v", file, got, ids)
		}
		if len(ids) > 0 && (len(got) == 0 || got[0] != ids[0]) {
			t.Errorf("%s: it leads to %v first, not to %v", file, got, ids)
		}
		for _, id := range ids {
			if !slices.Contains(got, id) {
				t.Errorf("%s: %s is not in %v", file, id, got)
			}
		}
		for id := range strings.FieldsSeq(strings.TrimPrefix(not, "not:")) {
			if slices.Contains(got, id) {
				t.Errorf("%s: %s is in %v", file, id, got)
			}
		}
	}
}

// What people report in their own words leads to a cause, and what only has the same words does not.
func TestExplainProse(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	said := func(text string) (ids []string) {
		for _, f := range k.Text(text, catalog.New().Tools, explain.Omitted{}).Causes {
			if f.Sure != explain.Weak {
				ids = append(ids, f.ID)
			}
		}
		return ids
	}
	report := "# [Question] %s\n\nWe have two servers with ConnectX-6.\n\n```\nmlx5_0\n```\nAny hints are welcome.\n"
	for text, want := range map[string]string{
		"ib_write_bw hangs when I use a message size above 4k, ping works fine":            "mtu-mismatch",
		"Connection established but no data is transferred for messages larger than 2048":  "mtu-mismatch",
		"GPU direct is slower than going through host memory":                              "gpu-memory-slow",
		"Our two nodes only reach half of the expected RDMA bandwidth":                     "figure-low",
		"Throughput halves when both ports are used simultaneously":                        "pcie-narrow",
		"NCCL traffic goes over eth0 instead of InfiniBand":                                "nccl-socket",
		"After rebooting the server RDMA no longer works":                                  "mtu-lost",
		"ib_read_bw reaches only 60 Gbps whereas ib_write_bw gets 98 Gbps":                 "reads-slow",
		"RoCE performance is very unstable when other servers send traffic":                "pfc-off",
		"The two servers can ping each other, but ib_send_bw cannot connect":               "perftest-socket",
		"Only one of our two 200G NICs is used by NCCL":                                    "nccl-slow",
		"RDMA works between nodes on the same leaf switch but not across leafs":            "cross-rail",
		"We see a large variance in latency, sometimes 2us and sometimes 80us":             "latency-jumps",
		"Cannot get more than 50Gbps on a 100G NIC":                                        "figure-low",
		"ib_write_bw with --use_cuda reports lower bandwidth than without":                 "gpu-memory-slow",
		"NCCL all_reduce_perf gets stuck with two nodes, a single node works":              "nccl-watchdog",
		"Iperf3 v3.9 reports lower network throughput than Iperf 2.1.5":                    "tcp-one-stream",
		"I then noticed that these two machines are using different gid index by default":  "modify-qp-invalid",
		"MPI job crashes when the message size exceeds 1MB over InfiniBand":                "mtu-mismatch",
		"The link does not come up between ConnectX-5 and our switch":                      "link-partner",
		"RDMA is slow in one direction only, the reverse direction is fine":                "one-direction",
		"In the VM the bandwidth is low, with passthrough of the NIC":                      "virtual-machine",
		"ib_read_bw is far less than 200Gb/s":                                              "reads-slow",
		"iperf3: not using all cpu cores limits the transfer rate":                         "tcp-one-stream",
		"nv_peer_mem is disappearing after a reboot":                                       "peermem",
		"We made a bonded network. The test seems to use only one port":                    "bond-hash",
		"I run nccl-tests on 12 nodes. Is 15GB/s ok?":                                      "nccl-slow",
		"The VM has passthrough, and its topology is very different from that of the host": "virtual-machine",
		"Training with NCCL is about 20% slower since 2.8.4 on 8 nodes":                    "since-update",
		"The bandwidth is not improved when using dual ports of the ConnectX-6":            "pcie-narrow",
		"Why is the RDMA bandwidth of GPU memory much lower than that of host memory?":     "gpu-memory-slow",
		"RoCE performance dropped after upgrading the driver":                              "since-update",
	} {
		story := "It worked well at first.\n" + text + ".\nThanks!\n"
		for _, whole := range []string{text, fmt.Sprintf(report, text), story} {
			if ids := said(whole); !slices.Contains(ids, want) || len(ids) > 3 {
				t.Errorf("%q leads to %v, not to %s", whole, ids, want)
			}
		}
	}
	hangs := "RDMA hangs with large messages and ping works\n"
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(readme),
		"Slow is the river,\nand half of the moon is gone,\nno message comes,\nlarge or small.\n",
		"Our large message queue hangs after the upgrade, and half of the clients fail.\n\n\n\nIt is written in Java.\n",
		"It has no packet loss.\nThe link does not flap.\nBandwidth is not lower than expected.\nRDMA does not hang.\n",
		"A log:\n```\n" + hangs + "```\n> " + hangs + "\nend\n",
		"a\nb\nc\n[rank0]: " + hangs + "    " + hangs,
	} {
		if ids := said(text); len(ids) > 0 {
			t.Errorf("%.80q leads to %v", text, ids)
		}
	}
}

// Whatever a text is, it is explained without a panic, and its lines are those of the text.
func TestExplainAnything(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var pieces []string
	for _, c := range k.Causes {
		pieces = append(pieces, c.Examples...)
	}
	for range 40 {
		var b bytes.Buffer
		for range r.IntN(12) {
			s := []byte(pieces[r.IntN(len(pieces))])
			for range r.IntN(3) {
				if len(s) > 0 {
					s[r.IntN(len(s))] = byte(r.IntN(256))
				}
			}
			b.Write(s)
			b.WriteString([]string{"\n", "\r\n", "\n> ", "\n$ ", "\n```\n", "\x1b[31m"}[r.IntN(6)])
		}
		a := k.Text(b.String(), catalog.New().Tools, explain.Omitted{})
		for _, f := range a.Seen {
			if f.Line < 0 || f.Line > a.Lines {
				t.Errorf("line %d of %d: %q", f.Line, a.Lines, b.String())
			}
		}
	}
}

// Of a long text the beginning and the end are read, and the line numbers are those of the whole.
func TestExplainLong(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("Couldn't listen to port 18515\n")
	n := 1
	for b.Len() < 3*(explain.PastedHead+explain.PastedTail) {
		fmt.Fprintf(&b, "some line %d of a long log\n", n)
		n++
	}
	b.WriteString("E: undefined symbol: ibv_alloc_td\n")
	n++
	text, err := explain.HeadAndTail(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	a := knowing(t).Text(text.Text, catalog.New().Tools, text.Omitted)
	if a.Lines != n || a.LeftOut == 0 || len(a.Causes) != 2 {
		t.Fatalf("%d lines of %d, %d left out, %d causes", a.Lines, n, a.LeftOut, len(a.Causes))
	}
	for _, c := range a.Causes {
		if want := map[string]int{"port-in-use": 1, "library-missing": n}[c.ID]; c.Lines[0].Line != want {
			t.Errorf("%s is in line %d, not %d", c.ID, c.Lines[0].Line, want)
		}
	}
}

// The exit status says whether a cause was found.
func TestExplainStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"IB device mlx5_0 not found\n": exitOK,
		"the cat sat on the mat\n":     exitInconclusive,
		"\n":                           exitUsage,
	} {
		cmd := rootCommand()
		var out bytes.Buffer
		cmd.SetArgs([]string{"explain"})
		cmd.SetIn(strings.NewReader(text))
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		got := exitOK
		if err := cmd.ExecuteContext(context.Background()); err != nil {
			ended, _ := errors.AsType[status](err)
			got = ended.code
		}
		if got != want {
			t.Errorf("%q: status %d, not %d: %s", text, got, want, out.String())
		}
	}
}

// The workbench's page has a chapter for each cause, with the checks that its w runs, and sets nothing that was pasted.
func TestExplainPage(t *testing.T) {
	t.Parallel()
	page := explainPage("$ ib_write_bw\nIB device mlx5_0 not found `x` \x1b[31m\n**who** wrote these few words\n")
	for _, want := range []string{"## No RDMA device has that name", "`railbench doctor ", "\n- line 2: `", "'x'"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in %q", want, page)
		}
	}
	if strings.Contains(page, "\x1b") {
		t.Errorf("a control character: %q", page)
	}
	page = explainPage("Our RoCE cards are slow\n\nWhy is that?\nIt is like that every day.\n")
	if !strings.Contains(page, "It reads like RDMA that is slower") {
		t.Errorf("no kind: %q", page)
	}
	if page := explainPage("the cat sat on the mat"); !strings.Contains(page, explain.Outputs[0]) {
		t.Errorf("no outputs to collect: %q", page)
	}
}

// A text without a known cause is sorted by what it complains of; one that complains of nothing here, or that leads to
// a cause, is not.
func TestExplainKind(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	for text, want := range map[string]string{
		"all_reduce never prints a row on two MI100\n\nrccl sits there.\nVersion 6.\n": "collective-hangs",
		"Our RoCE cards give strange numbers\n\nSlow in the morning.\nWhy is that?\n":  "rdma-slow",
		"pb_mpi does nothing at all\n\nWe start it by mpirun.\nNothing is printed.\n":  "mpi",
		"The X520 is stuck at 4 Gbit/s\n\nIt is a new machine.\n":                      "tcp-slow",
		"How do I choose a network card?\n\nI want 10 GbE at home.\nIt is of brick.\n": "",
		"the cat sat on the mat\n":               "",
		"IB device mlx5_0 not found, and slow\n": "",
	} {
		a := k.Text(text, catalog.New().Tools, explain.Omitted{})
		got := ""
		if a.Kind != nil {
			got = a.Kind.ID
			if len(a.Near) < 5 || a.Near[0].Next == "" {
				t.Errorf("%q: %v", text, a.Near)
			}
		}
		if got != want {
			t.Errorf("%q is of the kind %q, not %q", text, got, want)
		}
	}
}

// A text that leads to no sure cause has those near it whose entries share its words; one of another field has none.
func TestExplainNear(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	for text, want := range map[string]string{
		"Card works since the old kernel only\n\ni40e here.\nThe image of ours lacks a blob, we think.\n" +
			"Which package has the firmware file that the driver wants?\n": "firmware-file-missing",
		"Is this right for our fabric?\n\nMellanox here.\nA second subnet manager, the switch's, seems to be master.\n" +
			"We run opensm, too.\n": "two-subnet-managers",
		"Postgres is slow after the upgrade\n\nA query with a join takes 30 seconds.\nThe planner takes a nested loop.\n": "",
		"the cat sat on the mat\n": "",
	} {
		a := k.Text(text, catalog.New().Tools, explain.Omitted{})
		if want == "" && len(a.Near) > 0 || want != "" && !slices.ContainsFunc(a.Near, func(n explain.Near) bool {
			return n.ID == want && n.Title != "" && n.Next != ""
		}) {
			t.Errorf("%q, of which %v follows: %v come near, not %q", text, a.Causes, a.Near, want)
		}
	}
}

// Where no cause is sure, old releases in the text are named, the newest of each program; a sure cause needs none.
func TestExplainOld(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	memlock := "ibv_create_cq() failed: Cannot allocate memory. Please set max locked memory (ulimit -l) to 'unlimited'\n"
	for _, c := range []struct{ text, want string }{
		{"It is slow at noon with NCCL version 2.7.8+cuda10.1 and ucx-1.8.0\n", "1 NCCL 2.7.8 2020, 1 UCX 1.8.0 2020"},
		{"Odd\n\nIt was fine with openmpi-3.1.0.\nSince openmpi-4.0.1 it is odd.\n", "4 Open MPI 4.0.1 2019"},
		{"\tfw_ver:\t\t\t16.28.2006\nIt is odd at night.\n", "1 the adapter's firmware 16.28.2006 2020"},
		{"It is odd with Linux version 3.2.0-4-amd64 (debian-kernel)\n", "1 the kernel 3.2 2013"},
		{"It is odd with NCCL version 2.30.7\n", ""},
		{"NCCL version 2.7.8\n" + memlock, ""},
	} {
		var got []string
		for _, r := range k.Text(c.text, catalog.New().Tools, explain.Omitted{}).Old {
			got = append(got, fmt.Sprintf("%d %s %s %d", r.Line, r.Program, r.Release, r.Year))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q: %q, not %q", c.text, got, c.want)
		}
	}
	page := explainPage("It is slow at noon with ucx-1.8.0\n")
	if !strings.Contains(page, "UCX 1.8.0 is of 2020 (2026: 1.20)") {
		t.Errorf("the page has no old release:\n%s", page)
	}
}

// A hint answers a text that is one tool's output, and none in which a person says more.
func TestExplainHint(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	output := "Settings for bond0:\n" + strings.Repeat("        Supported pause frame use: No\n", 9) +
		"        Speed: 200000Mb/s\n        Duplex: Full\n        Link detected: yes\n"
	for text, want := range map[string]bool{
		output: true,
		"Jobs end at random\n\nThey run for an hour or so, and then they are gone.\n" + output: false,
	} {
		a := k.Text(text, catalog.New().Tools, explain.Omitted{})
		got := slices.ContainsFunc(a.Causes, func(f explain.Found) bool {
			return f.ID == "bond-speed-ethtool" && f.Sure == explain.OneOf
		})
		if got != want {
			t.Errorf("%q: %v", text, a.Causes)
		}
	}
}

// What tools without a typed reader print is read to facts with their lines.
func TestExplainPrinted(t *testing.T) {
	t.Parallel()
	k := knowing(t)
	for text, want := range map[string]explain.Fact{
		"01:00.0 Ethernet controller: X\n\tDevCtl:\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n" +
			"\t\tLnkSta:\tSpeed 16GT/s, Width x8": {
			Line: 4, Text: "pcie 01:00.0 runs below what it can do: 16 GT/s x8 of 16 GT/s x16",
		},
		"\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+":       {Line: 1, Text: "pcie device acs=on"},
		"\t\t\tMaxPayload 128 bytes, MaxReadReq 512 bytes": {Line: 1, Text: "pcie device payload=128 request=512 bytes"},
		"Priority trust state: dscp":                       {Line: 1, Text: "qos trust=dscp"},
		"PFC configuration:\n\tpriority 0 1 2 3 4 5 6 7\n\tenabled  0   0   0   1   0   0   0   0": {
			Line: 3, Text: "qos pfc=3",
		},
		"      0xb88303ffff7f61c4      6    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>  3  3[  ] \"sw\" ( )": {
			Line: 1, Text: "fabric lid 6 port 1: 4X at 25.78125 Gb/s for each lane, Active, LinkUp",
		},
		"# OSU MPI Bi-Directional Bandwidth Test v5.7\n# Size      Bandwidth (MB/s)\n4194304             24609.96": {
			Line: 3, Text: "figure osu: at most 196.88 Gb/s, 4194304 bytes, OSU MPI Bi-Directional Bandwidth Test v5.7",
		},
		"CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n# Size      Bandwidth (MB/s)\n4194304  12000.00": {
			Line: 6, Text: "judged osu: low: 96.00 Gb/s, and the ports have 200",
		},
		"block_size,batch_size,avg_lat,bw_mib_sec,bw_gib_sec,bw_gb_sec\n8192,1,7.17361,1089.06,1.06354,1.14196": {
			Line: 2, Text: "figure cloudai: at most 9.14 Gb/s, 8192 bytes",
		},
		"[  3]  0.0-10.0 sec  5.81 GBytes  4.99 Gbits/sec": {
			Line: 1, Text: "figure iperf2: 1 stream: 4.99 Gb/s, retransmits unknown",
		},
		"[ ID] Interval           Transfer     Bitrate         Retr\n" +
			"[  5]   0.00-10.00  sec  1.10 GBytes   945 Mbits/sec  4512             sender\n" +
			"[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec                  receiver": {
			Line: 3, Text: "figure iperf3: 1 stream: 0.941 Gb/s, retransmits 4512",
		},
		"[ ID][Role] Interval           Transfer     Bitrate         Retr\n" +
			"[  5][TX-C]   0.00-10.00  sec  10.1 GBytes  1.01 GBytes/sec  512             sender\n" +
			"[  5][TX-C]   0.00-10.00  sec  10.1 GBytes  1.01 GBytes/sec                  receiver\n" +
			"[  7][RX-C]   0.00-10.00  sec  11.0 GBytes  1.10 GBytes/sec  3             sender\n" +
			"[  7][RX-C]   0.00-10.00  sec  11.0 GBytes  1.10 GBytes/sec                  receiver": {
			Line: 5, Text: "figure iperf3: 1 stream: 8.68 Gb/s, retransmits 512",
		},
		"memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0     25.10     52.77\nSUM host_to_device_memcpy_ce 77.87": {
			Line: 3, Text: "figure nvbandwidth: host_to_device_memcpy_ce: 77.87 GB/s, one pair 25.10 to 52.77",
		},
		"8192000 bytes in 0.01 seconds = 6812.06 Mbit/sec\n1000 iters in 0.01 seconds = 9.62 usec/iter": {
			Line: 1, Text: "figure ibv_rc_pingpong: 6.81 Gb/s, 9.62 µs for each exchange",
		},
		"cma event RDMA_CM_EVENT_ADDR_ERROR, error -19": {
			Line: 1, Text: "rping pings=0, event RDMA_CM_EVENT_ADDR_ERROR error -19",
		},
		"FAIL ACS for grace_rp 0006 is 0x1d": {Line: 1, Text: "rdma_topo fail: ACS for grace_rp 0006 is 0x1d"},
	} {
		if a := k.Text(text, catalog.New().Tools, explain.Omitted{}); !slices.Contains(a.Seen, want) {
			t.Errorf("%+v is not in %v", want, a.Seen)
		}
	}
}
