// Package etcdtest is what the tests of an etcd and of the program that runs one share: one
// that is started and ended with a test, and keys in it. Nothing else imports it.
package etcdtest

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Started starts a server for a test, and closes it with the test. How long either took is
// logged: a slow disk shows there before a test fails for it.
func Started[S interface{ Close() error }](t *testing.T, start func(context.Context) (S, error)) S {
	t.Helper()
	began := time.Now()
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s", time.Since(began))
	t.Cleanup(func() {
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("closed in %s", time.Since(began))
	})
	return s
}

// Put is a client of etcd's own at an endpoint, which has put some keys there.
func Put(t *testing.T, endpoint string, keys ...string) *clientv3.Client {
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
