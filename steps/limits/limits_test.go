package limits

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func near(t *testing.T, what string, got rate.Payload, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 0.06 {
		t.Errorf("%s: %.2f, want %.2f", what, got, want)
	}
}

// The figures are those of the sources, and of formulas worked out by hand.
func TestBand(t *testing.T) {
	all := func(change func(*steps.Rail)) func(*steps.Rig) {
		return func(rig *steps.Rig) {
			for e := range rig.Nodes {
				for i := range rig.Nodes[e].Rails {
					change(&rig.Nodes[e].Rails[i])
				}
			}
		}
	}
	slot := func(gtps float64, width int) func(*steps.Rig) {
		return all(func(r *steps.Rail) {
			r.PCI.GTps, r.PCI.MaxGTps, r.PCI.Width, r.PCI.MaxWidth = gtps, gtps, width, width
		})
	}
	link := func(gbps float64) func(*steps.Rig) { return all(func(r *steps.Rail) { r.RateGbps = gbps }) }
	large := Test{MTU: 4096, Message: 65536, Payload: 1e9}
	small := Test{MTU: 1024, Message: 65536, Payload: 1e9}
	with := func(t Test, change func(*Test)) Test { change(&t); return t }
	for _, c := range []struct {
		name            string
		test            Test
		rails           []int
		change          func(*steps.Rig)
		expected, limit float64
		basis           Basis
		none            string
	}{
		{"one half at 1024", small, []int{1}, nil, 92.5, 125.42, Measured, ""},
		{"one half at 4096", large, []int{1}, nil, 111.7, 125.42, Measured, ""},
		{"a link of 100 at 1024", small, []int{1}, link(100), 92.5, 92.59, Measured, ""},
		{"a link of 100 at 4096", large, []int{1}, link(100), 98.04, 98.04, Derived, ""},
		{"two rails of one half at 1024", small, []int{1, 2}, nil, 105.4, 125.42, Measured, ""},
		{"two rails of one half at 4096", large, []int{1, 2}, nil, 111.7, 125.42, Measured, ""},
		{"one of each half at 1024, on one cable", small, []int{1, 3}, nil, 185, 185.17, Measured, ""},
		{"one of each half at 4096, on one cable", large, []int{1, 3}, nil, 196.07, 196.07, Derived, ""},
		{
			"the same from one program", with(large, func(t *Test) { t.Evenly = true }),
			[]int{1, 3},
			nil, 196.07, 196.07,
			Derived, "",
		},
		{"four rails", large, []int{1, 2, 3, 4}, nil, 223.4, 250.83, Measured, ""},
		{"x16 carries the whole link", large, []int{1}, slot(32, 16), 196.07, 196.07, Derived, ""},
		{"Gen3 x8 was never measured", large, []int{1}, slot(8, 8), 55.88, 62.71, Chosen, ""},
		{
			"a narrow link is no excuse", small,
			[]int{1},
			all(func(r *steps.Rail) { r.PCI.Width = 2 }), 92.5, 125.42, Measured,
			"",
		},
		{
			"MTU 2048", with(large, func(t *Test) { t.MTU = 2048 }),
			[]int{1},
			nil, 0, 125.42, 0,
			"one PCIe Gen5 x4 at RoCE MTU 2048",
		},
		{
			"MTU 2048 of a link that ends it first", with(large, func(t *Test) { t.MTU = 2048 }),
			[]int{1},
			link(100), 96.15,
			96.15, Derived, "",
		},
		{"MTU 512", with(large, func(t *Test) { t.MTU = 512 }), []int{1}, nil, 0, 0, 0, "RoCE MTU 512"},
		{
			"messages of 256 bytes", with(small, func(t *Test) { t.Message = 256 }),
			[]int{1},
			nil, 0, 125.42, 0,
			"messages of 256 bytes",
		},
		{
			"blocks of 64 KiB", with(small, func(t *Test) { t.Least = LeastBlock }),
			[]int{1},
			nil, 0, 125.42, 0,
			"at least 2097152",
		},
		{
			"five messages", with(small, func(t *Test) { t.Payload = 5 * 65536 }),
			[]int{1},
			nil, 0, 125.42, 0,
			"0.328 MB are too few",
		},
		{
			"no slot and no InfiniBand", small,
			[]int{1},
			all(func(r *steps.Rail) { r.PCI, r.HasOctets = steps.PCI{}, false }),
			0, 0, 0, "soft-RoCE",
		},
		{
			"no slot, and port counters", large,
			[]int{1},
			all(func(r *steps.Rail) { r.PCI = steps.PCI{} }), 196.07, 196.07,
			Derived, "",
		},
		{
			"a slot that nobody told", large,
			[]int{1},
			all(func(r *steps.Rail) { r.PCI.GTps, r.PCI.MaxGTps = 0, 0 }), 196.07,
			196.07, Derived, "",
		},
		{"no rate", small, []int{1}, link(0), 0, 0, 0, "link rate"},
		{"no MTU", Test{}, []int{1}, nil, 0, 0, 0, "RoCE MTU is unknown"},
		{"no rail", small, nil, nil, 0, 0, 0, "no rail"},
	} {
		rig := kindtest.Spark()
		if c.change != nil {
			c.change(&rig)
		}
		var pairs []steps.Pair
		for _, n := range c.rails {
			pairs = append(pairs, rig.Pairs[n-1])
		}
		b := BandOf(rig, c.test, pairs...)
		near(t, c.name+", expected", b.Expected, c.expected)
		near(t, c.name+", limit", b.Limit, c.limit)
		if b.Basis != c.basis && b.None == "" || !strings.Contains(b.None, c.none) || (b.None == "") != (c.none == "") {
			t.Errorf("%s: %v %q, want %v %q", c.name, b.Basis, b.None, c.basis, c.none)
		}
		if b.None == "" && b.From == "" || b.Why() == "" {
			t.Errorf("%s: %+v says nothing of where it comes from", c.name, b)
		}
	}
}

