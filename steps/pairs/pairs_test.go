package pairs_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
)

// Every pair is measured once, no node is in two pairs of a round, and there are no more rounds than
// there must be.
func TestRounds(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		rounds := pairs.Rounds(n, 0)
		want := 0
		if n > 1 {
			want = n - 1 + n%2
		}
		if len(rounds) != want {
			t.Fatalf("%d nodes: %d rounds, want %d", n, len(rounds), want)
		}
		seen := map[pairs.Pair]int{}
		for _, round := range rounds {
			busy := map[int]bool{}
			for _, p := range round {
				if p.From >= p.To || p.To >= n || p.From < 0 || busy[p.From] || busy[p.To] {
					t.Fatalf("%d nodes: round %v", n, round)
				}
				busy[p.From], busy[p.To] = true, true
				seen[p]++
			}
			if len(round) != n/2 {
				t.Fatalf("%d nodes: %d pairs at once", n, len(round))
			}
		}
		for p, times := range seen {
			if times != 1 {
				t.Fatalf("%d nodes: %v is measured %d times", n, p, times)
			}
		}
		if n > 1 && len(seen) != n*(n-1)/2 {
			t.Fatalf("%d nodes: %d pairs", n, len(seen))
		}
	}
}

// Of some partners each node has so many, another one each time; where nodes are odd in number one round less.
func TestRoundsOfSome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, partners, rounds, least int }{
		{16, 4, 4, 4},
		{1024, 8, 8, 8},
		{9, 4, 4, 3},
		{4, 1, 1, 1},
		{4, 2, 2, 2},
		{4, 3, 3, 3},
		{4, 9, 3, 3},
		{5, 4, 5, 4},
		{2, 1, 1, 1},
		{64, -1, 63, 63},
	} {
		rounds := pairs.Rounds(c.n, c.partners)
		of := make([]map[int]bool, c.n)
		for _, round := range rounds {
			for _, p := range round {
				for a, b := range map[int]int{p.From: p.To, p.To: p.From} {
					if of[a] == nil {
						of[a] = map[int]bool{}
					}
					if of[a][b] {
						t.Errorf("%+v: node %d is measured with %d twice", c, a, b)
					}
					of[a][b] = true
				}
			}
		}
		for node, others := range of {
			if len(others) < c.least || len(others) > len(rounds) {
				t.Errorf("%+v: node %d has %d partners", c, node, len(others))
			}
		}
		if len(rounds) != c.rounds {
			t.Errorf("%+v: %d rounds", c, len(rounds))
		}
	}
}

// With eight partners of each node what is broken is named as with all, and what is not known is said.
func TestSomePartners(t *testing.T) {
	t.Parallel()
	const nodes, rails, partners = 100, 2, 8
	for _, c := range []struct {
		name  string
		ill   func(p pairs.Place) bool
		grade steps.Grade
		says  string
	}{
		{"all is well", func(pairs.Place) bool { return false }, steps.Pass, "All 2400 values between 100 nodes"},
		{
			"a node", func(p pairs.Place) bool { return p.From == 41 || p.To == 41 }, steps.Fail,
			"All traffic to and from spark-42 over every rail",
		},
		{
			"a rail of a node", func(p pairs.Place) bool { return p.Rail == 1 && (p.From == 7 || p.To == 7) }, steps.Fail,
			"All traffic to and from spark-08 over rail 2 (its port",
		},
		{
			"into a node", func(p pairs.Place) bool { return p.To == 99 }, steps.Fail,
			"All traffic to spark-100 over every rail, but not what comes from it",
		},
		{
			"a rail everywhere", func(p pairs.Place) bool { return p.Rail == 0 }, steps.Fail,
			"All traffic over rail 1, between any nodes",
		},
		{
			"between two halves", func(p pairs.Place) bool { return p.Rail == 0 && (p.From < 50) != (p.To < 50) }, steps.Fail,
			"on one side and",
		},
		{
			"a pair", func(p pairs.Place) bool { return p.From+p.To == 99 && min(p.From, p.To) == 3 }, steps.Fail,
			"Between spark-04 and spark-97 over every rail, but nowhere else",
		},
	} {
		m := healthyOf(nodes, rails, partners, func(p pairs.Place, cell *pairs.Cell) {
			if p.What == steps.Throughput && c.ill(p) {
				cell.Value = 60
			}
		})
		j := m.Judge()
		const want = "Each node was measured with 8 of its 99 others. Other pairs are unknown."
		if j.Grade != c.grade || !strings.Contains(j.Reason, c.says) || !strings.Contains(j.Reason, want) ||
			len(j.Causes) > 1 {
			t.Errorf("%s: %s %s, %d causes", c.name, j.Grade, j.Reason, len(j.Causes))
		}
	}
}

