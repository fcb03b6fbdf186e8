package software

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// What NCCL takes follows from the rails and from what is set: which devices, by which GID, both halves or one.
func TestNCCLChooses(t *testing.T) {
	const all = "rocep1s0f0:1 rocep1s0f1:1 roceP2p1s0f0:1 roceP2p1s0f1:1"
	down := func(rig *steps.Rig) {
		for i := range rig.Nodes[steps.Here].Rails {
			rig.Nodes[steps.Here].Rails[i].State = "DOWN"
		}
	}
	none := func(rig *steps.Rig) { rig.Nodes[steps.Here].Rails = nil }
	for name, c := range map[string]struct {
		facts string
		spoil func(*steps.Rig)
		takes string
		index string
		half  string
		none  bool
	}{
		"nothing is set": {"", nil, all, "found by NCCL", "both PCIe halves of each port", false},
		"a prefix": {
			"environment NCCL_IB_HCA: rocep1s0f", nil, "rocep1s0f0:1 rocep1s0f1:1", "3",
			"only one PCIe half of each port", false,
		},
		"one of two": {
			"environment NCCL_IB_HCA: ^=roceP2p1s0f1", nil, "rocep1s0f0:1 rocep1s0f1:1 roceP2p1s0f0:1", "",
			"only one PCIe half of 1 of 2 ports", false,
		},
		"a file behind the environment": {
			"environment NCCL_IB_HCA: =rocep1s0f0:1\n/etc/nccl.conf NCCL_IB_HCA: rocep1s0f1", nil, "rocep1s0f0:1", "3",
			"only one PCIe half of its port", false,
		},
		"another port": {
			"environment NCCL_IB_HCA: rocep1s0f0:2", nil, "no RDMA device: NCCL_IB_HCA excludes all", "", "", false,
		},
		"an index":      {"/etc/nccl.conf NCCL_IB_GID_INDEX: 1", nil, all, "1 (set)", "", false},
		"no index":      {"/etc/nccl.conf NCCL_IB_GID_INDEX: -1", nil, all, "found by NCCL", "", false},
		"an old NCCL":   {"nccl nccl-tests: 2.20.5", nil, all, "0 (nccl-tests' NCCL is older than 2.21", "", false},
		"switched off":  {"/etc/nccl.conf NCCL_IB_DISABLE: 1", nil, "no RDMA device: NCCL_IB_DISABLE is 1", "", "", false},
		"not off":       {"/etc/nccl.conf NCCL_IB_DISABLE: 0", nil, all, "", "", false},
		"sockets":       {"environment NCCL_NET: Socket", nil, "no RDMA device: NCCL_NET is Socket", "", "", false},
		"nothing is up": {"", down, "no RDMA device: no port of 4 devices is ACTIVE", "", "", true},
		"no rail":       {"", none, "no RDMA device: the node has none", "", "", true},
	} {
		r := checkedFacts("looked at: all\nnccl loader: 2.28.9\n"+c.facts+"\n", "looked at: all\nnccl loader: 2.28.9\n")
		if c.spoil != nil {
			c.spoil(&r.Rig)
		}
		v := registered().Judges["nccl-check"](steps.Cell{}, r)
		row := v.Tables[0].Rows[0]
		if row[1] != c.takes || !strings.Contains(row[2], c.index) || !strings.Contains(row[3], c.half) {
			t.Errorf("%s: %q", name, row)
		}
		if c.none != (v.Grade == steps.Fail && strings.Contains(v.Said(), "NCCL finds no RDMA device on spark-02")) {
			t.Errorf("%s: %s: %s", name, v.Grade, v.Reason)
		}
	}
}

// A rail that is up and has no address is one that NCCL takes all the same: a collective fails over it.
func TestNCCLCheckWithoutAnAddress(t *testing.T) {
	for facts, want := range map[string]steps.Grade{"": steps.Warn, "environment NCCL_IB_HCA: ^=rocep1s0f1": steps.Warn} {
		r := checkedFacts("looked at: all\nnccl loader: 2.28.9\n"+facts+"\n", "looked at: all\nnccl loader: 2.28.9\n")
		rails := slices.Clone(r.Rig.Nodes[0].Rails)
		rails[1].GIDIndex = -1
		r.Rig.Nodes[0].Rails = rails
		v := registered().Judges["nccl-check"](steps.Cell{}, r)
		said := strings.Contains(v.Said(), "NCCL on spark-02 uses rocep1s0f1, which has no RoCE v2 GID")
		if v.Grade != want || said != (facts == "") {
			t.Errorf("%q: %s: %s", facts, v.Grade, v.Reason)
		}
	}
}

// Where there is no NCCL nothing is reported, and a fault in a container is reported as one in the container.
func TestNCCLCheckInAContainer(t *testing.T) {
	judge := registered().Judges["nccl-check"]
	const looked, has = "looked at: all\n", "looked at: all\nnccl loader: 2.28.9\n"
	box := "container: vllm\nengine: docker\ninside looked at: all\n"
	for _, c := range []struct {
		name, here, peer string
		want             steps.Grade
		code             steps.Code
		says             []string
	}{
		{"none", looked, looked, steps.Skipped, steps.CannotRun, []string{"neither node has an NCCL"}},
		{
			"in the container alone", looked + box + "inside nccl loader: 2.28.9\n",
			looked + box + "inside nccl loader: 2.28.9\n", steps.Pass, "",
			[]string{"nside vllm: The same on both nodes"},
		},
		{
			"nowhere", looked + box, looked + box, steps.Skipped, steps.CannotRun,
			[]string{"nside vllm: Neither node has an NCCL"},
		},
		{
			"another inside", has + box + "inside nccl loader: 2.28.9\n", has + box + "inside nccl loader: 2.27.7\n",
			steps.Fail, steps.NCCLDiffers,
			[]string{"Inside vllm: NCCL differs between the nodes (the system's NCCL): 2.28.9 on spark-02 and 2.27.7 on"},
		},
		{
			"one half inside", has + box + "inside /etc/nccl.conf NCCL_IB_HCA: rocep1\n", has + box, steps.Warn,
			steps.HalfLeftOut,
			[]string{"Inside vllm: /etc/nccl.conf on spark-02 sets NCCL_IB_HCA"},
		},
		{
			"no container", has + "container: vllm\nengine: none\n", has + box, steps.Inconclusive, steps.NoContainerFound,
			[]string{"no container vllm on spark-02"},
		},
	} {
		v := judge(steps.Cell{}, checkedFacts(c.here, c.peer))
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.says...)
	}
}
