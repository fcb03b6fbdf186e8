package net

import "math"

// What an adapter's heat does with what it moves. An adapter of a Spark is some 14 degrees warmer under full load than
// at rest, which it has reached after a minute or so: chosen for the look of it, no verdict reckons with it.
const (
	fullRise = 14.0 // degrees
	fullLoad = 2 * cableRate
	heatTime = 20.0 // seconds in which two thirds of the way are gone
)

// heat is how far above its rest an adapter was at an instant, in degrees, where it goes from there, and the
// most that it ever was.
type heat struct{ rise, to, at, most float64 }

// now is the rise at an instant.
func (h heat) now(at float64) float64 {
	return h.to + (h.rise-h.to)*math.Exp(-max(0, at-h.at)/heatTime)
}

// warm has the node's adapter go towards the heat of what it moves from now on, bits a second.
func (n *Stack) warm(rate float64) {
	at := n.Fabric.at
	rise := n.heat.now(at)
	n.heat = heat{rise, fullRise * min(1, rate/fullLoad), at, max(n.heat.most, rise)}
}

// Rise is how far above its rest the node's adapter is, and the most that it was since the rig's start, in degrees.
func (n *Stack) Rise() (now, most float64) {
	now = n.heat.now(n.Fabric.Now())
	return now, max(now, n.heat.most)
}
