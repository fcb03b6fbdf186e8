package perftest

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// A completion that was refused is reported with the meaning of its status, and with how the other end ended
// if that may have been earlier. Over soft-RoCE, and where the other end may have failed first, it does not
// prove that anything is wrong.
func TestRefused(t *testing.T) {
	const (
		access = " Completion with error at client\n Failed status 10: wr_id 0 syndrom 0x88\n scnt=128, ccnt=0\n"
		local  = " Failed status-local protection error (4): wr_id 0 syndrom 0x51\n"
		gone   = "ethernet_read_keys: Couldn't read remote address\n Unable to read to socket\n"
		memory = "Check memory registration, the GPU's module and the IOMMU (dmesg): the cable is not the cause"
	)
	for name, c := range map[string]struct {
		rig    steps.Rig
		client string
		server string
		exit   runner.Exit // the server's
		want   steps.Grade
		says   []string
		not    string
	}{
		"the server was there": {
			kindtest.Spark(), access, "",
			runner.Exit{Why: runner.Cancelled},
			steps.Fail,
			[]string{"the adapter on spark-01 denied access to the test's memory (status 10, reported on spark-02). " +
				memory},
			"came first",
		},
		"it followed": {
			kindtest.Spark(), access, gone,
			runner.Exit{Code: 1},
			steps.Fail,
			[]string{"status 10", memory},
			"came first",
		},
		"it was first, perhaps": {
			kindtest.Spark(), access, "Couldn't post send\n ERROR: Failed to allocate\n",
			runner.Exit{Code: 1},
			steps.Inconclusive,
			[]string{"status 10", "ended with exit 1 and printed", "Check that end first"},
			"",
		},
		"it was, without a word": {
			kindtest.Spark(), access, "",
			runner.Exit{Code: 3},
			steps.Inconclusive,
			[]string{"ended with exit 3 and printed nothing"},
			"",
		},
		"its own memory is no other's": {
			kindtest.Spark(), local, "",
			runner.Exit{Code: 3},
			steps.Fail,
			[]string{"the adapter on spark-02 may not use the test's memory (status 4", memory},
			"came first",
		},
		"an invalid request": {
			kindtest.Spark(), strings.Replace(access, "10", "9", 1), gone,
			runner.Exit{Code: 1},
			steps.Fail,
			[]string{"the adapter on spark-01 rejected the request as invalid (status 9, reported on spark-02)"},
			"",
		},
		"an operation": {
			kindtest.Spark(), strings.Replace(access, "10", "11", 1), gone,
			runner.Exit{Code: 1},
			steps.Fail,
			[]string{"the adapter on spark-01 could not do the operation (status 11, reported on spark-02)"},
			"",
		},
		"soft-RoCE": {
			kindtest.Virtual(), access, gone,
			runner.Exit{Code: 1},
			steps.Inconclusive,
			[]string{
				"status 10", "soft-RoCE can fail like this under load",
				"on an idle node", "dmesg",
			},
			"not the cable",
		},
		"soft-RoCE, and left": {
			kindtest.Virtual(), access, "",
			runner.Exit{Code: 3},
			steps.Inconclusive,
			[]string{"ended with exit 3 and printed nothing", "soft-RoCE"},
			"",
		},
	} {
		client, server := kindtest.Ran("client", steps.Here, c.client), kindtest.Ran("server", steps.Peer, c.server)
		client.Exit, server.Exit = runner.Exit{Code: 1}, c.exit
		c.rig.Pairs = c.rig.Pairs[:1]
		r := steps.Result{Rig: c.rig, Stages: []steps.Stage{{Outputs: []steps.Output{server, client}}}}
		v := judgeWriteBandwidth(kindtest.Cell(t, "ib-write-bw"), r)
		if v.Code != steps.MemoryAccessRefused {
			t.Errorf("%s: %s: %s", name, v.Code, v.Reason)
		}
		if v.Grade != c.want || c.not != "" && strings.Contains(v.Said(), c.not) {
			t.Errorf("%s: %s: %s", name, v.Grade, v.Reason)
		}
		for _, words := range c.says {
			if !strings.Contains(v.Said(), words) {
				t.Errorf("%s: %q is missing in %s: %s", name, words, v.Grade, v.Reason)
			}
		}
	}
}
