package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
)

// altered is this machine, whose supervisor begins with another text.
type altered struct {
	local
	alter func(string) string
}

func (a altered) launch(ctx context.Context, command string) (*process, error) {
	return a.local.launch(ctx, a.alter(command))
}

// ways are how a process tries to outlive its script; each reports its number. What the last ones do no process
// group, no session, no signal and no mark in the environment finds.
const ways = `
i=0
while [ "$i" -lt "$COUNT" ]; do
  i=$((i + 1))
  sleep 321 & echo "plain $!"
  sh -c 'trap "" TERM; echo "deaf $$"; exec sleep 321' &
  nohup sh -c 'echo "nohup $$"; exec sleep 321' 2>/dev/null &
  setsid sh -c 'echo "session $$"; exec sleep 321' &
  sh -c 'setsid sh -c "echo orphan \$\$; exec sleep 321" & exit 0'
  env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo "stranger $$"; exec sleep 321' &
  env -i PATH="$PATH" sh -c 'setsid sh -c "trap \"\" TERM; sh -c \"echo foundling \\\$\\\$; exec sleep 321\" & exit 0" & exit 0'
done
`

// waysOf are those of some kinds.
func waysOf(kinds []string) (some string) {
	for l := range strings.Lines(ways) {
		kind := regexp.MustCompile(`echo "?(\w+) `).FindStringSubmatch(l)
		if kind == nil || slices.Contains(kinds, kind[1]) {
			some += l
		}
	}
	return some
}

// TestNothingSurvives: of each kind, and with each of what can catch them, all are gone when Run
// returns, whether the script ends, is cancelled, reaches its limit or is heard of no more.
func TestNothingSurvives(t *testing.T) {
	testform.NeedsFull(t, "starts thousands of processes") // so many that nothing runs beside it
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc")
	}
	kinds := []string{"plain", "deaf", "nohup", "session", "orphan", "stranger", "foundling"}
	const count, limit = 25, 8 * time.Second // of each
	same := func(command string) string { return command }
	for name, catch := range map[string]struct {
		alter func(string) string
		needs func() bool
		kinds []string // that are caught
	}{
		"group":  {same, canGroup, kinds},
		"parent": {without("/sys/fs/cgroup"), func() bool { return true }, kinds},
		"shell":  {without(perls...), canGroup, kinds},
		"scope":  {scoped(t), canGroup, kinds},
		// As on a node without perl, control groups and systemd: what privileges reports. The last kinds are found
		// there by the output that they hold.
		"nothing": {without(slices.Concat(perls, groups)...), func() bool { return true }, kinds},
	} {
		for how, run := range map[string]struct {
			tail   string
			limit  time.Duration
			cancel bool
			mute   bool
		}{
			"its own end": {tail: "sleep 1"}, "cancel": {tail: "sleep 600", cancel: true},
			"limit": {tail: "sleep 600", limit: limit}, "silence": {tail: "sleep 600", mute: true},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				if !catch.needs() {
					t.Skip("this machine lets nobody make a control group here")
				}
				var on launcher = altered{alter: catch.alter}
				var silent atomic.Bool
				if run.mute {
					on = muteAs{on, &silent}
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				found := map[string][]string{}
				catches, all, gone := "", 0, 0
				began := time.Now()
				_, err := drive(ctx, on, "", "", Script{
					Name: "ways", Body: "echo catches $RAILBENCH_CATCHES\n" + waysOf(catch.kinds) + run.tail, Limit: run.limit,
					Vars: map[string]string{"COUNT": strconv.Itoa(count)},
				}, func(l Line) {
					kind, pid, _ := strings.Cut(l.Text, " ")
					if kind == "catches" {
						catches = pid
						return
					}
					if !slices.Contains(kinds, kind) {
						return // the shell's own words
					}
					found[kind] = append(found[kind], pid)
					if all++; all == count*len(catch.kinds) {
						began = time.Now()
						silent.Store(true)
						if run.cancel {
							cancel()
						}
					}
				})
				took := time.Since(began)
				if err != nil && !run.mute {
					t.Fatal(err)
				}
				if want := map[string]string{"shell": "group", "scope": "group"}[name]; catches != name && catches != want {
					t.Errorf("they are caught by %q", catches)
				}
				if len(found) != len(catch.kinds) {
					t.Errorf("%d kinds of processes began: %v", len(found), found)
				}
				for kind, pids := range found {
					// The limit may come before all have begun: how many begin in its time is the machine's.
					if len(pids) != count && run.limit == 0 {
						t.Errorf("%d of %d %s began", len(pids), count, kind)
					}
					for _, pid := range pids {
						if gone++; lives(pid) {
							gone--
							t.Errorf("%s: process %s is alive", kind, pid)
						}
					}
				}
				t.Logf("tried %d, gone %d, of %d kinds, %.1f s after the last had begun", all, gone, len(found), took.Seconds())
			})
		}
	}
}

