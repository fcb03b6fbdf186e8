package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/shell"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/plain"
)

// TestRemind names what is still there of this rig, and of no other.
func TestRemind(t *testing.T) {
	b := &openRig{options: session.Options{Rig: "lab", Journal: &undo.Journal{Dir: t.TempDir()}}}
	said := func() string {
		var out strings.Builder
		b.remind(&out)
		return out.String()
	}
	if got := said(); got != "" {
		t.Errorf("an empty journal: %q", got)
	}
	for i, e := range []undo.Entry{
		{ID: "a", Rig: "lab", Cell: "mtu"},
		{ID: "b", Rig: "other", Cell: "rail-ips"},
		{ID: "c", Rig: "lab", Cell: "bond-setup"},
	} {
		e.At = time.Now().Add(time.Duration(i) * time.Second)
		if err := b.options.Journal.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := said(); !strings.Contains(got, "on lab") || !strings.Contains(got, "mtu, bond-setup.") ||
		strings.Contains(got, "rail-ips") {
		t.Errorf("%q", got)
	}
	b.options.Simulated = true
	if got := said(); got != "" {
		t.Errorf("the simulated rig: %q", got)
	}
}

// TestReach: what a message says to type names the rig that it is about, from any folder
// and whatever is in a path.
func TestReach(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my 'rigs'")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	rig, config := filepath.Join(dir, "lab.toml"), filepath.Join(dir, "config")
	if err := os.WriteFile(rig, []byte("name = \"lab\"\nhere.ssh = \"a@192.0.2.1\"\npeer.ssh = \"b@192.0.2.2\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, f := range []rigFlags{
		{rig: rig},
		{rig: rig, sshConfig: config},
		{peer: "b@192.0.2.2", sshConfig: config},
		{peer: "b@192.0.2.2:2222", here: "a@192.0.2.1", sshConfig: config},
	} {
		f.speed = 1
		b, err := f.open(t.Context(), runner.NoAsker{})
		if err != nil {
			t.Fatal(err)
		}
		typed := b.options.UndoCommand()
		b.close()
		words, err := shell.Fields(typed, nil)
		if err != nil || len(words) < 4 || words[0] != "railbench" || words[1] != "undo" {
			t.Fatalf("%s: %q, %v", typed, words, err)
		}
		var again rigFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		again.add(flags)
		if err := flags.Parse(words[2:]); err != nil {
			t.Fatal(err)
		}
		if again.rig != f.rig || again.peer != f.peer || again.here != f.here || again.sshConfig != f.sshConfig {
			t.Errorf("%s names %+v, want %+v", typed, again, f)
		}
	}
}

// TestUndoLooksEverywhere: without a rig, undo looks at every rig with an open change. A rig that can't be
// reached as the journal says is reported, and the result is not a success.
func TestUndoLooksEverywhere(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	targets := func(f rigFlags) (all []string) {
		t.Helper()
		got, err := f.changed()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got {
			all = append(all, f.rig+f.peer+f.nodeList+f.inventory)
		}
		return all
	}
	if got := targets(rigFlags{}); !slices.Equal(got, []string{""}) {
		t.Errorf("nothing is open: %q", got)
	}
	journal, err := realJournal()
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range []undo.Entry{
		{ID: "a", Rig: "virtual", Reach: []string{"--rig", "virtual"}, Cell: "mtu"},
		{ID: "b", Rig: "x-y", Reach: []string{"--peer", "u@192.0.2.1"}, Cell: "mtu"},
		{ID: "c", Rig: "virtual", Reach: []string{"--rig", "virtual"}, Cell: "rail-ips"},
	} {
		e.At = time.Now().Add(time.Duration(i) * time.Second)
		if err := journal.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := targets(rigFlags{}); !slices.Equal(got, []string{"virtual", "u@192.0.2.1"}) {
		t.Errorf("two rigs have something open, and %q are looked at", got)
	}
	if got := targets(rigFlags{rig: "sim"}); !slices.Equal(got, []string{"sim"}) {
		t.Errorf("one is named, and %q are looked at", got)
	}
	for _, f := range []rigFlags{{nodeList: "spark-[01-02]"}, {inventory: "hosts.yml"}} {
		if got := targets(f); !slices.Equal(got, []string{f.nodeList + f.inventory}) {
			t.Errorf("one is named by a list, and %q are looked at", got)
		}
	}
	// An entry of an older railbench says nothing of how its rig is reached.
	for _, id := range []string{"a", "b", "c"} {
		if err := journal.Remove(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Write(undo.Entry{ID: "d", Rig: "attic", Cell: "bond-setup", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if code := Main([]string{"undo", "--list"}, strings.NewReader(""), &stdout, &stderr); code != exitFail ||
		!strings.Contains(stderr.String(), "bond-setup on attic is not rolled back") {
		t.Errorf("exit %d: %s%s", code, &stdout, &stderr)
	}
}

// TestUndoOfAnUnreadableJournal: what can't be read may be a change of this rig. It is neither nothing nor all that
// there is, and no node that can't be reached.
func TestUndoOfAnUnreadableJournal(t *testing.T) {
	t.Parallel()
	rig := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}
	b, err := rig.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if err := os.WriteFile(filepath.Join(b.options.Journal.Dir, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, list := range []bool{false, true} {
		var stdout, stderr strings.Builder
		cmd := rootCommand()
		cmd.SetContext(t.Context())
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		err := b.takeBack(cmd, nil, list)
		if s, ok := errors.AsType[status](err); !ok || s.code != exitFail || !strings.Contains(s.Error(), "x.json") {
			t.Errorf("list %t: %v", list, err)
		}
		if stdout.Len() > 0 {
			t.Errorf("list %t: %s", list, &stdout)
		}
	}
}

// What corrects what a check has found is typed for this rig, and not for the one that is meant without flags.
func TestTheDoctorsFixNamesTheRig(t *testing.T) {
	b, err := rigFlags{peer: "u@192.0.2.1", speed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	found := doctor.Object{Checks: []doctor.Check{{ID: "mtu-equal", Node: "both", Verdict: steps.Fail, Fix: "fix-mtu"}}}
	var said strings.Builder
	if err := plain.Doctor(&said, found, false, b.fixes); err != nil {
		t.Fatal(err)
	}
	if want := "fix: railbench doctor mtu-equal --fix --peer u@192.0.2.1   ("; !strings.Contains(said.String(), want) {
		t.Errorf("no %q: %s", want, &said)
	}
}
