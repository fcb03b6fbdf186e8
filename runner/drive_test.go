package runner

import (
	"errors"
	"strings"
	"testing"
)

// What the supervisor says and what happens here meet in any order: the first reason for the
// end stays, an answer beats it only where it came before, and nothing that the node ended
// has one.
func TestHowARunEnds(t *testing.T) {
	failed := errors.New("the channel broke")
	for _, c := range []struct {
		name   string
		events string // one letter or word each, see below
		waited error
		exit   string
		kind   Kind
		is     error
	}{
		{"by itself", "exit:0", nil, "exit 0", 0, nil},
		{"failed", "exit:3", nil, "exit 3", 0, nil},
		{"by a signal", "exit:143", nil, "exit 143", 0, nil},
		{"cancelled", "cancel exit:143", nil, "interrupted", 0, nil},
		{"cancelled when it was over", "exit:0 cancel", nil, "exit 0", 0, nil},
		{"its limit, seen here", "timeout exit:143", nil, "timed out", 0, nil},
		{"its limit, told by the node", "limit exit:143", nil, "timed out", 0, nil},
		{"cancelled after its limit", "timeout cancel exit:143", nil, "timed out", 0, nil},
		{"silence", "silent exit:143", nil, "exit 143", Silent, nil},
		{"a supervisor that hangs", "begun cancel late", nil, "interrupted", Lost, nil},
		{"a supervisor that never began", "timeout late", nil, "timed out", NoShell, nil},
		{"a supervisor that had not begun", "cancel late", nil, "interrupted", NoShell, nil},
		{"a supervisor that hangs after its answer", "exit:0 late", nil, "exit 0", Lost, nil},
		{"no answer", "", nil, "exit -1", 0, errSupervisor},
		{"no answer, no connection", "", failed, "exit -1", 0, failed},
		{"a status that is not a number", "exit:x", nil, "exit -1", 0, errSupervisor},
		{"a login that is refused", "login:not_available", nil, "exit -1", NoShell, nil},
		{"a login that prints, and a lost connection", "login:welcome", failed, "exit -1", 0, failed},
		{"a word that nobody knows", "hello exit:0", nil, "exit 0", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			let := 0
			r := &run{id: "id", exit: Exit{Code: -1}, let: func() { let++ }}
			for event := range strings.FieldsSeq(c.events) {
				if _, said, ok := strings.Cut(event, "login:"); ok {
					r.login = said
					continue
				}
				switch event {
				case "cancel":
					r.end(Cancelled)
				case "timeout":
					r.end(TimedOut)
				case "late":
					r.abandoned = true
				default:
					r.heard(strings.Replace(event, ":", " ", 1))
				}
			}
			exit, err := r.answer("x", c.waited)
			if !strings.HasPrefix(exit.String(), c.exit) {
				t.Errorf("it %s, want %s", exit, c.exit)
			}
			e, _ := errors.AsType[*Error](err)
			switch {
			case c.kind != 0 && (e == nil || e.Kind != c.kind):
				t.Errorf("got %v, want kind %v", err, c.kind)
			case c.is != nil && (!errors.Is(err, c.is) || !errors.Is(err, errNoAnswer)):
				t.Errorf("got %v, want %v", err, c.is)
			case c.kind == 0 && c.is == nil && err != nil:
				t.Errorf("got %v", err)
			}
			// The supervisor was asked to end: heartbeats must not keep it alive.
			if c.events != "" && r.login == "" && let == 0 {
				t.Error("the heartbeats go on")
			}
		})
	}
}
