package catalog

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/session"
)

// What a user may set goes into a script that runs as root: what the families' own
// parameters refuse, and in which words.
func TestParametersRefuse(t *testing.T) {
	tut, all := kindtest.Tutorial(t), New()
	for _, c := range []struct{ name, value, why string }{ // no why: it is taken
		{"BOND", "bond7", ""},
		{"BOND", "bond.100", ""},
		{"BOND", "a-name-of-16-chr", "at most 15"}, // dev_valid_name
		{"BOND", "..", "interface's name"},
		{"BOND", "-help", "no hyphen in front"}, // ip would take it for an option
		{"BOND", "bond/0", "interface's name"},
		{"BOND", "bond 0", "interface's name"},
		{"BOND_MODE", "802.3ad", "LACP"},
		{"BOND_MODE", "balance", "balance-xor"},
		{"RAIL_ADDRESS", "192.168.101.11", ""},
		{"RAIL_ADDRESS", "192.168.101.11/24", ""},
		{"RAIL_ADDRESS", "192.168.101.11/33", "not an IPv4 address with its prefix"},
		{"RAIL_ADDRESS", "fe80::1", "IPv4"},
		{"RAIL_ADDRESS", "fe80::1/64", "IPv4"},
		{"RAIL_ADDRESS", "spark-01", "IPv4"},
		{"NIXL_TLS", "rc,cuda_copy", ""},
		{"NIXL_TLS", "rc, cuda_copy", "without blanks"},
		{"JUMBO_MTU", "1279", "from 1280 to 9216"},
		{"JUMBO_MTU", "9217", "from 1280 to 9216"},
		{"ITERATIONS", "4", "5"}, // perftest's MIN_ITER
		{"PORT", "0", "from 1 to 65535"},
		{"PORT", "65536", "from 1 to 65535"},
		{"SIZE", "2G", ""},
		{"SIZE", "3G", "2"},
		{"NIXL_START", "3000", "power of two"},
	} {
		_, err := session.CheckParam(all, tut, "", c.name, c.value)
		switch {
		case c.why == "" && err != nil:
			t.Errorf("%s=%s is refused: %v", c.name, c.value, err)
		case c.why != "" && err == nil:
			t.Errorf("%s=%s is taken", c.name, c.value)
		case c.why != "" && !strings.Contains(err.Error(), c.why):
			t.Errorf("%s=%s: %q lacks %q", c.name, c.value, err, c.why)
		}
	}
}