// Where no one knows the PCIe link, the cable decides alone what passes, and nothing fails.
func TestStandingBehindAnUnknownLink(t *testing.T) {
	rig := kindtest.Spark()
	rig.Nodes[steps.Peer].Rails[0].PCI.MaxGTps, rig.Nodes[steps.Peer].Rails[0].PCI.GTps = 0, 0
	rig.Nodes[steps.Here].Rails[0].PCI.Width, rig.Nodes[steps.Here].Rails[0].PCI.MaxWidth = 16, 16
	stand := BandOf(rig, Test{MTU: 4096, Message: 65536, Payload: 1e9}, rig.Pairs[0]).stand()
	for got, want := range map[rate.Payload]Standing{196: Good, 111.8: Unjudged, 13: Unjudged, 250: Impossible} {
		if s := stand(got); s != want {
			t.Errorf("%.1f stands as %d, want %d", got, s, want)
		}
	}
}

// What other people printed of the same hardware stands where it should.
func TestStandingOfPublishedFigures(t *testing.T) {
	rig := kindtest.Spark()
	of := func(mtu int, over Limit, rails ...int) func(rate.Payload) Standing {
		var pairs []steps.Pair
		for _, n := range rails {
			pairs = append(pairs, rig.Pairs[n-1])
		}
		b := BandOf(rig, Test{MTU: mtu, Message: 65536, Payload: 1e9}, pairs...)
		return func(got rate.Payload) Standing { return b.Stand(got, over, PassShare, WarnShare) }
	}
	for _, c := range []struct {
		name  string
		stand func(rate.Payload) Standing
		got   rate.Payload
		want  Standing
	}{
		{"the multi-rail tutorial's rail", of(1024, OverShare, 1), 92.55, Good},
		{"the vendor's better half", of(1024, OverShare, 1), 97.28, Good},
		{"what one half brought with two rails", of(1024, OverShare, 1), 105.4, Good},
		{"the vendor's two halves", of(1024, OverShare, 1, 3), 92.57 + 97.28, Impossible},
		{"a cluster guide's half at 4096", of(4096, OverShare, 1), 111.86, Good},
		{"its two halves", of(4096, OverShare, 1, 3), 98.04 + 98.04, Good},
		{"more than anybody saw", of(4096, OverShare, 1), 117, Unseen},
		{"bits taken for bytes", of(1024, OverShare, 1), 184, Impossible},
		{"a little low", of(1024, OverShare, 1), 80, Low},
		{"a degraded adapter", of(1024, OverShare, 1), 13, Short},
		{"messages too few", BandOf(rig, Test{MTU: 1024, Payload: 1}, rig.Pairs[0]).stand(), 92, Unjudged},
		{
			"messages too few, and more than physics allow", BandOf(rig, Test{MTU: 1024, Payload: 1}, rig.Pairs[0]).stand(), 140,
			Impossible,
		},
	} {
		if got := c.stand(c.got); got != c.want {
			t.Errorf("%s: %v stands as %d, want %d", c.name, c.got, got, c.want)
		}
	}
}

