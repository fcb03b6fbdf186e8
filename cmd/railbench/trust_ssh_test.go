package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// A foreignRig is a rig file that came from another user, with its ssh configuration. What it would run leaves a
// trace.
type foreignRig struct{ file, config, trace string }

func newForeignRig(t *testing.T) foreignRig {
	t.Helper()
	dir := t.TempDir()
	r := foreignRig{filepath.Join(dir, "rig.toml"), filepath.Join(dir, "config"), filepath.Join(dir, "trace")}
	r.write(t, r.file, fmt.Sprintf("name = \"theirs\"\nssh_config = %q\n[here]\nssh = \"one\"\n[peer]\nssh = \"two\"\n",
		r.config))
	return r
}

func (r foreignRig) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "TRACE", r.trace)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ran reports whether anything of it has run since the last time.
func (r foreignRig) ran(t *testing.T) bool {
	t.Helper()
	_, err := os.Stat(r.trace)
	_ = os.Remove(r.trace)
	return err == nil
}

// unattended runs railbench with no one at the terminal.
func unattended(args ...string) (code int, stdout, stderr string) {
	var out, said bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &said)
	return code, out.String(), said.String()
}

// rigVerbs are all that open a rig, those among them that only look.
var rigVerbs = [][]string{
	{"run", "hosts"},
	{"run", "hosts", "--dry-run"},
	{"run", "--all", "--json"},
	{"undo", "--list"},
	{"undo", "--yes"},
	{"doctor"},
	{"doctor", "--json"},
	{"serve", "--listen", "127.0.0.1:0"},
}

// TestSomebodyElsesRigFile: nothing that it brings runs, for any verb, before this user has
// trusted it as it is; and then ssh runs it, so that the test would have seen it.
func TestSomebodyElsesRigFile(t *testing.T) {
	testform.Tool(t, "ssh")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const dead = "\nHost one two\n  HostName 127.0.0.1\n  Port 1\n  IdentityAgent none\n"
	for name, config := range map[string]string{
		"Match exec":         "Match exec \"touch TRACE\"\n  User x\n" + dead,
		"in other letters":   "mAtCh host=one,two eXeC=\"touch TRACE\"\n" + dead,
		"negated":            "Match !exec \"touch TRACE\"\n" + dead,
		"final":              "Match final exec \"touch TRACE\"\n" + dead,
		"included":           "Include INCLUDED\n" + dead,
		"included by =":      " Include=INCLUDED\n" + dead,
		"included, quoted":   "\"include\" \"INCLUDED\"\n" + dead,
		"included by a sign": "Include INCLU*\n" + dead,
	} {
		t.Run(name, func(t *testing.T) {
			r := newForeignRig(t)
			included := filepath.Join(filepath.Dir(r.config), "INCLUDED")
			r.write(t, included, "Match exec \"touch TRACE\"\n  User x\n")
			r.write(t, r.config, strings.NewReplacer("INCLU", filepath.Join(filepath.Dir(r.config), "INCLU")).Replace(config))
			for _, verb := range rigVerbs {
				code, stdout, stderr := unattended(append(verb, "--rig", r.file)...)
				if code != exitUsage || !strings.Contains(stderr, "railbench trust "+r.file) {
					t.Errorf("%v: exit %d: %s%s", verb, code, stdout, stderr)
				}
				if r.ran(t) {
					t.Errorf("%v ran what nobody has trusted", verb)
				}
			}
			if code, stdout, _ := unattended("trust", r.file); code != exitUsage || !strings.Contains(stdout, "touch "+r.trace) {
				t.Errorf("it is not shown: exit %d: %s", code, stdout)
			}
			if r.ran(t) {
				t.Error("looking at it ran it")
			}
			if code, _, stderr := unattended("trust", r.file, "--yes"); code != exitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			if code, _, stderr := unattended("run", "hosts", "--dry-run", "--rig", r.file); code != exitUnreachable ||
				!r.ran(t) {
				t.Errorf("trusted, and it did not run: exit %d: %s", code, stderr)
			}
			// What is changed since, also in what it includes, is asked for again.
			for _, changed := range []string{r.config, included} {
				text, err := os.ReadFile(changed)
				if err != nil {
					t.Fatal(err)
				}
				r.write(t, changed, string(text)+"# another line\n")
				if strings.Contains(config, "INCLU") || changed == r.config {
					if code, _, stderr := unattended("undo", "--list", "--rig", r.file); code != exitUsage || r.ran(t) {
						t.Errorf("%s changed: exit %d: %s", filepath.Base(changed), code, stderr)
					}
				}
				r.write(t, changed, string(text))
			}
		})
	}
}

