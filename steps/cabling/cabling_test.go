package cabling

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
)

// bare is a rig of n nodes with two connectors of two rails each, up and without addresses.
func bare(n int) steps.Rig {
	rig := steps.NewRig("test", false, n)
	for i := range rig.Nodes {
		node := &rig.Nodes[i]
		node.Name = fmt.Sprintf("spark-%02d", i+1)
		for j, name := range []string{"enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1"} {
			node.Rails = append(node.Rails, steps.Rail{
				Dev: "roce" + name, PhysPort: j % 2, State: "ACTIVE", Prefix: 24,
				Netdev: steps.Netdev{Name: name, Carrier: true, MAC: fmt.Sprintf("4c:bb:47:00:%02x:%02x", i, j)},
			})
		}
	}
	return rig
}

// A cable joins connectors of two nodes.
type cable struct{ a, aPort, b, bPort int }

// wired is what is learnt in a rig of which each cable's rails have subnets of their own, and who is
// asked for what answers by where the cables go.
func wired(rig steps.Rig, addressed, plugged []cable) (steps.Rig, []map[string]string) {
	for k, c := range addressed {
		for half := range 2 {
			for end, at := range [][2]int{{c.a, c.aPort}, {c.b, c.bPort}} {
				rig.Nodes[at[0]].Rails[at[1]+2*half].Addr = fmt.Sprintf("192.168.%d.%d", 10*k+half, end+1)
			}
		}
	}
	return rig, answers(rig, func(node, rail int) []int {
		for _, c := range plugged {
			for _, ends := range [][4]int{{c.a, c.aPort, c.b, c.bPort}, {c.b, c.bPort, c.a, c.aPort}} {
				if ends[0] == node && ends[1] == rail%2 {
					return []int{ends[2], ends[3] + rail/2*2}
				}
			}
		}
		return nil
	})
}

// answers are the facts where far gives the node and rail at the other end of a rail's cable. A node
// answers for each of its addresses on any interface, as Linux does.
func answers(rig steps.Rig, far func(node, rail int) []int) []map[string]string {
	facts := make([]map[string]string, len(rig.Nodes))
	for i, n := range rig.Nodes {
		var out strings.Builder
		for way := range strings.FieldsSeq(Ways(rig, i)) {
			netdev, addr, _ := strings.Cut(way, "=")
			for j, r := range n.Rails {
				to := far(i, j)
				if r.Netdev.Name != netdev || to == nil {
					continue
				}
				for _, x := range rig.Nodes[to[0]].Rails {
					if x.Addr == addr {
						fmt.Fprintf(&out, "%s neighbour %s: %s\n", netdev, addr, rig.Nodes[to[0]].Rails[to[1]].Netdev.MAC)
					}
				}
			}
		}
		facts[i] = Facts(n, out.String())
	}
	return facts
}

// ring is the cables around n nodes: port 0 of each to port 1 of the next.
func ring(n int) (all []cable) {
	for i := range n {
		all = append(all, cable{i, 0, (i + 1) % n, 1})
	}
	return all
}

// switched is a rig on a switch, all ports 0 in two subnets and all ports 1 in two others.
func switched(n int) (steps.Rig, []map[string]string) {
	rig := bare(n)
	for i := range rig.Nodes {
		for j := range rig.Nodes[i].Rails {
			rig.Nodes[i].Rails[j].Addr = fmt.Sprintf("192.168.%d.%d", 100+j, i+1)
		}
	}
	facts := make([]map[string]string, n)
	for i, node := range rig.Nodes {
		var out strings.Builder
		for way := range strings.FieldsSeq(Ways(rig, i)) {
			netdev, addr, _ := strings.Cut(way, "=")
			for _, other := range rig.Nodes {
				for _, r := range other.Rails {
					if r.Addr == addr {
						fmt.Fprintf(&out, "%s neighbour %s: %s\n", netdev, addr, strings.ToUpper(r.Netdev.MAC))
					}
				}
			}
		}
		facts[i] = Facts(node, out.String())
	}
	return rig, facts
}

