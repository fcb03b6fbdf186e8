package tui

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// A command stands on the stage as it runs; what differs from rail to rail keeps its name.
func TestCalledWithValues(t *testing.T) {
	plan := []steps.PlannedValues{
		{Role: "server", Rail: 1, Values: map[string]string{"SIZE": "1"}},
		{Role: "client", Rail: 1, Values: map[string]string{"RAIL_DEV": "rocep1s0f0", "SIZE": "65536", "PY": "two\nlines"}},
		{Role: "client", Rail: 2, Values: map[string]string{"RAIL_DEV": "rocep1s0f1", "SIZE": "65536"}},
	}
	for command, want := range map[string]string{
		`ib_write_bw -d "$RAIL_DEV" -s "$SIZE" "$PEER_IP"`: "ib_write_bw -d $RAIL_DEV -s 65536 $PEER_IP",
		"ib_write_bw -s ${SIZE} --report_gbits":            "ib_write_bw -s 65536 --report_gbits",
		"":                                                 "",
	} {
		if got := valued(command, values(plan, "client", 0)); got != want {
			t.Errorf("%q is %q, want %q", command, got, want)
		}
	}
	if got := values(plan, "client", 2)["RAIL_DEV"]; got != "rocep1s0f1" {
		t.Errorf("on rail 2 RAIL_DEV is %q", got)
	}
	if got := values(plan, "", 0); got["SIZE"] != "" {
		t.Errorf("two roles have two sizes, and one is told: %v", got)
	}
	for name, want := range map[string]string{
		"SIZE":     "server 1 / client 65536, 65536",
		"RAIL_DEV": "rocep1s0f0, rocep1s0f1",
	} {
		if got := toldValues(givens(plan)[name]); got != want {
			t.Errorf("%s is told as %q, want %q", name, got, want)
		}
	}
}

// Arguments that a script sets stand on the stage as it sets them.
func TestArgumentsAreThoseOfTheScript(t *testing.T) {
	const script = `set -- --runtime_type "$NIXL_RUNTIME"
case $NIXL_RUNTIME in
ASIO) set -- "$@" --asio_address "$ASIO_IP" ;;
*) set -- "$@" --etcd_endpoints "$ETCD" ;;
esac
nixlbench "$@" --num_iter 1
`
	for runtime, want := range map[string]string{
		"ASIO": `nixlbench --runtime_type "$NIXL_RUNTIME" --asio_address "$ASIO_IP" --num_iter 1`,
		"ETCD": `nixlbench --runtime_type "$NIXL_RUNTIME" --etcd_endpoints "$ETCD" --num_iter 1`,
	} {
		if got := withArguments(`nixlbench "$@" --num_iter 1`, script,
			map[string]string{"NIXL_RUNTIME": runtime}); got != want {
			t.Errorf("%s: %q, want %q", runtime, got, want)
		}
	}
	if got := withArguments(`tool "$@"`, "tool \"$@\"\n", nil); got != "tool …" {
		t.Errorf("%q", got)
	}
}

// What calls a tool in a function of its script stands on the stage as it is called first.
func TestCommandsInFunctionsHaveTheirArguments(t *testing.T) {
	const script = `dir=''
port=$PORT
load() { # NAME DEVICE GID ADDRESS [OPTION]
	{
		if ib_write_bw -d "$2" -x "$3" -D "$LOAD_SECONDS" -p "$port" \
			-F $5 "$4" >"$dir/$1" 2>&1; then
			echo 0 >"$dir/$1.exit"
		fi
	} &
	port=$((port + 1))
}
# load nothing here
load "rail 1" "$RAIL1_DEV" "$RAIL1_GID" "$PEER_RAIL1_IP"
load half "$HALF_DEV" "$HALF_GID" "$PEER_HALF_IP" -b
wait
`
	for _, c := range []struct{ script, want string }{
		{script, `ib_write_bw -d "$RAIL1_DEV" -x "$RAIL1_GID" -D "$LOAD_SECONDS" -p "$PORT" -F "$PEER_RAIL1_IP"`},
		{"f() {\n\tib_write_bw -d $1\n}\n", "ib_write_bw -d $1"}, // nobody calls it
		{"ib_write_bw -d \"$1\"\n", `ib_write_bw -d "$1"`},
	} {
		cell := steps.Cell{Needs: []string{"ib_write_bw"}, Roles: []steps.Role{{Script: c.script}}}
		if got := command(cell); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
