package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/etcd/etcdtest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/railbench/railbench/runner/etcd/server"
)

// TestMain makes the test binary the server's program, too, in $PATH, and one that
// starts a server and waits to be killed.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		Program:  func() { os.Exit(server.Main(os.Stdin, os.Stdout, os.Stderr)) },
		"holder": holder,
	})
}

func holder() {
	s, err := Start(context.Background())
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(s.URL() + "\n")
	select {}
}

func started(t *testing.T) *Server {
	t.Helper()
	return etcdtest.Started(t, Start)
}

func TestListAndClear(t *testing.T) {
	t.Parallel()
	s := started(t)
	etcdtest.Put(t, s.URL(), "xferbench/a//size", "xferbench/a/barrier/x/0/0", "xferbench/ab//size", "other")
	other, err := Open(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []*Client{s.Client, other} {
		keys, err := c.List(t.Context(), "xferbench/")
		if diff := cmp.Diff([]string{"xferbench/a//size", "xferbench/a/barrier/x/0/0", "xferbench/ab//size"},
			keys); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
	}
	if n, err := s.Clear(t.Context(), "xferbench/a/"); n != 2 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	if n, err := other.Clear(t.Context(), "xferbench/a/"); n != 0 || err != nil {
		t.Errorf("cleared again %d, %v", n, err)
	}
	keys, err := s.List(t.Context(), "x")
	if diff := cmp.Diff([]string{"xferbench/ab//size"}, keys); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	if _, err := s.Clear(t.Context(), ""); err == nil {
		t.Error("everything was cleared")
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	a, b := started(t), started(t)
	etcdtest.Put(t, a.URL(), "k")
	if keys, err := b.List(t.Context(), ""); err != nil || len(keys) > 0 {
		t.Errorf("%v, %v", keys, err)
	}
}

func TestStartInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx); !errors.Is(err, context.Canceled) {
		if s != nil {
			s.Close()
		}
		t.Errorf("got %v", err)
	}
}

// Not beside the others: one of their servers could take the port that nobody has.
func TestNobodyThere(t *testing.T) {
	for _, bad := range []string{
		"", "spark-01:2379", "http://spark-01", "ftp://x:1", "http://x:1/path", "http://:2379",
		"https://x:1", "http://u:p@x:1",
	} {
		if c, err := Open(bad); err == nil {
			c.Close()
			t.Errorf("%q is taken", bad)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	c, err := Open("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.List(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "etcd at http://"+address) ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

// What answers and is no etcd, or one without a gateway, is told from an etcd without
// keys.
func TestOddAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		answer, want string
	}{
		"no gateway":     {404, "404 page not found\n", "no JSON gateway"},
		"a refusal":      {500, `{"code":13,"message":"etcdserver: no leader"}`, "etcdserver: no leader"},
		"no JSON":        {200, "<html>", "no etcd"},
		"something else": {200, `{"kvs":[]}`, "no etcd"},
		"a wrong type":   {200, `{"header":{},"kvs":"x","deleted":"x"}`, "read its answer"},
		"elsewhere":      {302, "", "answers 302"},
	} {
		t.Run(name, func(t *testing.T) {
			there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				io.WriteString(w, c.answer)
			}))
			defer there.Close()
			client, err := Open(there.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, listed := client.List(t.Context(), "x")
			_, cleared := client.Clear(t.Context(), "x")
			for _, err := range []error{listed, cleared} {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), there.URL) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			}
		})
	}
}

func TestUnder(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a/": "a0", "a\xff": "b", "": "\x00", "\xff\xff": "\x00"} {
		if got := under(prefix); string(got.End) != want || len(got.Key) == 0 {
			t.Errorf("%q: from %q to %q", prefix, got.Key, got.End)
		}
	}
}

// A server whose process dies is told, in its words.
func TestServerDies(t *testing.T) {
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	if err := s.program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), Program) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error("told twice: ", err)
	}
}

// A program that says why it can't start is quoted; one that says nothing isn't
// waited for without an end.
func TestProgramFails(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	for script, want := range map[string]string{
		"echo no space left >&2; exit 1": "no space left",
		"exit 3":                         "exit status 3",
		"exit 0":                         "ended by itself",
		"echo nonsense; cat":             "http://HOST:PORT",
		"cat":                            "not ready",
	} {
		s, err := start(t.Context(), program{path: shell, args: []string{"-c", script}, limit: time.Second})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// The server ends with who has started it, killed or not, and its folder goes with it.
func TestEndsWithItsStarter(t *testing.T) {
	temp := t.TempDir()
	cmd := exec.Command("holder")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := stdout.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.List(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone := func() bool {
		left, err := filepath.Glob(filepath.Join(temp, Program+"*"))
		if conn, there := c.Dial(t.Context()); there == nil {
			conn.Close()
			return false
		}
		return err == nil && len(left) == 0
	}
	for deadline := time.Now().Add(closeLimit); !gone(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it serves, or its folder is left")
		}
	}
}

func TestFind(t *testing.T) {
	path := os.Getenv("PATH")
	p, err := find()
	if err != nil || filepath.Base(p.path) != Program {
		t.Fatalf("%v, %v", p, err)
	}
	t.Setenv("PATH", t.TempDir())
	if p, err := find(); err == nil || !strings.Contains(err.Error(), "go install "+programPackage) ||
		!strings.Contains(err.Error(), "--etcd") {
		t.Errorf("%v, %v", p, err)
	}
	t.Setenv("PATH", path)
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
	if got := beside("/usr/bin/railbench"); !cmp.Equal(got,
		[]string{"/usr/bin/railbench-etcd", "/usr/libexec/railbench/railbench-etcd"}) {
		t.Errorf("got %q", got)
	}
}