// What was saved of some pairs is read as that, goes on to all, and never the other way: figures would be lost.
func TestSomePartnersAreSaved(t *testing.T) {
	t.Parallel()
	some := healthyOf(12, 2, 3, nil)
	text, err := some.JSON("v1")
	if err != nil {
		t.Fatal(err)
	}
	known, err := pairs.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := known.JSON("v1"); known.Partners != 3 || !bytes.Equal(again, text) {
		t.Errorf("it is another one when it was read: %s", again)
	}
	all := healthy(12, 2, func(_ pairs.Place, c *pairs.Cell) { *c = pairs.Cell{} })
	if why := known.Unlike(all, "the rig") + all.LeavesOut(known); why != "" {
		t.Errorf("it doesn't go on: %s", why)
	}
	all.Take(known)
	done := 0
	for _, round := range pairs.Rounds(12, 0) {
		for _, p := range round {
			if all.Done(steps.Throughput, p) && all.Done(steps.Latency, p) {
				done++
			}
		}
	}
	if done != 3*6 {
		t.Errorf("of three rounds of six pairs %d are done", done)
	}
	if at := known.LeavesOut(all); at != "" {
		t.Errorf("nothing was measured besides, and %s is left out", at)
	}
	if at := known.LeavesOut(healthy(12, 2, nil)); at == "" {
		t.Error("figures of all pairs would be lost")
	}
	for _, bad := range []string{"-1", "11", "12", "1e9"} {
		if _, err := pairs.Read(strings.NewReader(strings.Replace(string(text), `"partners": 3`, `"partners": `+bad,
			1))); err == nil {
			t.Errorf("it reads %s partners of 12 nodes", bad)
		}
	}
	for _, row := range some.Map(steps.Throughput, 79) {
		if strings.Contains(row.Text, "-") && !strings.Contains(row.Text, "spark-") {
			t.Errorf("a pair that is left out has no cable: %q", row.Text)
		}
	}
	if key := strings.Join(some.Key(), "\n"); !strings.Contains(key, "blank: not planned") ||
		strings.Contains(key, "no cable") {
		t.Errorf("the key says %s", key)
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	for most, want := range map[int][]int{0: {1}, 1: {1}, 2: {1}, 3: {1}, 4: {2, 1}, 32: {16, 8, 4, 2, 1}} {
		if got := pairs.Widths(most); !slices.Equal(got, want) {
			t.Errorf("Widths(%d) = %v, want %v", most, got, want)
		}
	}
	all := []pairs.Pair{{0, 1}, {1, 0}, {2, 3}, {4, 5}, {0, 2}}
	for _, round := range pairs.Beside(all, 2) {
		busy := map[int]bool{}
		for _, p := range round {
			if busy[p.From] || busy[p.To] || len(round) > 2 {
				t.Errorf("beside each other: %v", round)
			}
			busy[p.From], busy[p.To] = true, true
		}
	}
}

// healthy is a matrix in which all is well; spoil changes cells of it.
func healthy(nodes, rails int, spoil func(p pairs.Place, c *pairs.Cell)) *pairs.Matrix {
	return healthyOf(nodes, rails, 0, spoil)
}

// healthyOf is one in which each node was measured with so many others.
func healthyOf(nodes, rails, partners int, spoil func(p pairs.Place, c *pairs.Cell)) *pairs.Matrix {
	all := make([]pairs.Node, nodes)
	for i := range all {
		all[i] = pairs.Node{Name: fmt.Sprintf("spark-%02d", i+1)}
		for rail := range rails {
			all[i].Halves = append(all[i].Halves, fmt.Sprint("half", rail/2))
			all[i].Ports = append(all[i].Ports, fmt.Sprint(rail%2))
			all[i].Hardware = "rocep1s0f0 200 Gb/s"
		}
	}
	names := make([]string, rails)
	for i := range names {
		names[i] = fmt.Sprintf("rail %d", i+1)
	}
	m := pairs.New("test", all, names, partners)
	m.Conditions = pairs.Conditions{
		MessageBytes: 65536, LatencyBytes: 2, MTU: 1024, MTUMost: 1024, Memory: "DRAM",
		Settings: "SIZE=65536",
	}
	m.Places(func(p pairs.Place, c *pairs.Cell) bool {
		*c = pairs.Cell{Value: 92.5, Grade: steps.Pass, Beside: 1}
		if p.What == steps.Latency {
			c.Value = 1.95
		}
		if spoil != nil {
			spoil(p, c)
		}
		return true
	})
	return m
}

func TestJudgeNamesTheCause(t *testing.T) {
	t.Parallel()
	slow := func(c *pairs.Cell) { c.Value = 60 }
	bandwidth := func(p pairs.Place) bool { return p.What == steps.Throughput }
	for _, c := range []struct {
		name         string
		nodes, rails int
		spoil        func(p pairs.Place, c *pairs.Cell)
		grade        steps.Grade
		says         string
		causes       int
	}{
		{"all is well", 8, 2, nil, steps.Pass, "All 168 values between 8 nodes over 2 rails are good", 0},
		{"a node", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && (p.From == 6 || p.To == 6) {
				slow(c)
			}
		}, steps.Fail, "All traffic to and from spark-07 over every rail", 1},
		{"a node of five", 5, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && (p.From == 0 || p.To == 0) {
				slow(c)
			}
		}, steps.Fail, "All traffic to and from spark-01 over every rail", 1},
		{"a rail of a node", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail == 1 && (p.From == 6 || p.To == 6) {
				slow(c)
			}
		}, steps.Fail, "All traffic to and from spark-07 over rail 2 (its port, its cable", 1},
		{"a column", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail == 1 && p.To == 6 {
				slow(c)
			}
		}, steps.Fail, "All traffic to spark-07 over rail 2, but not what comes from it", 1},
		{"a row", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail == 0 && p.From == 2 {
				slow(c)
			}
		}, steps.Fail, "All traffic from spark-03 over rail 1, but not what goes to it", 1},
		{"a rail", 4, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail == 1 {
				slow(c)
			}
		}, steps.Fail, "All traffic over rail 2, between any nodes", 1},
		{"a PCIe half", 4, 4, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail >= 2 && (p.From == 1 || p.To == 1) {
				slow(c)
			}
		}, steps.Fail, "spark-02 over rail 3 and rail 4, which share a PCIe half", 1},
		{"a cable", 4, 4, func(p pairs.Place, c *pairs.Cell) {
			if p.Rail%2 == 0 && (p.From == 1 || p.To == 1) {
				c.Grade, c.Reason = steps.Warn, fmt.Sprintf("Rail %d (rocep1s0f0): error counters grew.", p.Rail+1)
			}
		}, steps.Warn, "over rail 1 and rail 3, which share a cable there: 12 values of throughput: spark-01 to spark-02: " +
			"Rail 1 (rocep1s0f0): error counters grew; so are", 1},
		{"what joins two halves", 8, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && (p.From < 4) != (p.To < 4) {
				slow(c)
			}
		}, steps.Fail, "All traffic between spark-01, spark-02, spark-03, spark-04 on one side", 1},
		{"a pair", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail == 0 && p.From+p.To == 3 && min(p.From, p.To) == 1 {
				slow(c)
			}
		}, steps.Fail, "Between spark-02 and spark-03 over rail 1, but nowhere else", 1},
		{"a pair of which one way says why", 8, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.From+p.To == 3 && min(p.From, p.To) == 1 {
				c.Value, c.Grade, c.Reason = 0, steps.Inconclusive, "nobody knows."
				if p.From == 2 {
					c.Grade, c.Reason = steps.Fail, "it is broken."
				}
			}
		}, steps.Fail, "2 values of throughput: spark-03 to spark-02: it is broken.", 1},
		{"one way of a pair", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.Rail == 0 && p.From == 1 && p.To == 2 {
				slow(c)
			}
		}, steps.Fail, "From spark-02 to spark-03 over rail 1, but not back", 1},
		{"one way of two nodes", 2, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.From == 1 {
				slow(c)
			}
		}, steps.Fail, "From spark-02 to spark-01 over rail 1, but not back", 1},
		{"two things", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && (p.Rail == 0 && p.To == 1 || p.From == 6 || p.To == 6) {
				slow(c)
			}
		}, steps.Fail, "All traffic to spark-02 over rail 1", 2},
		{"two pairs", 8, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && (p.From+p.To == 3 && min(p.From, p.To) == 1 || p.From+p.To == 9 && min(p.From, p.To) == 4) {
				slow(c)
			}
		}, steps.Fail, "Between spark-02 and spark-03 over rail 1: 2 values", 2},
		{"one way, and the other with all else to that node", 8, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && (p.To == 1 || p.From == 1 && p.To == 2) {
				slow(c)
			}
		}, steps.Fail, "From spark-02 to spark-03 over rail 1: its throughput", 2},
		{"latency", 8, 2, func(p pairs.Place, c *pairs.Cell) {
			if !bandwidth(p) && (p.From == 3 || p.To == 3) {
				c.Value = 4.2
			}
		}, steps.Fail, "All traffic to and from spark-04 over every rail: 14 values of latency, " +
			"above 2.1 times the least (1.95 us): 4.20 us", 1},
		{"nobody measured a pair", 4, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.From == 1 && p.To == 2 {
				*c = pairs.Cell{}
			}
		}, steps.Inconclusive, "1 figure was not measured", 1},
		{"nobody could judge a pair", 4, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.From == 1 && p.To == 2 {
				c.Grade, c.Reason = steps.Inconclusive, "The port counters are missing."
			}
		}, steps.Inconclusive, "The port counters are missing", 1},
		{"a pair that its own judge fails", 4, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.From == 1 && p.To == 2 {
				c.Grade, c.Reason = steps.Fail, "Nothing moved over rail 1."
			}
		}, steps.Fail, "Nothing moved over rail 1", 1},
		{"a node without a rail", 4, 2, func(p pairs.Place, c *pairs.Cell) {
			if p.Rail == 1 && (p.From == 2 || p.To == 2) {
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "spark-03 has no rail 2"}
			}
		}, steps.Inconclusive, "spark-03 has no rail 2", 1},
		{"bad beside others alone", 8, 1, func(p pairs.Place, c *pairs.Cell) {
			if bandwidth(p) && p.From == 0 && p.To == 1 {
				c.First = 70
			}
		}, steps.Warn, "bad next to other pairs, good alone", 1},
	} {
		m := healthy(c.nodes, c.rails, c.spoil)
		j := m.Judge()
		if j.Grade != c.grade || !strings.Contains(j.Reason, c.says) || len(j.Causes) != c.causes {
			t.Errorf("%s: %s, %d causes: %s", c.name, j.Grade, len(j.Causes), j.Reason)
		}
	}
}

