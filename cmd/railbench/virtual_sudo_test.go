package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
)

// answers gives one answer whenever a password is asked for, and counts that.
type answers struct {
	runner.NoAsker
	password string
	asked    int
}

func (a *answers) Secret(context.Context, runner.SecretQuestion) (string, error) {
	a.asked++
	return a.password, nil
}

// sudoers gives spark-01's sudo a rule for the time of a test.
func (v *virtual) sudoers(t *testing.T, rule string) {
	t.Helper()
	v.root(t, "spark-01", "umask 337; echo '"+rule+"' >/etc/sudoers.d/zz-test")
	t.Cleanup(func() { v.root(t, "spark-01", "rm -f /etc/sudoers.d/zz-test") })
}

// becomesRoot runs a script as root, and gives what it says.
func becomesRoot(t *testing.T, n runner.Node) (string, error) {
	t.Helper()
	var out strings.Builder
	err := reached(func() error {
		out.Reset()
		exit, err := n.Run(t.Context(), runner.Script{
			Name: "become root", Body: "id -un; read -r line || echo nothing more; exit 7", Root: true, Limit: time.Minute,
		}, func(l runner.Line) { out.WriteString(l.Text + "\n") })
		if err == nil && exit.Code != 7 {
			t.Errorf("it ended with %v: %s", exit, out.String())
		}
		return err
	})
	return out.String(), err
}

// reached tries again where a machine was too slow to answer the watch over the connection:
// an emulated processor on a busy machine is.
func reached(try func() error) (err error) {
	for range 5 {
		err = try()
		if e, ok := errors.AsType[*runner.Error](err); !ok || e.Kind != runner.Lost && e.Kind != runner.Silent {
			return err
		}
	}
	return err
}

// isRoot says that a script runs as root, with nothing of the password or of sudo about it.
func isRoot(t *testing.T, n runner.Node) {
	t.Helper()
	if out, err := becomesRoot(t, n); err != nil || out != "root\nnothing more\n" {
		t.Errorf("%v: %q", err, out)
	}
}

// refused says that no one becomes root there, and in which words.
func refused(t *testing.T, n runner.Node, words ...string) {
	t.Helper()
	_, err := becomesRoot(t, n)
	if e, ok := errors.AsType[*runner.Error](err); !ok || e.Kind != runner.SudoPassword {
		t.Fatalf("%v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("it doesn't say %q: %v", w, err)
		}
	}
}

// sudoTerminal: sudo requires a terminal, and there is none. Nothing is changed.
func (v *virtual) sudoTerminal(t *testing.T) {
	v.sudoers(t, "Defaults requiretty")
	asked := &answers{password: "engineer"}
	refused(t, v.user(t, "engineer", "spark-01", asked), "requiretty")
	if asked.asked != 0 {
		t.Errorf("a password was asked for %d times", asked.asked)
	}
	before := v.networks(t)
	c := v.certain(t, "mtu", "--yes")
	if c.Verdict != steps.Skipped || !strings.Contains(c.Reason, "requiretty") ||
		!strings.Contains(c.Reason, "spark-01") {
		t.Errorf("%s: %s", c.Verdict, c.Reason)
	}
	v.same(t, before)
}

// sudoPty: commands of sudo have a terminal of their own where there is one at all.
func (v *virtual) sudoPty(t *testing.T) {
	v.sudoers(t, "Defaults use_pty")
	asked := &answers{password: "engineer"}
	for _, n := range []runner.Node{v.user(t, "nvidia", "spark-01", asked), v.user(t, "engineer", "spark-01", asked)} {
		isRoot(t, n)
		g := undo.Guard{Node: n, ID: "pty"}
		round := []func() error{
			func() error { return g.Forget(t.Context()) },
			func() error { return g.Arm(t.Context(), "rm /var/tmp/pty", 10*time.Minute) },
			func() error { return g.Start(t.Context(), "echo yes >/var/tmp/pty") },
			func() error { _, err := g.Wait(t.Context()); return err },
			func() error { _, err := g.Back(t.Context(), ""); return err },
			func() error { return g.Forget(t.Context()) },
		}
		err := reached(func() error {
			for _, step := range round {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		v.root(t, "spark-01", "[ ! -e /var/tmp/pty ] && [ ! -e /run/railbench ]")
		// What is interrupted ends, although it is root's.
		ctx, stop := context.WithCancel(t.Context())
		exit, err := n.Run(ctx, runner.Script{Name: "wait", Body: "echo on; sleep 4321", Root: true, Limit: time.Hour},
			func(runner.Line) { stop() })
		stop()
		if err != nil || exit.Why != runner.Cancelled {
			t.Errorf("%v, %v", exit, err)
		}
		if left := v.root(t, "spark-01", "pgrep -fx 'sleep 4321' || :"); left != "" {
			t.Errorf("it goes on: %s", left)
		}
	}
	if asked.asked != 1 {
		t.Errorf("the password was asked for %d times", asked.asked)
	}
}

// sudoRefused: a user who may not use sudo, whose password it takes before it says so.
func (v *virtual) sudoRefused(t *testing.T) {
	v.root(t, "spark-01", `useradd -m -s /bin/sh -p "$(getent shadow engineer | cut -d: -f2)" guest
cp -r ~engineer/.ssh ~guest/; chown -R guest: ~guest/.ssh`)
	t.Cleanup(func() { v.root(t, "spark-01", "loginctl terminate-user guest; userdel -rf guest 2>/dev/null; :") })
	asked := &answers{password: "engineer"}
	n := v.user(t, "guest", "spark-01", asked)
	refused(t, n, "not in the sudoers file")
	if asked.asked != 1 {
		t.Errorf("the password was asked for %d times", asked.asked)
	}
	n.Close()
}

// sudoWrong: three tries, as sudo itself gives.
func (v *virtual) sudoWrong(t *testing.T) {
	asked := &answers{password: "wrong"}
	refused(t, v.user(t, "engineer", "spark-01", asked), "did not accept the password")
	if asked.asked != 3 {
		t.Errorf("the password was asked for %d times", asked.asked)
	}
}

// sudoStamp: sudo needs no password until the time stamp of an earlier one runs out.
func (v *virtual) sudoStamp(t *testing.T) {
	v.sudoers(t, "Defaults:engineer timestamp_type=global")
	if out, err := v.as("engineer", "spark-01", "echo engineer | sudo -S -p '' -v"); err != nil {
		t.Fatal(out, err)
	}
	asked := &answers{password: "engineer"}
	n := v.user(t, "engineer", "spark-01", asked)
	isRoot(t, n)
	isRoot(t, n)
	if asked.asked != 0 {
		t.Errorf("the password was asked for %d times", asked.asked)
	}
	if out, err := v.as("engineer", "spark-01", "sudo -K"); err != nil {
		t.Fatal(out, err)
	}
	isRoot(t, n)
	isRoot(t, n)
	if asked.asked != 1 {
		t.Errorf("the password was asked for %d times", asked.asked)
	}
}
