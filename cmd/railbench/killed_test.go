package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/sim/etcdtest"
)

// TestKilled kills railbench in the middle of a run whose ends meet in another user's etcd: what it leaves there and
// here the next one clears, and nothing else.
func TestKilled(t *testing.T) {
	t.Parallel()
	server, err := etcd.Open(etcdtest.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	state, temp := t.TempDir(), t.TempDir()
	const theirs, living = "xferbench/somebody/size", "xferbench/rb-living/size"
	etcdtest.Put(t, server.URL(), theirs, living)
	release, err := etcd.Claims{Dir: filepath.Join(state, "railbench", "etcd")}.Take("rb-living", server.URL(),
		"xferbench/rb-living/")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	elsewhere := filepath.Join(temp, "railbench-simulations")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(speed string) (wait func() string, kill func()) {
		cmd := asProcess(t, "run", "--rig", "sim", "--speed", speed, "--etcd", server.URL(), "-p", "NIXL_RUNTIME=ETCD",
			"-v", "nixl-single-dram")
		cmd.Env = append(cmd.Environ(), "XDG_STATE_HOME="+state, "TMPDIR="+temp)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return func() string { _ = cmd.Wait(); return said.String() }, func() { _ = cmd.Process.Kill() }
	}
	keys := func() (mine []string) {
		all, err := server.List(t.Context(), "xferbench/rb-")
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(all, func(k string) bool { return k == living })
	}
	left := func() []string {
		claims, _ := filepath.Glob(filepath.Join(state, "railbench", "etcd", "*.json"))
		folders, _ := filepath.Glob(filepath.Join(temp, "railbench-sim-*"))
		return append(claims, folders...)
	}

	wait, kill := run("1")
	for given := time.Now(); len(keys()) == 0; { // the kernel reports no one of a key
		if time.Since(given) > 2*time.Minute {
			kill()
			t.Fatalf("no key ever came: %s", wait())
		}
		time.Sleep(10 * time.Millisecond)
	}
	kill()
	wait()
	if len(keys()) == 0 || len(left()) != 3 {
		t.Fatalf("the test shows nothing: a killed one left %v and %v", keys(), left())
	}

	wait, _ = run("max")
	said := wait()
	if mine := keys(); len(mine) > 0 || !strings.Contains(said, "PASS") {
		t.Errorf("the next one leaves %v:\n%s", mine, said)
	}
	if l := left(); len(l) != 1 || filepath.Base(l[0]) != "rb-living.json" {
		t.Errorf("what is left here: %v", l)
	}
	for _, key := range []string{theirs, living} {
		if there, err := server.List(t.Context(), key); err != nil || len(there) != 1 {
			t.Errorf("%s: %v, %v", key, there, err)
		}
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("a folder with another name: %v", err)
	}
}

// TestKilledShell kills the shell of a test in the middle of it: the folder that it leaves on its
// node the next test's shell removes, and none of a shell that lives.
func TestKilledShell(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	cell, ok := tut.Cell("dual-link")
	if !ok {
		t.Fatal("there is no dual-link")
	}
	script, _, ok := strings.Cut(cell.Roles[1].Text(), "# Runs a test")
	if !ok {
		t.Fatalf("it begins otherwise: %s", cell.Roles[1].Text())
	}
	temp := t.TempDir()
	theirs := filepath.Join(temp, "railbench.log.abcdef")
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func() (folder string, cmd *exec.Cmd) {
		cmd = exec.Command("sh", "-c", script+"\necho \"$dir\"\nread -r wait\n")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.StdinPipe(); err != nil { // it waits until it is killed
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		folder, err = bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(folder), cmd
	}
	killed, dead := start()
	lives, alive := start()
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if _, err := os.Stat(killed); err != nil {
		t.Fatalf("the test shows nothing: %v", err)
	}
	other, last := start()
	for path, want := range map[string]bool{killed: false, lives: true, other: true, theirs: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
	// SIGTERM, as the supervisor ends it, leaves nothing behind.
	for _, cmd := range []*exec.Cmd{alive, last} {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for _, path := range []string{lives, other} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