// What is named is what was broken, also where two things are, and where a figure is worse by another one's fault.
func TestJudgeNamesTwoCauses(t *testing.T) {
	t.Parallel()
	at := func(p pairs.Place, node int, rails ...int) bool {
		return (p.From == node || p.To == node) && slices.Contains(rails, p.Rail)
	}
	down := func(c *pairs.Cell) { *c = pairs.Cell{Grade: steps.Fail, Reason: "the port is down."} }
	slow := func(p pairs.Place, c *pairs.Cell, gbps float32) {
		if p.What == steps.Throughput {
			c.Value = gbps
		} else {
			c.Grade, c.Reason = steps.Warn, "the PCIe link is narrow."
		}
	}
	ring := func(m *pairs.Matrix) {
		m.ByLink = true
		for a := range m.Nodes {
			m.Nodes[a].Ports = nil
			for b := a + 2; b < len(m.Nodes); b++ {
				if a > 0 || b < len(m.Nodes)-1 {
					m.Uncable(pairs.Pair{From: a, To: b})
				}
			}
		}
	}
	for _, c := range []struct {
		name         string
		nodes, rails int
		shape        func(*pairs.Matrix)
		spoil        func(p pairs.Place, c *pairs.Cell)
		causes       []string
	}{
		{"a cable of a node is out, and a half of it is narrow", 4, 4, nil, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case at(p, 2, 0, 2):
				down(c)
			case at(p, 2, 3):
				slow(p, c, 52)
			}
		}, []string{
			"spark-03 over rail 1 and rail 3, which share a cable", "spark-03 over rail 4 (its port",
			"spark-03 over rail 4 (its port",
		}},
		{"a port is down, and the rail beside it is slow", 4, 4, nil, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case at(p, 2, 1):
				down(c)
			case at(p, 2, 0) && p.What == steps.Throughput:
				c.Value = 60
			}
		}, []string{"spark-03 over rail 2 (its port", "spark-03 over rail 1 (its port"}},
		{"a cable is out, and another node's half is narrow", 8, 4, nil, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case at(p, 2, 0, 2):
				down(c)
			case at(p, 4, 2, 3):
				slow(p, c, 52)
			}
		}, []string{
			"spark-03 over rail 1 and rail 3, which share a cable", "spark-05 over rail 3 and rail 4, which share a PCIe half",
			"spark-05 over rail 3 and rail 4, which share a PCIe half",
		}},
		{"a half of every node", 4, 4, nil, func(p pairs.Place, c *pairs.Cell) {
			if p.Rail >= 2 && p.What == steps.Throughput {
				c.Value = 52
			}
		}, []string{"all traffic over rail 3 and rail 4, which share a PCIe half on every node"}},
		{"a half of two nodes", 2, 4, nil, func(p pairs.Place, c *pairs.Cell) {
			if p.Rail >= 2 && p.What == steps.Throughput {
				c.Value = 52
			}
		}, []string{"all traffic over rail 3 and rail 4, which share a PCIe half on both nodes"}},
		{"no server of a node is reached", 4, 2, nil, func(p pairs.Place, c *pairs.Cell) {
			if p.To == 2 {
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "no server could be reached."}
			}
		}, []string{"all traffic to spark-03 over every rail, but not what comes from it"}},
		{"and of the last node", 4, 2, nil, func(p pairs.Place, c *pairs.Cell) {
			if p.To == 3 {
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "no server could be reached."}
			}
		}, []string{"all traffic to spark-04 over every rail, but not what comes from it"}},
		{"one pair is left of a rail of three nodes", 3, 2, nil, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case at(p, 0, 0, 1):
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "spark-01 has no ib_write_bw."}
			case p.Rail == 0 && p.What == steps.Throughput:
				c.Value = 60
			}
		}, []string{"between spark-02 and spark-03 over rail 1", "all traffic to and from spark-01 over every rail"}},
		{"a slow node, and one without counters", 3, 2, nil, func(p pairs.Place, c *pairs.Cell) {
			if at(p, 2, 0, 1) && p.What == steps.Throughput {
				c.Value = 13
			} else if at(p, 0, 0, 1) {
				c.Grade, c.Reason = steps.Inconclusive, "there are no counters."
			}
			if c.Value == 13 {
				c.Grade, c.Reason = steps.Fail, "it is slow."
			}
		}, []string{
			"all traffic to and from spark-03 over every rail", "between spark-01 and spark-02",
			"all traffic to and from spark-01 over every rail",
		}},
		{"a node without a half, beside a slow one", 3, 4, func(m *pairs.Matrix) {
			m.Nodes[1].Lacks = []string{"", "", "spark-02 has no rail 3", "spark-02 has no rail 4"}
		}, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case at(p, 1, 2, 3):
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "spark-02 has no rail."}
			case at(p, 2, 0, 1, 2, 3) && p.What == steps.Throughput:
				c.Value = 13
			}
		}, []string{
			"all traffic to and from spark-03 over every rail",
			"all traffic to and from spark-02 over rail 3 and rail 4, which it does not have",
		}},
		{"a cable of a ring", 4, 2, ring, func(p pairs.Place, c *pairs.Cell) {
			if p.From+p.To == 3 && min(p.From, p.To) == 1 {
				down(c)
			}
		}, []string{"between spark-02 and spark-03 over every rail (the cable between them, and its ports), but nowhere " +
			"else"}},
		{"both cables of a node in a ring", 4, 2, ring, func(p pairs.Place, c *pairs.Cell) {
			if at(p, 2, 0, 1) {
				down(c)
			}
		}, []string{"all traffic to and from spark-03 over every rail (the node, or each of its cables)"}},
		{"a half in a ring", 4, 2, ring, func(p pairs.Place, c *pairs.Cell) {
			if at(p, 2, 1) && p.What == steps.Throughput {
				c.Value = 52
			}
		}, []string{"spark-03 over rail 2 (what its ports share"}},
		{"a cable of a ring, and a rail beside it", 4, 2, ring, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case p.From+p.To == 3 && min(p.From, p.To) == 1:
				down(c)
			case p.From+p.To == 5 && p.Rail == 0 && p.What == steps.Throughput && min(p.From, p.To) == 2:
				c.Value = 60
			}
		}, []string{"between spark-02 and spark-03 over every rail (the cable", "between spark-03 and spark-04 over rail 1"}},
		{"a half in a ring, beside a dead node", 5, 2, ring, func(p pairs.Place, c *pairs.Cell) {
			switch {
			case at(p, 3, 0, 1):
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "spark-04 does not answer."}
			case at(p, 1, 1) && p.What == steps.Throughput:
				c.Value = 52
			}
		}, []string{"spark-02 over rail 2 (what its ports share", "all traffic to and from spark-04 over every rail"}},
	} {
		m := healthy(c.nodes, c.rails, nil)
		if c.shape != nil {
			c.shape(m)
		}
		m.Places(func(p pairs.Place, cell *pairs.Cell) bool {
			c.spoil(p, cell)
			return true
		})
		j := m.Judge()
		ok := len(j.Causes) == len(c.causes)
		for i, cause := range j.Causes {
			ok = ok && strings.Contains(cause.Text, c.causes[i])
		}
		if !ok {
			t.Errorf("%s:", c.name)
			for _, cause := range j.Causes {
				t.Errorf("  %s: %s", cause.Text, cause.Evidence)
			}
		}
	}
}

