package registry

import (
	"github.com/railbench/railbench/steps"
)

// BothFacts reads the lines "name: value" of both nodes.
func BothFacts(r steps.Result, rep *Report) [2]map[string]string {
	facts, _ := Both[map[string]string](r, rep)
	return facts
}
