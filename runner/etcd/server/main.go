package server

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"
)

// Main is the program railbench-etcd: it writes the server's URL to stdout, in one
// line, once it answers, and ends when stdin ends. So it ends with whoever has started
// it, even where that is killed. What went wrong is told on stderr, with the exit
// status 1.
func Main(stdin io.Reader, stdout, stderr io.Writer) int {
	// By hand, in a terminal.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, stdin) // an end is an end, whatever its reason
		stop()
	}()
	if err := serve(ctx, stdout, left); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, stdout io.Writer, left <-chan struct{}) error {
	s, err := Start(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, s.URL()); err != nil {
		_ = s.Close() // nobody is there to hear of it
		return fmt.Errorf("tell where etcd is: %w", err)
	}
	select {
	case <-left:
	case <-ctx.Done():
	case <-s.Failed():
		_ = s.Close() // the reason to tell is the first
		return s.Err()
	}
	return s.Close()
}
