// Package nodetest is the contract that every runner.Node must pass: this
// machine, a host over SSH, a simulated node.
package nodetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

// A Maker makes a fresh node. Cleaning up after it is the maker's.
type Maker func(t *testing.T) runner.Node

// Options say what the node under test has.
type Options struct {
	// Processes is set where scripts are real processes with pids.
	Processes bool
	// NoForwarding is set where a node is not a runner.Forwarder.
	NoForwarding bool
}

// Run holds a kind of node to the contract.
func Run(t *testing.T, make Maker, o Options) {
	t.Run("answers", func(t *testing.T) { answers(t, make(t)) })
	t.Run("lines", func(t *testing.T) { lines(t, make(t)) })
	t.Run("stdin", func(t *testing.T) { stdin(t, make(t)) })
	t.Run("clean", func(t *testing.T) { clean(t, make(t)) })
	t.Run("colours", func(t *testing.T) { colours(t, make(t)) })
	t.Run("flood", func(t *testing.T) { flood(t, make(t)) })
	t.Run("longLine", func(t *testing.T) { longLine(t, make(t)) })
	if o.Processes && !testform.Full() {
		return // the rest waits for limits, and starts hundreds of processes
	}
	t.Run("values", func(t *testing.T) { values(t, make(t)) })
	t.Run("cancel", func(t *testing.T) { cancel(t, make(t)) })
	t.Run("limit", func(t *testing.T) { limit(t, make(t)) })
	t.Run("together", func(t *testing.T) { together(t, make(t)) })
	t.Run("close", func(t *testing.T) { closing(t, make(t)) })
	if !o.NoForwarding {
		t.Run("forward", func(t *testing.T) { forward(t, make(t), o) })
		t.Run("forwardEnds", func(t *testing.T) { forwardEnds(t, make(t), o) })
	}
	if o.Processes {
		t.Run("leavesNothing", func(t *testing.T) { leavesNothing(t, make(t)) })
		t.Run("signals", func(t *testing.T) { signals(t, make(t)) })
		t.Run("root", func(t *testing.T) { root(t, make(t)) })
	}
}

// Do runs a script to its end and fails the test if it could not be run.
func Do(t *testing.T, n runner.Node, body string) (stdout, stderr []string, exit runner.Exit) {
	t.Helper()
	return do(t, n, runner.Script{Name: t.Name(), Body: body, Limit: time.Minute})
}