func TestShapes(t *testing.T) {
	t.Parallel()
	straight := []cable{{0, 0, 1, 0}, {0, 1, 1, 1}}
	half, halfFacts := wired(bare(2), straight[:1], straight[:1])
	half.Nodes[1].Rails[2].Addr = ""
	delete(halfFacts[0], "enP2p1s0f0np0 neighbour 192.168.1.2")
	delete(halfFacts[1], "enP2p1s0f0np0 neighbour 192.168.1.1")
	swapped, _ := wired(bare(2), straight, straight)
	r := swapped.Nodes[1].Rails
	r[0].Addr, r[1].Addr, r[2].Addr, r[3].Addr = r[1].Addr, r[0].Addr, r[3].Addr, r[2].Addr
	swappedFacts := answers(swapped, func(node, rail int) []int { return []int{1 - node, rail} })
	dead, deadFacts := switched(4)
	dead.Nodes[2].Rails, deadFacts[2] = nil, nil
	for i := range deadFacts {
		for name := range deadFacts[i] {
			if strings.HasSuffix(name, ".3") {
				delete(deadFacts[i], name)
			}
		}
	}
	type seen struct {
		rig   steps.Rig
		facts []map[string]string
	}
	of := func(rig steps.Rig, facts []map[string]string) seen { return seen{rig, facts} }
	for name, c := range map[string]struct {
		seen
		shape Shape
		want  string
	}{
		"direct": {of(wired(bare(2), straight, straight)), Direct, `
cabling: direct
  spark-01  port 0 ══════ port 0  spark-02
  spark-01  port 1 ══════ port 1  spark-02`},
		"crossed": {of(wired(bare(2), straight, []cable{{0, 0, 1, 1}, {0, 1, 1, 0}})), Direct, `
cabling: direct
  spark-01  port 0 ══╳═══ port 1  spark-02
  spark-01  port 1 ══╳═══ port 0  spark-02
! crossed: the cables of the two rails are exchanged: enp1s0f0np0 on spark-01
  asked for 192.168.0.2, and enp1s0f1np1 of spark-02 answered where enp1s0f0np0
  has that address
! crossed: the cables of the two rails are exchanged: enP2p1s0f0np0 on spark-01
  asked for 192.168.1.2, and enP2p1s0f1np1 of spark-02 answered where
  enP2p1s0f0np0 has that address`},
		"swapped": {of(swapped, swappedFacts), Direct, `
cabling: direct
  spark-01  port 0 ══╳═══ port 0  spark-02
  spark-01  port 1 ══╳═══ port 1  spark-02
! swapped: the cables are straight, and the two rails' addresses are exchanged
  on one node: enp1s0f0np0 on spark-01 asked for 192.168.0.2, and enp1s0f0np0 of
  spark-02 answered where enp1s0f1np1 has that address
! swapped: the cables are straight, and the two rails' addresses are exchanged
  on one node: enP2p1s0f0np0 on spark-01 asked for 192.168.1.2, and
  enP2p1s0f0np0 of spark-02 answered where enP2p1s0f1np1 has that address`},
		"half-connected": {of(half, halfFacts), Direct, `
cabling: direct
  spark-01  port 0 ══╌╌══ port 0  spark-02
! half-connected: port 0 of spark-01: enp1s0f0np0 is joined, and enP2p1s0f0np0
  has no answer
! half-connected: port 0 of spark-02: enp1s0f0np0 is joined, and enP2p1s0f0np0
  has no address`},
		"nobody": {of(wired(bare(2), straight, nil)), Unseen, `
cabling: unknown, because no node answered on a rail
! spark-01 is not joined: no address of the others was answered on its rails
! spark-02 is not joined: no address of the others was answered on its rails`},
		"ring": {of(wired(bare(3), ring(3), ring(3))), Ring, `
cabling: ring of 3 nodes
  ╔═ port 1 ┌───────────┐
  ║         │ spark-01  │
  ║  port 0 └─────╥─────┘
  ║               ║
  ║  port 1 ┌─────╨─────┐
  ║         │ spark-02  │
  ║  port 0 └─────╥─────┘
  ║               ║
  ║  port 1 ┌─────╨─────┐
  ║         │ spark-03  │
  ╚═ port 0 └───────────┘`},
		"a ring of which a cable is missing": {of(wired(bare(3), ring(3), ring(3)[:2])), Chain, `
cabling: chain of 3 nodes
            ┌───────────┐
            │ spark-01  │
     port 0 └─────╥─────┘
                  ║
     port 1 ┌─────╨─────┐
            │ spark-02  │
     port 0 └─────╥─────┘
                  ║
     port 1 ┌─────╨─────┐
            │ spark-03  │
            └───────────┘
! a ring of which one cable is missing: spark-01 and spark-03 have one neighbour
  each`},
		"a switch, and a node that does not answer": {of(dead, deadFacts), Switch, `
cabling: switch
  spark-01  port 0 ══╗
  spark-02  port 0 ══╬══ switch
  spark-04  port 0 ══╝
  spark-01  port 1 ══╗
  spark-02  port 1 ══╬══ switch
  spark-04  port 1 ══╝`},
		"a switch of 64": {of(switched(64)), Switch, `
cabling: switch
  spark-[01-64]  port 0 ═════ switch
  spark-[01-64]  port 1 ═════ switch`},
		"two pairs": {of(wired(bare(4), []cable{{0, 0, 1, 0}, {2, 0, 3, 0}}, []cable{{0, 0, 1, 0}, {2, 0, 3, 0}})), Mixed, `
cabling: mixed
  spark-01  port 0 ══════ port 0  spark-02
  spark-03  port 0 ══════ port 0  spark-04`},
	} {
		m := See(c.rig, c.facts)
		got := strings.Join(m.Draw(), "\n")
		if m.Shape != c.shape || "\n"+got != c.want {
			t.Errorf("%s: %s\n%s\nwant %s%s", name, m.Shape, got, c.shape, c.want)
		}
		for _, line := range m.Draw() {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("%s: %q is wider than %d columns", name, line, width)
			}
		}
	}
}

