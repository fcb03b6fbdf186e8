package host

import (
	"slices"
	"testing"
)

// A waiter may have taken the job off the list before the job reports its end a second time.
func TestJobThatIsOffTheList(t *testing.T) {
	if got := (&Shell{}).endJob(nil, 3); !slices.Equal(got, status(3)) {
		t.Errorf("it does %v, and %v keeps the status", got, status(3))
	}
}
