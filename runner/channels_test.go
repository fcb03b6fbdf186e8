package runner

import (
	"testing"
	"testing/synctest"
)

// A spare's heartbeat can be stuck in a connection that is dead. Who takes that spare waits
// for it, and must not hold the lock that close needs to end the connection.
func TestAStuckSpareKeepsNobodyFromClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &waiting{
			process: &process{}, exited: make(chan error, 1), stop: make(chan struct{}), fed: make(chan struct{}),
		}
		c := &channels{ready: []*waiting{stuck}, closed: true} // closed: it starts no other
		var got *process
		go func() { got = c.spare(t.Context()) }()
		synctest.Wait()
		if !c.mu.TryLock() {
			t.Fatal("the lock is held while a beat is stuck")
		}
		c.mu.Unlock()
		close(stuck.fed)
		synctest.Wait()
		if got != stuck.process {
			t.Error("the spare was not handed over")
		}
	})
}
