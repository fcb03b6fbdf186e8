package main

import (
	"net/http"
	"strings"
	"testing"
)

// asked sends a request with these headers, of which Host is one.
func asked(t *testing.T, method, url, body string, headers map[string]string) (status int, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // unread: a watch that is not refused has no end
	return resp.StatusCode, resp.Header
}

// A web page in a browser of this machine neither reads nor writes, whatever it sends.
func TestPagesAreKeptOut(t *testing.T) {
	t.Parallel()
	s := started(t)
	put := `{"key":"YQ==","value":"Yg=="}`
	for name, c := range map[string]struct {
		method, path, body string
		headers            map[string]string
		status             int
	}{
		"a program":             {"POST", "/v3/kv/put", put, nil, http.StatusOK},
		"a program, by name":    {"POST", "/v3/kv/range", put, map[string]string{"Host": "localhost"}, http.StatusOK},
		"a forwarded port":      {"POST", "/v3/kv/range", put, map[string]string{"Host": "127.0.0.1:40404"}, http.StatusOK},
		"curl's type":           {"POST", "/v3/kv/range", put, form, http.StatusOK},
		"DNS rebinding":         {"POST", "/v3/kv/put", put, map[string]string{"Host": "evil.example:2379"}, 421},
		"DNS rebinding, GET":    {"GET", "/version", "", map[string]string{"Host": "evil.example"}, 421},
		"a page writes":         {"POST", "/v3/kv/put", put, page, http.StatusForbidden},
		"a page deletes":        {"POST", "/v3/kv/deleterange", put, page, http.StatusForbidden},
		"a page watches":        {"POST", "/v3/watch", `{"create_request":{"key":"YQ=="}}`, page, http.StatusForbidden},
		"a page without origin": {"POST", "/v3/kv/put", put, map[string]string{"Origin": "null"}, http.StatusForbidden},
		"by the old path":       {"POST", "/v3beta/kv/put", put, page, http.StatusForbidden},
		"a WebSocket": {"GET", "/v3/kv/range", "", map[string]string{
			"Origin": "http://evil.example", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		}, http.StatusMethodNotAllowed},
		"a question before": {"OPTIONS", "/v3/kv/put", "", map[string]string{
			"Origin": "http://evil.example", "Access-Control-Request-Method": "POST",
		}, http.StatusOK},
		"a page reads": {"GET", "/version", "", page, http.StatusOK}, // the browser doesn't hand it on
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, header := asked(t, c.method, s.URL()+c.path, c.body, c.headers)
			if status != c.status {
				t.Errorf("%s %s is answered with %d, want %d", c.method, c.path, status, c.status)
			}
			for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Headers"} {
				if header.Get(name) != "" {
					t.Errorf("%s: %s", name, header.Get(name))
				}
			}
		})
	}
}

var (
	form = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	page = map[string]string{"Origin": "http://evil.example", "Content-Type": "text/plain"}
)
