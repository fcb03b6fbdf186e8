package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// service runs assets/monitoring's unit as the page on monitoring says: as a user of its own, with all that the unit
// forbids it, over a node that is this one and one by SSH.
func (v *virtual) service(t *testing.T) {
	const here, peer = "spark-01", "spark-02"
	t.Cleanup(func() {
		v.root(t, here, "systemctl stop railbench-watch; rm -rf /etc/systemd/system/railbench-watch.service /etc/railbench "+
			"/usr/bin/railbench; systemctl daemon-reload; userdel -r railbench 2>/dev/null; :")
	})
	v.install(t, here, v.bin, "755", "/usr/bin/railbench")
	v.install(t, here, filepath.Join("..", "..", "assets", "monitoring", "railbench-watch.service"), "644",
		"/etc/systemd/system/railbench-watch.service")
	const rig = `name = "lab"
[here]
name = "spark-01"
local = true
[peer]
name = "spark-02"
ssh = "nvidia@192.168.100.11"
`
	v.root(t, here, `set -e
useradd -r -m -d /var/lib/railbench railbench
mkdir -p /etc/railbench
cat >/etc/railbench/rig.toml <<'END'
`+rig+`END
mkdir -p -m 700 /var/lib/railbench/.ssh
cp /root/.ssh/id_ed25519 /var/lib/railbench/.ssh/
ssh-keyscan -t ed25519 192.168.100.11 >/var/lib/railbench/.ssh/known_hosts 2>/dev/null
chown -R railbench: /var/lib/railbench
systemctl daemon-reload
systemctl start railbench-watch`)
	const metrics = `python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:7117/metrics", timeout=60).read().decode())'`
	v.root(t, here, waitFor(metrics+` 2>/dev/null | grep -q 'railbench_node_up{node="`+peer+`"} 1'`))
	got := v.root(t, here, metrics)
	for _, want := range []string{
		`railbench_node_up{node="` + here + `"} 1`, `railbench_node_up{node="` + peer + `"} 1`,
		`node_network_transmit_bytes_total{node="` + here + `",device="enp1s0f0np0"}`, "railbench_simulated 0",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/metrics has no %s:\n%s\n%s", want, got,
				v.root(t, here, "journalctl -u railbench-watch --no-pager | tail -30"))
		}
	}
	// It runs as its own user, and keeps its history where the unit says.
	state := v.root(t, here, "systemctl show -p ActiveState,NRestarts railbench-watch; "+
		"ps -o user= -p $(systemctl show -p MainPID --value railbench-watch)")
	for _, want := range []string{"ActiveState=active", "NRestarts=0", "railbench"} {
		if !strings.Contains(state, want) {
			t.Errorf("the unit has no %s: %s", want, state)
		}
	}
	v.root(t, here, waitFor("find /var/lib/railbench -name '*.jsonl' -size +0 | grep -q ."))
	// It ends when it is told to, and leaves nothing behind on either node.
	v.root(t, here, "timeout 60 systemctl stop railbench-watch && [ \"$(systemctl is-failed railbench-watch)\" = "+
		"inactive ]")
	for _, node := range []string{here, peer} {
		v.root(t, node, "for i in $(seq 60); do pgrep -f '[r]ailbench' >/dev/null || exit 0; sleep 0.5; done; ps -ef; exit 1")
	}
}

// install puts a file of this machine on a node.
func (v *virtual) install(t *testing.T, node, file, mode, path string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("ssh", "-F", filepath.Join(v.state, "ssh_config"), "-o", "ConnectTimeout=60", "-l", "root", node,
		"install -m"+mode+" /dev/stdin "+path)
	cmd.Stdin = f
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", path, err, out)
	}
}
