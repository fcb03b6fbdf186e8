package limits

import (
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// Heat is what the temperatures of an adapter come to, in degrees Celsius: its maker warns, calls them critical,
// and its firmware switches it off.
type Heat struct {
	Warm, Critical, Off Limit
	of                  string // the adapter whose manual says so
}

var olderAdapter = lazyregexp.New(`\bConnectX-5\b`)

// HeatOf is for an adapter as steps.Node has it ("ConnectX-7, firmware 28.45.4028"). One whose manual is not
// among the sources is held against the newest, whose temperatures are the lowest.
func HeatOf(adapter string) Heat {
	if olderAdapter.Regexp().MatchString(adapter) {
		return Heat{OlderAdapterWarm, OlderAdapterOff, OlderAdapterOff, "ConnectX-5"}
	}
	return Heat{AdapterWarm, AdapterCritical, AdapterOff, "ConnectX-7"}
}

// Grade is what a temperature comes to.
func (h Heat) Grade(celsius float64) steps.Grade {
	switch {
	case celsius >= h.Critical.Value():
		return steps.Fail
	case celsius >= h.Warm.Value():
		return steps.Warn
	}
	return steps.Pass
}

// Says is what a temperature means that is not a PASS.
func (h Heat) Says(celsius float64) string {
	switch {
	case celsius >= h.Off.Value():
		return fmt.Sprintf("a %[2]s switches off at %.0[1]f", h.Off.Value(), h.of)
	case celsius >= h.Critical.Value():
		return fmt.Sprintf("critical for a %[2]s from %.0[1]f; it switches off at %.0[3]f", h.Critical.Value(), h.of,
			h.Off.Value())
	default:
		return fmt.Sprintf("a %s warns from %.0f and switches off at %.0f", h.of, h.Warm.Value(),
			h.Off.Value())
	}
}
