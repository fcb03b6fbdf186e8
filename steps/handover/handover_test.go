package handover

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

func dial(t *testing.T, s *nodetest.Sshd) *runner.SSH {
	t.Helper()
	target, err := runner.Resolve(t.Context(), "node", s.Config)
	if err != nil {
		t.Fatal(err)
	}
	n := runner.NewSSH(runner.SSHOptions{Name: "node", Target: target, Ask: runner.NoAsker{}})
	t.Cleanup(func() { n.Close() })
	return n
}

// program is one that says who it is, in a folder of its own.
func program(t *testing.T, system, arch string) Program {
	t.Helper()
	own := filepath.Join(t.TempDir(), "railbench")
	if err := os.WriteFile(own, []byte("#!/bin/sh\necho handed over\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Program{Own: own, OS: system, Arch: arch}
}

func request(t *testing.T, peer runner.Node) session.Request {
	t.Helper()
	local := runner.NewLocal("here", runner.NoAsker{})
	t.Cleanup(func() { local.Close() })
	return session.Request{
		Run: "rb-test", Nodes: [2]runner.Node{local, peer}, Rig: steps.NewRig("", false, 2),
		Tell: func(string, ...any) {},
	}
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// A node without railbench gets this one, for the run and for its login alone.
func TestHandOver(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t))
	p := program(t, runtime.GOOS, runtime.GOARCH)
	vars, stop, err := p.Start(t.Context(), request(t, n))
	if err != nil {
		t.Fatal(err)
	}
	if vars[steps.Here]["RAILBENCH"] != p.Own {
		t.Errorf("this machine is given %q", vars[steps.Here]["RAILBENCH"])
	}
	path := vars[steps.Peer]["RAILBENCH"]
	out, err := runner.Text(t.Context(), n, runner.Script{Name: "run it", Body: `"$P"`, Vars: map[string]string{"P": path}})
	if err != nil || strings.TrimSpace(out) != "handed over" {
		t.Errorf("%v: %q", err, out)
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v: the folder has the mode %v", err, info)
	}
	if err := stop(); err != nil || !gone(dir) {
		t.Errorf("%v: the folder is there after the run: %v", err, !gone(dir))
	}
}

// damaging is a node to which not all arrives as it was sent.
type damaging struct{ *runner.SSH }

func (d damaging) Deliver(ctx context.Context, path string, content io.Reader) error {
	return d.SSH.Deliver(ctx, path, io.MultiReader(content, strings.NewReader("echo somebody else's\n")))
}

// What arrived is run only where it is what was sent.
func TestHandOverDamaged(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t))
	vars, stop, err := program(t, runtime.GOOS, runtime.GOARCH).Start(t.Context(), request(t, damaging{n}))
	if err == nil || !strings.Contains(err.Error(), "it is not run") {
		t.Errorf("%v: %v", vars, err)
	}
	if vars[steps.Peer]["RAILBENCH"] != "" {
		t.Errorf("it is given to scripts: %v", vars)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// To another platform goes what was built for it and lies beside this program; where nothing
// does, the error says how.
func TestHandOverToAnotherPlatform(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t))
	p := program(t, "linux", "mips")
	name := "railbench-" + runtime.GOOS + "-" + runtime.GOARCH
	_, stop, err := p.Start(t.Context(), request(t, n))
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "GOARCH="+runtime.GOARCH+" go build") {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(p.Own, filepath.Join(filepath.Dir(p.Own), name)); err != nil {
		t.Fatal(err)
	}
	vars, stop, err := p.Start(t.Context(), request(t, n))
	if err != nil || vars[steps.Peer]["RAILBENCH"] == "" {
		t.Errorf("%v: %v", vars, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// What a node says of itself and of its own railbench.
func TestFound(t *testing.T) {
	for text, want := range map[string]platform{
		"Linux\naarch64\n": {os: "linux", arch: "arm64"},
		"Linux\nx86_64\n/usr/bin/railbench\nrailbench v1.2.3 (go1.26.8, linux/amd64)\nabc\n": {
			os: "linux", arch: "amd64", path: "/usr/bin/railbench", version: "v1.2.3", sum: "abc",
		},
		"Linux\nriscv64\n/opt/railbench\n": {os: "linux", arch: "riscv64", path: "/opt/railbench"},
		"":                                 {},
	} {
		if got := found(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
