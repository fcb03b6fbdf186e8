package tui

import "testing"

// A command stands on the stage as it runs; what differs from rail to rail keeps its name.
func TestCalledWithValues(t *testing.T) {
	const plan = `# --- ib-write-bw, server, rail 1, on spark-01 (simulated) SIMULATED
SIZE='1'
# --- ib-write-bw, client, rail 1, on spark-02
RAIL_DEV='rocep1s0f0'
SIZE='65536'
ib_write_bw -d "$RAIL_DEV" -s "$SIZE"

# --- ib-write-bw, client, rail 2, on spark-02
RAIL_DEV='rocep1s0f1'
SIZE='65536'
ib_write_bw -d "$RAIL_DEV" -s "$SIZE"
`
	for command, want := range map[string]string{
		`ib_write_bw -d "$RAIL_DEV" -s "$SIZE" "$PEER_IP"`: "ib_write_bw -d $RAIL_DEV -s 65536 $PEER_IP",
		"ib_write_bw -s ${SIZE} --report_gbits":            "ib_write_bw -s 65536 --report_gbits",
		"":                                                 "",
	} {
		if got := valued(command, values(plan, "client")); got != want {
			t.Errorf("%q is %q, want %q", command, got, want)
		}
	}
	if got := values(plan, ""); got["SIZE"] != "" {
		t.Errorf("two roles have two sizes, and one is told: %v", got)
	}
	for name, want := range map[string]string{"SIZE": "server 1 / client 65536, 65536", "RAIL_DEV": "rocep1s0f0, rocep1s0f1"} {
		if got := toldValues(givens(plan)[name]); got != want {
			t.Errorf("%s is told as %q, want %q", name, got, want)
		}
	}
}