// A node whose cables are exchanged is named once, whatever the number of others; so is one of a ring, whose rails have
// no partners in each other's place, and an address that several nodes have.
func TestFindings(t *testing.T) {
	t.Parallel()
	crossedOn := func(rig steps.Rig, node int) []map[string]string {
		return reached(rig, func(from, rail int, at [2]int) int {
			to := at[1]
			if (from == node) != (at[0] == node) {
				to ^= 1
			}
			return to
		})
	}
	many, _ := switched(8)
	two, _ := switched(8)
	half, _ := switched(8)
	twice, twiceFacts := switched(6)
	for i := range 6 {
		twice.Nodes[i].Rails[1].Addr = "192.168.101.9"
	}
	turned := append(ring(4)[2:], cable{0, 0, 1, 0}, cable{1, 1, 2, 1}) // of the second node
	for name, c := range map[string]struct {
		rig   steps.Rig
		facts []map[string]string
		want  []string
	}{
		"crossed on a switch": {many, crossedOn(many, 4), []string{
			"crossed: the cables of two ports of spark-05 are exchanged, as 7 other nodes show",
		}},
		"two of them": {two, reached(two, func(from, rail int, at [2]int) int {
			if odd := func(n int) bool { return n == 4 || n == 6 }; odd(from) != odd(at[0]) {
				return at[1] ^ 1
			}
			return at[1]
		}), []string{"of spark-05 are exchanged, as 6 other nodes show", "of spark-07 are exchanged, as 6 other nodes show"}},
		"half of them": {half, reached(half, func(from, rail int, at [2]int) int {
			if from < 4 != (at[0] < 4) {
				return at[1] ^ 1
			}
			return at[1]
		}), []string{"crossed", "crossed", "crossed", "crossed", "crossed or swapped: 28 more of these, on other links"}},
		"an address twice": {twice, twiceFacts, []string{
			"one address, 192.168.101.9, is that of spark-01's enp1s0f1np1, spark-02's enp1s0f1np1, spark-03's enp1s0f1np1, " +
				"spark-04's enp1s0f1np1 and 2 others",
		}},
		"a ring": {first(wired(bare(4), ring(4), ring(4))), second(wired(bare(4), ring(4), ring(4))), nil},
		"crossed in a ring": {first(wired(bare(4), ring(4), turned)), second(wired(bare(4), ring(4), turned)), []string{
			"leads to port 0 of spark-02, which has the address that is meant, 192.168.0.2, on port 1",
			"leads to port 1 of spark-02, which has the address that is meant, 192.168.10.1, on port 0",
		}},
	} {
		got := See(c.rig, c.facts).Findings
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %d findings:\n%s", name, len(got), strings.Join(got, "\n"))
		}
	}
}

