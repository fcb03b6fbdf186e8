package etcd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/railbench/railbench/runner/sim/etcdtest"
	"github.com/railbench/railbench/runner/testform"
)

// TestMain makes the test binary some programs, too, in $PATH: one that serves a simulated etcd as the server's
// program does, one that fails in the way that its arguments say, and one that starts a server and waits to be
// killed.
func TestMain(m *testing.M) {
	testscript.Main(form{m}, map[string]func(){Program: etcdtest.Main, "odd": odd, "holder": holder})
}

type form struct{ m *testing.M }

func (f form) Run() int { return testform.Main(f.m) }

// odd writes its first argument to stdout and its second to stderr. Where there is a third one it ends with that
// status, else when its stdin ends.
func odd() {
	os.Stdout.WriteString(os.Args[1])
	os.Stderr.WriteString(os.Args[2])
	if status, err := strconv.Atoi(os.Args[3]); err == nil {
		os.Exit(status)
	}
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// holder has the program that $PROGRAM names, and else the one of $PATH.
func holder() {
	p := program{path: os.Getenv("PROGRAM"), limit: startLimit}
	if p.path == "" {
		var err error
		if p, err = find(); err != nil {
			panic(err)
		}
	}
	s, err := start(context.Background(), p)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(s.URL() + "\n")
	select {}
}

// named is a program of $PATH, which is TestMain's.
func named(t *testing.T, name string) program {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return program{path: path, limit: startLimit}
}

// started is a server of a program until the end of the test.
func started(t *testing.T, p program) *Server {
	t.Helper()
	s, err := start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// each runs a test with the program that TestMain makes, and in the full form with railbench-etcd, too.
func each(t *testing.T, test func(t *testing.T, p program)) {
	t.Run("simulated", func(t *testing.T) { test(t, named(t, Program)) })
	t.Run("real", func(t *testing.T) { test(t, program{path: etcdtest.Built(t), limit: startLimit}) })
}

func TestListAndClear(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p program) {
		s := started(t, p)
		etcdtest.Put(t, s.URL(), "xferbench/a//size", "xferbench/a/barrier/x/0/0", "xferbench/ab//size", "other")
		other, err := Open(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		dialled := Within(s.Dial)
		defer dialled.Close()
		for _, c := range []*Client{s.Client, other, dialled.Client} {
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
		keys, err = s.List(t.Context(), "")
		if diff := cmp.Diff([]string{"other", "xferbench/ab//size"}, keys); diff != "" || err != nil {
			t.Errorf("all: %s, %v", diff, err)
		}
		if _, err := s.Clear(t.Context(), ""); err == nil {
			t.Error("everything was cleared")
		}
	})
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p program) {
		a, b := started(t, p), started(t, p)
		etcdtest.Put(t, a.URL(), "k")
		if keys, err := b.List(t.Context(), ""); err != nil || len(keys) > 0 {
			t.Errorf("%v, %v", keys, err)
		}
	})
}

// One that is in this process has no life of its own.
func TestWithin(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int32
	url := etcdtest.Serve(t)
	s := Within(func(ctx context.Context) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	})
	if keys, err := s.List(t.Context(), "x"); err != nil || len(keys) > 0 || dialled.Load() != 1 {
		t.Errorf("%v, %v, dialled %d times", keys, err, dialled.Load())
	}
	for range 2 {
		if err := errors.Join(s.Err(), s.Close()); err != nil {
			t.Error(err)
		}
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

// Not next to the others: one of their servers could take the port that no one has.
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

// A server that is not an etcd, or an etcd without a gateway, is not taken for an etcd without keys.
func TestOddAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		answer, want string
	}{
		"no gateway":     {404, "404 page not found\n", "no JSON gateway"},
		"a refusal":      {500, `{"code":13,"message":"etcdserver: no leader"}`, "etcdserver: no leader"},
		"no JSON":        {200, "<html>", "is not etcd"},
		"something else": {200, `{"kvs":[]}`, "is not etcd"},
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

// A server whose process dies is reported, in its words, and its folder is removed.
func TestServerDies(t *testing.T) {
	t.Parallel()
	s, err := start(t.Context(), named(t, Program))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(s.folder.Path); err != nil || len(left) != 1 {
		t.Errorf("its folder has %v, %v", left, err)
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
	if _, err := os.Stat(s.folder.Path); !os.IsNotExist(err) {
		t.Errorf("its folder is there: %v", err)
	}
}

// A program that says why it can't start is quoted, and one that says nothing isn't
// waited for without an end. Nothing of it is left.
func TestProgramFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, c := range map[string]struct {
		args []string // of odd
		want string
	}{
		"it says why":  {[]string{"", "no space left", "1"}, "no space left"},
		"its status":   {[]string{"", "", "3"}, "exit status 3"},
		"it just ends": {[]string{"", "", "0"}, "ended by itself"},
		"no URL":       {[]string{"nonsense\n", "", ""}, "http://HOST:PORT"},
	} {
		p := named(t, "odd")
		p.args = c.args
		s, err := start(t.Context(), p)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	silent := named(t, "odd")
	silent.args, silent.limit = []string{"", "", ""}, time.Millisecond
	if s, err := start(t.Context(), silent); err == nil || !strings.Contains(err.Error(), "not ready") {
		if s != nil {
			s.Close()
		}
		t.Errorf("one that says nothing: %v", err)
	}
	if _, err := start(t.Context(), program{path: filepath.Join(temp, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// The server ends with who has started it, killed or not, and its folder goes with it.
func TestEndsWithItsStarter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p program) {
		temp := t.TempDir()
		cmd := exec.Command("holder")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "PROGRAM="+p.path)
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		url, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(strings.TrimSpace(url))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.List(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if left, err := filepath.Glob(filepath.Join(temp, folderName+"*")); err != nil || len(left) != 1 {
			t.Errorf("while it runs there is %v, %v", left, err)
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		gone := func() bool {
			left, err := os.ReadDir(temp)
			if conn, there := c.Dial(t.Context()); there == nil {
				conn.Close()
				return false
			}
			return err == nil && len(left) == 0
		}
		for deadline := time.Now().Add(2 * time.Minute); !gone(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it serves, or its folder is left")
			}
		}
	})
}
