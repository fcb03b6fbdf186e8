package console

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
)

// Until does something that knows no context, as a read of a terminal or a pipe, until ctx ends.
func Until[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		what T
		err  error
	}
	done := make(chan result, 1)
	go func() {
		what, err := do()
		done <- result{what, err}
	}()
	select {
	case r := <-done:
		return r.what, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// ReadLine reads a line, or waits until ctx ends.
func ReadLine(ctx context.Context, in io.Reader) (string, error) {
	return Until(ctx, func() (string, error) { return bufio.NewReader(in).ReadString('\n') })
}

// ReadAll reads until the end, or until ctx ends, and no more than most bytes.
func ReadAll(ctx context.Context, in io.Reader, most int64) (string, error) {
	text, err := Until(ctx, func() (string, error) { return readPieces(io.LimitReader(in, most)) })
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted before all of it was read")
	}
	return text, err
}

// readPieces reads all of a stream whose length no one knows, in three times its memory: one buffer that grows takes
// many times that of it.
func readPieces(in io.Reader) (string, error) {
	var pieces [][]byte
	for {
		piece := make([]byte, 1<<20)
		n, err := io.ReadFull(in, piece)
		pieces = append(pieces, piece[:n])
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return string(bytes.Join(pieces, nil)), err
	}
}

// A LateFile is opened with the first read, and closed with the last.
type LateFile struct {
	Name string
	f    *os.File
}

func (l *LateFile) Read(b []byte) (n int, err error) {
	if l.f == nil {
		if l.f, err = os.Open(l.Name); err != nil {
			return 0, err
		}
	}
	if n, err = l.f.Read(b); err != nil {
		l.f.Close()
	}
	return n, err
}
