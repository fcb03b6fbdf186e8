package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Deliverer is a Node that takes a file of this side.
type Deliverer interface {
	Node
	// Deliver writes content into a new file of the node, which only its login can read and run.
	// What is there already is left as it is, and an error. Half a file is left where it fails:
	// who asks for it clears the folder, and looks whether what arrived is what was sent. It
	// returns once nothing on the node writes any more, or the connection to it has gone.
	Deliver(ctx context.Context, path string, content io.Reader) error
}

// deliverScript writes its stdin into $1, and then prints $2. It needs no supervisor: it ends with its
// stdin, and that with the connection.
const deliverScript = `umask 077; set -C; cat >"$1" && chmod 700 "$1" && echo "$2"`

// Deliver writes a file over the connection; see Deliverer.
func (n *SSH) Deliver(ctx context.Context, path string, content io.Reader) error {
	const op = "hand a file over to"
	ctx, end, err := n.enter(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	conn, err := n.connected(ctx, true)
	if err != nil {
		return err
	}
	if err := deliver(ctx, conn, path, content); err != nil {
		return &Error{Kind: Unknown, Op: op, Node: n.o.Name, Err: err}
	}
	return nil
}

func deliver(ctx context.Context, l launcher, path string, content io.Reader) error {
	whole := rand.Text() // no text that a login prints before it is taken for it
	p, err := l.launch(ctx, "sh -c "+Quote(deliverScript)+" railbench-deliver "+Quote(path)+" "+whole)
	if err != nil {
		return err
	}
	var said [2]ending
	streams := make(chan struct{})
	go func() {
		defer close(streams)
		var both sync.WaitGroup
		for i, from := range []io.Reader{p.stdout, p.stderr} {
			both.Go(func() {
				_, _ = io.Copy(&said[i], from)
			})
		}
		both.Wait()
	}()
	// A write that is stuck ends with the channel.
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(p.stdin, &untilDone{ctx, content})
		sent <- errors.Join(err, p.stdin.Close())
	}()
	select {
	case <-streams:
	case <-ctx.Done():
		// It ends by itself now, unless the node doesn't answer.
		late := time.NewTimer(endWait)
		defer late.Stop()
		select {
		case <-streams:
		case <-late.C:
			p.abandon()
			<-streams
		}
	}
	waited := p.wait()
	switch arrived := strings.HasSuffix(strings.TrimSpace(string(said[0])), whole); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case arrived:
		return <-sent
	case len(said[1]) > 0:
		return fmt.Errorf("write %s: %s", path, strings.TrimSpace(strings.ToValidUTF8(string(said[1]), "")))
	case waited != nil:
		return fmt.Errorf("write %s: %w", path, waited)
	default:
		return fmt.Errorf("write %s: the connection was lost before all of it was there", path)
	}
}

// An ending keeps the last bytes that are written to it.
type ending []byte

func (e *ending) Write(b []byte) (int, error) {
	*e = append(*e, b...)
	*e = slices.Clone((*e)[max(0, len(*e)-maxWhy):])
	return len(b), nil
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx  context.Context //nolint:containedctx // of one call, which it doesn't outlive by more than a read
	from io.Reader
}

func (u *untilDone) Read(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.from.Read(b)
}
