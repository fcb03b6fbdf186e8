package nccl

import (
	"math"
	"testing"

	"github.com/railbench/railbench/steps/parse"
)

// What each node sends along NCCL's double tree, as its own trees join them: all together that is
// what a ring sends.
func TestTreeShares(t *testing.T) {
	for n, want := range map[int][]float64{
		2: {1, 1}, 3: {1.5, 1, 1.5}, 4: {1, 2, 2, 1}, 8: {1, 2, 2, 2, 2, 2, 2, 1},
	} {
		sum := 0.0
		for rank := range n {
			got := treeShare(n, rank)
			if sum += got; got != want[rank] {
				t.Errorf("%d of %d sends %g, want %g", rank, n, got, want[rank])
			}
		}
		if ring := 2 * float64(n-1); math.Abs(sum-ring) > 1e-9 {
			t.Errorf("%d nodes send %g along trees, and %g around a ring", n, sum, ring)
		}
	}
	for n := 2; n <= 64; n++ {
		sum := 0.0
		for rank := range n {
			sum += treeShare(n, rank)
		}
		if ring := 2 * float64(n-1); math.Abs(sum-ring) > 1e-9 {
			t.Errorf("%d nodes send %g along trees, and %g around a ring", n, sum, ring)
		}
	}
}

// NCCL's own lines say what it uses on each host.
func TestNets(t *testing.T) {
	run, _ := parse.NCCLTests("NCCL version 2.30.7+cuda13.0\n" +
		"[1,0]<stdout>: spark-01:4321:4321 [0] NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]; " +
		"OOB enP7s7:192.168.1.101<0>\n" +
		"spark-01:4321:4399 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [RO]; OOB enP7s7:192.168.1.101<0>\n" +
		"spark-02:77:77 [0] NCCL INFO NET/Socket : Using [0]enP7s7:192.168.1.102<0> [1]enp1s0f0np0:192.168.100.11<0>\n" +
		"spark-03:77:77 [0] NCCL INFO NET/IB : No device found.\n")
	if run.NCCL != 23007 || len(run.Nets) != 2 {
		t.Fatalf("%d, %+v", run.NCCL, run.Nets)
	}
	ib, socket := run.Nets[0], run.Nets[1]
	if ib.Host != "spark-01" || ib.By != "IB" || len(ib.Devices) != 2 || ib.Devices[1] != "roceP2p1s0f0" {
		t.Errorf("%+v", ib)
	}
	if socket.Host != "spark-02" || socket.By != "Socket" || len(socket.Devices) != 2 || socket.Devices[0] != "enP7s7" {
		t.Errorf("%+v", socket)
	}
}