// TestHeldOutput: a process that nothing on the node catches or ends, and that holds the script's output,
// does not hold the run. The process is reported, and the node's other scripts go on.
func TestHeldOutput(t *testing.T) {
	testform.NeedsFull(t, "waits for a script's end")
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc")
	}
	bare := without(slices.Concat(perls, groups)...)
	for name, c := range map[string]struct {
		alter func(string) string
		told  string // with the process's number
	}{
		"not found": {
			func(s string) string { return strings.ReplaceAll(bare(s), "ls -l /proc/", "ls -l /nowhere/") },
			"holds its output",
		},
		"not ended": {func(s string) string { return strings.ReplaceAll(bare(s), `kill "-$1" "$f"`, ":") }, "PID (sleep)"},
		"not ended, by Perl": {func(s string) string {
			s = without("/sys/fs/cgroup")(s)
			return strings.ReplaceAll(s, "kill $signal, $_ for @all", "@all")
		}, "PID (sleep)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pid string
			var exit Exit
			var err error
			for range 3 { // on a busy machine the looks at all processes take longer than a supervisor is waited for
				exit, err = drive(t.Context(), altered{alter: c.alter}, "", "", Script{
					Name: "leaves",
					Body: `env -i PATH="$PATH" sh -c 'setsid sh -c "trap \"\" TERM; echo \$\$; exec sleep 321" & exit 0'; sleep 0.5`,
				}, func(l Line) { pid = l.Text })
				if p, convErr := strconv.Atoi(pid); convErr != nil || !lives(pid) {
					t.Errorf("what was left is %q", pid)
				} else {
					_ = syscall.Kill(p, syscall.SIGKILL)
				}
				if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Lost {
					break
				}
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Kind != Held || !strings.Contains(e.Cause(), strings.Replace(c.told, "PID", pid, 1)) || exit.Code != 0 {
				t.Errorf("it is told as %v: %v", exit, err)
			}
		})
	}
}

// Each process of a script is sent one TERM: a second one could end what the first made it clean up.
func TestEachIsToldOnce(t *testing.T) {
	testform.NeedsFull(t, "starts processes")
	t.Parallel()
	for name, way := range map[string]struct {
		alter     func(string) string
		kill, log string
	}{
		"shell": {without(perls...), `kill "-$1" "$f"`, `echo "$1 $f" >>`},
		"Perl": {
			func(c string) string { return c }, "kill $signal, $_ for @all;",
			`open(my $log, ">>", $ENV{RAILBENCH_TOLD}); print $log map { "$signal $_\n" } @all;`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := filepath.Join(t.TempDir(), "told")
			a := altered{alter: func(c string) string {
				c = way.alter(c)
				if !strings.Contains(c, way.kill) {
					t.Error("the supervisor sends its signals in another way")
				}
				log := way.log + told
				if name == "Perl" {
					log = strings.ReplaceAll(way.log, "$ENV{RAILBENCH_TOLD}", `"`+told+`"`)
				}
				return strings.Replace(c, way.kill, way.kill+"\n"+log, 1)
			}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			exit, err := drive(ctx, a, "", "", Script{Name: "told", Body: "sleep 321 & sleep 321 & echo up; wait"},
				func(Line) { cancel() })
			if err != nil || exit.Why != Cancelled {
				t.Fatalf("%v: %v", exit, err)
			}
			text, err := os.ReadFile(told)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Fields(strings.ReplaceAll(string(text), "TERM ", ""))
			slices.Sort(all)
			if len(all) < 3 || len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("told were %q", text)
			}
		})
	}
}

