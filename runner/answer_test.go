package runner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	n := runner.NewLocal("here", runner.NoAsker{})
	defer n.Close()
	said, err := runner.Ask(t.Context(), n, runner.Script{Name: "x", Body: "echo out; echo ' no ' >&2; exit 3"})
	if err != nil || said.Out != "out\n" || said.Complaints != "no" || said.Exit.Code != 3 {
		t.Errorf("%+v, %v", said, err)
	}
	if out, err := runner.Text(t.Context(), n,
		runner.Script{Name: "x", Body: "echo out; printf '%05000d' 1 >&2; exit 3"}); err == nil ||
		!strings.HasPrefix(err.Error(), "x on here: exit 3: 000") || len(err.Error()) > 3000 || out != "out\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// Who says too much is ended, and half an answer is none.
func TestAskIsBounded(t *testing.T) {
	testform.NeedsFull(t, "floods")
	t.Parallel()
	n := runner.NewLocal("here", runner.NoAsker{})
	defer n.Close()
	for _, body := range []string{"yes railbench", "yes railbench >&2", "yes | tr -d '\\n'"} {
		said, err := runner.Ask(t.Context(), n, runner.Script{Name: "x", Body: body, Limit: 10 * time.Minute})
		if !errors.Is(err, runner.ErrLong) {
			t.Errorf("%s: %v", body, err)
		}
		if len(said.Out)+len(said.Complaints) > 2*runner.MaxAnswer {
			t.Errorf("%s: %d bytes are kept", body, len(said.Out)+len(said.Complaints))
		}
	}
}
