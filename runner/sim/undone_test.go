package sim

import (
	"slices"
	"strings"
	"testing"
)

// What a fault changes on any node is as before once it is repaired: interfaces, addresses,
// routes, GIDs, modules, packages, units, listeners, settings and the kernel's log.
func TestFaultsAreUndoneOnEachNode(t *testing.T) {
	t.Parallel()
	// How often a carrier changed, where a GID is in its table, and what counts, may differ.
	const look = `ip -br link; ip -br addr; ip route; ip neigh show nud permanent
show_gids | tr -s '\t' | cut -f1,4-7 | sort; ls /sys/class/infiniband /sys/class/net; lsmod | cut -d' ' -f1 | sort; dpkg-query -W
systemctl list-units; ss -ltn; sudo -n dmesg; cat /etc/environment /etc/security/limits.conf; ls /etc /etc/ucx /usr/lib/modprobe.d
ulimit -l; free -m; nvidia-smi -L; ucx_info -v; uptime -p; cat /sys/class/infiniband/*/device/current_link_width; command -v nixlbench`
	for _, f := range Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{Nodes: 3, Seed: 2})
			before := b.try("spark-03", look).out
			if !strings.Contains(before, "192.168.100.22") ||
				!strings.Contains(before, "RoCE") && !strings.Contains(before, "v2") {
				t.Fatalf("that is not how a node looks: %s", before)
			}
			spec := f.Name + "@spark-03"
			if err := b.Inject(spec); err != nil {
				t.Fatal(err)
			}
			if err := b.Inject(spec); err != nil || len(b.hurt) != 1 {
				t.Errorf("twice is not once: %v, %v", err, b.hurt)
			}
			if err := b.Clear(f.Name + "@spark-01"); err != nil || len(b.hurt) != 1 {
				t.Errorf("another node's repair repairs it: %v", err)
			}
			if err := b.Clear(spec); err != nil || len(b.hurt) != 0 {
				t.Error(err)
			}
			after := b.try("spark-03", look).out
			old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
			for _, l := range old {
				if !slices.Contains(now, l) {
					t.Errorf("lost: %s", l)
				}
			}
			for _, l := range now {
				if !slices.Contains(old, l) {
					t.Errorf("left: %s", l)
				}
			}
		})
	}
}

func TestFaultOnNoNode(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"pcie-x2@spark-03", "pcie-x2@", "@spark-01"} {
		if _, err := New(Options{Faults: []string{spec}}); err == nil {
			t.Errorf("%s is taken", spec)
		}
	}
	if r, err := New(Options{Nodes: 3, Faults: []string{"pcie-x2@spark-03"}}); err != nil {
		t.Error(err)
	} else if r.Close(); len(r.hurt) != 1 {
		t.Errorf("%d faults", len(r.hurt))
	}
}