// lives reports whether a process runs.
func lives(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// canGroup reports whether the supervisor may make a control group here.
func canGroup() bool {
	var catches string
	_, err := drive(context.Background(), local{}, "", "", Script{Name: "look", Body: "echo $RAILBENCH_CATCHES"},
		func(l Line) { catches = l.Text })
	return err == nil && catches == "group"
}

// A control group that is left of a process long gone, whose number is given again, keeps no one from one.
func TestGroupOfTheSameName(t *testing.T) {
	testform.NeedsFull(t, "makes a control group")
	t.Parallel()
	if !canGroup() {
		t.Skip("this machine lets nobody make a control group here")
	}
	for name, way := range map[string]struct {
		alter func(string) string
		makes string
	}{
		"shell": {without(perls...), `mkdir "$RAILBENCH_GROUP" ||`},
		"Perl":  {func(c string) string { return c }, "mkdir($made) or"},
	} {
		left := altered{alter: func(c string) string {
			if c = way.alter(c); !strings.Contains(c, way.makes) {
				t.Errorf("the supervisor in %s doesn't say %s", name, way.makes)
			}
			first, _, _ := strings.Cut(way.makes, " or")
			first, _, _ = strings.Cut(first, " ||")
			if name == "Perl" {
				return strings.Replace(c, "return $made if "+way.makes, first+"; return $made if "+way.makes, 1)
			}
			return strings.Replace(c, way.makes, first+"; "+way.makes, 1)
		}}
		catches := ""
		_, err := drive(t.Context(), left, "", "", Script{Name: "look", Body: "echo $RAILBENCH_CATCHES"},
			func(l Line) { catches = l.Text })
		if err != nil || catches != "group" {
			t.Errorf("it is caught by %q in %s, %v", catches, name, err)
		}
	}
}

// What a node without Perl, and without control groups and systemd, has none of.
var (
	perls  = []string{"command -v perl", "-x /usr/bin/perl"}
	groups = []string{"/sys/fs/cgroup", "systemd-run"}
)

// scoped is a supervisor that may divide its group only in a scope of systemd's, which is one that does
// nothing but run what it is given.
func scoped(t *testing.T) func(string) string {
	fake := filepath.Join(t.TempDir(), "systemd-run")
	text := "#!/bin/sh\nwhile [ \"$1\" != true ] && [ \"$1\" != sh ]; do shift; done\nexec \"$@\"\n"
	if err := os.WriteFile(fake, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return func(c string) string {
		c = strings.ReplaceAll(c, "if ! group &&", "if ! { [ \"$RAILBENCH_SCOPE\" ] && group; } &&")
		c = without(perls...)(c)
		return strings.ReplaceAll(c, "systemd-run", fake)
	}
}

// without is a supervisor that finds none of some things on its node.
func without(things ...string) func(string) string {
	return func(c string) string {
		for _, thing := range things {
			there := "/nowhere"
			if words := strings.Fields(thing); len(words) > 0 && !strings.HasPrefix(thing, "/") {
				there = strings.Replace(thing, words[len(words)-1], "no-"+words[len(words)-1], 1)
			}
			c = strings.ReplaceAll(c, thing, there)
		}
		return c
	}
}

// muteAs is a node behind a connection that carries no heartbeat from some moment on.
type muteAs struct {
	launcher
	now *atomic.Bool
}

func (m muteAs) launch(ctx context.Context, command string) (*process, error) {
	p, err := m.launcher.launch(ctx, command)
	if err == nil {
		p.stdin = deafFrom{p.stdin, m.now}
	}
	return p, err
}

type deafFrom struct {
	io.WriteCloser
	now *atomic.Bool
}

func (d deafFrom) Write(b []byte) (int, error) {
	if d.now.Load() {
		return deaf{d.WriteCloser}.Write(b)
	}
	return d.WriteCloser.Write(b)
}
