package host

import (
	"slices"
	"testing"
)

// Whoever waited for a job may have taken it off the list before it tells its end again.
func TestJobThatIsOffTheList(t *testing.T) {
	if got := (&Shell{}).endJob(nil, 3); !slices.Equal(got, status(3)) {
		t.Errorf("it does %v, and %v keeps the status", got, status(3))
	}
}
