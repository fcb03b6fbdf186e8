package sim

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
	"golang.org/x/crypto/ssh"
)

// supervisorCommand is what a Node sends, as far as the server looks at it.
func supervisorCommand() string {
	return "sh -c " + runner.Quote("\nid=$1\necho 'the wrapper'\n") + " railbench-supervisor r1"
}

func supervisorFrame(text string) string { return "begin r1 60\n" + text + "end r1\n" }

// begun is what the supervisor says once it has the script.
const begun = "\x1er1 begun\n"

// supervised starts a command with a frame on its stdin, which stays open.
func (b *bench) supervised(command, stdin string) (in io.WriteCloser, s *ssh.Session, wait func() reply) {
	b.t.Helper()
	s, err := b.client("spark-01").NewSession()
	if err != nil {
		b.t.Fatal(err)
	}
	in, err = s.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	s.Stdout, s.Stderr = &out, &errs
	if err := s.Start(command); err != nil {
		b.t.Fatal(err)
	}
	// Where sudo refuses, nothing reads it any more.
	if _, err := io.WriteString(in, stdin); err != nil && !errors.Is(err, io.EOF) {
		b.t.Fatal(err)
	}
	return in, s, func() reply {
		err := s.Wait()
		return reply{out.String(), errs.String(), exitOf(b.t, err)}
	}
}

func TestSupervisor(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	_, _, wait := b.supervised(supervisorCommand(),
		supervisorFrame("NAME='it''s'\necho hi $NAME; echo oops >&2\nid -u; read -r x || echo no stdin\nexit 3\n"))
	if got, want := wait(), (reply{begun + "hi its\n1000\nno stdin\n\x1er1 exit 3\n", "oops\n", 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSupervisorEndsEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 1})
	in, _, wait := b.supervised(supervisorCommand(),
		supervisorFrame("ib_write_bw & (while :; do sleep 50; done) & ib_write_bw -p 18516 | cat\n"))
	b.listening(0, rdma.PerftestPort)
	b.listening(0, 18516)
	in.Close()
	if got := wait(); !strings.HasSuffix(got.out, "\x1er1 exit 143\n") {
		t.Errorf("%+v", got)
	}
	b.rack.Lock()
	defer b.rack.Unlock()
	if n := b.rack.Nodes[0]; len(n.Procs) != 0 || len(n.Listeners) != 0 {
		t.Errorf("left behind: %v, %v", n.Procs, n.Listeners)
	}
}

// What a script leaves in the background ends with it.
func TestSupervisorEndsTheBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 1})
	_, _, wait := b.supervised(supervisorCommand(), supervisorFrame("ib_write_bw & sleep 0.01; echo done\n"))
	if got := wait(); got.out != begun+"done\n\x1er1 exit 0\n" {
		t.Errorf("%+v", got)
	}
}

func TestSupervisorUnderSudo(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	text := supervisorFrame("id -u\n")
	for _, c := range []struct {
		name, command, stdin string
		fault                bool
		want                 reply
	}{
		{"no password needed", "sudo -n " + supervisorCommand(), text, false, reply{begun + "0\n\x1er1 exit 0\n", "", 0}},
		{
			"password not asked for", "sudo -S -k -p '' " + supervisorCommand(), "engineer\n" + text, false,
			reply{begun + "0\n\x1er1 exit 0\n", "", 0},
		},
		{"password missing", "sudo -n " + supervisorCommand(), text, true, reply{"", "sudo: a password is required\n", 1}},
		{
			"password right", "sudo -S -k -p '' " + supervisorCommand(), "engineer\n" + text, true,
			reply{begun + "0\n\x1er1 exit 0\n", "", 0},
		},
		{
			"password wrong", "sudo -S -k -p '' " + supervisorCommand(), "guess\n" + text, true,
			reply{"", "Sorry, try again.\nSorry, try again.\nsudo: 3 incorrect password attempts\n", 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := b.Clear
			if c.fault {
				change = b.Inject
			}
			if err := change("sudo-password"); err != nil {
				t.Fatal(err)
			}
			_, _, wait := b.supervised(c.command, c.stdin)
			if got := wait(); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
