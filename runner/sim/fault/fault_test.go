package fault

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool"
)

// Every fault says where it is in words that a node's name can be put into, and does and
// undoes what it says on any node.
func TestFaultsAreToldOfAnyNode(t *testing.T) {
	for _, f := range All() {
		if f.Name == "" || f.Title == "" || f.Doc == "" || f.Do == nil {
			t.Errorf("%q lacks something: %+v", f.Name, f)
		}
		for _, node := range []string{"", "spark-01", "spark-02", "spark-03"} {
			told := f.At(node)
			if text := told.Title + told.Doc; strings.ContainsAny(text, "{}") || !strings.HasSuffix(told.Doc, ".") {
				t.Errorf("%s at %q: %s", f.Name, node, text)
			}
			if node != "" && strings.Contains(f.Doc, "{node}") && !strings.Contains(told.Doc, node) {
				t.Errorf("%s at %s does not name it: %s", f.Name, node, told.Doc)
			}
		}
	}
}

// Where two faults are there at once, what one of them undoes leaves the other as it is: the
// node's state is that of the other alone.
func TestOfTwoFaultsOneGoes(t *testing.T) {
	for _, c := range []struct{ stays, goes string }{
		{"gid-drift", "mtu-mismatch"},
		{"bond-left-over", "gid-drift"},
		{"ucx-pinned", "nccl-socket"},
		{"hot-adapter", "low-power"},
		{"tool-differs", "nixl-old"},
		{"slow-rail", "degraded-adapter"},
		{"firewall", "gpu-missing"},
	} {
		alone, both := rack(), rack()
		alone.do(t, c.stays)
		both.do(t, c.stays)
		both.do(t, c.goes)()
		if a, b := alone.state(), both.state(); a != b {
			t.Errorf("%s alone, and after %s went:\n%s\n%s", c.stays, c.goes, a, b)
		}
	}
}

// A wrong name has an answer that helps.
func TestNamed(t *testing.T) {
	for given, want := range map[string]string{
		"link-dwn": "did you mean link-down?", "hog": "", "nccl-soket": "did you mean nccl-socket?",
		"quite-another": "no fault",
	} {
		_, err := Named(given)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
	if err := func() error { _, err := Named("quite-another"); return err }(); strings.Contains(err.Error(), "did you") {
		t.Errorf("nothing is near, and it says %v", err)
	}
}

type rig struct{ *host.Rack }

func rack() rig {
	c := clock.New(time.Unix(1763700000, 0), clock.Max)
	return rig{host.NewRack(net.New(c, 1, 2, false), tool.All())}
}

// do puts a fault on the first node.
func (r rig) do(t *testing.T, name string) (undo func()) {
	t.Helper()
	f, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	undo = f.Do(SpotOn(r.Rack, 0))
	return undo
}

// state is what the first node shows of itself: its network, its log and its settings.
func (r rig) state() string {
	n := r.Nodes[0]
	var b strings.Builder
	for _, f := range n.Functions {
		fmt.Fprintln(&b, f.Dev, f.Merged, f.Lost, f.Lanes, f.Cap(), f.GIDs)
	}
	for _, d := range n.Netdevs {
		fmt.Fprintln(&b, d.Name, d.Up, d.MTU, d.MACText(), d.Addrs, d.Bond)
	}
	fmt.Fprintln(&b, n.Routes, n.Fixed, n.KernelLog(), n.Flaws, n.Versions, n.Absent, n.GPU, n.Hot, n.FreeKB,
		slices.Sorted(slices.Values(n.Modules)))
	for _, name := range []string{"/etc/environment", "/etc/nccl.conf", "/etc/ucx/ucx.conf"} {
		text, err := n.ReadFile(name, true)
		fmt.Fprintln(&b, name, text, err)
	}
	return b.String()
}

// The addresses that faults give are not node's own, and on each node others, in the subnet of its first rail.
func TestSpareAddressesAreNobodys(t *testing.T) {
	for _, nodes := range []int{2, 64, 300} {
		r := host.NewRack(net.New(clock.New(time.Unix(1763700000, 0), clock.Max), 1, nodes, false), nil)
		has := map[string]bool{}
		for _, n := range r.Nodes {
			has[n.Functions[0].Given.String()] = true
		}
		for i, n := range r.Nodes {
			s := SpotOn(r, i)
			for _, spare := range []string{s.spare(15, 90).String(), s.spare(12, 160).String()} {
				if has[spare] {
					t.Errorf("%d nodes: %s, given to %s, is there already", nodes, spare, n.Name)
				}
				has[spare] = true
				if p := netip.MustParsePrefix(spare); p.Masked() != n.Functions[0].Given.Masked() {
					t.Errorf("%d nodes: %s is not in the subnet of %s", nodes, spare, n.Functions[0].Given)
				}
			}
		}
		if got := len(has); got != 3*nodes {
			t.Errorf("%d nodes have %d addresses", nodes, got)
		}
	}
}
