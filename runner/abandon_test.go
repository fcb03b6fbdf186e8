package runner

import (
	"io"
	"testing"
)

// A supervisor that does not end is given up: its streams end, a write to it fails, and no code waits for it
// any more. Otherwise a script in an uninterruptible sleep would hold its run for ever.
func TestAnAbandonedSupervisorIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	p, err := local{}.launch(t.Context(), "exec sleep 100000")
	if err != nil {
		t.Fatal(err)
	}
	p.abandon()
	_, _ = io.Copy(io.Discard, p.stdout) // its end is all that is asked for
	if _, err := p.stdin.Write([]byte("x")); err == nil {
		t.Error("the abandoned supervisor can be written to")
	}
	if err := p.wait(); err != nil {
		t.Errorf("wait for the abandoned supervisor: %v", err)
	}
}
