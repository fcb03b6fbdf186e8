package traffic

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// What messages are on the wire, counted packet by packet: 14 bytes of Ethernet, 20 of
// IPv4, 8 of UDP, 12 of BTH and 4 of ICRC each, with the payload padded to 4; 16 of RETH
// in a WRITE's first packet and in a READ's request, 4 of AETH in acknowledgements and in
// a READ's first and last response.
func TestMessage(t *testing.T) {
	const plain, withRETH, withAETH = 14 + 20 + 8 + 12 + 4, 14 + 20 + 8 + 12 + 16 + 4, 14 + 20 + 8 + 12 + 4 + 4
	for _, c := range []struct {
		name       string
		op         operation
		size, mtu  int
		wire, back int
	}{
		{"a write of 1 byte", write, 1, 1024, withRETH + 4, withAETH},
		{"a write of 2 bytes", write, 2, 1024, withRETH + 4, withAETH},
		{"a write of 64 bytes", write, 64, 1024, withRETH + 64, withAETH},
		{"a write of a packet", write, 1024, 1024, withRETH + 1024, withAETH},
		{"a write of a packet and a byte", write, 1025, 1024, withRETH + 1024 + plain + 4, 2 * withAETH},
		{"a write of 64 KiB", write, 65536, 1024, 64*(plain+1024) + 16, 64 * withAETH},
		{"a write of 64 KiB at 4096", write, 65536, 4096, 16*(plain+4096) + 16, 16 * withAETH},
		{"a write of nothing", write, 0, 1024, withRETH, withAETH},
		{"a read of 1 byte", read, 1, 1024, withAETH + 4, withRETH},
		{"a read of two packets", read, 2048, 1024, 2 * (withAETH + 1024), withRETH},
		{"a read of 4 KiB", read, 4096, 1024, 4*(plain+1024) + 2*4, withRETH},
	} {
		if wire, back := c.op.message(c.size, c.mtu, 0); wire != c.wire || back != c.back {
			t.Errorf("%s: %d and %d back, want %d and %d", c.name, wire, back, c.wire, c.back)
		}
	}
}

// Packets of IPv6 have 20 bytes more than those of IPv4, and those of a VLAN 4.
func TestLargerHeaders(t *testing.T) {
	for _, c := range []struct{ op, size, mtu, extra, wire, back int }{
		{int(write), 65536, 1024, 20, 65536 + 64*(58+20) + 16, 64 * (58 + 20 + 4)},
		{int(write), 65536, 512, 24, 65536 + 128*(58+24) + 16, 128 * (58 + 24 + 4)},
		{int(read), 4096, 1024, 4, 4096 + 4*(58+4) + 8, 58 + 4 + 16},
	} {
		wire, back := operation(c.op).message(c.size, c.mtu, c.extra)
		if wire != c.wire || back != c.back {
			t.Errorf("%+v: %d and %d", c, wire, back)
		}
	}
}

// What a port counts of messages of any size is right, with extended headers and padding;
// what lacks a twentieth of its payload is not.
func TestSmallMessages(t *testing.T) {
	for _, size := range []int{1, 2, 64, 256, 1024, 4096, 65536} {
		f := Between(0, 1024, 1024)
		f.Writes(1000, size)
		l := Load{Wire: f.Wire, least: f.Least}
		low, high := l.bounds(false)
		packets := float64(1000 * max(1, (size+1023)/1024))
		with := 1000*float64((size+3)/4*4+16) + 58*packets
		if with < low || with > high {
			t.Errorf("%d bytes: %.0f is not within %.0f and %.0f", size, with, low, high)
		}
		if high > 1.04*with || low < 0.97*with {
			t.Errorf("%d bytes: %.0f to %.0f takes anything", size, low, high)
		}
	}
}

// A route over rails without an IPv4 address has the headers of IPv6, as UCX and NIXL do not print their GID.
func TestRouteOfIPv6(t *testing.T) {
	for addr, want := range map[string]int{"192.168.100.10": 0, "": 20} {
		rail := steps.Rail{Dev: "mlx5_0", Addr: addr, GIDs: []steps.GID{{Type: "RoCE v2"}}}
		node := steps.Node{Rails: []steps.Rail{rail}}
		var rt Route
		rt.Add(steps.Rig{Nodes: []steps.Node{node, node}, Pairs: []steps.Pair{{}}}, 0)
		if rt.extra != want {
			t.Errorf("address %q: %d bytes more, want %d", addr, rt.extra, want)
		}
	}
}
