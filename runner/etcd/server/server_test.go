package server

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
	"time"

	"github.com/railbench/railbench/runner/etcd/etcdtest"
	"github.com/railbench/railbench/runner/testform"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func started(t *testing.T) *Server {
	t.Helper()
	return etcdtest.Started(t, Start)
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

// Only loopback, no second port, nothing on the terminal, little disk, and nothing
// of it left.
func TestQuietAndGone(t *testing.T) {
	t.Parallel()
	s := started(t)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "http://"))
	if err != nil || host != "127.0.0.1" || port == "0" {
		t.Errorf("it listens at %s", s.URL())
	}
	if len(s.etcd.Peers) != 0 {
		t.Errorf("it waits for peers: %v", s.etcd.Peers)
	}
	etcdtest.Put(t, s.URL(), "k")
	var size int64
	filepath.Walk(s.folder.Path, func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			size += info.Size()
		}
		return nil
	})
	if size > 32<<20 {
		t.Errorf("it takes %d bytes of disk", size)
	}
	if info, err := os.Stat(s.folder.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its data: %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error("a second time: ", err)
	}
	if _, err := os.Stat(s.folder.Path); !os.IsNotExist(err) {
		t.Errorf("its data is there: %v", err)
	}
	if conn, err := net.Dial("tcp", s.address); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}

// A watch that never ends does not hold up the end.
func TestCloseWithAWatch(t *testing.T) {
	t.Parallel()
	if !testform.Full() {
		t.Skip("a limit of five seconds is waited for: RAILBENCH_FULL=1")
	}
	s := started(t)
	c := etcdtest.Put(t, s.URL(), "k")
	events := c.Watch(t.Context(), "k", clientv3.WithCreatedNotify())
	if r := <-events; r.Err() != nil {
		t.Fatal(r.Err())
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > closeLimit {
		t.Errorf("it took %s", took)
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
