package perftest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// What both ends print is held against each other, the rig and the clock.
func TestEndsOfPerftest(t *testing.T) {
	bandwidth := func(text string) (any, error) { return parse.PerftestBandwidth(text) }
	latency := func(text string) (any, error) { return parse.PerftestLatency(text) }
	const server, client, foreign = 0, 1, steps.Inconclusive
	gids := func(local, remote string) func(string) string {
		of := func(ip string) string { return " GID: 00:00:00:00:00:00:00:00:00:00:255:255:" + ip + "\n" }
		return func(s string) string {
			return " local address: LID 0000\n" + of(local) + " remote address: LID 0000\n" + of(remote) + s
		}
	}
	swap := func(old, with string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, old, with) }
	}
	before := func(line string) func(string) string { return func(s string) string { return line + s } }
	for _, c := range []struct {
		name    string
		latency bool
		at      int
		change  func(string) string
		grade   steps.Grade
		code    steps.Code
	}{
		{"as it is", false, client, gids("192:168:100:11", "192:168:100:10"), steps.Pass, ""},
		{"to another rail", false, client, gids("192:168:100:11", "192:168:200:10"), foreign, steps.OutputForeign},
		{"from another rail", false, client, gids("192:168:200:11", "192:168:100:10"), foreign, steps.OutputForeign},
		{"to a third host", false, client, gids("192:168:100:11", "10:0:0:7"), foreign, steps.OutputForeign},
		{"answered by a third host", true, server, gids("10:0:0:7", "192:168:100:11"), foreign, steps.OutputForeign},
		{"the server's MTU", false, server, swap("1024[B]", "4096[B]"), steps.Inconclusive, steps.OutputForeign},
		{"the client's MTU of a latency", true, client, swap("1024[B]", "512[B]"), steps.Inconclusive, steps.OutputForeign},
		{"the server's device", false, server, before(" Device : mlx5_7\n"), steps.Inconclusive, steps.OutputForeign},
		{"the server's link", true, server, before(" Link type : IB\n"), steps.Inconclusive, steps.OutputForeign},
		{"the server's queue pairs", false, server, before(" Number of qps : 4\n"), steps.Inconclusive, steps.OutputForeign},
		{"the server's test", false, server, swap("RDMA_Write", "Send"), steps.Inconclusive, steps.OutputForeign},
		{"the server's latency", true, server, swap(" 1.96 ", " 9.6 "), steps.Inconclusive, steps.OutputForeign},
		{"the client's latency", true, client, swap(" 1.96 ", " 1.4 "), steps.Inconclusive, steps.OutputForeign},
		{"about the same latency", true, server, swap(" 1.96 ", " 2.1 "), steps.Pass, ""},
		{
			"a second head", false, client, func(s string) string { return s + " #bytes #iterations BW average[MB/sec]\n" },
			steps.Inconclusive, steps.OutputIncomplete,
		},
		{
			"a second head of a latency", true, client,
			func(s string) string { return s + "\n #bytes #iterations t_typical[usec]\n---------\n" },
			steps.Inconclusive, steps.OutputIncomplete,
		},
	} {
		cell, r, read := kindtest.BwCell, kindtest.Bandwidth(kindtest.Spark(), 92.5), bandwidth
		judge := judgeWriteBandwidth
		if c.latency {
			cell, r, read = kindtest.LatCell, kindtest.Latency(kindtest.Spark(), 1.96, 2.6), latency
			judge = judgeWriteLatency
		}
		o := &r.Stages[0].Outputs[c.at]
		o.Text = c.change(o.Text)
		v, err := read(o.Text)
		if o.Value, o.ParseErr = v, ""; err != nil {
			o.ParseErr = err.Error()
		}
		kindtest.Because(t, c.name, judge(cell, r), c.grade, c.code)
	}
	for at, end := range []string{"server", "client"} {
		r := kindtest.Bandwidth(kindtest.Spark(), 92.5)
		r.Stages[0].Outputs[at].Exit.Elapsed = 10 * time.Millisecond
		kindtest.Because(t, "10 ms of the "+end+" for 0.113 s of data", judgeWriteBandwidth(kindtest.BwCell, r),
			steps.Inconclusive, steps.OutputForeign)
	}
}

// The RoCE MTU of a test is that of the ports, or a user asked for another one.
func TestOtherMTU(t *testing.T) {
	rig := kindtest.Spark()
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Rails {
			rig.Nodes[e].Rails[i].MTU = 4096
		}
	}
	small := kindtest.Bandwidth(kindtest.Spark(), 92.5)
	small.Rig = rig
	kindtest.Because(t, "bandwidth", judgeWriteBandwidth(kindtest.BwCell, small), steps.Warn, steps.MTUDiffers)
	dual := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	dual.Rig = rig
	kindtest.Because(t, "two rails", judgeDual(dualCell, dual), steps.Warn, steps.MTUDiffers)
	lat := kindtest.Latency(kindtest.Spark(), 1.96, 2.6)
	lat.Rig = rig
	kindtest.Because(t, "latency", judgeWriteLatency(kindtest.LatCell, lat), steps.Warn, steps.MTUDiffers)
	asked := kindtest.BwCell
	asked.Roles = []steps.Role{{Name: "client", Script: "ib_write_bw -m 1024 $PEER_RAIL_IP"}}
	kindtest.Because(t, "asked for", judgeWriteBandwidth(asked, small), steps.Pass, "")
}

// The reason of an output that can't be read is its bad row, and never the rule below it.
func TestUnreadRow(t *testing.T) {
	for name, text := range map[string]string{
		"a decimal comma": " #bytes #iterations BW average[MB/sec]\n 65536 20000 1,103.4x\n-----------------\n",
		"too few columns": " #bytes #iterations BW peak[MB/sec] BW average[MB/sec]\n 65536 20000\n=======\n",
	} {
		r := kindtest.Bandwidth(kindtest.Spark(), 92.5)
		o := &r.Stages[0].Outputs[1]
		o.Text = text
		_, err := parse.PerftestBandwidth(text)
		if !errors.Is(err, parse.ErrNoResult) {
			t.Fatal(name, err)
		}
		o.Value, o.ParseErr = nil, err.Error()
		v := judgeWriteBandwidth(kindtest.BwCell, r)
		kindtest.Because(t, name, v, steps.Inconclusive, steps.OutputIncomplete)
		row := strings.Contains(v.Reason, "1,103.4x") || strings.Contains(v.Reason, "65536")
		if strings.Contains(v.Reason, "---") || strings.Contains(v.Reason, "===") || !row {
			t.Errorf("%s: %s", name, v.Reason)
		}
	}
}

// Relaxed ordering that is off is named where a rail is slow and no cause shows.
func TestRelaxedOrdering(t *testing.T) {
	r := kindtest.Bandwidth(kindtest.Spark(), 70)
	o := &r.Stages[0].Outputs[1]
	*o = kindtest.Read(kindtest.Ran(o.Role, o.End, " PCIe relax order: OFF\n"+o.Text), parse.PerftestBandwidth)
	v := judgeWriteBandwidth(kindtest.BwCell, r)
	kindtest.Want(t, "off", v, steps.Fail, "relaxed ordering was off")
}
