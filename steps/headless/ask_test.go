package headless

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/railbench/railbench/runner"
)

// An answering is a user at a terminal who types a line when he is asked.
type answering struct {
	keys  *os.File
	types string // empty for no one
}

func (a *answering) Write(b []byte) (int, error) {
	if strings.HasSuffix(string(b), "(yes/no) ") && a.types != "" {
		return len(b), a.say()
	}
	return len(b), nil
}

func (a *answering) say() error {
	_, err := a.keys.WriteString(a.types + "\n")
	return err
}

// A question that no one answered leaves a read of the terminal behind. It takes no answer away from the next one,
// and none to it is taken for the next one's.
func TestAQuestionAfterOneThatNobodyAnswered(t *testing.T) {
	t.Parallel()
	keys, in, err := pty.Open()
	if err != nil {
		t.Skipf("a terminal: %v", err)
	}
	defer keys.Close()
	defer in.Close()
	go io.Copy(io.Discard, keys) // the echo
	who := &answering{keys: keys}
	a := NewAsker(in, who)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	soon, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	for range 2 {
		if yes, err := a.HostKey(over, runner.HostKeyQuestion{}); yes || err == nil {
			t.Fatal("nobody has answered: ", yes, err)
		}
	}
	who.types = "yes"
	if yes, err := a.HostKey(soon, runner.HostKeyQuestion{}); !yes || err != nil {
		t.Fatal("the answer went to a question before: ", yes, err)
	}
	who.types = ""
	if _, err := a.HostKey(over, runner.HostKeyQuestion{}); err == nil {
		t.Fatal("nobody has answered")
	}
	who.types = "yes"
	if err := who.say(); err != nil {
		t.Fatal(err)
	}
	for len(a.got) == 0 && soon.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	who.types = "no"
	if yes, err := a.HostKey(soon, runner.HostKeyQuestion{}); yes || err != nil {
		t.Fatal("what was typed too late was taken for an answer: ", yes, err)
	}
}
