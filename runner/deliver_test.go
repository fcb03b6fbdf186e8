package runner_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/nodetest"
)

// What was sent is what is there, and only its login can read it.
func TestDeliver(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t), nil)
	dir := t.TempDir()
	content := make([]byte, 8<<20+17)
	_, _ = rand.Read(content) // it never fails
	path := filepath.Join(dir, "it's a program")
	if err := n.Deliver(t.Context(), path, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%v: %d bytes arrived of %d", err, len(got), len(content))
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := n.Deliver(t.Context(), path, strings.NewReader("other")); err == nil {
		t.Error("what was there was overwritten")
	}
	err = n.Deliver(t.Context(), filepath.Join(dir, "no", "folder"), strings.NewReader("x"))
	if err == nil || !strings.Contains(err.Error(), "No such file or directory") &&
		!strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("%v", err)
	}
	if stdout, _, _ := nodetest.Do(t, n, "echo alive"); len(stdout) != 1 {
		t.Errorf("%q", stdout)
	}
}

// endless is a content that is interrupted once some of it was read.
type endless struct {
	interrupt context.CancelFunc
	left      int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left--; e.left == 0 {
		e.interrupt()
	}
	return len(b), nil
}

// One that is interrupted returns, and leaves the connection as it was.
func TestDeliverInterrupted(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var content io.Reader = &endless{cancel, 20}
	if err := n.Deliver(ctx, filepath.Join(t.TempDir(), "half"), content); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if stdout, _, _ := nodetest.Do(t, n, "echo alive"); len(stdout) != 1 {
		t.Errorf("%q", stdout)
	}
}
