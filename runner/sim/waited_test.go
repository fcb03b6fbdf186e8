package sim

import "testing"

// A job that failed is waited for while it still says so: its end is reported twice, and the second time it
// may be off the list.
func TestFailedJobsAreWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	const script = `i=0; while [ $i -lt 200 ]; do (exit 3) & wait $!; [ $? = 3 ] || echo bad; i=$((i+1)); done; echo done`
	if said := b.must("spark-01", script); said != "done\n" {
		t.Errorf("%q", said)
	}
}