func first(rig steps.Rig, _ []map[string]string) steps.Rig              { return rig }
func second(_ steps.Rig, facts []map[string]string) []map[string]string { return facts }

// reached are the facts of a rig on a switch where by gives the rail that answers a rail of a node for the address of
// another one's.
func reached(rig steps.Rig, by func(from, rail int, at [2]int) int) []map[string]string {
	facts := make([]map[string]string, len(rig.Nodes))
	for i, node := range rig.Nodes {
		var out strings.Builder
		for way := range strings.FieldsSeq(Ways(rig, i)) {
			netdev, addr, _ := strings.Cut(way, "=")
			own := slices.IndexFunc(node.Rails, func(r steps.Rail) bool { return r.Netdev.Name == netdev })
			for k, other := range rig.Nodes {
				for j, r := range other.Rails {
					if r.Addr == addr {
						fmt.Fprintf(&out, "%s neighbour %s: %s\n", netdev, addr, other.Rails[by(i, own, [2]int{k, j})].Netdev.MAC)
					}
				}
			}
		}
		facts[i] = Facts(node, out.String())
	}
	return facts
}

// heard adds what lldpd says on a node's interface, as lldpctl -f keyvalue prints it; bridge is on or off.
func heard(rig steps.Rig, facts []map[string]string, node, rail int, system, port, bridge string) {
	link := rig.Nodes[node].Rails[rail].Netdev.Name
	out := fmt.Sprintf("lldp: lldp.%[1]s.via=LLDP\nlldp: lldp.%[1]s.chassis.mac=ca:9a:77:d0:0e:b9\n"+
		"lldp: lldp.%[1]s.chassis.name=%[2]s\n"+
		"lldp: lldp.%[1]s.chassis.Bridge.enabled=%[4]s\nlldp: lldp.%[1]s.port.ifname=%[3]s\n"+
		"lldp: lldp.%[1]s.port.descr=to somebody\n",
		link, system, port, bridge)
	maps.Copy(facts[node], Facts(rig.Nodes[node], out))
}

