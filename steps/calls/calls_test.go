package calls

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	const functions = `dir=''
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
	const arguments = `set -- --runtime_type "$NIXL_RUNTIME"
case $NIXL_RUNTIME in
ASIO) set -- "$@" --asio_address "$ASIO_IP" ;;
*) set -- "$@" --etcd_endpoints "$ETCD" ;;
esac
nixlbench "$@" --num_iter 1
`
	for name, c := range map[string]struct {
		script, tool string
		values       map[string]string
		want         string
	}{
		"values": {
			`ib_write_bw -d "$RAIL_DEV" -s ${SIZE} "$PEER_IP"`, "ib_write_bw",
			map[string]string{"SIZE": "65536", "PEER_IP": "10.0.0.2"},
			"ib_write_bw -d $RAIL_DEV -s 65536 10.0.0.2",
		},
		"first call of a function": {
			functions, "ib_write_bw",
			map[string]string{"PORT": "18515", "RAIL1_DEV": "rocep1s0f0"},
			"ib_write_bw -d rocep1s0f0 -x $RAIL1_GID -D $LOAD_SECONDS -p 18515 -F $PEER_RAIL1_IP",
		},
		"function that is never called": {"f() {\n\tib_write_bw -d $1\n}\n", "ib_write_bw", nil, ""},
		"without an argument":           {`ib_write_bw -d "$1" -F`, "ib_write_bw", nil, "ib_write_bw -d '' -F"},
		"case that is chosen": {
			arguments, "nixlbench",
			map[string]string{"NIXL_RUNTIME": "ASIO"},
			"nixlbench --runtime_type ASIO --asio_address $ASIO_IP --num_iter 1",
		},
		"case of the rest": {
			arguments, "nixlbench",
			map[string]string{"NIXL_RUNTIME": "ETCD", "ETCD": "http://e:2379"},
			"nixlbench --runtime_type ETCD --etcd_endpoints http://e:2379 --num_iter 1",
		},
		"last of several": {"ping -c 1 a\nping -c 2 b\n", "ping", nil, "ping -c 2 b"},
		"through another program": {
			"x=$(timeout 5 /usr/bin/ib_write_bw -s 2) || exit 1\n", "ib_write_bw", nil, "ib_write_bw -s 2",
		},
		"after a question to the machine": {
			"command -v tool >/dev/null || exit 3\ncd /x || exit 4\nkill -0 1 || exit 5\nexec tool -v\n", "tool", nil, "tool -v",
		},
		"endless":      {"while :; do x=1; done; tool\n", "tool", nil, ""},
		"no shell":     {"if then", "if", nil, ""},
		"no tool":      {"true", "", nil, ""},
		"not its name": {"mytool; tool-2", "tool", nil, ""},
	} {
		if got := Of(c.script, c.tool, c.values); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// No file is read, and none is written: what would be there is empty.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	script := "echo x >" + dir + "/f\n[ -e " + dir + " ] && tool there\nfor f in " + dir + "/../*; do tool \"$f\"; done\n"
	if got := Of(script, "tool", nil); strings.Contains(got, "there") {
		t.Errorf("it sees a file: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("it writes a file")
	}
	if got := Of("read -r line </etc/passwd\ntool \"$line\"\n", "tool", nil); got != "tool ''" {
		t.Errorf("it reads a file: %q", got)
	}
}
