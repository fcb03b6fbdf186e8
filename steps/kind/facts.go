package kind

import (
	"github.com/railbench/railbench/steps"
)

// BothFacts reads the lines "name: value" of both nodes.
func BothFacts(r steps.Result, rep *Report) [2]map[string]string {
	var facts [2]map[string]string
	outputs, _ := OnBoth(r, rep)
	for e, o := range outputs {
		if Exited(r, o, rep) {
			continue
		}
		if f, ok := Value[map[string]string](r, o, rep); ok {
			facts[e] = f
		}
	}
	return facts
}