// What LLDP reports: a switch between two nodes, its name and ports; and a node that is another than the one that
// answers.
func TestHeard(t *testing.T) {
	t.Parallel()
	straight := []cable{{0, 0, 1, 0}, {0, 1, 1, 1}}
	for name, c := range map[string]struct {
		rig  func() (steps.Rig, []map[string]string)
		hear [][4]any // node, rail, system, port
		want string
	}{
		"a switch between two": {
			func() (steps.Rig, []map[string]string) { return wired(bare(2), straight, straight) },
			[][4]any{
				{0, 0, "sn3700-1", "swp1"}, {1, 0, "sn3700-1", "swp12"}, {0, 1, "sn3700-1", "swp2"},
			},
			`
cabling: switch
  spark-01  port 0 ══ swp1  ══╗
  spark-02  port 0 ══ swp12 ══╝══ sn3700-1
  spark-01  port 1 ══ swp2 ══╗
  spark-02  port 1 ══      ══╝══ sn3700-1`,
		},
		"a cable, by both": {
			func() (steps.Rig, []map[string]string) { return wired(bare(2), straight[:1], straight[:1]) },
			[][4]any{
				{0, 0, "spark-02.lab.example.com", "enp1s0f0np0"},
			},
			`
cabling: direct
  spark-01  port 0 ══════ port 0  spark-02`,
		},
		"firmware that is no switch": {func() (steps.Rig,
			[]map[string]string,
		) {
			return wired(bare(2), straight[:1], straight[:1])
		}, [][4]any{
			{0, 0, "4c:bb:47:ff:ff:ff", "4c:bb:47:ff:ff:fe"},
		}, `
cabling: direct
  spark-01  port 0 ══════ port 0  spark-02`},
		"two of a switch of three": {func() (steps.Rig, []map[string]string) { return switched(3) }, [][4]any{
			{0, 0, "sn3700-1", "swp1"}, {2, 0, "sn3700-1", "swp3"},
		}, `
cabling: switch
  spark-01  port 0 ══ swp1 ══╗
  spark-02  port 0 ══      ══╬══ sn3700-1
  spark-03  port 0 ══ swp3 ══╝
  spark-01  port 1 ══╗
  spark-02  port 1 ══╬══ switch
  spark-03  port 1 ══╝`},
		"another than the one that answers": {func() (steps.Rig,
			[]map[string]string,
		) {
			return wired(bare(3), ring(3), ring(3))
		}, [][4]any{
			{0, 0, "spark-03", "enp1s0f0np0"},
		}, `
cabling: ring of 3 nodes
  ╔═ port 1 ┌───────────┐
  ║         │ spark-01  │
  ║  port 0 └─────╥─────┘
  ║               ║
  ║  port 1 ┌─────╨─────┐
  ║         │ spark-02  │
  ║  port 0 └─────╥─────┘
  ║               ║
  ║  port 1 ┌─────╨─────┐
  ║         │ spark-03  │
  ╚═ port 0 └───────────┘
! port 0 of spark-01 hears spark-03 by LLDP, and spark-02 answered for the
  addresses there`},
	} {
		rig, facts := c.rig()
		for _, h := range c.hear {
			bridge := "off"
			if strings.HasPrefix(h[2].(string), "sn3700") {
				bridge = "on"
			}
			heard(rig, facts, h[0].(int), h[1].(int), h[2].(string), h[3].(string), bridge)
		}
		if got := "\n" + strings.Join(See(rig, facts).Draw(), "\n"); got != c.want {
			t.Errorf("%s:%s\nwant%s", name, got, c.want)
		}
	}
}

// However long names are, and however many nodes, the drawing fits.
func TestDrawingsFit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 5, 16, 17, 64} {
		for name, make := range map[string]func() (steps.Rig, []map[string]string){
			"ring":   func() (steps.Rig, []map[string]string) { return wired(bare(n), ring(n), ring(n)) },
			"switch": func() (steps.Rig, []map[string]string) { return switched(n) },
		} {
			rig, facts := make()
			for i := range rig.Nodes {
				rig.Nodes[i].Name = fmt.Sprintf("a-rather-long-name-of-a-node-in-a-domain-%d.example.com", i*i)
				rig.Nodes[i].Rails[0].PhysPort = -1
				heard(rig, facts, i, 1, strings.Repeat("switch", 9), strings.Repeat("port", 9), "on")
			}
			lines := See(rig, facts).Draw()
			if len(lines) < 2 {
				t.Errorf("%s of %d: %q", name, n, lines)
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > width {
					t.Errorf("%s of %d: %q is wider than %d columns", name, n, line, width)
				}
			}
		}
	}
}

// What a node prints is another user's: nothing of it makes a map that can't be drawn.
func FuzzFacts(f *testing.F) {
	f.Add("enp1s0f0np0 neighbour 192.168.0.2: 4c:bb:47:00:01:00\n", "enp1s0f1np1 neighbour 1.2.3.4: 4c:bb:47:00:00:02")
	f.Fuzz(func(t *testing.T, a, b string) {
		rig, _ := wired(bare(3), ring(3), nil)
		m := See(rig, []map[string]string{Facts(rig.Nodes[0], a), Facts(rig.Nodes[1], b), nil})
		for _, line := range m.Draw() {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("%q", line)
			}
		}
	})
}
