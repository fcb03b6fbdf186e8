package undo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/runner/undo"
)

// nodes are a machine that is reached directly and over a real sshd.
func nodes(t *testing.T) map[string]func(*testing.T) runner.Node {
	testform.NeedsRoot(t)
	return map[string]func(*testing.T) runner.Node{
		"local": func(t *testing.T) runner.Node {
			n := runner.NewLocal("here", runner.NoAsker{})
			t.Cleanup(func() { n.Close() })
			return n
		},
		"ssh": func(t *testing.T) runner.Node {
			server := nodetest.StartSshd(t)
			target, err := runner.Resolve(t.Context(), "node", server.Config)
			if err != nil {
				t.Fatal(err)
			}
			n := runner.NewSSH(runner.SSHOptions{Name: "peer", Target: target, Ask: runner.NoAsker{}})
			t.Cleanup(func() { n.Close() })
			return n
		},
	}
}

func each(t *testing.T, f func(t *testing.T, g undo.Guard, file string)) {
	t.Helper()
	for name, node := range nodes(t) {
		t.Run(name, func(t *testing.T) {
			g := undo.Guard{Node: node(t), ID: "test-" + strings.ToLower(rand.Text())}
			t.Cleanup(func() {
				again := g
				again.Node = runner.NewLocal("here", runner.NoAsker{}) // the test may have closed its own
				defer again.Node.Close()
				_ = again.Forget(context.Background())
			})
			f(t, g, filepath.Join(t.TempDir(), "state"))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// becomes waits for a state that comes by itself.
func becomes(t *testing.T, file, want string) {
	t.Helper()
	for range 1000 {
		if b, _ := os.ReadFile(file); strings.TrimSpace(string(b)) == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	wantFile(t, file, want)
}

func wantFile(t *testing.T, file, want string) {
	t.Helper()
	b, _ := os.ReadFile(file)
	if got := strings.TrimSpace(string(b)); got != want {
		t.Errorf("the state is %q, want %q", got, want)
	}
}

func TestConfirmed(t *testing.T) {
	each(t, func(t *testing.T, g undo.Guard, file string) {
		// Long enough for a busy machine to confirm in.
		const limit = 8 * time.Second
		must(t, g.Arm(t.Context(), "echo before >"+file, limit))
		must(t, g.Start(t.Context(), "echo said; echo after >"+file+"; exit 3"))
		r, err := g.Wait(t.Context())
		must(t, err)
		if r.Code != 3 || r.Output != "said\n" {
			t.Errorf("the change ended with %+v", r)
		}
		must(t, g.Confirm(t.Context()))
		must(t, g.Confirm(t.Context())) // its answer may have been lost the first time
		time.Sleep(limit + time.Second) // it would have fired by now
		wantFile(t, file, "after")
		r, err = g.Back(t.Context(), "")
		must(t, err)
		if r.Code != 0 {
			t.Errorf("going back ended with %+v", r)
		}
		wantFile(t, file, "before")
		must(t, g.Forget(t.Context()))
		if _, err := os.Stat("/run/railbench/" + g.ID); err == nil {
			t.Error("the node still keeps the change")
		}
	})
}

func TestGoesBackByItself(t *testing.T) {
	each(t, func(t *testing.T, g undo.Guard, file string) {
		// On a busy machine a change takes seconds to start.
		must(t, g.Arm(t.Context(), "echo before >"+file, 6*time.Second))
		must(t, g.Start(t.Context(), "echo after >"+file))
		_, err := g.Wait(t.Context())
		must(t, err)
		wantFile(t, file, "after")
		g.Node.Close() // the process that started the rollback timer is gone
		becomes(t, file, "before")
	})
}

func TestTooLateToConfirm(t *testing.T) {
	each(t, func(t *testing.T, g undo.Guard, file string) {
		must(t, g.Arm(t.Context(), "echo before >"+file, time.Second))
		becomes(t, file, "before")
		if err := g.Start(t.Context(), "echo after >"+file); !errors.Is(err, undo.ErrWentBack) {
			t.Errorf("a change started after it: %v", err)
		}
		if err := g.Confirm(t.Context()); !errors.Is(err, undo.ErrWentBack) {
			t.Errorf("it was confirmed after it: %v", err)
		}
		r, err := g.Back(t.Context(), "")
		must(t, err)
		if r.Code != 0 {
			t.Errorf("%+v", r)
		}
		wantFile(t, file, "before")
	})
}

// TestChangeThatHangs: the change is ended before the rollback runs, because it would undo the rollback.
func TestChangeThatHangs(t *testing.T) {
	each(t, func(t *testing.T, g undo.Guard, file string) {
		must(t, g.Arm(t.Context(), "echo before >"+file, 6*time.Second))
		must(t, g.Start(t.Context(), "while :; do echo after >"+file+"; sleep 0.05; done"))
		if _, err := g.Wait(t.Context()); !errors.Is(err, undo.ErrWentBack) {
			t.Errorf("the wait ended with %v", err)
		}
		becomes(t, file, "before")
		time.Sleep(200 * time.Millisecond) // the change would have overwritten it by now
		wantFile(t, file, "before")
	})
}

func TestOneChangeAtATime(t *testing.T) {
	each(t, func(t *testing.T, g undo.Guard, file string) {
		must(t, g.Arm(t.Context(), "echo before >"+file, time.Minute))
		other := undo.Guard{Node: g.Node, ID: g.ID + "-other"}
		if err := other.Arm(t.Context(), "exit 0", time.Minute); !errors.Is(err, undo.ErrBusy) {
			t.Errorf("a second change: %v", err)
		}
		_, err := g.Back(t.Context(), "")
		must(t, err)
		must(t, other.Arm(t.Context(), "exit 0", time.Minute))
		must(t, other.Forget(t.Context()))
	})
}

// TestLostFolder is a node that lost its copy of the rollback script.
func TestLostFolder(t *testing.T) {
	each(t, func(t *testing.T, g undo.Guard, file string) {
		back := "echo before >" + file + "; exit 5"
		r, err := g.Back(t.Context(), back)
		must(t, err)
		if r.Code != 5 {
			t.Errorf("%+v", r)
		}
		wantFile(t, file, "before")
		r, err = g.Back(t.Context(), back) // once more, because it failed
		must(t, err)
		if r.Code != 5 {
			t.Errorf("the second time: %+v", r)
		}
	})
}

func TestJournal(t *testing.T) {
	j := undo.Journal{Dir: filepath.Join(t.TempDir(), "undo")}
	if got, err := j.Entries(); err != nil || got != nil {
		t.Fatalf("an empty journal: %v, %v", got, err)
	}
	now := time.Now().UTC()
	for i, id := range []string{"b", "a"} {
		must(t, j.Write(undo.Entry{
			ID: id, At: now.Add(time.Duration(i) * time.Second),
			Nodes: []undo.Place{{Name: "n", Back: "it's\n"}},
		}))
	}
	must(t, j.Write(undo.Entry{ID: "b", At: now, Kept: true}))
	must(t, os.WriteFile(filepath.Join(j.Dir, "broken.json"), []byte(`{"id":"bro`), 0o600))
	got, err := j.Entries()
	if err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("a damaged file: %v", err)
	}
	if len(got) != 2 || got[0].ID != "b" || !got[0].Kept || got[1].ID != "a" || got[1].Nodes[0].Back != "it's\n" {
		t.Errorf("%+v", got)
	}
	must(t, j.Remove("a"))
	must(t, j.Remove("a"))
	if got, _ = j.Entries(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	// What is in it runs as root: a folder of everybody's has none.
	must(t, os.Chmod(j.Dir, 0o777))
	if got, err = j.Entries(); err == nil || got != nil {
		t.Errorf("in a folder of everybody's: %+v, %v", got, err)
	}
	if err := j.Write(undo.Entry{ID: "c"}); err == nil {
		t.Error("a way back is kept in a folder of everybody's")
	}
}
