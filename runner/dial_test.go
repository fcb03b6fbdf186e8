package runner

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// A connection comes from where the configuration says, and goes by the family that it says.
func TestDialsFromWhereItIsToldTo(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan string)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
			conn.Close()
			came <- host
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	n, _ := strconv.Atoi(port)
	for _, c := range []struct {
		target     Target
		from, fail string
	}{
		{Target{}, "127.0.0.1", ""},
		{Target{Network: "tcp4"}, "127.0.0.1", ""},
		{Target{Network: "tcp6"}, "", "no suitable address"},
		{Target{BindAddress: "127.0.0.9"}, "127.0.0.9", ""},
		{Target{BindAddress: "127.0.0.9", BindInterface: "no-such"}, "127.0.0.9", ""},
		{Target{BindInterface: loopbackName(t), Network: "tcp4"}, "127.0.0.1", ""},
		{Target{BindInterface: loopbackName(t)}, "127.0.0.1", ""},
		{Target{BindInterface: "no-such"}, "", "no-such"},
		{Target{BindAddress: "192.0.2.1"}, "", "192.0.2.1"}, // no one's (RFC 5737)
	} {
		c.target.Host, c.target.Port = "127.0.0.1", n
		conn, err := c.target.dial(t.Context())
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%+v: %v, want %q", c.target, err, c.fail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.target, err)
			continue
		}
		if got := <-came; got != c.from {
			t.Errorf("%+v: from %s, want %s", c.target, got, c.from)
		}
		conn.Close()
	}
}

// loopbackName is the name of the interface that has 127.0.0.1.
func loopbackName(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name
		}
	}
	t.Skip("there is no loopback interface")
	return ""
}