// A test that failed and passes when it is measured again is not a PASS, whatever figure it had.
func TestFailedAtFirst(t *testing.T) {
	t.Parallel()
	for nodes, says := range map[int]string{
		8: "failed next to other pairs, good alone",
		3: "bad at first, good when measured again",
	} {
		m := healthy(nodes, 1, func(p pairs.Place, c *pairs.Cell) {
			if p.What == steps.Throughput && p.From == 0 && p.To == 1 {
				c.Failed, c.Reason = true, "At first: packets stopped arriving."
			}
		})
		for range 2 {
			j := m.Judge()
			if j.Grade != steps.Warn || !strings.Contains(j.Reason, says) ||
				!strings.Contains(j.Reason, "packets stopped arriving") {
				t.Errorf("%d nodes: %s: %s", nodes, j.Grade, j.Reason)
			}
			text, err := m.JSON("v1")
			if err != nil {
				t.Fatal(err)
			}
			if m, err = pairs.Read(bytes.NewReader(text)); err != nil { // and so it is once it was saved
				t.Fatal(err)
			}
		}
	}
}

// A large ring is drawn at once, though most of its pairs have no cable; and a file may say each of them once.
func TestUncabled(t *testing.T) {
	t.Parallel()
	m := healthy(256, 1, nil)
	for a := range m.Nodes {
		for b := a + 2; b < len(m.Nodes); b++ {
			if !m.Uncable(pairs.Pair{From: a, To: b}) || m.Uncable(pairs.Pair{From: a, To: b}) {
				t.Fatal("a pair is taken out once")
			}
		}
	}
	if j := m.Judge(); j.Grade != steps.Pass || !strings.Contains(j.Reason, "All 765 values") {
		t.Errorf("%s: %s", j.Grade, j.Reason)
	}
	for _, wrong := range []string{"[1,0]", "[0,0]", "[0,7]", "[-1,1]", "[0,1],[0,1]"} {
		text := `{"pairs":1,"nodes":[{"name":"a"},{"name":"b"},{"name":"c"}],"rails":["rail 1"],"uncabled":[` + wrong +
			`],"figures":[]}`
		if _, err := pairs.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(),
			"the missing cable from node") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// However much is wrong in a large matrix, the causes are few, and it never passes.
func TestJudgeOfALargeMatrix(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(p pairs.Place, c *pairs.Cell){
		"after a round": func(p pairs.Place, c *pairs.Cell) {
			if p.From^1 != p.To {
				*c = pairs.Cell{}
			}
		},
		"nothing in common": func(p pairs.Place, c *pairs.Cell) {
			if (p.From*7+p.To*13)%5 == 0 {
				c.Value = 60
			}
		},
		"no two alike": func(p pairs.Place, c *pairs.Cell) {
			switch (p.From*31 + p.To*17 + p.Rail*7) % 4 {
			case 0:
				c.Value = 60
			case 1:
				c.Grade, c.Reason = steps.Warn, "packets were sent again"
			case 2:
				*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "no output"}
			}
		},
	} {
		j := healthy(64, 4, spoil).Judge()
		if j.Grade == steps.Pass || len(j.Causes) > 84 {
			t.Errorf("%s: %s, %d causes", name, j.Grade, len(j.Causes))
		}
	}
}