func (b Band) stand() func(rate.Payload) Standing {
	return func(got rate.Payload) Standing { return b.Stand(got, OverShare, PassShare, WarnShare) }
}

// A limit holds under its conditions: the payload of PCIe's packets, the headers, the RoCE MTU, the lanes that came up.
func TestBandUnderItsConditions(t *testing.T) {
	of := func(mtu, extra int, change func(*steps.Rail)) Band {
		rig := kindtest.Spark()
		for e := range rig.Nodes {
			for i := range rig.Nodes[e].Rails {
				change(&rig.Nodes[e].Rails[i])
			}
		}
		return BandOf(rig, Test{MTU: mtu, Extra: extra, Message: 65536, Payload: 1e9}, rig.Pairs[0])
	}
	payload := func(n int) func(*steps.Rail) { return func(r *steps.Rail) { r.PCI.MaxPayload = n } }
	lanes := func(n int) func(*steps.Rail) {
		return func(r *steps.Rail) { r.PCI.Width, r.PCI.MaxWidth = n, n }
	}
	for _, c := range []struct {
		name            string
		band            Band
		expected, limit float64
	}{
		{"payloads of 128", of(4096, 0, payload(128)), 109.0, 109.0},
		{"payloads of 256", of(4096, 0, payload(256)), 111.7, 116.9},
		{"payloads of 512", of(1024, 0, payload(512)), 92.5, 121.3},
		{"x2 by wiring at 1024", of(1024, 0, lanes(2)), 46.3, 62.7},
		{"x2 by wiring at 4096", of(4096, 0, lanes(2)), 55.9, 62.7},
		{"IPv6 over 100G", of(1024, 20, func(r *steps.Rail) { r.RateGbps = 100 }), 90.9, 90.9},
		{"IPv6 and a VLAN over 100G", of(1024, 24, func(r *steps.Rail) { r.RateGbps = 100 }), 90.6, 90.6},
	} {
		near(t, c.name+", expected", c.band.Expected, c.expected)
		near(t, c.name+", limit", c.band.Limit, c.limit)
	}
	near(t, "as it came up", of(1024, 0, func(r *steps.Rail) { r.PCI.Width = 2 }).Now, 62.7)
	if none := of(2048, 0, lanes(2)).None; none == "" {
		t.Error("a share is taken at a RoCE MTU at which nobody measured it")
	}
	vlan := steps.Rail{Netdev: steps.Netdev{Name: "enp1s0f0np0.100"}}
	if a, b := Extra(vlan, "192.168.100.11"), Extra(vlan, "fd00::1"); a != 4 || b != 24 {
		t.Errorf("%d and %d bytes of headers more, want 4 and 24", a, b)
	}
	if rig := kindtest.Spark(); !Unified(rig, rig.Pairs...) {
		t.Error("a DGX Spark is not known as one")
	}
	rig := kindtest.Spark()
	for _, arch := range []string{"x86_64", ""} {
		if rig.Nodes[1].Arch = arch; Unified(rig, rig.Pairs[0]) {
			t.Errorf("a machine of architecture %q is taken for a DGX Spark", arch)
		}
	}
}

