package nodetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

// says is a dialer to a web server on this side that answers with a text; its page
// /hang never comes.
func says(t *testing.T, text string) runner.Dialer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() {
		close(over)
		_ = server.Close()
	})
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ln.Addr().String())
	}
}

func forwarding(t *testing.T, n runner.Node, port int, dial runner.Dialer) *runner.Forwarding {
	t.Helper()
	f, err := n.(runner.Forwarder).Forward(t.Context(), port, dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// get asks a port of the node, on the node.
func get(t *testing.T, n runner.Node, port int, path string) (stdout []string, exit runner.Exit) {
	t.Helper()
	stdout, _, exit = do(t, n, runner.Script{
		Name: "get", Body: `curl -sS -m 20 "http://127.0.0.1:$PORT$WHAT"`, Limit: time.Minute,
		Vars: map[string]string{"PORT": strconv.Itoa(port), "WHAT": path},
	})
	return stdout, exit
}

// listens gives the addresses that a port of the node listens on, as the kernel
// writes them.
// State 0A is TCP_LISTEN; an address is eight hexadecimal digits in the machine's order of bytes.
func listens(t *testing.T, n runner.Node, port int) []string {
	t.Helper()
	stdout, _, _ := Do(t, n, fmt.Sprintf(`grep -hs " [0-9A-F]*:%04X [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6; :`,
		port))
	var addresses []string
	for _, line := range stdout {
		address, _, _ := strings.Cut(strings.Fields(line)[1], ":")
		addresses = append(addresses, address)
	}
	return addresses
}

// forward leads connections of the node's loopback to this side: two at once are kept apart, and a port that is
// closed can be had again.
func forward(t *testing.T, n runner.Node, o Options) {
	if o.Processes {
		testform.Tool(t, "curl")
	}
	one, two := forwarding(t, n, 0, says(t, "one")), forwarding(t, n, 0, says(t, "two"))
	if one.Port() <= 0 || one.Port() == two.Port() {
		t.Fatalf("ports %d and %d", one.Port(), two.Port())
	}
	for range 3 {
		stdout, _ := get(t, n, one.Port(), "/")
		equal(t, "the first", stdout, "one")
		stdout, _ = get(t, n, two.Port(), "/")
		equal(t, "the second", stdout, "two")
	}
	// 127.0.0.1 alone: other hosts on the node's network can't reach it.
	equal(t, "listens on", listens(t, n, one.Port()), "0100007F")

	// A port that is taken is refused, and one that is free again can be had.
	var known *runner.Error
	if _, err := n.(runner.Forwarder).Forward(t.Context(), one.Port(), says(t, "x")); !errors.As(err, &known) ||
		known.Node != n.Name() {
		t.Errorf("a port that is taken: %v", err)
	}
	if err := one.Close(); err != nil || one.Err() != nil {
		t.Errorf("close: %v, %v", err, one.Err())
	}
	equal(t, "closed", listens(t, n, one.Port()))
	// curl's 7 is a refused connection, 52 an empty answer, 56 a reset, 28 its own limit.
	if _, exit := get(t, n, one.Port(), "/"); exit.Code != 7 {
		t.Errorf("a closed port answers: %v", exit)
	}
	again := forwarding(t, n, one.Port(), says(t, "again"))
	stdout, _ := get(t, n, one.Port(), "/")
	equal(t, "the same port", stdout, "again")
	if again.Port() != one.Port() {
		t.Errorf("asked for %d, got %d", one.Port(), again.Port())
	}

	// No one is to be had on this side. The node's side has accepted it already, so that it can only be closed.
	dead := forwarding(t, n, 0, func(context.Context) (net.Conn, error) { return nil, errors.New("no server") })
	if _, exit := get(t, n, dead.Port(), "/"); exit.Code != 52 && exit.Code != 56 {
		t.Errorf("no server: %v", exit)
	}
	stdout, _ = get(t, n, two.Port(), "/")
	equal(t, "the second, after all", stdout, "two")
}

// forwardEnds ends forwardings that carry a connection, in each way.
func forwardEnds(t *testing.T, n runner.Node, o Options) {
	if o.Processes {
		testform.Tool(t, "curl")
	}
	ends := []struct {
		name string
		end  func(*runner.Forwarding)
	}{
		{"Close", func(f *runner.Forwarding) { _ = f.Close() }},
		{"the node's Close", func(*runner.Forwarding) { n.Close() }},
	}
	for _, e := range ends {
		ctx, cancel := context.WithCancel(t.Context())
		dialled := make(chan struct{}, 2)
		dial := says(t, "x")
		f, err := n.(runner.Forwarder).Forward(ctx, 0, func(ctx context.Context) (net.Conn, error) {
			dialled <- struct{}{}
			return dial(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan runner.Exit, 1)
		go func() {
			exit, _ := n.Run(t.Context(), runner.Script{
				Name: "hang", Body: `curl -sS -m 20 "http://127.0.0.1:$PORT/hang"`,
				Vars: map[string]string{"PORT": strconv.Itoa(f.Port())},
			}, func(runner.Line) {})
			got <- exit
		}()
		select {
		case <-dialled:
		case exit := <-got:
			t.Fatalf("%s: nothing came through: %v", e.name, exit)
		}
		if f.Err() != nil {
			t.Errorf("%s: before the end: %v", e.name, f.Err())
		}
		// Its context was only for the start.
		cancel()
		stdout, _ := get(t, n, f.Port(), "/")
		equal(t, e.name+", after its context", stdout, "x")
		e.end(f)
		<-f.Done()
		if exit := <-got; exit.OK() || exit.Code == 28 {
			t.Errorf("%s: the connection went on: %v", e.name, exit)
		}
		if f.Err() != nil {
			t.Errorf("%s: %v", e.name, f.Err())
		}
		if f, err := n.(runner.Forwarder).Forward(ctx, 0, says(t, "x")); err == nil {
			_ = f.Close()
			t.Errorf("%s: a context that has ended starts it", e.name)
		}
	}
	if _, err := n.(runner.Forwarder).Forward(t.Context(), 0, says(t, "x")); err == nil {
		t.Error("a closed node forwards")
	}
}
