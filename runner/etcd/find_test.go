package etcd

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/runner/testform"
)

// executable puts a file there that may be run, and gives the folder.
func executable(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

func TestFind(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{top}, names...)...) }
	with := func(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }
	goTool, inPath := executable(t, at("go", "bin", "go")), executable(t, at("path", Program))
	executable(t, at("gobin", Program))
	executable(t, at("usr", "libexec", "railbench", Program))
	module := at("checkout", "cmd", Program)
	if err := os.MkdirAll(module, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("writable"), 0o700); err != nil {
		t.Fatal(err)
	}
	executable(t, at("writable", Program))
	if err := os.Chmod(at("writable"), 0o777); err != nil {
		t.Fatal(err)
	}
	byGo := program{path: filepath.Join(goTool, "go"), args: []string{"run", "-C", module, "."}, limit: buildLimit}
	const byRun = "/tmp/go-build1/b001/exe/railbench"
	for name, c := range map[string]struct {
		origin
		path string
		want program
		err  string
	}{
		"go install": {
			origin: origin{self: at("gobin", "railbench"), source: module}, path: with(inPath, goTool),
			want: program{path: at("gobin", Program), limit: startLimit},
		},
		"a package": {
			origin: origin{self: at("usr", "bin", "railbench")}, path: inPath,
			want: program{path: at("usr", "libexec", "railbench", Program), limit: startLimit},
		},
		"in $PATH": {
			origin: origin{self: at("alone", "railbench"), source: module}, path: with(goTool, inPath),
			want: program{path: filepath.Join(inPath, Program), limit: startLimit},
		},
		"go run":           {origin: origin{self: byRun, source: module}, path: goTool, want: byGo},
		"in the checkout":  {origin: origin{self: at("checkout", "railbench"), source: module}, path: goTool, want: byGo},
		"another checkout": {origin: origin{self: at("checkouts", "r"), source: module}, path: goTool, err: "go install"},
		"nothing tells":    {origin: origin{source: module}, path: goTool, err: "go install"},
		"installed alone": {
			origin: origin{self: at("alone", "railbench"), source: module}, path: goTool, err: "go install",
		},
		"without go": {
			origin: origin{self: at("checkout", "railbench"), source: module}, path: top, err: "go install",
		},
		"without a checkout": {origin: origin{self: byRun}, path: goTool, err: "packages"},
		"a blank in its path": {
			origin: origin{self: at("alone", "railbench"), source: "/my work/cmd/x"}, path: top, err: "-C '/my work/cmd/x' .",
		},
		"others may write": {origin: origin{self: at("writable", "railbench")}, path: inPath, err: "chmod go-w"},
	} {
		t.Setenv("PATH", c.path)
		got, err := c.find()
		if c.err == "" && (err != nil || !cmp.Equal(got, c.want, cmp.AllowUnexported(program{}))) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if c.err == "go install" && !strings.HasSuffix(err.Error(), "not installed: go install -C "+module+" .") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestByGoRun(t *testing.T) {
	for self, want := range map[string]bool{
		"/tmp/go-build12/b001/exe/railbench":          true,
		"/home/x/.cache/go-build/96/9642-d/railbench": true,
		"/usr/bin/railbench":                          false,
		"/opt/my-go-build/railbench":                  false,
		"":                                            false,
	} {
		if got := byGoRun(self); got != want {
			t.Errorf("%q: %t", self, got)
		}
	}
}

// module is the folder of the server's module, where the test can know it.
func module(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		t.Skip("compiled with -trimpath: the checkout is not known")
	}
	dir := filepath.Join(filepath.Dir(file), "..", "..", "cmd", Program)
	if err := safefile.Keeps(dir); err != nil {
		t.Skipf("nothing in this checkout is run: %v", err)
	}
	return dir
}

func TestSource(t *testing.T) {
	if got, want := source(), module(t); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What the message says, and what a package has, is found and starts.
func TestFoundAndStarts(t *testing.T) {
	testform.NeedsFull(t, "builds railbench-etcd")
	module := module(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	command := func(env string, args ...string) {
		t.Helper()
		cmd := exec.Command(goTool, args...)
		cmd.Env = append(os.Environ(), env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", args, err, out)
		}
	}
	bin, usr := t.TempDir(), t.TempDir()
	command("GOBIN="+bin, "install", "-C", module, ".")
	if err := os.MkdirAll(filepath.Join(usr, "libexec", "railbench"), 0o755); err != nil {
		t.Fatal(err)
	}
	// As a release is built.
	command("CGO_ENABLED=0", "build", "-C", module, "-trimpath", "-ldflags=-s -w", "-o",
		filepath.Join(usr, "libexec", "railbench", Program), ".")
	t.Setenv("PATH", filepath.Dir(goTool))
	for name, p := range map[string]origin{
		"go install":      {self: filepath.Join(bin, "railbench"), source: module},
		"a package":       {self: filepath.Join(usr, "bin", "railbench")},
		"in the checkout": {self: filepath.Join(filepath.Dir(module), "railbench"), source: module},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := p.find()
			if err != nil {
				t.Fatal(err)
			}
			s := started(t, found)
			if keys, err := s.List(t.Context(), "x"); err != nil || len(keys) > 0 {
				t.Errorf("%v, %v", keys, err)
			}
		})
	}
}
