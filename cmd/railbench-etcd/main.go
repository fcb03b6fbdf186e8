// Command railbench-etcd is the etcd through which nixlbench's two ends meet. It is a
// module of its own: etcd's libraries are most of what a program with them downloads,
// starts and weighs, and one kind of cell needs them. railbench starts it; by hand it
// serves until its stdin ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// usageStatus is the exit status for a command line that is wrong.
const usageStatus = 2

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run writes the server's URL to stdout, in one line, once the server answers, and ends when stdin ends. So
// it ends with the process that started it, even where that process is killed. run prints errors on stderr
// and returns the exit status 1.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("railbench-etcd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "usage: railbench-etcd [-dir FOLDER]\n\n"+
			"Serves an etcd on a free port of 127.0.0.1, prints its URL, and ends when stdin ends.\n"+
			"railbench starts it for nixlbench.\n\n")
		flags.PrintDefaults()
	}
	dir := flags.String("dir", "", "keep the data in `FOLDER`, and remove it at the end with the folder, "+
		"unless something else is in there (default a temporary folder)")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return usageStatus // Parse has said why
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "unknown argument %q\n", flags.Arg(0))
		flags.Usage()
		return usageStatus
	}
	// By hand, in a terminal.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, stdin) // an end is an end, whatever its reason
		stop()
	}()
	err := serve(ctx, *dir, stdout, left)
	if *dir != "" {
		_ = os.Remove(*dir) // what else is in there keeps it, and who made it removes it otherwise
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, dir string, stdout io.Writer, left <-chan struct{}) error {
	s, err := Start(ctx, dir)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, s.URL()); err != nil {
		_ = s.Close() // no one is there to hear of it
		return fmt.Errorf("print where etcd is: %w", err)
	}
	select {
	case <-left:
	case <-ctx.Done():
	case <-s.Failed():
		_ = s.Close() // the reason to print is the first
		return s.Err()
	}
	return s.Close()
}
