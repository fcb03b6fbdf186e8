package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/session"
)

// A temperature that goes up is told at each limit, one at its limit once, and one that has fallen
// once it stays there.
func TestRaised(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &watcher{out: &out, follow: &session.Follower{}}
	sample := func(celsius float64) (told string) {
		n := health.Node{
			Node: "spark-01", Heat: []health.Heat{{Dev: "rocep1s0f0", Celsius: celsius}},
			Slots: []health.Slot{{Watts: 26}},
		}
		out.Reset()
		w.alarm("spark-01", n.Alarms())
		w.alarm("spark-02", nil) // the other node is cool, and clears nothing of this one
		return strings.Join(regexp.MustCompile(`(ALARM|CLEAR) \w+ [\w-]+`).FindAllString(out.String(), -1), ", ")
	}
	for i, c := range []struct {
		celsius float64
		told    string
	}{
		{96, ""},
		{97, "ALARM WARN adapter-temperature"},
		{96, ""},
		{98, ""},
		{96, ""},
		{97, ""},
		{103, "ALARM FAIL adapter-temperature"},
		{101, ""},
		{101, ""},
		{101, ""},
		{101, "ALARM WARN adapter-temperature"},
		{104, "ALARM FAIL adapter-temperature"},
		{60, ""},
		{60, ""},
		{60, ""},
		{60, "CLEAR PASS adapter-temperature"},
		{60, ""},
		{97, "ALARM WARN adapter-temperature"},
	} {
		if got := sample(c.celsius); got != c.told {
			t.Errorf("sample %d, at %v: %q, not %q", i, c.celsius, got, c.told)
		}
	}
	if w.raised[0].Grade != steps.Warn || len(w.raised) != 1 {
		t.Errorf("%+v", w.raised)
	}
}
