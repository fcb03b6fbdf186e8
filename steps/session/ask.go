package session

import (
	"context"
	"errors"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// An Asker hands the nodes' questions to a screen and waits for the answers.
type Asker struct {
	questions chan steps.Question
}

// NewAsker makes one; the session that gets it passes on its questions.
func NewAsker() *Asker { return &Asker{questions: make(chan steps.Question)} }

// errDeclined says that the user did not answer.
var errDeclined = errors.New("you declined")

// HostKey asks whether an unknown host's key may be trusted.
func (a *Asker) HostKey(ctx context.Context, q runner.HostKeyQuestion) (bool, error) {
	answer, ok, err := a.put(ctx, steps.Question{HostKey: &q})
	return ok && answer == "yes", err
}

// Secret asks for a password or passphrase.
func (a *Asker) Secret(ctx context.Context, q runner.SecretQuestion) (string, error) {
	answer, ok, err := a.put(ctx, steps.Question{Secret: &q})
	if err == nil && !ok {
		err = errDeclined
	}
	return answer, err
}

// Change asks before a change, and whether it stays: that only until its deadline.
func (a *Asker) Change(ctx context.Context, q steps.ChangeQuestion) (bool, error) {
	if !q.Deadline.IsZero() {
		timed, cancel := context.WithDeadline(ctx, q.Deadline.Add(-keepMargin))
		defer cancel()
		answer, ok, err := a.put(timed, steps.Question{Change: &q})
		if err != nil && ctx.Err() == nil {
			return false, nil // no answer counts as no
		}
		return ok && answer == "yes", err
	}
	answer, ok, err := a.put(ctx, steps.Question{Change: &q})
	return ok && answer == "yes", err
}

// keepMargin is the time for sending the confirmation of a change to both nodes.
const keepMargin = 5 * time.Second

func (a *Asker) put(ctx context.Context, q steps.Question) (string, bool, error) {
	type answer struct {
		text string
		ok   bool
	}
	// A slot of one: an answer that comes after ctx has ended blocks nothing.
	answers := make(chan answer, 1)
	q.Answer = func(text string, ok bool) {
		select {
		case answers <- answer{text, ok}:
		default:
		}
	}
	select {
	case a.questions <- q:
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	select {
	case x := <-answers:
		return x.text, x.ok, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}
