package bond

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// The script that makes the bond removes an empty one that loading the module made, and no other link of that name:
// no one could make that again.
func TestOnlyABondIsReplaced(t *testing.T) {
	n := nodetest.NewNetns(t)
	c, ok := kindtest.Tutorial(t).Cell("bond-setup")
	if !ok {
		t.Fatal("the tutorial has no bond-setup")
	}
	script := strings.Replace(c.Roles[0].Text(), "modprobe bonding max_bonds=0\n", "", 1)
	if script == c.Roles[0].Text() {
		t.Fatal("the script loads the module in another way")
	}
	vars := runner.Script{Body: script, Vars: map[string]string{
		"BOND": "bond0", "BOND_MODE": "balance-xor", "BOND_MIIMON": "100", "BOND_HASH": "layer3+4", "BOND_SLAVES": "rail0",
		"BOND_MTU": "1500", "BOND_ADDR": "192.168.100.10/24",
	}}
	n.Sh("ip link add bond0 type veth peer name other; ip link add rail0 type veth peer name far0; " +
		"ip addr add 192.168.100.10/24 dev rail0")
	if out, err := n.Try(vars.Text()); err == nil || !strings.Contains(out, "File exists") {
		t.Errorf("%v: %s", err, out)
	}
	if out := n.Sh("ip -br link; ip -br addr show rail0"); !strings.Contains(out, "bond0@other") ||
		!strings.Contains(out, "192.168.100.10/24") {
		t.Errorf("left are: %s", out)
	}
}
