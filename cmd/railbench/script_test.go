package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/railbench/railbench/runner/testform"
)

var update = flag.Bool("update", false, "rewrite what README, the pages and other files show of the program")

// fewerLooks is for hundreds of small rigs: what they leave is collected more seldom.
const fewerLooks = 400

// TestMain keeps what the tests do in this process away from the user's files,
// and makes the test binary the program, for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(apart{m}, map[string]func(){
		"railbench": main,
		hung:        hangOn,
		crashed:     crash,
	})
}

// ignored are the signals that these tests were started to ignore, as under nohup and in the background of a script.
// Asked later, a test that listens to them would hide it.
var ignored = map[os.Signal]bool{
	syscall.SIGHUP: signal.Ignored(syscall.SIGHUP), syscall.SIGINT: signal.Ignored(syscall.SIGINT),
}

type apart struct{ m *testing.M }

// scratch is a folder of this run of the tests, until its end.
var scratch string

func (a apart) Run() int {
	debug.SetGCPercent(fewerLooks) // here, because who runs as the program collects as it does
	dir, err := os.MkdirTemp("", "railbench-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	scratch = dir
	// The go command, which some tests call, has its settings in the folder that is
	// replaced here.
	if config, err := os.UserConfigDir(); err == nil && os.Getenv("GOENV") == "" {
		os.Setenv("GOENV", filepath.Join(config, "go", "env"))
	}
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	return a.m.Run()
}

// TestScripts runs the program as a user's scripts do, each in a folder and with a home of its own. Next to
// testscript's words they have
//
//	exits STATUS COMMAND ARG…   run it: this is its exit status
//
// and the condition [full], which is RAILBENCH_FULL=1.
func TestScripts(t *testing.T) {
	t.Parallel()
	path := ""
	if !testform.Full() { // most of a short command is its start, and the tests' own program takes twice as long
		path = filepath.Dir(shipped(t)) + string(os.PathListSeparator)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", path+env.Getenv("PATH"))
			env.Setenv("GOGC", strconv.Itoa(fewerLooks))
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(name string) (bool, error) {
			if name != "full" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return testform.Full(), nil
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		status, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = status.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
