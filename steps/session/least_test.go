package session

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind/kindtest"
)

// What a test without a judge has to reach is four fifths of the rail's band, and nothing where there is
// none: an empty limit is refused, and 0 would be reached by everything.
func TestLeast(t *testing.T) {
	t.Parallel()
	v := vars(kindtest.Spark(), steps.Here, -1, map[string]string{})
	if v["LEAST_GBPS"] != "74.0" || v["LEAST_BOTH_GBPS"] != "148.0" {
		t.Errorf("%q, %q both ways", v["LEAST_GBPS"], v["LEAST_BOTH_GBPS"])
	}
	if v := vars(kindtest.Spark(), steps.Here, -1, map[string]string{"LEAST_GBPS": "90"}); v["LEAST_GBPS"] != "90" || v["LEAST_BOTH_GBPS"] != "90" {
		t.Errorf("set: %q, %q both ways", v["LEAST_GBPS"], v["LEAST_BOTH_GBPS"])
	}
	if v := vars(kindtest.Virtual(), steps.Here, -1, map[string]string{}); v["LEAST_GBPS"] != "" || v["LEAST_BOTH_GBPS"] != "" {
		t.Errorf("soft-RoCE: %q, %q both ways", v["LEAST_GBPS"], v["LEAST_BOTH_GBPS"])
	}
}
