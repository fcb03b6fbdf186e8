package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// answerLimit is how long an etcd may take for one answer. The keys are few; one
// that needs longer is not there.
const answerLimit = 3 * time.Second

// A Client looks into an etcd.
type Client struct {
	url *url.URL
	v3  *clientv3.Client
}

// Check says what is wrong with the URL of an etcd. It connects to nothing.
func Check(endpoint string) error {
	_, err := parse(endpoint)
	return err
}

func parse(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" || u.Path != "" && u.Path != "/" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("etcd %q: its URL is written http://HOST:PORT", endpoint)
	}
	u.Path = ""
	return u, nil
}

// Open makes a client for an etcd at a URL like http://192.168.100.11:2379. It
// connects at the first question.
func Open(endpoint string) (*Client, error) {
	u, err := parse(endpoint)
	if err != nil {
		return nil, err
	}
	v3, err := clientv3.New(clientv3.Config{Endpoints: []string{u.String()}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("make a client for etcd at %s: %w", u, err)
	}
	return &Client{u, v3}, nil
}

// URL is where the etcd listens.
func (c *Client) URL() string { return c.url.String() }

// Port is the port in the URL.
func (c *Client) Port() string { return c.url.Port() }

// OnLoopback says that only this machine reaches it.
func (c *Client) OnLoopback() bool {
	ip := net.ParseIP(c.url.Hostname())
	return c.url.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Dial connects to it: what a node's forwarded port leads to.
func (c *Client) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", c.url.Host)
}

// List gives the keys under a prefix, sorted.
func (c *Client) List(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errNoAnswer)
	defer cancel()
	r, err := c.v3.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return nil, c.explain(ctx, err, "list the keys of")
	}
	var keys []string
	for _, kv := range r.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, nil
}

// Clear removes the keys under a prefix and says how many there were. It wants a
// prefix: nobody clears an etcd that others use as well.
func (c *Client) Clear(ctx context.Context, prefix string) (int, error) {
	if prefix == "" {
		return 0, errors.New("clear etcd: no prefix, and so every key of everybody")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errNoAnswer)
	defer cancel()
	r, err := c.v3.Delete(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return 0, c.explain(ctx, err, "remove keys from")
	}
	return int(r.Deleted), nil
}

// Close ends the client's connection.
func (c *Client) Close() error { return c.v3.Close() }

var errNoAnswer = errors.New("it does not answer within " + answerLimit.String())

// explain says what is known of why there was no answer: the library tries again
// until the time is up, and keeps the reason.
func (c *Client) explain(ctx context.Context, err error, op string) error {
	if why := context.Cause(ctx); why != nil {
		err = why
	}
	if errors.Is(err, errNoAnswer) {
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn, refused := c.Dial(again)
		if refused != nil {
			err = refused
		} else {
			conn.Close()
		}
	}
	return fmt.Errorf("%s etcd at %s: %w", op, c.url, err)
}