// The limits are ClusterKit's, and what is just beyond them is bad.
func TestRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bandwidth, latency float32
		want               steps.Grade
	}{{92.5 * 0.931, 1.95 * 2.09, steps.Pass}, {92.5 * 0.929, 1.95, steps.Fail}, {92.5, 1.95 * 2.11, steps.Fail}} {
		m := healthy(4, 1, func(p pairs.Place, cell *pairs.Cell) {
			if p.From == 0 && p.To == 1 {
				if cell.Value = c.bandwidth; p.What == steps.Latency {
					cell.Value = c.latency
				}
			}
		})
		if j := m.Judge(); j.Grade != c.want {
			t.Errorf("%g Gb/s, %g us: %s: %s", c.bandwidth, c.latency, j.Grade, j.Reason)
		}
		m.Conditions.Soft = "over soft-RoCE nobody compares"
		if j := m.Judge(); j.Grade != steps.Pass || !strings.Contains(j.Reason, "soft-RoCE") {
			t.Errorf("over soft-RoCE: %s: %s", j.Grade, j.Reason)
		}
	}
}

func TestSaved(t *testing.T) {
	t.Parallel()
	m := healthy(5, 2, func(p pairs.Place, c *pairs.Cell) {
		if p.From == 1 && p.To == 2 {
			c.Value, c.First = 60.123, 61
		}
		if p.From == 3 {
			*c = pairs.Cell{Grade: steps.Inconclusive, Reason: "spark-04 \x1b[31mdied"}
		}
	})
	text, err := m.JSON("v1")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "60.123") || strings.ContainsRune(string(text), '\x1b') ||
		!strings.Contains(string(text), "60.12") {
		t.Errorf("the file has %q", text)
	}
	got, err := pairs.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.JSON("v1")
	if err != nil || string(again) != string(text) {
		t.Errorf("what is read is written as something else: %v", err)
	}
	if got.Unlike(m, "the rig") != "" {
		t.Error(got.Unlike(m, "the rig"))
	}
	if p := (pairs.Pair{From: 3, To: 1}); got.Done(steps.Throughput, p) {
		t.Error("what nobody could measure is done")
	}
	if p := (pairs.Pair{From: 0, To: 1}); !got.Done(steps.Throughput, p) {
		t.Error("what was measured is not done")
	}
	for i, wrong := range []string{
		"", "{}", "[]", `{"pairs":2}`, `{"pairs":1,"nodes":[{"name":"a"}]}`, string(text) + "x",
		strings.Replace(string(text), `"to": 2`, `"to": 77`, 1),
		strings.ReplaceAll(string(text), `"measure": "latency"`, `"measure": "colour"`),
		strings.Replace(string(text), `"value": 92.5`, `"value": -1`, 1),
		strings.Replace(string(text), `"rails": [`, `"rails": [`+strings.Repeat(`"x",`, 40), 1),
		// Finite as 64 bits, and nothing that could be written again as 32.
		strings.Replace(string(text), `"value": 92.5`, `"value": 1e300`, 1),
		strings.Replace(string(text), `"elapsedMS": `, `"elapsedMS": 9999999999`, 1),
		strings.Replace(string(text), `"value": 92.5`, `"value": 1e-300`, 1),
		`{"figures":[],` + string(text[1:]),
	} {
		if _, err := pairs.Read(strings.NewReader(wrong)); err == nil {
			t.Errorf("it reads the wrong one %d", i)
		}
	}
	other := healthy(5, 2, nil)
	other.Nodes[2].Hardware = "rocep1s0f0 100 Gb/s"
	if why := m.Rewired(other); len(why) != 1 ||
		why[0] != "rail 1 of spark-03 was rocep1s0f0 200 Gb/s, and is rocep1s0f0 100 Gb/s" {
		t.Errorf("other hardware: %q", why)
	}
	// The hardware of a node that did not answer is unknown. If the node answers later, that is not other
	// hardware.
	other.Nodes[2].Hardware = "; "
	if why := append(m.Rewired(other), other.Rewired(m)...); why != nil {
		t.Errorf("a node that does not answer: %q", why)
	}
	if other.Take(m); other.Nodes[2].Hardware != "rocep1s0f0 200 Gb/s; " {
		t.Errorf("it forgets that it was %q", other.Nodes[2].Hardware)
	}
	other = healthy(5, 2, nil)
	other.Uncable(pairs.Pair{From: 1, To: 3})
	if why := m.Unlike(other, "the other"); why == "" ||
		!strings.Contains(why, "each has a cable, of the other 1 have none, as spark-02 and spark-04") {
		t.Errorf("other cables: %q", why)
	}
	if other.Nodes[3].Hardware = "; "; m.Unlike(other, "the other") != "" || pairs.Compare(m, other, 0.05) == nil {
		t.Error("the cables of a node that does not answer are not known")
	}
	other = healthy(5, 2, nil)
	other.Conditions.Settings = "SIZE=4096"
	if why := m.Unlike(other, "the other"); !strings.Contains(why, "SIZE=4096") {
		t.Errorf("other settings: %q", why)
	}
}

