package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
)

// meeting are cells that meet in an etcd, what needs none, and the summary.
var meeting = []string{"etcd", "nixl-single-dram", "hosts", "ping", "summary"}

// metOn runs them on nodes that are reached over SSH, as a real rig's are, and gives the verdicts.
func metOn(t *testing.T, path, bin string, args ...string) map[string]headless.Cell {
	t.Helper()
	// A benchmark that ended before its own figures allow is INCONCLUSIVE, so this rig's clock is everybody's.
	rig, config := servedRig(t, 1, func(port int) int { return port })
	cmd := exec.Command(bin, args...)
	cmd.Args = append(cmd.Args, "run", "--rig", rig, "--ssh-config", config, "-p", "NIXL_RUNTIME=ETCD", "--json")
	cmd.Args = append(cmd.Args, meeting...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "PATH="+path, "TMPDIR="+t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	var r headless.Object
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	cells := map[string]headless.Cell{}
	for _, c := range r.Cells {
		cells[c.ID] = c
	}
	return cells
}

// TestRealRigWithoutEtcd: what needs an etcd is SKIPPED with what to do, the rest passes, and the summary calls
// nothing of it a fault.
func TestRealRigWithoutEtcd(t *testing.T) {
	t.Parallel()
	cells := metOn(t, t.TempDir(), shipped(t))
	for _, id := range []string{"etcd", "nixl-single-dram"} {
		// Which of both follows is runner/etcd's test: it depends on how, and where, the tests are built.
		c := cells[id]
		command := strings.Contains(c.Reason, filepath.Join("cmd", etcd.Program)+" . Or name an etcd")
		if !command && !strings.Contains(c.Reason, "packages and archives") || c.Verdict != steps.Skipped ||
			!strings.HasPrefix(c.Reason, etcd.Program+" is not installed: ") || !strings.Contains(c.Reason, "--etcd http://") {
			t.Errorf("%s: %s %s", id, c.Verdict, c.Reason)
		}
	}
	for _, id := range []string{"hosts", "ping"} {
		if c := cells[id]; c.Verdict != steps.Pass {
			t.Errorf("%s: %s %s", id, c.Verdict, c.Reason)
		}
	}
	if c := cells["summary"]; c.Verdict != steps.Pass || !strings.Contains(c.Reason, "2 SKIPPED") ||
		strings.Contains(c.Reason, "worst") || strings.Contains(c.Reason, etcd.Program) {
		t.Errorf("summary: %s %s", c.Verdict, c.Reason)
	}
}

// TestEtcdIsFound: a real etcd answers where railbench and railbench-etcd are installed together, and where the go
// command runs railbench from the checkout. That a package's is found is runner/etcd's test.
func TestEtcdIsFound(t *testing.T) {
	t.Parallel()
	testform.NeedsFull(t, "builds both programs")
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, args := range [][]string{{"install", "."}, {"install", "-C", filepath.Join("..", etcd.Program), "."}} {
		cmd := exec.Command(goTool, args...)
		cmd.Env = append(os.Environ(), "GOBIN="+bin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", args, err, out)
		}
	}
	none := t.TempDir()
	for name, found := range map[string]func(*testing.T) map[string]headless.Cell{
		"go install": func(t *testing.T) map[string]headless.Cell {
			return metOn(t, none, filepath.Join(bin, "railbench"))
		},
		"go run": func(t *testing.T) map[string]headless.Cell {
			return metOn(t, filepath.Dir(goTool), goTool, "run", "./cmd/railbench")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for id, c := range found(t) {
				if c.Verdict != steps.Pass {
					t.Errorf("%s: %s %s", id, c.Verdict, c.Reason)
				}
			}
		})
	}
}

// A node without curl asks by a shell, and names the host that it asks: the etcd that railbench lends answers no other.
func TestEtcdWithoutCurl(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	const version = `{"etcdserver":"3.5.16"}`
	lent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, _ := strings.Cut(r.Host, ":"); host != "127.0.0.1" {
			w.WriteHeader(http.StatusMisdirectedRequest)
			return
		}
		fmt.Fprint(w, version)
	}))
	defer lent.Close()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	cell, _ := tut.Cell("etcd")
	i := slices.IndexFunc(cell.Roles, func(r steps.Role) bool { return r.Probe })
	if i < 0 {
		t.Fatal("the cell etcd has no probe")
	}
	tools := t.TempDir()
	cat, err := exec.LookPath("cat")
	if err := errors.Join(err, os.Symlink(bash, filepath.Join(tools, "bash")),
		os.Symlink(cat, filepath.Join(tools, "cat"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "-c", cell.Roles[i].Script)
	cmd.Env = []string{"PATH=" + tools, "ETCD=" + lent.URL}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "version: "+version) {
		t.Errorf("%v: %s", err, out)
	}
}
