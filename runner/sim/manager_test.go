package sim

import (
	"strings"
	"testing"
)

const byHand = `set -e
modprobe bonding max_bonds=0
ip link add bond0 type bond mode balance-xor miimon 100
for rail in enp1s0f0np0 enp1s0f1np1; do
	ip addr flush dev $rail
	ip link set $rail down
	ip link set $rail master bond0
	ip link set $rail up
done
ip link set bond0 up
ip -4 -br addr show dev enp1s0f0np0`

// Two machines with NetworkManager showed it: the slaves of a bond get their profiles' addresses as soon as
// they are up, unless they were set unmanaged.
func TestManagerGivesAddressesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before string
		has          bool
	}{
		{"with the rails in its hands", "", true},
		{
			"with the rails let go", "nmcli device set enp1s0f0np0 managed no\nnmcli device set enp1s0f1np1 managed no\n",
			false,
		},
		{
			"with the rails let go and taken again",
			"nmcli device set enp1s0f0np0 managed no\nnmcli device set enp1s0f0np0 managed yes\n", true,
		},
	} {
		b := newBench(t, Options{})
		said := b.root("spark-02", c.before+byHand)
		if has := strings.Contains(said, "192.168.100.11/24"); has != c.has {
			t.Errorf("%s: the slave has %q", c.name, said)
		}
	}
}

// A device that is let go keeps its addresses, and says so.
func TestManagerLetsGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	said := b.root("spark-02",
		`nmcli device set enp1s0f0np0 managed no && nmcli -t -f DEVICE,STATE device && ip -4 -br addr show dev enp1s0f0np0`)
	for _, want := range []string{"enp1s0f0np0:unmanaged\n", "192.168.100.11/24", "enp1s0f1np1:connected\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	if r := b.try("spark-02", "nmcli device set enp1s0f0np0 managed no"); r.code != 4 ||
		!strings.Contains(r.err, "Not authorized") {
		t.Errorf("without root: %+v", r)
	}
	saved := b.root("spark-02",
		`ip addr save dev enp1s0f0np0 >/tmp/a && ip -4 route save table all dev enp1s0f0np0 >/tmp/r &&
ip addr flush dev enp1s0f0np0 && ip addr restore </tmp/a; ip -4 route restore </tmp/r
ip -4 -br addr show dev enp1s0f0np0; ip -4 route show dev enp1s0f0np0`)
	if !strings.Contains(saved, "192.168.100.11/24") || !strings.Contains(saved, "192.168.100.0/24") {
		t.Errorf("saved and restored: %q", saved)
	}
}