func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		pci  steps.PCI
		mtu  int
		want float64
		slot string
	}{
		{
			steps.PCI{GTps: 32, Width: 4},
			4096, 111.9,
			"PCIe Gen5 x4: 126.0 Gb/s after encoding; 111.9 of payload",
		},
		{steps.PCI{GTps: 32, Width: 4}, 1024, 105.4, "PCIe Gen5 x4"},
		{steps.PCI{GTps: 32, Width: 4}, 2048, 111.8, "PCIe Gen5 x4"},
		{steps.PCI{GTps: 32, Width: 2}, 4096, 55.9, "PCIe Gen5 x2: 63.0 Gb/s after encoding, of which"},
		{steps.PCI{GTps: 8, Width: 16}, 4096, 111.8, "PCIe Gen3 x16"},
		{steps.PCI{GTps: 5, Width: 8}, 4096, 28.4, "PCIe Gen2 x8"},
		{steps.PCI{}, 4096, 0, ""},
	} {
		got, from := Ceiling(steps.Rail{PCI: c.pci, MTU: c.mtu})
		near(t, from, got, c.want)
		if !strings.HasPrefix(from, c.slot) {
			t.Errorf("Ceiling(%+v) = %.2f, %q", c.pci, got, from)
		}
	}
	if w := WireCeiling(steps.Rail{PCI: steps.PCI{GTps: 32, Width: 4}, MTU: 1024}); math.Abs(float64(w)-111.37) > 0.01 {
		t.Errorf("105.4 of payload are %.2f on the wire, want 105.4 x 1082/1024", w)
	}
}

// Every entry says what it is, under which conditions it holds, and where it comes from.
func TestEveryLimitHasASource(t *testing.T) {
	facts, err := os.ReadFile("../../assets/docs/facts.md")
	if err != nil {
		t.Fatal(err)
	}
	// What was not chosen names what a reader can open: an address, a standard, a file of the kernel, a document that
	// facts.md introduces. What was chosen names no one who can't be found.
	open := regexp.MustCompile(`https://|IEEE \d|iboe_get_mtu|base specification|tutorial|COTS report|Gb/s by 8|` +
		`measured by us on`)
	nobody := regexp.MustCompile(`elsewhere|public (guide|write-up|run|cluster)|somebody|the same page`)
	chapters := map[string]bool{}
	for line := range strings.Lines(string(facts)) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			chapters[strings.ReplaceAll(strings.ToLower(title), " ", "-")] = true
		}
	}
	for _, l := range Limits() {
		e := l.Entry()
		switch {
		case e.Of == "" || e.When == "" || e.Source == "" || e.Low <= 0 || e.High < e.Low:
			t.Errorf("limit %d: %+v", l, e)
		case e.Basis < Derived || e.Basis > Chosen:
			t.Errorf("%s: nobody says how sure it is", e.Of)
		case strings.Contains(e.Source, "maker's manual") && e.Basis != Stated:
			t.Errorf("%s: a manual measures nothing, and it is called %s", e.Of, e.Basis)
		case e.Basis != Chosen && !open.MatchString(e.Source) || nobody.MatchString(e.Source):
			t.Errorf("%s, %s: a reader cannot open %q", e.Of, e.Basis, e.Source)
		case !chapters[e.Fact]:
			t.Errorf("%s: facts.md has no chapter %q", e.Of, e.Fact)
		}
	}
}
