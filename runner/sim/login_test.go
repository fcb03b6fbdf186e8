package sim

import (
	"bytes"
	"io"
	"testing"
)

// What somebody types ahead, or pastes, is kept up to what a terminal keeps: a client that
// never stops must not fill the memory.
func TestTypedAheadIsBounded(t *testing.T) {
	t.Parallel()
	k := newKeyboard(bytes.NewReader(bytes.Repeat([]byte("x"), 10*typedAhead)))
	k.mu.Lock()
	for k.err == nil {
		k.changed.Wait()
	}
	k.mu.Unlock()
	if got, err := io.ReadAll(k); err != nil || len(got) != typedAhead {
		t.Errorf("%d bytes are kept, %v, want %d", len(got), err, typedAhead)
	}
}