// What a saved matrix makes of memory is bounded by what it says: a short file of empty figures, nodes
// or reasons, and one value without an end, cost next to nothing before they are refused.
func TestSavedIsBounded(t *testing.T) {
	t.Parallel()
	const head = `{"pairs":1,"rails":["rail 1"],"nodes":[{"name":"a"},{"name":"b"}]`
	figure := `{"measure":"throughput","from":0,"to":1,"rail":0,"value":1,"unit":"Gb/s","verdict":"WARN","reason":"`
	for _, c := range []struct{ name, first, again, why string }{
		{"figures that are empty", head + `,"figures":[`, `{},`, "invalid figure"},
		{"nodes that are empty", `{"pairs":1,"nodes":[`, `{},`, "more than 1024 nodes"},
		{"rails", `{"pairs":1,"rails":[`, `"",`, "more than 32 rails"},
		{"a text without an end", `{"pairs":1,"rig":"`, strings.Repeat("x", 1000), "longer than 1 MiB"},
		{"a node without an end", `{"pairs":1,"nodes":[{"halves":[`, `"",`, "longer than 1 MiB"},
		{"blanks", `{"pairs":1`, "          ", "longer than 1 MiB"},
		{"a year that can't be written", head + `,"began":"9999-12-31T23:59:59.9999Z","figures":[]}`, "", "in the year 9999"},
		{"brackets", `{"pairs":1,"causes":`, "[", "nested brackets"},
	} {
		from := &endless{first: c.first, again: c.again}
		if _, err := pairs.Read(from); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
		if from.given > 3<<20 {
			t.Errorf("%s: it reads %d MiB of it", c.name, from.given>>20)
		}
	}
	// Reasons that differ are bounded together.
	long := 0
	from := io.MultiReader(strings.NewReader(head+`,"figures":[`), &endless{next: func() string {
		long++
		return figure + fmt.Sprint(long) + strings.Repeat("x", 1<<18) + `"},`
	}})
	if _, err := pairs.Read(from); err == nil || !strings.Contains(err.Error(), "its reasons") {
		t.Errorf("reasons: %v", err)
	}
}

