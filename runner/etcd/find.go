package etcd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/disk"
)

// Program is the name of the server's program.
const Program = "railbench-etcd"

const programPackage = "github.com/railbench/railbench/cmd/" + Program

// A program is how the server is started.
type program struct {
	path  string
	args  []string
	limit time.Duration // for its start
}

// find looks for the server's program: beside this one, where packages put what a
// program starts itself, and in $PATH. What "go run" has made is alone in its folder;
// there the go command makes the server, too.
func find() (program, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		self = ""
	}
	for _, path := range beside(self) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			// What stands beside railbench is run without a question: nobody else may have put it there.
			if err := disk.Program(path); err != nil {
				return program{}, err
			}
			return program{path: path, limit: startLimit}, nil
		}
	}
	if path, err := exec.LookPath(Program); err == nil {
		return program{path: path, limit: startLimit}, nil
	}
	if path, err := exec.LookPath("go"); err == nil && byGoRun(self) {
		return program{path: path, args: []string{"run", programPackage}, limit: buildLimit}, nil
	}
	return program{}, fmt.Errorf("%s is not there: neither beside railbench nor in $PATH. "+
		"go install %s@latest puts it there; or name an etcd that both nodes reach: --etcd http://HOST:2379", Program,
		programPackage)
}

// beside is where the program may stand beside another one.
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
