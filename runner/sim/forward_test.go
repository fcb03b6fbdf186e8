package sim

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// serveVersion answers HTTP on a forwarded port of a node.
func serveVersion(t *testing.T, b *bench, node string) (port string, ln net.Listener) {
	t.Helper()
	ln, err := b.client(node).Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/version", func(w http.ResponseWriter,
		_ *http.Request,
	) {
		io.WriteString(w, `{"etcdserver":"3.7.3"}`)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Content-Type")+" ")
		io.Copy(w, r.Body)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := &http.Server{Handler: mux}
	go server.Serve(ln)
	t.Cleanup(func() { server.Close() })
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port), ln
}

func TestForward(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	port, ln := serveVersion(t, b, "spark-01")
	at := "http://127.0.0.1:" + port
	for command, want := range map[string]string{
		"curl -s " + at + "/version":                                              `{"etcdserver":"3.7.3"}`,
		"curl -sSf -m 5 " + at + "/version":                                       `{"etcdserver":"3.7.3"}`,
		"curl --silent --fail --connect-timeout 2 localhost:" + port + "/version": `{"etcdserver":"3.7.3"}`,
		"curl -s -o /dev/null -w '%{http_code}\\n' " + at + "/version":            "200\n",
		"curl -s -d '{}' -H 'Content-Type: application/json' " + at + "/echo":     "application/json {}",
		"curl -sd x=y -X POST " + at + "/echo":                                    "application/x-www-form-urlencoded x=y",
		"ss -Htln | grep -c 127.0.0.1:" + port:                                    "1\n",
		"ss -Htlnp | grep -c '\"sshd\"'":                                          "1\n",
		"grep -c '0100007F:.* 00000000:0000 0A' /proc/net/tcp":                    "1\n",
		"command -v curl": "/usr/bin/curl\n",
		"curl -s http://192.168.100.10:" + port + "/version || echo exit $?":           "exit 7\n", // it is loopback's
		"curl -s http://127.0.0.1:1/ || echo exit $?":                                  "exit 7\n",
		"curl -s http://127.0.0.1:22/ || echo exit $?":                                 "exit 7\n",
		"curl -s http://nowhere.example/ || echo exit $?":                              "exit 6\n",
		"curl -s https://127.0.0.1:" + port + "/ || echo exit $?":                      "exit 1\n",
		"curl -s -m 0.2 " + at + "/hang || echo exit $?":                               "exit 28\n",
		"curl -s -f " + at + "/none || echo exit $?":                                   "exit 22\n",
		"timeout 5 curl -s " + at + "/hang || echo exit $?":                            "exit 124\n",
		"curl -s http://spark-02:" + port + "/version || echo exit $?":                 "exit 7\n",
		"ib_write_bw -d rocep1s0f0 -p " + port + " 127.0.0.1 2>&1 | grep -c Couldn":    "1\n",
		"ib_write_bw -d rocep1s0f0 -p " + port + " 2>&1 | grep -c \"Couldn't listen\"": "1\n",
	} {
		if got := b.try("spark-01", command); got.out != want {
			t.Errorf("%s: %q, want %q (%s)", command, got.out, want, got.err)
		}
	}
	if got := b.try("spark-01", "curl -sS http://127.0.0.1:1/"); !strings.HasPrefix(got.err,
		"curl: (7) Failed to connect to 127.0.0.1 port 1 after ") {
		t.Errorf("refused: %q", got.err)
	}
	// The other node has no such port.
	if got := b.try("spark-02", "curl -s "+at+"/version"); got.code != 7 {
		t.Errorf("on the other node: %+v", got)
	}
	ln.Close()
	if got := b.must("spark-01", "ss -Htln | grep -c "+port+" || true"); got != "0\n" {
		t.Errorf("closed, and listens: %q", got)
	}
	if got := b.try("spark-01", "curl -s "+at+"/version"); got.code != 7 {
		t.Errorf("closed, and answers: %+v", got)
	}
}

func TestForwardRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	port, _ := serveVersion(t, b, "spark-01")
	for _, address := range []string{"127.0.0.1:" + port, "127.0.0.1:22", "127.0.0.1:80"} {
		if ln, err := b.client("spark-01").Listen("tcp", address); err == nil {
			ln.Close()
			t.Errorf("%s is forwarded", address)
		}
	}
	if conn, err := b.client("spark-01").Dial("tcp", "127.0.0.1:"+port); err == nil {
		conn.Close()
		t.Error("direct-tcpip reaches the node's loopback")
	}
}

// A client that is gone leaves no port, no process and no connection behind.
func TestForwardEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	port, _ := serveVersion(t, b, "spark-01")
	number, _ := strconv.Atoi(port)
	n := b.rack.Nodes[0]
	conn, err := n.DialLoopback(number)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
	b.client("spark-01").Close()
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	b.until("the end of the port", func() bool { return len(n.Listeners) == 0 && len(n.Procs) == 0 })
	if _, err := n.DialLoopback(number); err == nil {
		t.Error("it still answers")
	}
}

// A forwarded connection that the client doesn't take ends at once.
func TestForwardNotTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	ok, _, err := b.client("spark-01").SendRequest("tcpip-forward", true,
		[]byte("\x00\x00\x00\x09127.0.0.1\x00\x00\x09\x4b"))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := b.try("spark-01", "curl -sS http://127.0.0.1:2379/version"); got.code != 52 && got.code != 56 {
		t.Errorf("%+v", got)
	}
}
