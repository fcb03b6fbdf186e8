package limits

import "testing"

func TestNCCLNumber(t *testing.T) {
	for release, want := range map[string]int{
		"2.28.9": 22809, "2.30.7": NCCLRingRelease, "2.31.0+cuda13.0": 23100,
		"2.28": 0, "2.x.1": 0, "2.100.1": 0, "": 0,
	} {
		n, ok := NCCLNumber(release)
		if n != want && ok || ok != (want > 0) {
			t.Errorf("%q: %d, %t", release, n, ok)
		}
		if ok && want != 23100 && NCCLRelease(n) != release {
			t.Errorf("%d is %s", n, NCCLRelease(n))
		}
	}
}