// TestRigFilesTraps are configurations that can't be shown as ssh would read them, or whose reader would hang
// or be flooded. They are refused, by trust as well.
func TestRigFilesTraps(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, trap := range map[string]struct {
		make func(r foreignRig) error
		says string
	}{
		"a pipe":   {func(r foreignRig) error { return syscall.Mkfifo(r.config, 0o600) }, "a pipe"},
		"a folder": {func(r foreignRig) error { return os.Mkdir(r.config, 0o700) }, "a folder"},
		"a device": {func(r foreignRig) error { return os.Symlink("/dev/zero", r.config) }, "a device"},
		"huge": {func(r foreignRig) error {
			return errorsOf(os.WriteFile(r.config, nil, 0o600), os.Truncate(r.config, 10<<30))
		}, "longer than"},
		"not there": {func(foreignRig) error { return nil }, "no such file"},
		"itself": {func(r foreignRig) error {
			return os.WriteFile(r.config, []byte("Include "+r.config+"\n"),
				0o600)
		}, "includes too much"},
		"by a variable": {func(r foreignRig) error {
			return os.WriteFile(r.config, []byte("Include ${HOME}/x\n"),
				0o600)
		}, "whole path"},
		"by a token": {
			func(r foreignRig) error { return os.WriteFile(r.config, []byte("include /tmp/%u\n"), 0o600) },
			"whole path",
		},
		"somebody's folder": {
			func(r foreignRig) error { return os.WriteFile(r.config, []byte("INCLUDE ~root/x\n"), 0o600) },
			"whole path",
		},
		"a pipe, included": {func(r foreignRig) error {
			return errorsOf(syscall.Mkfifo(r.config+".p", 0o600),
				os.WriteFile(r.config, []byte("Include "+r.config+".p\n"), 0o600))
		}, "a pipe"},
		"by what hides in it": {func(r foreignRig) error {
			return os.WriteFile(r.config, []byte("Include \u202e$x\n"),
				0o600)
		}, `\u202e`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newForeignRig(t)
			if err := trap.make(r); err != nil {
				t.Fatal(err)
			}
			for _, verb := range [][]string{
				{"undo", "--list", "--rig", r.file},
				{"run", "hosts", "--dry-run", "--trust", "--rig", r.file},
				{"trust", r.file, "--yes"},
			} {
				if code, stdout, stderr := unattended(verb...); code != exitUsage || !strings.Contains(stderr, trap.says) ||
					strings.Contains(stderr, "\u202e") {
					t.Errorf("%v: exit %d, want %q: %s%s", verb[:1], code, trap.says, stdout, stderr)
				}
			}
		})
	}
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// What is shown of a configuration controls no terminal and hides nothing, and what would run
// comes first.
func TestConfigurationIsShown(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := newForeignRig(t)
	r.write(t, r.config, "Host a\n\x1b[8mHost b\n  ProxyCommand sh -c 'id\u202e'\n")
	code, stdout, _ := unattended("trust", r.file)
	if code != exitUsage || strings.ContainsAny(stdout, "\x1b\u202e") {
		t.Errorf("exit %d: %q", code, stdout)
	}
	if first, _, _ := strings.Cut(stdout, "# --- ssh configuration"); !strings.Contains(first, "ProxyCommand sh -c 'id") {
		t.Errorf("what would run is not shown first: %s", stdout)
	}
}

// A rig file without a configuration of its own, and one whose configuration the user names,
// need no trust.
func TestOwnConfigurationNeedsNoTrust(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	r := newForeignRig(t)
	r.write(t, r.config, "Host one two\n  HostName 127.0.0.1\n  Port 1\n  IdentityAgent none\n")
	if code, _, stderr := unattended("run", "hosts", "--dry-run", "--rig", r.file, "--ssh-config",
		r.config); code != exitUnreachable {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := unattended("run", "hosts", "--dry-run", "--rig", r.file, "--trust"); code != exitUnreachable {
		t.Errorf("--trust: exit %d: %s", code, stderr)
	}
}

// TestSomebodyElsesRunbook: on a real rig nothing of it runs until it was trusted; on the
// simulated one it reaches no machine.
func TestSomebodyElsesRunbook(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	book, rig := filepath.Join(dir, "theirs.md"), filepath.Join(dir, "rig.toml")
	text := "# Theirs {#theirs}\n\n## One {#one}\n\n```sh cell=one on=here root\ntouch /tmp/never\n```\n"
	for path, text := range map[string]string{
		book: text,
		rig:  "[here]\nlocal = true\n[peer]\nssh = \"nobody@127.0.0.1:1\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := []string{"run", "--runbook", book, "--all", "--rig", rig}
	if code, stdout, stderr := unattended(run...); code != exitUsage || stdout != "" ||
		!strings.Contains(stderr, "railbench trust "+book) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := unattended("trust", book); code != exitUsage ||
		!strings.Contains(stdout, "# --- one, on here, as root\ntouch /tmp/never\n") {
		t.Errorf("it is not shown: exit %d: %s", code, stdout)
	}
	if code, _, stderr := unattended("trust", book, "--yes"); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := unattended(run...); code != exitUnreachable {
		t.Errorf("trusted: exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(book, []byte(strings.Replace(text, "never", "ever", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := unattended(run...); code != exitUsage {
		t.Errorf("changed since: exit %d", code)
	}
	// The screen and the checklist know it, too.
	b, err := rigFlags{rig: rig, speed: 1, runbooks: []string{book}}.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for _, c := range b.options.Trust.Foreign(b.options.Tutorial) {
		if c.ID != "one" {
			t.Errorf("%s is railbench's own", c.ID)
		}
	}
	if c, _ := b.options.Tutorial.Cell("one"); b.options.Trust.Trusted(c) {
		t.Error("the screen would run it")
	}
	if code, _, stderr := unattended("run", "--runbook", book, "--all", "--rig", "sim", "--speed",
		"max"); strings.Contains(stderr, "trust") {
		t.Errorf("on the simulated rig: exit %d: %s", code, stderr)
	}
}
