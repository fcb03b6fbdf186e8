package registry

import "testing"

func TestCapital(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a link": "A link", "über alles": "Über alles", "ib_write_bw is there": "ib_write_bw is there",
		" x": " x", "mlx5 x": "mlx5 x", "\xff bad": "\ufffd bad",
	} {
		if got := Capital(s); got != want {
			t.Errorf("Capital(%q) = %q, want %q", s, got, want)
		}
	}
}
