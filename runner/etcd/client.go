package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// answerLimit is how long an etcd may take for one answer. The keys are few; one
// that needs longer is not there.
const answerLimit = 3 * time.Second

// answerMaxBytes bounds what is read of an answer: some hundred thousand keys.
const answerMaxBytes = 64 << 20

// A Client looks into an etcd, through its JSON gateway (etcd 3.4 or later): two
// questions don't need gRPC, which every start of railbench would pay for.
type Client struct {
	url  *url.URL
	dial func(context.Context) (net.Conn, error)
	http *http.Client
}

// Check says what is wrong with the URL of an etcd. It connects to nothing.
func Check(endpoint string) error {
	_, err := parse(endpoint)
	return err
}

func parse(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" ||
		u.Path != "" && u.Path != "/" || u.User != nil || u.RawQuery != "" {
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
	return reach(u, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	}), nil
}

// reach makes a client whose connections dial makes, wherever the URL leads to.
func reach(u *url.URL, dial func(context.Context) (net.Conn, error)) *Client {
	// A transport of its own: a proxy of the environment is for the web, not for a rig.
	return &Client{u, dial, &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		},
		// An etcd does not redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// URL is where the etcd listens.
func (c *Client) URL() string { return c.url.String() }

// Port is the port in the URL.
func (c *Client) Port() string { return c.url.Port() }

// OnLoopback reports whether only this machine reaches it.
func (c *Client) OnLoopback() bool {
	ip := net.ParseIP(c.url.Hostname())
	return c.url.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Dial connects to it: what a node's forwarded port leads to.
func (c *Client) Dial(ctx context.Context) (net.Conn, error) { return c.dial(ctx) }

// A span is the keys of a question, as etcd's rpc.proto has it: from Key to before End.
type span struct {
	Key []byte `json:"key"`
	End []byte `json:"range_end"`
	// Only for range. The values may be large, and are not needed.
	KeysOnly bool `json:"keys_only,omitempty"`
}

// under is the keys with a prefix. As etcd has it, a zero byte is before the first key,
// and behind the last one.
func under(prefix string) span {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		end = []byte{0}
	} else {
		end[len(end)-1]++
	}
	key := []byte(prefix)
	if len(key) == 0 {
		key = []byte{0}
	}
	return span{Key: key, End: end}
}

// List gives the keys under a prefix, sorted.
func (c *Client) List(ctx context.Context, prefix string) ([]string, error) {
	asked := under(prefix)
	asked.KeysOnly = true
	var answer struct {
		Kvs []struct {
			Key []byte `json:"key"`
		} `json:"kvs"`
	}
	if err := c.ask(ctx, "range", asked, &answer); err != nil {
		return nil, fmt.Errorf("list the keys of etcd at %s: %w", c.url, err)
	}
	var keys []string
	for _, kv := range answer.Kvs {
		keys = append(keys, string(kv.Key))
	}
	slices.Sort(keys)
	return keys, nil
}

// Clear removes the keys under a prefix and says how many there were. It requires a prefix: other programs
// may use the same etcd.
func (c *Client) Clear(ctx context.Context, prefix string) (int, error) {
	if prefix == "" {
		return 0, errors.New("clear etcd: no prefix, and so every key of everybody")
	}
	var answer struct {
		// Whole numbers of 64 bits are texts in protobuf's JSON; one that is 0 is left out.
		Deleted int `json:"deleted,string"`
	}
	if err := c.ask(ctx, "deleterange", under(prefix), &answer); err != nil {
		return 0, fmt.Errorf("remove keys from etcd at %s: %w", c.url, err)
	}
	return answer.Deleted, nil
}

// Close ends the client's connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

var errNoAnswer = errors.New("it does not answer within " + answerLimit.String())

// ask puts one question to the gateway's key-value service.
func (c *Client) ask(ctx context.Context, what string, question, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errNoAnswer)
	defer cancel()
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	at := c.url.JoinPath("v3", "kv", what).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return explain(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerMaxBytes))
	if err != nil {
		return explain(ctx, err)
	}
	if response.StatusCode != http.StatusOK {
		return refused(response.StatusCode, text)
	}
	// A server that answers with 200 and is not an etcd must not pass for one without keys.
	var whose struct {
		Header *struct{} `json:"header"`
	}
	if err := json.Unmarshal(text, &whose); err != nil || whose.Header == nil {
		return fmt.Errorf("what answers there is not etcd: %.100q", text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	return nil
}

// refused says what an etcd says that does not do what it is asked.
func refused(status int, text []byte) error {
	if status == http.StatusNotFound {
		return errors.New("it has no JSON gateway: railbench needs etcd 3.4 or later, without --enable-grpc-gateway=false")
	}
	var told struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text, &told); err != nil || told.Message == "" {
		told.Message = strings.TrimSpace(string(text[:min(len(text), 200)]))
	}
	return fmt.Errorf("it answers %d: %s", status, told.Message)
}

// explain says why there was no answer. The caller adds the address.
func explain(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		return asked.Err
	}
	return err
}
