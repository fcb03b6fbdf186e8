package registry

import (
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
)

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		note   func(*Report)
		want   string
		grade  steps.Grade
		byHand bool
	}{
		"a sentence begins with a capital": {func(r *Report) {
			r.Note(Finding{Grade: steps.Fail, Text: "the link went down"})
		}, "The link went down.", steps.Fail, false},
		"behind a rail's name it doesn't": {func(r *Report) {
			r.Note(Finding{Grade: steps.Fail, Text: "the link went down", Rail: 2, Dev: "mlx5_1"})
		}, "Rail 2 (mlx5_1): the link went down.", steps.Fail, false},
		"a name keeps its spelling": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Warn, "%s is off", "enp1s0f0np0")
		}, "enp1s0f0np0 is off.", steps.Warn, false},
		"the worst comes first": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Warn, "it is late")
			r.Add(steps.NothingRan, steps.Fail, "it is broken")
		}, "It is broken. It is late.", steps.Fail, false},
		"several rails are one sentence": {func(r *Report) {
			for i := range 2 {
				r.Note(Finding{Grade: steps.Warn, Text: "is slow", Rail: i + 1})
			}
		}, "Rails 1 and 2: is slow.", steps.Warn, false},
		"all is for hands": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Fail, "the cable is out")
			r.ByHand()
			r.Add("", steps.Pass, "the other is in")
		}, "The cable is out. The other is in.", steps.Fail, true},
		"some of it is not": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Fail, "the cable is out")
			r.ByHand()
			r.Add(steps.NothingRan, steps.Warn, "an address is missing")
		}, "The cable is out. An address is missing.", steps.Fail, false},
	} {
		var r Report
		c.note(&r)
		if v := r.Verdict("all is well"); v.Reason != c.want || v.Grade != c.grade || v.ByHand != c.byHand {
			t.Errorf("%s: %s, by hand %v: %q", name, v.Grade, v.ByHand, v.Reason)
		}
	}
}

var rig = steps.Rig{Nodes: []steps.Node{{Name: "spark-02"}, {Name: "spark-01"}}}

// A reason has 25 words where its first sentence has not more; nothing that was found is lost.
func TestReasonIsShort(t *testing.T) {
	var r Report
	long := "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
	r.Add(steps.LinkDown, steps.Fail, "the link is down: %s", long)
	r.Add(steps.MTUDiffers, steps.Fail, "the MTU differs: %s", long)
	r.Explain("Packets are dropped.")
	v := r.Verdict()
	if want := "The link is down: " + long + ". And 1 more finding."; v.Reason != want {
		t.Errorf("the reason is %q", v.Reason)
	}
	if len(v.Findings) != 2 || v.Findings[0].Code != steps.LinkDown || v.Findings[1].Code != steps.MTUDiffers {
		t.Errorf("the findings are %v", v.Findings)
	}
	if want := []steps.Code{steps.LinkDown, steps.MTUDiffers}; !slices.Equal(v.Codes, want) {
		t.Errorf("the codes are %v", v.Codes)
	}
	if e := v.Evidence; len(e) != 1 || e[0].Name != steps.NoteName || e[0].Value != "Packets are dropped." {
		t.Errorf("the evidence is %v", e)
	}
	if v := (&Report{}).Verdict(long, long); v.Reason != Capital(long)+"." || len(v.Evidence) != 1 {
		t.Errorf("PASS says %q on %v", v.Reason, v.Evidence)
	}
}