// An endless text begins with first and goes on with again, or what next gives, for ever.
type endless struct {
	first, again string
	next         func() string
	given        int // bytes
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.first == "" {
			if e.first = e.again; e.next != nil {
				e.first = e.next()
			}
			if e.first == "" {
				break
			}
		}
		took := copy(p[n:], e.first)
		e.first, n = e.first[took:], n+took
	}
	e.given += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestCompare(t *testing.T) {
	t.Parallel()
	a := healthy(4, 1, nil)
	b := healthy(4, 1, func(p pairs.Place, c *pairs.Cell) {
		switch {
		case p.From == 0 && p.To == 1 && p.What == steps.Throughput:
			c.Value = 80
		case p.From == 2 && p.To == 3 && p.What == steps.Latency:
			*c = pairs.Cell{}
		case p.From == 3 && p.To == 0:
			c.Value = 91
		}
	})
	all := pairs.Compare(a, b, 0.05)
	if len(all) != 2 || !all[0].Worse || !all[1].Worse || all[0].Words != "spark-01 to spark-02 over rail 1" {
		t.Errorf("worse: %+v", all)
	}
	for _, c := range pairs.Compare(b, a, 0.05) {
		if !c.Better {
			t.Errorf("better: %+v", c)
		}
	}
}

// 64 nodes fit a screen of 160 columns with a character a pair, and every map fits the width that it is
// given. The glyph alone shows what is bad.
func TestMap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, width, lines int }{
		{64, 160, 67},
		{64, 80, 67},
		{64, 60, 135},
		{2, 80, 4},
		{8, 20, 21},
	} {
		m := healthy(c.nodes, 1, func(p pairs.Place, cell *pairs.Cell) {
			switch {
			case p.From == 0 && p.To == 1:
				cell.Value /= 2
			case p.From == 1 && p.To == 0:
				*cell = pairs.Cell{}
			}
		})
		m.Judge()
		lines := m.Map(steps.Throughput, c.width)
		if len(lines) != c.lines {
			t.Errorf("%d nodes in %d columns: %d lines", c.nodes, c.width, len(lines))
		}
		text := ""
		for _, l := range lines {
			if utf8.RuneCountInString(l.Text) > c.width {
				t.Errorf("%d nodes in %d columns: %q", c.nodes, c.width, l.Text)
			}
			for _, s := range l.Squares {
				if !strings.HasPrefix(l.Text[s.At:], string(s.Glyph)) {
					t.Errorf("%q, and at %d stands no %c", l.Text, s.At, s.Glyph)
				}
			}
			text += l.Text + "\n"
		}
		if strings.Count(text, "?") != 1 || strings.Count(text, "·") != c.nodes {
			t.Errorf("%d nodes:\n%s", c.nodes, text)
		}
		if at := m.Square(steps.Throughput, 0, 0, 1, m.Extremes(steps.Throughput)); c.nodes > 2 &&
			(at.Glyph != '5' || at.State != pairs.Bad) {
			t.Errorf("half of the best is %q", at.Glyph)
		}
	}
}

