package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/crowd"
	"github.com/railbench/railbench/steps"
)

// served serves a page with few places, and gives its address.
func served(t *testing.T, p *Page, most, each int) string {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, done := p.Server(), make(chan struct{})
	go func() { defer close(done); _ = server.Serve(crowd.Listen(tcp, most, each)) }()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return tcp.Addr().String()
}

// stubborn is a client that asks for more than fits into the buffers between, and reads nothing.
func stubborn(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	// It may be closed already.
	_, _ = io.WriteString(c, strings.Repeat("GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 20))
	return c
}

func fetch(address, path string) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// Who holds all places and reads nothing keeps no one else away, with one address or with many.
func TestSlowReadersBlindNobody(t *testing.T) {
	t.Parallel()
	for name, places := range map[string][2]int{"all": {3, 100}, "an address's own": {100, 3}} {
		address := served(t, newPage(Options{}), places[0], places[1])
		for range 20 {
			stubborn(t, address)
		}
		for range 3 {
			if text, err := fetch(address, "/page.css"); err != nil || text != "a{}" {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	}
}

// A viewer with the token stays, whatever comes without it.
func TestTokensComeFirst(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	p := newPage(Options{})
	p.Guard(token)
	p.Board(board(1))
	p.look()
	for name, places := range map[string][2]int{"all": {3, 100}, "an address's own": {100, 2}} {
		address := served(t, p, places[0], places[1])
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /events?token=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", token)
		read := bufio.NewScanner(c)
		read.Buffer(nil, 4<<20)
		until := func(what string) {
			for read.Scan() {
				if strings.Contains(read.Text(), what) {
					return
				}
			}
			t.Errorf("%s: the viewer's stream ended before %q: %v", name, what, read.Err())
		}
		until("event: snapshot")
		for range 20 {
			stubborn(t, address)
		}
		p.feed.publish("cell", "news for "+name)
		until("news for " + name)
	}
}

// An answer that is not read ends, and so does a stream whose message is not.
func TestAnswersHaveALimit(t *testing.T) {
	t.Parallel()
	s := newPage(Options{}).Server()
	if s.WriteTimeout <= 0 || s.ReadHeaderTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("an answer has %v, a header %v, an idle connection %v", s.WriteTimeout, s.ReadHeaderTimeout, s.IdleTimeout)
	}
	p := newPage(Options{})
	p.Book(steps.NewNotebook(tutorial()))
	server := p.Server()
	server.WriteTimeout = 1 // ns: over before the first byte
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(crowd.Listen(tcp, MostConnections, MostEach)) }()
	if text, err := fetch(tcp.Addr().String(), "/page.css"); err == nil {
		t.Errorf("an answer came after its limit: %q", text)
	}
	server.Close()
	<-done
}