// What several nodes have alike is one sentence, unless its verb would be another.
func TestNodesAreMerged(t *testing.T) {
	for name, c := range map[string]struct {
		format, want string
		node         string
	}{
		"a place": {"eth0 on %s is switched off", "eth0 on spark-02 and spark-01 is switched off.", ""},
		"a verb":  {"%s has no address", "spark-02 has no address. spark-01 has no address.", ""},
	} {
		var r Report
		for _, e := range steps.Ends {
			r.At(rig, e, steps.InterfaceOff, steps.Fail, c.format, rig.NameOf(e))
		}
		if v := r.Verdict(); v.Reason != c.want || v.Node != c.node {
			t.Errorf("%s: %q, about %q", name, v.Reason, v.Node)
		}
	}
	var r Report
	r.At(rig, steps.Here, steps.InterfaceOff, steps.Fail, "eth0 on %s is off", rig.NameOf(steps.Here))
	r.At(rig, steps.Peer, steps.InterfaceOff, steps.Warn, "eth0 on %s is off", rig.NameOf(steps.Peer))
	if v := r.Verdict(); v.Reason != "eth0 on spark-02 is off. eth0 on spark-01 is off." || v.Node != "spark-02" {
		t.Errorf("two grades became one: %q, about %q", v.Reason, v.Node)
	}
}

// Advice changes no grade, and what decided stands first.
func TestAdviceAndDeciding(t *testing.T) {
	var r Report
	least := 10.0
	r.Show("spare", 1, "", nil)
	r.Show("MTU", 1500, "bytes", nil)
	r.Show("rate", 5.0, "Gb/s", &steps.Expected{Min: &least})
	r.Advise(steps.MTUSmall, "a larger MTU is faster")
	r.Decide("MTU")
	v := r.Verdict("all is well")
	if v.Grade != steps.Pass || v.Code != "" || len(v.Advice) != 1 || v.Advice[0].Code != steps.MTUSmall ||
		v.Advice[0].Text != "A larger MTU is faster." {
		t.Errorf("%s %s: %v", v.Grade, v.Code, v.Advice)
	}
	var names []string
	for _, e := range v.Facts() {
		names = append(names, e.Name)
	}
	if want := []string{"rate", "MTU", "spare"}; !slices.Equal(names, want) {
		t.Errorf("the facts are in the order %v", names)
	}
	if d := v.Deciding(); len(d) != 2 {
		t.Errorf("%v decided", d)
	}
}

// A finding is about the devices that its text is given, by their own names or their interfaces'.
func TestDevices(t *testing.T) {
	node := func(name string) steps.Node {
		return steps.Node{Name: name, Rails: []steps.Rail{
			{Dev: "a0", Netdev: steps.Netdev{Name: "n0"}}, {Dev: "a1", Netdev: steps.Netdev{Name: "n1"}},
		}}
	}
	rig := steps.Rig{Nodes: []steps.Node{node("x"), node("y")}}
	for name, c := range map[string]struct {
		find func(r *Report)
		want []string
	}{
		"an interface": {
			func(r *Report) { r.At(rig, steps.Here, "", steps.Fail, "%s on %s is off", "n0", "x") }, []string{"a0"},
		},
		"on both nodes": {func(r *Report) {
			for _, e := range steps.Ends {
				r.At(rig, e, "", steps.Fail, "%s on %s is off", "n0", rig.NameOf(e))
			}
		}, []string{"a0"}},
		"a list": {func(r *Report) { r.Add("", steps.Warn, "%s differ", List{"a1", "n0"}) }, []string{"a1", "a0"}},
		"rails": {func(r *Report) {
			r.On(Measurement{No: 1, Dev: "a0"}, "", steps.Fail, "it is slow")
			r.On(Measurement{No: 2, Dev: "a1"}, "", steps.Fail, "it is slow")
		}, []string{"a0", "a1"}},
		"said apart": {func(r *Report) { r.Add("", steps.Fail, "port 0 is dark"); r.About("n1") }, []string{"a1"}},
		"what is less wrong": {func(r *Report) {
			r.Add("", steps.Fail, "%s is off", "n0")
			r.Add("", steps.Warn, "%s is slow", "n1")
		}, []string{"a0"}},
		"none of the rig": {func(r *Report) { r.Add("", steps.Fail, "%s is full, see %s", "/var", "n0 and n1") }, nil},
	} {
		var r Report
		c.find(&r)
		if v := r.Verdict().On(rig); !slices.Equal(v.Devices, c.want) {
			t.Errorf("%s: %v, want %v", name, v.Devices, c.want)
		}
	}
}
