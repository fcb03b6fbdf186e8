package sim

import (
	"strings"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command string
		want    reply
	}{
		{
			"[ -d /run/systemd/system ] && command -v systemd-run systemctl",
			reply{out: "/usr/bin/systemd-run\n/usr/bin/systemctl\n"},
		},
		{
			"systemd-run --unit=a /bin/sh -c true",
			reply{err: "Failed to start transient service unit: Interactive authentication required.\n", code: 1},
		},
		{"sudo systemd-run --on-active=soon /bin/sh -c true", reply{err: "Failed to parse timer value: soon\n", code: 1}},
		{
			"sudo systemd-run --unit=a --on-active=100000 /bin/sh -c true",
			reply{err: "Running timer as unit: a.timer\nWill run service as unit: a.service\n"},
		},
		{
			"sudo systemd-run --quiet --unit=a --on-active=1h /bin/sh -c true",
			reply{
				err:  "Failed to start transient timer unit: Unit a.timer was already loaded or has a fragment file.\n",
				code: 1,
			},
		},
		{
			"systemctl is-active a.timer a.service ssh; systemctl show -p ActiveState,SubState a.timer",
			reply{out: "active\ninactive\nactive\nActiveState=active\nSubState=waiting\n"},
		},
		{"sudo systemctl stop a.timer; systemctl is-active a.timer", reply{out: "inactive\n", code: 4}},
		// Of a unit that is well is-failed's own status is another than is-active's of one that isn't.
		{"systemctl is-failed ssh", reply{out: "active\n", code: 1}},
		{"sudo systemctl stop a.timer", reply{err: "Failed to stop a.timer: Unit a.timer not loaded.\n", code: 5}},
		{
			"sudo systemd-run --quiet --unit=f /bin/sh -c 'exit 3'; sleep 30; systemctl is-failed f; " +
				"systemctl show -p Result,ExecMainStatus f; sudo systemctl reset-failed f; systemctl is-active f",
			reply{out: "failed\nResult=exit-code\nExecMainStatus=3\ninactive\n", code: 4},
		},
		{
			"sudo systemd-run --quiet --collect --unit=g /bin/sh -c 'exit 3'; sleep 30; systemctl is-active g",
			reply{out: "inactive\n", code: 4},
		},
	} {
		if got := b.try("spark-01", c.command); got != c.want {
			t.Errorf("%s\n got %+v\nwant %+v", c.command, got, c.want)
		}
	}
}

// A unit outlives the script and the connection that made it.
func TestUnitsOutliveTheConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	b.must("spark-01", `sudo sh -c 'echo "echo \$\$ >/run/pid; sleep 5; echo done >/run/done" >/run/s
systemd-run --quiet --unit=now /bin/sh /run/s
systemd-run --quiet --unit=later --on-active=4 /bin/sh -c "echo late >/run/late"'`)
	b.clients["spark-01"].Close()
	delete(b.clients, "spark-01")
	b.until("the end of the units", func() bool {
		late, _ := b.rack.Nodes[0].ReadFile("/run/late", true)
		done, _ := b.rack.Nodes[0].ReadFile("/run/done", true)
		return late == "late\n" && done == "done\n" && len(b.rack.Nodes[0].Units) == 0
	})
}

// A service is ended by its process group or by its name, and is to be seen in
// /proc meanwhile.
func TestUnitsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"kill": `read -r p </run/pid; tr '\0' ' ' </proc/$p/cmdline; kill -0 -$p && kill -KILL "-$p"`,
		"stop": `read -r p </run/pid; tr '\0' ' ' </proc/$p/cmdline; systemctl stop long.service`,
	} {
		b := newBench(t, Options{})
		b.must("spark-01", `sudo sh -c 'echo "echo \$\$ >/run/pid; while :; do sleep 1; done" >/run/s
systemd-run --quiet --unit=long /bin/sh /run/s x; while [ ! -s /run/pid ]; do sleep 0.1; done'`)
		got := b.must("spark-01", "sudo sh -c '"+strings.ReplaceAll(end, "'", `'\''`)+"'")
		if got != "/bin/sh /run/s x " {
			t.Errorf("%s: its command line is %q", name, got)
		}
		b.until("its end", func() bool { return b.rack.Nodes[0].Units["long.service"] == nil })
		if got := b.try("spark-01", "kill -0 $(cat /run/pid)"); got.code == 0 {
			t.Errorf("%s: the process is there", name)
		}
	}
}

// Where setsid is used instead, what it starts stays as well, and its number is
// the one that the shell gave it.
func TestSetsid(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	pid := strings.TrimSpace(b.must("spark-01", `echo 'echo $$ >/tmp/pid; sleep 100000' >/tmp/s
env -i PATH="$PATH" setsid sh /tmp/s </dev/null >/dev/null 2>&1 &
while [ ! -s /tmp/pid ]; do sleep 0.1; done; echo $!`))
	if got := b.must("spark-01", "cat /tmp/pid; kill -0 -"+pid+"; kill "+pid); got != pid+"\n" {
		t.Errorf("it is %q, and the shell says %q", got, pid)
	}
	b.until("its end", func() bool { return len(b.rack.Nodes[0].Procs) == 0 })
}

// What runs apart ends with the rig.
func TestCloseEndsUnits(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 1})
	b.must("spark-01", "sudo systemd-run --quiet --unit=a sleep 100000; sudo systemd-run --quiet --unit=b "+
		"--on-active=100000 true; setsid -f sleep 100000")
	closed := make(chan struct{})
	go func() { defer close(closed); b.Close() }()
	select {
	case <-closed:
	case <-time.After(5 * time.Minute):
		t.Fatal("the rig does not close")
	}
}
