package stream

import "testing"

func TestDigits(t *testing.T) {
	for _, c := range [][2]float64{
		{0, 0},
		{92.57123456789, 92.5712},
		{1234567.89, 1234570},
		{-0.000123456789, -0.000123457},
		{5e-324, 5e-324},
		{100, 100},
	} {
		if got := digits(c[0], 6); got != c[1] {
			t.Errorf("digits(%v) = %v, not %v", c[0], got, c[1])
		}
	}
}