func do(t *testing.T, n runner.Node, s runner.Script) (stdout, stderr []string, exit runner.Exit) {
	t.Helper()
	exit, err := n.Run(t.Context(), s, func(l runner.Line) {
		if l.Stream == runner.Stderr {
			stderr = append(stderr, l.Text)
		} else {
			stdout = append(stdout, l.Text)
		}
	})
	if err != nil {
		t.Fatalf("run %q: %v", s.Body, err)
	}
	return stdout, stderr, exit
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func answers(t *testing.T, n runner.Node) {
	for _, code := range []int{0, 1, 42, 126} {
		stdout, stderr, exit := Do(t, n, fmt.Sprintf("echo out; echo err >&2; exit %d", code))
		equal(t, "stdout", stdout, "out")
		equal(t, "stderr", stderr, "err")
		// 126 is a shell's own where a program can't be run; from 128 on a signal would be meant.
		if exit.Code != code || exit.Why != runner.Ended || exit.OK() != (code == 0) {
			t.Errorf("exit %d: got %+v", code, exit)
		}
	}
	if _, stderr, exit := Do(t, n, "no-such-command-anywhere"); exit.Code != 127 || len(stderr) == 0 {
		t.Errorf("a command that is missing: exit %+v, stderr %q", exit, stderr)
	}
	if _, _, exit := Do(t, n, "echo 'never closed"); exit.Code == 0 {
		t.Error("a syntax error answers 0")
	}
}

// lines are cut at \n, and lose a \r before it; what has no end at the end of a script is a line all the same.
func lines(t *testing.T, n runner.Node) {
	stdout, _, _ := Do(t, n, `printf 'a\n\nb\r\nno line end'`)
	equal(t, "stdout", stdout, "a", "", "b", "no line end")
	stdout, _, _ = Do(t, n, `i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done`)
	for i, s := range stdout {
		if s != strconv.Itoa(i) {
			t.Fatalf("line %d is %q", i, s)
		}
	}
	if len(stdout) != 300 {
		t.Errorf("got %d lines of 300", len(stdout))
	}
}

// Nasty are values that must arrive as they are.
var Nasty = []string{
	"", " ", "a b", "'", `"`, `\`, "$HOME", "$(echo gone)", "`echo gone`", "; exit 3", "-n", "--help",
	"a\nb", "*", "~", "!", "&", "|", ">x", "#", "ä€😀", "'; exit 4; '", "\\'", "a\tb",
}

// values arrive byte for byte, and a name that the shell would not take as a variable's runs nothing: it would
// be script.
func values(t *testing.T, n runner.Node) {
	for i, v := range Nasty {
		if strings.Contains(v, "\t") {
			continue // a tab is shown as blanks
		}
		stdout, stderr, exit := do(t, n, runner.Script{
			Name: "values", Vars: map[string]string{"VALUE": v, "OTHER": "x"}, Body: `printf '[%s]%s\n' "$VALUE" "$OTHER"`,
		})
		equal(t, fmt.Sprintf("value %d %q", i, v), stdout, strings.Split("["+v+"]x", "\n")...)
		if !exit.OK() || len(stderr) > 0 {
			t.Errorf("value %q: %v %q", v, exit, stderr)
		}
	}
	for _, bad := range []map[string]string{{"a b": ""}, {"1a": ""}, {"a;b": ""}, {"": ""}, {"OK": "\x00"}} {
		if _, err := n.Run(t.Context(), runner.Script{Name: "bad", Vars: bad, Body: "echo ran"}, func(l runner.Line) {
			t.Errorf("%v ran: %q", bad, l.Text)
		}); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// stdin is at its end at once: a script that asks a user must not wait for him.
func stdin(t *testing.T, n runner.Node) {
	stdout, _, exit := Do(t, n, `if read -r x; then echo "got $x"; else echo nothing; fi; cat; echo done`)
	equal(t, "stdout", stdout, "nothing", "done")
	if !exit.OK() {
		t.Error(exit)
	}
}

// clean is text without what controls a terminal; 0xE2 0x80 0xAE is U+202E, which turns the rest of a line
// around.
func clean(t *testing.T, n runner.Node) {
	stdout, _, _ := Do(t, n, `printf 'a\033[31mred\033[0m\033]0;title\007z\n'; printf 'bell\007 back\010 nul\n'; printf 'c\033[2J\n'; printf '\342\200\256evil\n'`)
	equal(t, "stdout", stdout[:3], "aredz", "bell^G back^H nul", "c")
	for _, s := range stdout {
		for _, r := range s {
			if unicode.IsControl(r) || r == 0x202e {
				t.Errorf("%q holds %U", s, r)
			}
		}
	}
}

// colours stand next to the text, up to the line's end, on both streams.
func colours(t *testing.T, n runner.Node) {
	red := []runner.Span{{Style: runner.Style{Fg: runner.Indexed(1), Attr: runner.Bold}}, {At: 3}}
	want := map[runner.Stream][][]runner.Span{runner.Stdout: {red, nil}, runner.Stderr: {red[:1], nil}}
	got := map[runner.Stream][][]runner.Span{}
	_, err := n.Run(t.Context(), runner.Script{
		Name: "colours",
		Body: `printf '\033[1;31mred\033[0m plain\nplain\n'; printf '\033[1;31mred\nplain\n' >&2`,
	}, func(l runner.Line) {
		got[l.Stream] = append(got[l.Stream], l.Spans)
		if l.Text != "red" && l.Text != "plain" && l.Text != "red plain" {
			t.Errorf("the text is %q", l.Text)
		}
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// flood's lines come in their order and before Run returns: none is late. 20,000 are more than any buffer on
// the way.
func flood(t *testing.T, n runner.Node) {
	const count = 20_000
	var got, late int
	done := false
	exit, err := n.Run(t.Context(), runner.Script{Name: "flood", Body: fmt.Sprintf("seq 1 %d", count)},
		func(l runner.Line) {
			if got++; l.Text != strconv.Itoa(got) {
				t.Fatalf("line %d is %q", got, l.Text)
			}
			if done {
				late++
			}
		})
	done = true
	if err != nil || !exit.OK() || got != count || late > 0 {
		t.Errorf("%d lines, %v, %v, %d late", got, exit, err, late)
	}
}

// longLine has no end for 40 KiB: it comes in pieces that are marked as cut, and no byte is lost.
func longLine(t *testing.T, n runner.Node) {
	var total, longest, cut int
	_, err := n.Run(t.Context(), runner.Script{Name: "long", Body: `x=0123456789abcdef0123456789abcdef
x=$x$x$x$x; x=$x$x$x$x; x=$x$x$x$x
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf %s "$x"; done; echo`}, func(l runner.Line) {
		total += len(l.Text)
		longest = max(longest, len(l.Text))
		if l.Cut {
			cut++
		}
	})
	if err != nil || total != 20*32*64 || longest > runner.MaxLine || cut == 0 {
		t.Errorf("%d bytes, longest %d, %d cut, %v", total, longest, cut, err)
	}
}

// endless never ends by itself but for its bound, which only a broken node reaches.
const endless = "echo ready; i=0; while [ $i -lt 1000 ]; do sleep 0.1; i=$((i+1)); done"

func cancel(t *testing.T, n runner.Node) {
	ctx, stop := context.WithCancel(t.Context())
	exit, err := n.Run(ctx, runner.Script{Name: "cancel", Body: endless}, func(runner.Line) { stop() })
	if err != nil || exit.Why != runner.Cancelled || exit.OK() {
		t.Errorf("exit %+v, %v", exit, err)
	}
	// The node goes on.
	stdout, _, _ := Do(t, n, "echo alive")
	equal(t, "afterwards", stdout, "alive")
	// A context that has ended before the start.
	if exit, err := n.Run(ctx, runner.Script{Name: "late", Body: endless}, func(runner.Line) {}); err == nil && exit.OK() {
		t.Error("a cancelled run answers OK")
	}
}

// limit ends a script that would go on, and says that it was that: TimedOut, and no exit status of the
// script's.
func limit(t *testing.T, n runner.Node) {
	exit, err := n.Run(t.Context(), runner.Script{Name: "limit", Body: endless, Limit: time.Second}, func(runner.Line) {})
	if err != nil || exit.Why != runner.TimedOut || exit.OK() || exit.Elapsed < time.Second {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

// together are several scripts at once, over what may be one connection, with what each was given kept apart.
func together(t *testing.T, n runner.Node) {
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			want := fmt.Sprintf("run %d", i)
			exit, err := n.Run(t.Context(),
				runner.Script{Name: want, Body: `sleep 0.1; echo "$WORD"`, Vars: map[string]string{"WORD": want}},
				func(l runner.Line) {
					if l.Text != want {
						t.Errorf("%s printed %q", want, l.Text)
					}
				})
			if err != nil || !exit.OK() {
				t.Errorf("%s: %v %v", want, exit, err)
			}
		})
	}
	all.Wait()
}

// closing ends what runs and refuses what comes: no one waits for a node that was closed.
func closing(t *testing.T, n runner.Node) {
	ready := make(chan bool, 1)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		exit, err := n.Run(t.Context(), runner.Script{Name: "close", Body: endless}, func(runner.Line) {
			select {
			case ready <- true:
			default:
			}
		})
		if err == nil && exit.OK() {
			t.Error("a run that Close ended answers OK")
		}
	}()
	<-ready
	n.Close()
	<-ended
	if _, err := n.Run(t.Context(), runner.Script{Name: "closed", Body: "echo ran"},
		func(runner.Line) { t.Error("ran") }); err == nil {
		t.Error("a closed node runs scripts")
	}
}

// leavesNothing starts processes that try to outlive their script in the usual
// ways, ends the script in each way, and looks for them.
func leavesNothing(t *testing.T, n runner.Node) {
	// One line each: a background job; one that ignores TERM; a session of its own; nohup; a grandchild whose
	// parent is gone; and one that has left the session and the environment, so that neither the group nor the mark
	// finds it.
	const spawn = `
sleep 321 & echo $!
(trap '' TERM; sleep 321; sleep 321) & echo $!
setsid sleep 321 & echo $!
nohup sleep 321 >/dev/null 2>&1 & echo $!
sh -c 'setsid sh -c "echo \$\$; exec sleep 321" & exit 0'
env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo $$; (sleep 321 & sleep 321 &); sleep 321; sleep 321' &
sleep 0.3
echo ready
`
	for _, how := range []struct {
		name, tail string
		limit      time.Duration
		cancel     bool
	}{
		{name: "its own end", tail: "exit 0"},
		{name: "cancel", tail: endless, cancel: true},
		{name: "limit", tail: endless, limit: 2 * time.Second},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel() // each waits for what does not want to end
			ctx, stop := context.WithCancel(t.Context())
			var pids []string
			_, err := n.Run(ctx, runner.Script{Name: "spawn", Body: spawn + how.tail, Limit: how.limit}, func(l runner.Line) {
				if l.Text == "ready" {
					if how.cancel {
						stop()
					}
				} else if l.Stream == runner.Stdout {
					pids = append(pids, l.Text)
				}
			})
			stop()
			if err != nil || len(pids) < 6 {
				t.Fatalf("%v, pids %q", err, pids)
			}
			// A zombie is none: its parent has not asked for its status yet.
			left, _, _ := Do(t, n, "for p in "+strings.Join(pids, " ")+
				`; do grep -sE "^[0-9]+ \(.*\) [^ZX]" /proc/$p/stat; done; :`)
			if len(left) > 0 {
				t.Errorf("%q are left alive", left)
			}
		})
	}
}

// signals checks that a signal is reported as a shell reports it, as 128 and its number, and that a script
// has the signal handling of a login.
func signals(t *testing.T, n runner.Node) {
	if _, _, exit := Do(t, n, "kill -9 $$"); exit.Code != 137 {
		t.Errorf("killed by 9: %+v", exit)
	}
	// A script keeps the default handling of signals: the supervisor's own does not leak.
	if _, _, exit := Do(t, n, "sh -c 'kill -PIPE $$'"); exit.Code != 128+13 {
		t.Errorf("killed by PIPE: %+v", exit)
	}
}

// root runs a script by sudo where the user isn't root. It is skipped for a user who has no sudo without a
// password.
func root(t *testing.T, n runner.Node) {
	if os.Getuid() != 0 && exec.Command("sudo", "-n", "true").Run() != nil {
		t.Skip("sudo asks this user for a password, or there is none")
	}
	stdout, _, exit := do(t, n, runner.Script{Name: "root", Body: "id -u", Root: true})
	equal(t, "id -u", stdout, "0")
	if !exit.OK() {
		t.Error(exit)
	}
}
