package steps

import "testing"

// No code is its own cause, or that of its cause: doctor would name two checks as each other's cause.
func TestFollows(t *testing.T) {
	for code, causes := range follows {
		for _, cause := range causes {
			if cause == code || cause.Follows(code) {
				t.Errorf("%s and %s follow from each other", code, cause)
			}
		}
	}
	for code, want := range map[Code]Cost{
		LinkDown: CostsTraffic, PCIeNarrow: CostsSpeed, MTUNotSaved: CostsLater, "unheard-of": CostsSpeed,
	} {
		if got := code.Cost(); got != want {
			t.Errorf("%s costs %d, want %d", code, got, want)
		}
	}
}
