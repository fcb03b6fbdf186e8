package sim

import (
	"bytes"
	"io"
	"testing"
)

// What is typed ahead, or pasted, is kept up to a terminal's limit: a client that never stops must not fill
// the memory.
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
