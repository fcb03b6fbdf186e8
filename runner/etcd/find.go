package etcd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/railbench/railbench/runner/safefile"
)

// Program is the name of the server's program.
const Program = "railbench-etcd"

const programModule = "github.com/railbench/railbench/cmd/" + Program

// A program is how the server is started.
type program struct {
	path  string
	args  []string
	limit time.Duration // for its start
}

// A origin is where this program comes from.
type origin struct {
	self   string // its file, with links resolved; empty if unknown
	source string // the folder of the server's module in the checkout that it was built in; empty where there is none
}

// find looks for the server's program.
func find() (program, error) {
	p := origin{source: source()}
	if self, err := os.Executable(); err == nil {
		p.self, _ = filepath.EvalSymlinks(self)
	}
	return p.find()
}

// find looks for the server's program: next to this one, where packages put programs that a program starts,
// and in $PATH. If this program was made by "go run", or lies in its checkout, the go command can build the
// server, too.
func (p origin) find() (program, error) {
	for _, path := range beside(p.self) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			// A program next to railbench is run without a question: other users could not have put it there.
			if err := safefile.Program(path); err != nil {
				return program{}, err
			}
			return program{path: path, limit: startLimit}, nil
		}
	}
	if path, err := exec.LookPath(Program); err == nil {
		return program{path: path, limit: startLimit}, nil
	}
	if path, err := exec.LookPath("go"); err == nil && p.source != "" && (byGoRun(p.self) || p.inCheckout()) {
		return program{path: path, args: []string{"run", "-C", p.source, "."}, limit: buildLimit}, nil
	}
	if p.source != "" {
		dir, err := syntax.Quote(p.source, syntax.LangPOSIX) // where it has to be
		if err != nil {
			return program{}, err
		}
		command := []string{"go", "install", "-C", dir, "."}
		return program{}, fmt.Errorf("%s is not installed: %s", Program, strings.Join(command, " "))
	}
	return program{}, errors.New(Program + " is not installed: it comes with railbench's packages and archives, " +
		"and belongs beside railbench or in $PATH")
}

// next to is where the program may be, relative to another one.
func beside(self string) []string {
	if self == "" {
		return nil
	}
	dir := filepath.Dir(self)
	return []string{filepath.Join(dir, Program), filepath.Join(dir, "..", "libexec", "railbench", Program)}
}

// byGoRun reports whether a program stands where "go run" puts what it has made: in a
// temporary folder, and the next time in its cache.
func byGoRun(self string) bool {
	return slices.ContainsFunc(strings.Split(self, string(filepath.Separator)), func(dir string) bool {
		return strings.HasPrefix(dir, "go-build")
	})
}

// inCheckout reports whether this program lies in the checkout that it was built in.
func (p origin) inCheckout() bool {
	root, err := filepath.EvalSymlinks(filepath.Join(p.source, "..", ".."))
	return err == nil && strings.HasPrefix(p.self, root+string(filepath.Separator))
}

// source is the folder of the server's module in the checkout from which this program was built. It is empty
// if it isn't known (-trimpath), is gone (a module of the go command's cache contains no other module), or
// another user could have changed it.
func source() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	// cmd/railbench-etcd, from runner/etcd/find.go.
	dir := filepath.Join(filepath.Dir(file), "..", "..", "cmd", Program)
	mod, err := safefile.Head(filepath.Join(dir, "go.mod"), 1<<10)
	if err != nil || !strings.HasPrefix(string(mod), "module "+programModule+"\n") || safefile.Keeps(dir) != nil {
		return ""
	}
	return dir
}
