package runner

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// mute is this machine behind a connection that carries the script and then no
// heartbeat: a laptop that sleeps, a cable that is pulled.
type mute struct{ local }

func (mute) launch(ctx context.Context, command string) (*process, error) {
	p, err := local{}.launch(ctx, command)
	if err == nil {
		p.stdin = deaf{p.stdin}
	}
	return p, err
}

type deaf struct{ io.WriteCloser }

func (d deaf) Write(b []byte) (int, error) {
	if string(b) == "." {
		return 1, nil
	}
	return d.WriteCloser.Write(b)
}

// What the node ended for silence has no answer of its own: no exit status is to
// be judged.
func TestSilence(t *testing.T) {
	testform.NeedsFull(t, "waits for a missed heartbeat")
	t.Parallel()
	_, err := drive(t.Context(), mute{}, "", "", Script{Name: "silent", Body: "sleep 60"}, func(Line) {})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Silent {
		t.Errorf("got %v", err)
	}
}
