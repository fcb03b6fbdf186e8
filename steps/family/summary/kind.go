// Package summary is the last cell: this session's figures beside the documents' and the limits. It
// reports and judges nothing.
package summary

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Own: map[string]func(steps.History) steps.Verdict{"summary": summarize},
	}
}
