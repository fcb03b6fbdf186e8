package sim

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rate runs a test over a rail and returns Gb/s.
func (b *bench) rate(name string) float64 {
	b.t.Helper()
	r := rails[name]
	s, c := b.test("ib_write_bw -D 8 --report_gbits -d "+r.dev, "ib_write_bw -D 8 --report_gbits -d "+r.dev+" "+r.ip)
	if s.code != 0 || c.code != 0 {
		b.t.Fatalf("%+v\n%+v", s, c)
	}
	v, err := strconv.ParseFloat(fields(b.t, c.out)[3], 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func within(got, low, high float64) bool { return got >= low && got <= high }

// Each fault shows what its Doc says, and its clearing takes that away. A check
// is true while the fault shows.
func TestFaults(t *testing.T) {
	t.Parallel()
	says := func(node, command string, code int, part string) func(b *bench) bool {
		return func(b *bench) bool {
			got := b.try(node, command)
			return got.code == code && strings.Contains(got.out+got.err, part)
		}
	}
	checks := map[string][]func(b *bench) bool{
		"link-down": {
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f1/ports/1/state", 0, "1: DOWN"),
			says("spark-01", "timeout 1 ib_write_bw -d rocep1s0f1", 1, " Port number 1 state is Down\n"),
			says("spark-01", "ip -br link show enp1s0f1np1", 0, "DOWN"),
			says("spark-02", "ping -c 1 -W 1 192.168.200.10", 1, "100% packet loss"),
		},
		"cable-unplugged": {
			says("spark-01", "cat /sys/class/net/enp1s0f0np0/carrier", 0, "0\n"),
			says("spark-02", "cat /sys/class/net/enP2p1s0f0np0/carrier", 0, "0\n"),
			says("spark-02", "rdma link show rocep1s0f0/1", 0, "state DOWN physical_state POLLING"),
			func(b *bench) bool {
				return b.must("spark-01", "cat /sys/class/net/enp1s0f1np1/carrier") == "1\n" &&
					b.try("spark-01", "timeout 1 ib_write_bw").code == 1
			},
		},
		"pcie-x2": {
			says("spark-01", "cat /sys/class/infiniband/roceP2p1s0f0/device/current_link_width", 0, "2\n"),
			func(b *bench) bool { return within(b.rate("1b"), 50, 56) && b.rate("1") > 92 },
		},
		"degraded-adapter": {func(b *bench) bool {
			return within(b.rate("1"), 12.5, 13.5) &&
				within(b.rate("2b"), 12.5, 13.5)
		}},
		"slow-cable": {
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f1/ports/1/rate", 0, "100 Gb/sec (4X EDR)\n"),
			says("spark-02", "ethtool enP2p1s0f1np1", 0, "Speed: 100000Mb/s"),
			says("spark-02", "sudo ethtool -m enp1s0f1np1", 0, ": MCP1600-C005\n"),
			says("spark-02", "cat /sys/class/net/enp1s0f1np1/speed", 0, "100000\n"),
		},
		"slow-rail": {func(b *bench) bool { return within(b.rate("1"), 59, 60.5) && b.rate("2") > 92 }},
		"mtu-mismatch": {
			says("spark-01", "ping -c 1 -W 1 -M do -s 8972 192.168.100.11", 1,
				"1 packets transmitted, 0 received, 100% packet loss"),
			func(b *bench) bool {
				a, _ := b.iperf("192.168.100.10", "-t 5")
				return a.End.Sent.Bits < 1e9 && a.End.Sent.Retransmits > 100
			},
			func(b *bench) bool {
				return b.must("spark-01", "cat /sys/class/net/enp1s0f0np0/mtu") == "9000\n" && within(b.rate("1"), 92, 93)
			},
		},
		"gid-drift": {
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f0/ports/1/gid_attrs/types/5", 0, "RoCE v2"),
			func(b *bench) bool {
				_, c := b.test("ib_write_bw -x 3", "ib_write_bw -x 3 192.168.100.10")
				return c.code == 1 && strings.Contains(c.err, "GID types")
			},
		},
		"autobond": {
			says("spark-01", "cat /proc/net/bonding/bond0", 0, "Bonding Mode: load balancing (round-robin)"),
			says("spark-02", "ls /sys/module/bonding; sudo ip link add bond0 type bond mode balance-xor && sudo modprobe -r "+
				"bonding", 2, "File exists"),
			func(b *bench) bool {
				out := b.must("spark-01", "sudo modprobe -r bonding; sudo modprobe bonding; ls /sys/class/net; "+
					"sudo modprobe -r bonding; sudo modprobe bonding max_bonds=0; ls -d /sys/class/net/bond*")
				if !strings.Contains(out, "bond0\n") {
					b.must("spark-01", "sudo modprobe -r bonding")
					return false
				}
				return strings.HasSuffix(out, "/sys/class/net/bonding_masters\n")
			},
		},
		"bond-left-over": {
			says("spark-01", "cat /proc/net/bonding/bond0", 0, "Bonding Mode: load balancing (xor)"),
			says("spark-01", "readlink /sys/class/net/enp1s0f1np1/master", 0, "bond0"),
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f0/ports/1/gid_attrs/ndevs/5", 0, "bond0"),
			func(b *bench) bool {
				_, c := b.test("timeout 5 ib_write_bw -x 3", "ib_write_bw -x 3 192.168.100.10")
				return c.code == 1
			},
		},
		"p2p-ip-conflict": {
			says("spark-01", "ip -br addr show enP2p1s0f0np0", 0, "192.168.100.15/24"),
			func(b *bench) bool { return strings.Count(b.must("spark-01", "ip route"), "192.168.100.0/24 dev") == 2 },
		},
		"rail-ip-missing": {
			says("spark-01", "show_gids rocep1s0f1", 0, "n_gids_found=2"),
			says("spark-02", "ping -c 1 -W 1 192.168.200.10", 1, "100% packet loss"),
		},
		"port-busy": {
			says("spark-01", "timeout 1 ib_write_bw", 1, "Couldn't listen to port 18515"),
			says("spark-01", "ss -tlnp", 0, `users:(("ib_write_bw",pid=`),
			says("spark-01", "pgrep -a ib_write_bw", 0, "ib_write_bw -d rocep1s0f0 -x 3"),
		},
		"counter-missing": {
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f0/ports/1/counters/port_xmit_data", 1,
				"No such file or directory"),
		},
		"counter-reset": {func(b *bench) bool {
			before := b.counter("spark-02", "rocep1s0f0", "port_xmit_data")
			b.rate("1")
			return b.counter("spark-02", "rocep1s0f0", "port_xmit_data") < before+5e9
		}},
		"tool-missing": {
			says("spark-01", "timeout 1 ib_write_bw -x 3", 127, "‘ib_write_bw’: No such file or directory"),
			says("spark-01", "ib_write_lat -x 3 192.168.100.77 -d none", 127, "ib_write_lat: command not found"),
			func(b *bench) bool { return b.try("spark-01", "command -v ib_write_lat").code != 0 },
		},
		"tool-differs": {
			says("spark-01", "ib_write_bw --version", 1, "Version: 6.22"),
			func(b *bench) bool {
				s, c := b.test("ib_write_bw", "ib_write_bw 192.168.100.10")
				return strings.Contains(s.out, "average[MiB/sec]") && strings.Contains(c.out, "average[MB/sec]") &&
					!strings.Contains(s.out, "Lock-free") && // that is of 24.10
					slices.Equal(fields(b.t, s.out), fields(b.t, c.out))
			},
		},
		"sudo-password": {
			says("spark-02", "sudo -n true", 1, "sudo: a password is required"),
			func(b *bench) bool {
				return b.try("spark-01", "echo engineer | sudo -S id -u").out == "0\n" &&
					b.try("spark-01", "echo wrong | sudo -S true").code == 1
			},
		},
		"retransmits": {func(b *bench) bool {
			read := func() uint64 { return b.counter("spark-02", "rocep1s0f0", "port_xmit_data") }
			before := read()
			b.test("ib_write_bw", "ib_write_bw 192.168.100.10")
			ratio := float64(read()-before) * 4 / (5000 * 65536 / 1024 * 1082)
			return within(ratio, 2, 4) && b.must("spark-01",
				"cat /sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/out_of_sequence") != "0\n"
		}},
		"pauses": {func(b *bench) bool {
			counted := func() (all [2]string) {
				for i, node := range []string{"spark-01", "spark-02"} {
					all[i] = b.must(node, "ethtool -S enp1s0f0np0 | grep "+[]string{"tx", "rx"}[i]+"_global_pause:")
				}
				return all
			}
			before := counted()
			b.test("ib_write_bw", "ib_write_bw 192.168.100.10")
			after := counted()
			return before[0] != after[0] && before[1] != after[1]
		}},
		"garbled-output": {func(b *bench) bool {
			_, c := b.test("ib_write_bw", "ib_write_bw 192.168.100.10")
			return !strings.HasSuffix(c.out, "-\n") && len(fields(b.t, c.out)) < 5
		}},
		"hog": {func(b *bench) bool {
			before := b.counter("spark-02", "rocep1s0f1", "port_xmit_data")
			b.must("spark-02", "sleep 1")
			return b.counter("spark-02", "rocep1s0f1", "port_xmit_data") > before
		}},
		"peer-dead": {func(b *bench) bool {
			delete(b.clients, "spark-01")
			// Both ports lose their light.
			changes := func(rail string) string {
				return b.try("spark-02", "cat /sys/class/net/"+rail+"/carrier_changes").out
			}
			if one, other := changes("enp1s0f0np0"), changes("enp1s0f1np1"); one != other {
				b.t.Errorf("carrier_changes of the two ports: %s and %s", one, other)
			}
			conn, err := b.Dial(b.t.Context(), "spark-01")
			if err != nil {
				return errors.Is(err, syscall.ECONNREFUSED) && b.try("spark-02", "ping -c 1 -W 1 192.168.100.10").code == 1
			}
			conn.Close()
			return false
		}},
	}
	maps.Copy(checks, nixlChecks(says))
	maps.Copy(checks, hardwareChecks(says))
	maps.Copy(checks, softwareChecks(says))
	maps.Copy(checks, networkChecks(says))
	for _, f := range Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			if f.Title == "" || f.Doc == "" || checks[f.Name] == nil {
				t.Fatal("undescribed or unchecked")
			}
			b := newBench(t, Options{Seed: 5})
			for round := range 2 {
				for i, check := range checks[f.Name] {
					if check(b) {
						t.Errorf("check %d holds without the fault (round %d)", i, round)
					}
				}
				if err := b.Inject(f.Name); err != nil {
					t.Fatal(err)
				}
				for i, check := range checks[f.Name] {
					if !check(b) {
						t.Errorf("check %d does not hold with the fault (round %d)", i, round)
					}
				}
				if err := b.Clear(f.Name); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestUnknownFault(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Faults: []string{"cable-unpluged"}})
	if err == nil || !strings.Contains(err.Error(), "did you mean cable-unplugged?") ||
		!strings.Contains(err.Error(), "railbench sim --fault list") {
		t.Errorf("%v", err)
	}
}

// A cable that comes back in time is a dip; one that stays away ends the test.
func TestCablePulledDuringATest(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{true, false} {
		b := newBench(t, Options{})
		_, server := b.start("spark-01", "ib_write_bw -D 10 --report_gbits")
		b.pass(time.Second)
		_, client := b.start("spark-02", "ib_write_bw -D 10 --report_gbits 192.168.100.10")
		b.pass(3 * time.Second)
		b.Inject("cable-unplugged")
		if back {
			b.pass(time.Second)
			b.Clear("cable-unplugged")
		}
		c, s := client(), server()
		if back {
			if v, _ := strconv.ParseFloat(fields(t, c.out)[3], 64); c.code != 0 || s.code != 0 || !within(v, 40, 91) {
				t.Errorf("%+v %+v", c, s)
			}
		} else if c.code != 1 || s.code != 1 || !strings.Contains(c.err, "transport retry counter exceeded (12)") {
			t.Errorf("%+v %+v", c, s)
		}
	}
}

func TestServerKilledDuringATest(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	_, server := b.start("spark-01", "timeout 2 ib_write_bw -D 60")
	b.pass(time.Second)
	c := b.try("spark-02", "ib_write_bw -D 60 192.168.100.10")
	if s := server(); s.code != 124 || c.code != 1 || len(b.rack.Fabric.Flows) != 0 {
		t.Errorf("%+v %+v", s, c)
	}
}
