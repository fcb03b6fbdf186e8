package parse

import (
	"reflect"
	"testing"
)

// UCX 1.13.1's own lines, of a run on two machines, and those of 1.15 (openucx/ucx's src/ucp/core).
func TestUCXLog(t *testing.T) {
	const old = "[1795221363.494806] [spark-02:1950 :0]     ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded from " +
		"/lib/x86_64-linux-gnu/libucp.so.0)\n" +
		"[1795221363.658885] [spark-02:1950 :0]          parser.c:1916 UCX  INFO  UCX_* env variables: " +
		"UCX_TLS=rc_verbs,tcp UCX_LOG_LEVEL=info\n" +
		"[1795221363.673845] [spark-02:1950 :0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag(rc_verbs/rocep1s0f0:1 " +
		"rc_verbs/rocep1s0f1:1)\n"
	const later = "[1750940543.835933] [n1:516966:0]     ucp_context.c:2119 UCX  INFO  Version 1.15.0 (loaded from " +
		"/opt/nixl.libs/libucp-9fe1.so.0.0.0), git branch 'x'\n" +
		"[1750940543.884315] [n1:516966:0]      ucp_worker.c:1855 UCX  INFO    0x488e23f0 self cfg#2 tag(self/memory " +
		"rc_mlx5/mlx5_1:1)\n" +
		"[1750940543.889621] [n1:516966:0]      ucp_worker.c:1855 UCX  INFO    0x488e23f0 intra-node cfg#3 " +
		"tag(sysv/memory)\n" +
		"[1750940544.333306] [n1:516966:0]      ucp_worker.c:1855 UCX  INFO    0x488e23f0 inter-node cfg#6 " +
		"rma(rc_mlx5/mlx5_1:1); \n"
	for name, c := range map[string]struct {
		text string
		want UCXLog
	}{
		"1.13": {old, UCXLog{
			[]string{"/lib/x86_64-linux-gnu/libucp.so.0 1.13.1"},
			[]string{"tag(rc_verbs/rocep1s0f0:1 rc_verbs/rocep1s0f1:1)"},
		}},
		"1.15": {later, UCXLog{[]string{"/opt/nixl.libs/libucp-9fe1.so.0.0.0 1.15.0"}, []string{"rma(rc_mlx5/mlx5_1:1)"}}},
		"each worker says it": {old + old, UCXLog{
			[]string{"/lib/x86_64-linux-gnu/libucp.so.0 1.13.1"}, []string{"tag(rc_verbs/rocep1s0f0:1 rc_verbs/rocep1s0f1:1)"},
		}},
		"at level warn": {"", UCXLog{}},
	} {
		bench, _ := NIXLBenchOutput(c.text)
		perf, _ := UCXPerftestOutput(c.text)
		if !reflect.DeepEqual(bench.UCXLog, c.want) || !reflect.DeepEqual(perf.UCXLog, c.want) {
			t.Errorf("%s: %+v and %+v", name, bench.UCXLog, perf.UCXLog)
		}
		if len(bench.Errors)+len(bench.Warnings)+len(perf.Errors) > 0 {
			t.Errorf("%s: what it tells of itself is no complaint: %q %q %q", name, bench.Errors, bench.Warnings, perf.Errors)
		}
	}
}
