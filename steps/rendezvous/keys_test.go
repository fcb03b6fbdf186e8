package rendezvous

import (
	"strings"
	"testing"
)

func TestGroups(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"xferbench/default//size xferbench/default//rank/0 xferbench/default/barrier/sync/1/0", "default (3 keys)"},
		{
			"xferbench/rb-a//size xferbench/rb-ab//size xferbench/rb-a/msg+int_data/src=1/dst=0",
			"rb-a (2 keys), rb-ab (1 key)",
		},
		{"xferbench//size xferbench//rank/0 xferbench/barrier/x/0 xferbench/msg+int_data/src=1", "without a group (4 keys)"},
		{"xferbench/odd", "without a group (1 key)"},
	} {
		keys, want := c[0], c[1]
		var got []string
		for _, g := range groups(strings.Fields(keys)) {
			got = append(got, g.String())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}
