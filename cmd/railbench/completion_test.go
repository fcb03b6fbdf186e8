package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/railbench/railbench/runner/testform"
)

// asked runs this test's own program as railbench.
func asked(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("railbench %s: exit status %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// What is offered for the beginning of a line, in each place where something is known.
func TestCompletionsOffer(t *testing.T) {
	t.Parallel()
	mine := filepath.Join(t.TempDir(), "mine.md")
	asked(t, "new", mine)
	// No one is at these addresses: who connects to them waits, and is found.
	lab := filepath.Join(t.TempDir(), "lab.toml")
	if err := os.WriteFile(lab, []byte("name = \"lab\"\n[[node]]\nname = \"left\"\nssh = \"u@192.0.2.1\"\n"+
		"[[node]]\nname = \"mid\"\nssh = \"u@192.0.2.2\"\n[[node]]\nname = \"right\"\nssh = \"u@192.0.2.3\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.toml")
	if err := os.WriteFile(broken, []byte("[[node]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string // the last word is being typed
		want string // is offered
		not  string
	}{
		{"", "doctor", "help-me"},
		{"run ib-w", "ib-write-bw", "gids"},
		{"run rdma", "rdma-baseline", "ib-write-bw"},
		{"run gids g", "gid-check", "gids"}, // is there already
		{"run --", "--dry-run", ""},
		{"run --runbook " + mine + " m", "mine", "mtu"},
		{"run -p SIZ", "SIZE=", "PORT="},
		{"doctor mtu", "mtu-equal", "gids"},
		{"docs tr", "troubleshooting", "keys"},
		{"docs keys ", "", "keys"},
		{"--rig sim --fault slow", "slow-rail", "pcie-x2"},
		{"sim --fault pcie", "pcie-x2", "slow-rail"},
		{"--rig " + lab + " --link ", "right:mid", "left:left"},
		{"run --rig " + lab + " --link left", "left:right", "right:left"},
		{"run --peer u@192.0.2.9 --link ", "2:1", "1:1"}, // no name is known before ssh's configuration is read
		{"doctor --rig sim --nodes 4 --link spark-04", "spark-04:spark-02", "spark-01:spark-04"},
		{"--rig sim --link ", "spark-02:spark-01", "spark-02:spark-03"},
		{"--rig " + broken + " --link ", "", "1:2"},
		{"parse perf", "perftest", "ping"},
		{"export --to h", "html", "csv"},
		{"completion z", "zsh", "bash"},
	} {
		offered := map[string]bool{}
		for line := range strings.Lines(asked(t, append([]string{"__complete"}, strings.Split(c.line, " ")...)...)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if strings.HasPrefix(name, c.line[strings.LastIndex(c.line, " ")+1:]) { // as the shell does
				offered[name] = true
			}
		}
		if c.want != "" && !offered[c.want] {
			t.Errorf("railbench %s: %s is not offered: %v", c.line, c.want, offered)
		}
		if c.not != "" && offered[c.not] {
			t.Errorf("railbench %s: %s is offered", c.line, c.not)
		}
	}
}

// Every flag that takes a value offers something or says that no file belongs there.
func TestCompletionsKnowWhatIsAFile(t *testing.T) {
	t.Parallel()
	// or free text
	aFile := []string{"rig", "ssh-config", "output", "token-file", "symptom", "threshold", "port", "timeout"}
	root := rootCommand()
	for _, c := range append(commandsUnder(root), root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, ok := c.GetFlagCompletionFunc(f.Name)
			if f.Value.Type() != "bool" && !ok && !slices.Contains(aFile, f.Name) {
				t.Errorf("%s --%s: nothing is offered", c.CommandPath(), f.Name)
			}
		})
	}
}

// shellHome is a folder with railbench in its bin, and the rest of the path behind it.
func shellHome(t *testing.T) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	// testscript runs the program where it is called so.
	if err := os.Symlink(self, filepath.Join(bin, "railbench")); err != nil {
		t.Fatal(err)
	}
	return dir, append(os.Environ(), "HOME="+dir, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "TERM=dumb")
}

func inShell(t *testing.T, environ []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, name, args...)
	run.Env = environ
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// bash completes with the script as it does for a person who presses tab.
func TestCompletionsInBash(t *testing.T) {
	t.Parallel()
	testform.Tool(t, "bash")
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("bash-completion is not on this machine")
		}
		t.Skip("bash-completion is not on this machine")
	}
	dir, environ := shellHome(t)
	script := filepath.Join(dir, "railbench.bash")
	if err := os.WriteFile(script, []byte(asked(t, "completion", "bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	const press = `
. ` + library + `
. "$1"
compopt() { :; } # bash allows it only where a key was pressed
tab() {
	COMP_LINE=$*
	COMP_POINT=${#COMP_LINE}
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMP_TYPE=9
	COMPREPLY=()
	__start_railbench
	printf '%s\n' "<${COMPREPLY[*]}>"
}
complete -p railbench
tab railbench run ib-write-b
tab railbench docs trouble
tab railbench --fault slow-r
tab railbench doct`
	got := inShell(t, environ, "bash", "--norc", "-c", press, "bash", script)
	for _, want := range []string{
		"__start_railbench railbench", "<ib-write-bw>", "<troubleshooting>", "<slow-rail>", "<doctor>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestCompletionsInFish(t *testing.T) {
	t.Parallel()
	fish := testform.Tool(t, "fish")
	dir, environ := shellHome(t)
	script := filepath.Join(dir, "railbench.fish")
	if err := os.WriteFile(script, []byte(asked(t, "completion", "fish")), 0o600); err != nil {
		t.Fatal(err)
	}
	got := inShell(t, environ, fish, "--no-config", "-c", "source "+script+"; complete -C 'railbench docs trouble'")
	if !strings.HasPrefix(got, "troubleshooting\t") {
		t.Errorf("fish offers %q", got)
	}
}

// zsh takes the script: what a tab does needs a terminal there.
func TestCompletionsInZsh(t *testing.T) {
	t.Parallel()
	zsh := testform.Tool(t, "zsh")
	dir, environ := shellHome(t)
	if err := os.WriteFile(filepath.Join(dir, "_railbench"), []byte(asked(t, "completion", "zsh")), 0o600); err != nil {
		t.Fatal(err)
	}
	load := "fpath=(" + dir + " $fpath); autoload -U compinit; compinit -u -D; print -r -- $_comps[railbench]"
	got := inShell(t, environ, zsh, "-f", "-c", load)
	if strings.TrimSpace(got) != "_railbench" {
		t.Errorf("zsh completes railbench with %q", got)
	}
}

// The man page is one that man and mandoc can read, with every command and flag in it.
func TestManPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "railbench.1")
	if err := os.WriteFile(page, []byte(asked(t, "man")), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MANROFFOPT=-c")
	for _, reader := range [][]string{
		{"mandoc", "-T", "utf8", "-W", "error", page}, // what it calls an error macOS and the BSDs show badly
		{"man", "--warnings", "-E", "UTF-8", "-P", "cat", "-l", page},
	} {
		t.Run(reader[0], func(t *testing.T) {
			if reader[0] == "man" {
				if _, err := exec.LookPath("man"); err != nil {
					t.Skip("man is not installed") // .ci/run does not: some images have a stub in its place
				}
			}
			text := inShell(t, environ, testform.Tool(t, reader[0]), reader[1:]...)
			if strings.Contains(text, "has been minimized") {
				t.Skip("man is only a notice on this machine")
			}
			manPageHasAll(t, regexp.MustCompile(`.\x08`).ReplaceAllString(text, "")) // bold is typed twice
		})
	}
}

func manPageHasAll(t *testing.T, text string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"NAME", "SYNOPSIS", "EXIT STATUS", "FILES", "XDG_STATE_HOME", "~/.config/railbench/rig.toml",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in the man page:\n%s", want, text)
		}
	}
	root := rootCommand()
	for _, c := range append(commandsUnder(root), root) {
		want := c.Name()
		if c.Long != "" && c != root {
			want = strings.ToUpper(c.CommandPath()) // it has a section
		}
		if !strings.Contains(flat, want) {
			t.Errorf("%s is not in the man page", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !strings.Contains(flat, "--"+f.Name) {
				t.Errorf("%s: the flag %s is not in the man page", c.CommandPath(), "--"+f.Name)
			}
		})
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "warning:") || strings.Contains(line, "**") {
			t.Errorf("a line that is markup, or a warning: %s", line)
		}
	}
}
