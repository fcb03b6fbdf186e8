package net

import (
	"testing"
	"time"
)

// An adapter gets warmer while it works and cools down afterwards, and keeps in mind how warm it was.
func TestHeat(t *testing.T) {
	f, pass := wired(t, 2)
	n := f.Stacks[0]
	rise := func() (now, most float64) {
		f.Lock()
		defer f.Unlock()
		f.Advance()
		return n.Rise()
	}
	if now, most := rise(); now != 0 || most != 0 {
		t.Fatalf("at rest: %v, %v", now, most)
	}
	fl := between(f, 0, 1)
	fl.Until = 60
	f.Add(fl)
	pass(30 * time.Second)
	half, _ := rise()
	pass(40 * time.Second)
	_, most := rise()
	pass(10 * time.Minute)
	rest, still := rise()
	if half <= 1 || most <= half || rest > 0.1 || still != most || most > fullRise {
		t.Errorf("%.2f, %.2f at most, %.2f and %.2f afterwards", half, most, rest, still)
	}
}
