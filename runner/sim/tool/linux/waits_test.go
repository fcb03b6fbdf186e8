package linux

import "testing"

// A wait of any length is a wait: none is over at once because it was too long to count.
func TestLongWaits(t *testing.T) {
	for _, text := range []string{"infinity", "inf", "1e300", "99999999999d", "9223372037"} {
		d, ok := Seconds(text)
		if !ok || d != endless {
			t.Errorf("%s: %s, %v", text, d, ok)
		}
	}
	for _, text := range []string{"nan", "-1", "", "x", "1x"} {
		if d, ok := Seconds(text); ok {
			t.Errorf("%q is %s", text, d)
		}
	}
	if d, ok := timeSpan("99999999999h 99999999999h"); !ok || d != endless {
		t.Errorf("systemd's longest wait is %s, %v", d, ok)
	}
}