func TestExports(t *testing.T) {
	t.Parallel()
	m := healthy(3, 1, func(p pairs.Place, c *pairs.Cell) {
		if p.From == 0 && p.To == 1 {
			*c = pairs.Cell{Grade: steps.Fail, Reason: "=cmd() <script>alert(1)</script>"}
		}
		if p.From == 0 && p.To == 2 {
			*c = pairs.Cell{Grade: steps.Fail, Reason: "x;＝cmd|' /C calc'!A0"}
		}
	})
	m.Simulated = true
	csv, err := m.CSV()
	if err != nil || strings.Count(string(csv), "\n") != 1+6+3 || !strings.Contains(string(csv), "'=cmd()") ||
		!strings.Contains(string(csv), "x;'＝cmd") {
		t.Errorf("CSV: %v: %s", err, csv)
	}
	page := string(m.HTML())
	for _, want := range []string{"SIMULATED", "FAIL", "92.5", "RoCE MTU 1024", "&lt;script&gt;", ">x</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<script>") {
		t.Error("the page runs what a node said")
	}
}

// The page of many nodes is folded as the terminal's map is: it stays small, names the worst pair of a square and says
// where every figure is.
func TestPageOfMany(t *testing.T) {
	t.Parallel()
	m := healthy(400, 2, func(p pairs.Place, c *pairs.Cell) {
		if p.What == steps.Throughput && p.Rail == 1 && p.From == 301 && p.To == 17 {
			c.Value, c.Grade, c.Reason = 41.25, steps.Fail, "it is <slow>."
		}
	})
	page := string(m.HTML())
	for _, want := range []string{
		"There are 400 nodes: up to 7 share a row and a column", "railbench pairs show", "<th>spark-295 +6</th>",
		`<td class="bad" title="spark-302 to spark-18 over rail 2: it is &lt;slow&gt;.">41.25</td>`,
		"<th>spark-400</th>", // the last one is alone in its row
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if rows := strings.Count(page, "<tr>"); rows != 4*(1+58) || strings.Count(page, `class="bad"`) != 1 ||
		len(page) > 4<<20 {
		t.Errorf("%d rows, %d bytes", rows, len(page))
	}
	if page := string(healthy(64, 1, nil).HTML()); strings.Count(page, "<tr>") != 2*(1+64) ||
		strings.Contains(page, "share a row") {
		t.Error("64 nodes have a row each")
	}
}

// The cost is reported before the run: time grows with the number of nodes, and the number of figures with
// its square.
func TestCost(t *testing.T) {
	t.Parallel()
	small, large := pairs.CostOf(64, 2, 0, 3e10), pairs.CostOf(1024, 2, 0, 3e10)
	if small.Rounds != 63 || small.Beside != 32 || small.Tests != 2*(64*63+64*63/2) ||
		pairs.CostOf(5, 1, 0, 0).Rounds != 5 {
		t.Errorf("%+v", small)
	}
	if grows := float64(large.Time) / float64(small.Time); grows < 16 || grows > 17 {
		t.Errorf("16 times the nodes take %g times as long", grows)
	}
	if large.Memory > 256<<20 {
		t.Errorf("1,024 nodes take %d bytes", large.Memory)
	}
	if s := small.String(); !strings.Contains(s, "2016 pairs of 64 nodes") {
		t.Error(s)
	}
	some := pairs.CostOf(1024, 2, 8, 3e10)
	if s := some.String(); some.Rounds != 8 || some.Tests != 2*3*8*512 || some.Memory > 1<<20 ||
		!strings.Contains(s, "4096 pairs of 1024 nodes, each with 8 of its 1023 others, over 2 rails: 8 rounds") {
		t.Errorf("%s: %+v", s, some)
	}
	if pairs.TooMany(1024, 4, 0) == "" || pairs.TooMany(1024, 4, 8) != "" {
		t.Error("a matrix has room for 1,024 nodes with 8 partners each, and not for all their pairs")
	}
}
