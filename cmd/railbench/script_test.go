package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite README's picture of the screen")

// asRailbench makes the test binary the program, for the scripts.
const asRailbench = "RAILBENCH_TEST_AS_PROGRAM"

// TestMain keeps what the tests do in this process away from the user's files.
func TestMain(m *testing.M) {
	if os.Getenv(asRailbench) != "" {
		main()
	}
	dir, err := os.MkdirTemp("", "railbench-test-")
	if err != nil {
		panic(err)
	}
	// The go command, which some tests call, has its settings in the folder that is
	// replaced here.
	if config, err := os.UserConfigDir(); err == nil && os.Getenv("GOENV") == "" {
		os.Setenv("GOENV", filepath.Join(config, "go", "env"))
	}
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestScripts runs the program as a user's scripts do: testdata/script/*.txtar,
// each in a folder and with a home of its own. A line is one of
//
//	exits STATUS COMMAND ARG…   run it: this is its exit status
//	stdout|stderr REGEXP        the last command wrote that; ^ and $ are a line's
//	cp stdout FILE              keep what it wrote
//	cmp stdout FILE             it wrote the same
//	exists FILE…                one of these is there
//
// with ! in front for the opposite, and [!darwin] before that where a Mac differs.
// Words in single quotes are one word; two of them in it are one. Files follow
// after the script, each under a line -- NAME --. It is the language of
// rogpeppe/go-internal/testscript as far as these scripts need it, but for exits.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			s := newScript(t)
			for i, line := range s.unpack(string(src)) {
				if words := split(line); len(words) > 0 && !s.do(words) {
					t.Fatalf("%s:%d: %s\n%s\n--- stdout\n%s--- stderr\n%s", f, i+1, line, s.why, s.stdout, s.stderr)
				}
			}
		})
	}
}

// A script is one run of a script.
type script struct {
	t              *testing.T
	dir            string
	self           string
	env            []string
	stdout, stderr string
	why            string // about the last line that did not hold
}

func newScript(t *testing.T) *script {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, dir: t.TempDir(), self: self}
	home := filepath.Join(s.dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "RIG_STATE=") {
			s.env = append(s.env, v)
		}
	}
	s.env = append(s.env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+filepath.Join(home, "state"))
	return s
}

var fileHeader = regexp.MustCompile(`^-- (.+) --$`)

// unpack writes the files and gives the script's lines.
func (s *script) unpack(src string) (lines []string) {
	s.t.Helper()
	name := ""
	for line := range strings.Lines(src) {
		if m := fileHeader.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			name = filepath.Join(s.dir, m[1])
			s.write(name, "")
			continue
		}
		if name == "" {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(name, string(b)+line)
	}
	return lines
}

func (s *script) write(name, text string) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// split splits a line into words; a comment has none.
func split(line string) (words []string) {
	var word strings.Builder
	quoted, open := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' && quoted && i+1 < len(line) && line[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			quoted, open = !quoted, true
		case c == ' ' && !quoted:
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		case c == '#' && !quoted && !open:
			i = len(line)
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// do runs a line and says whether it held.
func (s *script) do(words []string) bool {
	s.t.Helper()
	s.why = ""
	if words[0] == "[!darwin]" {
		if words = words[1:]; runtime.GOOS == "darwin" {
			return true
		}
	}
	if words[0] == "!" {
		return !s.holds(words[1:])
	}
	return s.holds(words)
}

func (s *script) holds(words []string) bool {
	s.t.Helper()
	wrote := map[string]string{"stdout": s.stdout, "stderr": s.stderr}
	switch verb, args := words[0], words[1:]; {
	case verb == "exits" && len(args) >= 2:
		return s.exits(args[0], args[1:])
	case (verb == "stdout" || verb == "stderr") && len(args) == 1:
		re, err := regexp.Compile("(?m)" + args[0])
		if err != nil {
			s.t.Fatal(err)
		}
		return re.MatchString(wrote[verb])
	case verb == "cp" && len(args) == 2:
		text, ok := wrote[args[0]]
		if !ok {
			text = s.read(args[0])
		}
		s.write(filepath.Join(s.dir, args[1]), text)
		return true
	case verb == "cmp" && len(args) == 2:
		return wrote[args[0]] == s.read(args[1])
	case verb == "exists" && len(args) > 0:
		return slices.ContainsFunc(args, func(name string) bool {
			_, err := os.Stat(filepath.Join(s.dir, name))
			return err == nil
		})
	default:
		s.t.Fatalf("no such line: %q", words)
		return false
	}
}

func (s *script) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *script) exits(status string, argv []string) bool {
	s.t.Helper()
	want, err := strconv.Atoi(status)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.env
	if argv[0] == "railbench" {
		cmd = exec.Command(s.self, argv[1:]...)
		cmd.Dir, cmd.Env = s.dir, append(slices.Clip(s.env), asRailbench+"=1")
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	s.stdout, s.stderr = out.String(), errOut.String()
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		s.t.Fatal(err)
	}
	s.why = fmt.Sprintf("the exit status is %d", got)
	return got == want
}
