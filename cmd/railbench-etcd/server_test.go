package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// started is a server until the end of the test.
func started(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), t.TempDir())
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

// client is one of etcd's own library, which has put some keys there.
func client(t *testing.T, endpoint string, keys ...string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the test is over, and the server goes
	for _, k := range keys {
		if _, err := c.Put(t.Context(), k, "1"); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// The gateway is what curl and a program without a client library use.
func TestGateway(t *testing.T) {
	t.Parallel()
	s := started(t)
	resp, err := http.Get(s.URL() + "/version")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var v struct{ Etcdserver string }
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || !strings.HasPrefix(v.Etcdserver, "3.") {
		t.Errorf("version %q, %v", v, err)
	}
	for _, ask := range [][2]string{
		{"/v3/kv/put", `{"key":"YQ==","value":"Yg=="}`},
		{"/v3/kv/range", `{"key":"YQ=="}`},
		{"/v3/lock/lock", `{"name":"bG9jaw=="}`},
	} {
		resp, err := http.Post(s.URL()+ask[0], "application/json", strings.NewReader(ask[1]))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || ask[0] == "/v3/kv/range" && !strings.Contains(string(body), "Yg==") {
			t.Errorf("%s: %s %s", ask[0], resp.Status, body)
		}
	}
}

// What nixlbench's client library does: a session with a lease, a lock, and a watch. It comes through a
// port that leads to the server's, as a node's forwarded one does.
func TestClientLibraryThroughAnotherPort(t *testing.T) {
	t.Parallel()
	s := started(t)
	c := client(t, "http://"+leadingTo(t, s.address))
	events := c.Watch(t.Context(), "xferbench/g/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	if r := <-events; r.Err() != nil {
		t.Fatal(r.Err())
	}
	session, err := concurrency.NewSession(c, concurrency.WithTTL(60))
	if err != nil {
		t.Fatal(err)
	}
	lock := concurrency.NewMutex(session, "xferbench-lock")
	if err := lock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "xferbench/g/size", "1", clientv3.WithLease(session.Lease())); err != nil {
		t.Fatal(err)
	}
	if r := <-events; len(r.Events) != 1 || string(r.Events[0].Kv.Value) != "1" {
		t.Errorf("watched %v, %v", r, r.Err())
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if r := <-events; len(r.Events) != 1 || r.Events[0].Type != clientv3.EventTypeDelete {
		t.Errorf("the lease has ended, and it watched %v, %v", r, r.Err())
	}
}

// leadingTo is a port of loopback that carries bytes to an address.
func leadingTo(t *testing.T, address string) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp4", address)
			if err != nil {
				near.Close()
				return
			}
			for _, c := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(c[0], c[1])
					c[0].Close()
				}()
			}
		}
	}()
	return ln.Addr().String()
}

// Only loopback, no second port, nothing on the terminal, little disk, and nothing
// of it left.
func TestQuietAndGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "http://"))
	if err != nil || host != "127.0.0.1" || port == "0" {
		t.Errorf("it listens at %s", s.URL())
	}
	if len(s.etcd.Peers) != 0 {
		t.Errorf("it waits for peers: %v", s.etcd.Peers)
	}
	client(t, s.URL(), "k")
	var size int64
	filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			size += info.Size()
		}
		return nil
	})
	if size == 0 || size > 32<<20 {
		t.Errorf("it takes %d bytes of disk", size)
	}
	if info, err := os.Stat(s.data); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(s.data) != dir {
		t.Errorf("its data: %s, %v, %v", s.data, info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error("a second time: ", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if conn, err := net.Dial("tcp", s.address); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}

// A watch that never ends does not hold up the end: Close says so where it does.
func TestCloseWithAWatch(t *testing.T) {
	t.Parallel()
	if os.Getenv("RAILBENCH_FULL") == "" {
		t.Skip("a limit of five seconds is waited for: RAILBENCH_FULL=1")
	}
	s := started(t)
	c := client(t, s.URL(), "k")
	events := c.Watch(t.Context(), "k", clientv3.WithCreatedNotify())
	if r := <-events; r.Err() != nil {
		t.Fatal(r.Err())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStartInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if s, err := Start(ctx, dir); !errors.Is(err, context.Canceled) {
		if s != nil {
			s.Close()
		}
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), filepath.Join(t.TempDir(), "none"))
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// What etcd would end the program for is kept, and the program goes on.
func TestFatalIsKept(t *testing.T) {
	f := newFatal()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.logger().Fatal("failed to save", zap.Error(errors.New("no space left on device")))
		t.Error("it goes on")
	}()
	<-ended
	<-f.told
	if got := f.err.Error(); got != "etcd: failed to save: no space left on device" {
		t.Error(got)
	}
}
