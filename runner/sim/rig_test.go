package sim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// A bench is a rig on which a test runs commands. Where no speed is given the test is an
// actor of the rig's clock: nothing takes real time, and what is before what is said by the
// nodes' time alone. Otherwise each node has an SSH client.
type bench struct {
	*Rig
	t       *testing.T
	ctx     context.Context //nolint:containedctx // it is the test's actor; nil where clients come by SSH
	clients map[string]*ssh.Client
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	acts := o.Speed == 0
	if acts {
		o.Speed = Max
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Rig: r, t: t, clients: map[string]*ssh.Client{}}
	t.Cleanup(func() {
		for _, c := range b.clients {
			c.Close()
		}
		r.Close()
	})
	if acts {
		b.act()
	}
	return b
}

// act makes the test an actor until its end.
func (b *bench) act() {
	began, over := make(chan struct{}), make(chan struct{})
	go b.Clock().Join(b.t.Context(), func(ctx context.Context) {
		b.ctx = ctx
		close(began)
		<-over
	})
	<-began
	b.t.Cleanup(func() { close(over) })
}

func (b *bench) client(node string) *ssh.Client {
	b.t.Helper()
	if c := b.clients[node]; c != nil {
		return c
	}
	conn, err := b.Dial(b.t.Context(), node)
	if err != nil {
		b.t.Fatal(err)
	}
	cc, chans, reqs, err := ssh.NewClientConn(conn, node, &ssh.ClientConfig{
		User: "nvidia", HostKeyCallback: ssh.FixedHostKey(b.HostKey(node)),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.clients[node] = ssh.NewClient(cc, chans, reqs)
	return b.clients[node]
}

// A reply is what a command printed and how it ended.
type reply struct {
	out, err string
	code     int
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[*ssh.ExitError](err); ok {
		return status.ExitStatus()
	}
	t.Errorf("session: %v", err)
	return -1
}

func (b *bench) try(node, command string) reply {
	b.t.Helper()
	_, end := b.start(node, command)
	return end()
}

// must runs a command that has to succeed without a word on stderr.
func (b *bench) must(node, command string) string {
	b.t.Helper()
	r := b.try(node, command)
	if r.code != 0 || r.err != "" {
		b.t.Errorf("%s on %s: exit %d\n%s%s", command, node, r.code, r.out, r.err)
	}
	return r.out
}

// start runs a command and returns what ends it, and what waits for its end.
func (b *bench) start(node, command string) (kill func(), end func() reply) {
	b.t.Helper()
	if b.ctx != nil {
		return b.begin(node, command)
	}
	s, err := b.client(node).NewSession()
	if err != nil {
		b.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	s.Stdout, s.Stderr = &out, &errs
	if err := s.Start(command); err != nil {
		b.t.Fatal(err)
	}
	return func() { kill() }, func() reply {
		err := s.Wait()
		s.Close()
		return reply{out.String(), errs.String(), exitOf(b.t, err)}
	}
}

// begin is start for a test that acts.
func (b *bench) begin(node, command string) (kill func(), end func() reply) {
	b.t.Helper()
	n, err := b.node(node)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, kill := context.WithCancel(b.ctx)
	over := make(chan struct{})
	var out, errs bytes.Buffer
	code := 0
	b.Clock().Go(ctx, func(ctx context.Context) {
		defer close(over)
		defer kill()
		code = host.NewShell(n, false, true).Start(ctx, command, host.Job{Name: "bash", Stdout: &out, Stderr: &errs})
	})
	return kill, func() reply {
		b.t.Helper()
		if b.Clock().Await(b.ctx, 24*time.Hour, over) != 0 {
			b.t.Fatalf("%s on %s does not end", command, node)
		}
		return reply{out.String(), errs.String(), code}
	}
}

// pass lets so much of the nodes' time pass.
func (b *bench) pass(d time.Duration) { b.Clock().Await(b.ctx, d) }

// until waits for a condition of the nodes.
func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	seen := func() bool {
		b.rack.Lock()
		defer b.rack.Unlock()
		return holds()
	}
	if b.ctx != nil {
		for range 6000 {
			if seen() {
				return
			}
			b.pass(10 * time.Millisecond)
		}
		b.t.Fatalf("never happened: %s", what)
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if seen() {
			return
		}
		time.Sleep(200 * time.Microsecond)
	}
	b.t.Fatalf("never happened: %s", what)
}

// listening waits until a node's port has a server.
func (b *bench) listening(node, port int) {
	b.t.Helper()
	b.until("a listener", func() bool { return b.rack.Nodes[node].Listeners[port] != nil })
}

func TestShell(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct{ command, want string }{
		{"hostname", "spark-01\n"},
		{"uname -srm", "Linux " + host.Kernel + " aarch64\n"},
		{"id -u; sudo -n id -u", "1000\n0\n"},
		{"echo a b | tr a-z A-Z; printf '%s\\n' x | cut -c1", "A B\nx\n"},
		{"cd /sys/class/net/enp1s0f0np0 && cat mtu operstate", "1500\nup\n"},
		{"readlink -f /sys/class/infiniband/rocep1s0f0/device", "/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0\n"},
		{"ls /sys/class/infiniband/roceP2p1s0f1/device/net", "enP2p1s0f1np1\n"},
		{
			"cd /sys/class/infiniband; for d in *; do read -r s < $d/ports/1/state; echo $d $s; done",
			"roceP2p1s0f0 4: ACTIVE\nroceP2p1s0f1 4: ACTIVE\nrocep1s0f0 4: ACTIVE\nrocep1s0f1 4: ACTIVE\n",
		},
		{"cat /sys/class/infiniband/rocep1s0f0/ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:c0a8:640a\n"},
		{"cat /sys/class/infiniband/roceP2p1s0f0/ports/1/gid_attrs/types/5", "RoCE v2\n"},
		{
			"grep -H . /sys/class/net/enp1s0f*/phys_port_name",
			"/sys/class/net/enp1s0f0np0/phys_port_name:p0\n/sys/class/net/enp1s0f1np1/phys_port_name:p1\n",
		},
		{"command -v ib_write_bw; command -v etcdctl || echo none", "/usr/bin/ib_write_bw\nnone\n"},
		{"f() { echo in $1; }; f x; x=$(seq 3 | wc -l); echo $x", "in x\n3\n"},
		{"echo hi > /tmp/x; cat /tmp/x; rm /tmp/x; cat /tmp/x 2>/dev/null || echo gone", "hi\ngone\n"},
		{"sh -c 'echo $0 $1' name arg", "name arg\n"},
		{"timeout 0.01 sleep 60; echo $?", "124\n"},
		{"ulimit -l", "unlimited\n"},
		{"trap 'echo bye' EXIT INT TERM; echo hi", "hi\nbye\n"},
		{"eval 'echo a; echo b'; echo 'echo c' > /tmp/s; . /tmp/s", "a\nb\nc\n"},
		{"sleep 100000 & p=$!; sleep 0.01 & q=$!; kill $p; wait $p; echo $?; wait $q; echo $?; wait; " +
			"kill -0 $p 2>/dev/null || echo over", "143\n0\nover\n"},
		{"while :; do sleep 1000; done & kill $!; wait; echo ended", "ended\n"},
		{"eval '(sleep 0.01; exit 3) & wait $!; echo $?'", "3\n"},
		{"for i in 1 2 3; do sleep 100000 & p=\"$p $!\"; done; kill $p; wait; echo ended", "ended\n"},
		{"while :; do echo x; done | head -n 2", "x\nx\n"},
		{"echo a b c | { read -r x y; echo $y; }; echo $x", "b c\n\n"},
		{"printf '%s\\n' 'a\\b c' 'last\\' | while read x y; do echo $x-$y; done", "ab-c\n"},
		{
			"seq 40000 | tail -n +2 | grep -c .; (sleep 0.1; exit 3) | cat; echo $?; false | (exit 4) || echo $?",
			"39999\n0\n4\n",
		},
		{"x=$(seq 3 | grep 2); echo $x; ! true | false && echo not; ls /nope |& grep -c cannot", "2\nnot\n1\n"},
		{"set -e; false | true; (exit 5) & wait $! || echo $?; false & wait; echo on", "5\non\n"},
		{"(sleep 0.2; echo late) | { sleep 0.1; echo soon; cat; }", "soon\nlate\n"},
		{"f() { for i in 1 2; do echo $i; done | while read i; do (sleep 0.$i; echo $i$i) & done; wait; }; f", "11\n22\n"},
		{"ip -br addr show enp1s0f0np0", "enp1s0f0np0      UP             192.168.100.10/24 fe80::4ebb:47ff:fe2c:1031/64 \n"},
		{
			"ip -j route get 192.168.100.11",
			`[{"dst":"192.168.100.11","dev":"enp1s0f0np0","prefsrc":"192.168.100.10","flags":[],"uid":1000,"cache":[]}]` + "\n",
		},
		{"ibdev2netdev | head -1", "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)\n"},
	} {
		if got := b.must("spark-01", c.command); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.command, got, c.want)
		}
	}
}

func TestShellFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command, err string
		code         int
	}{
		{"foo", "bash: line 1: foo: command not found\n", 127},
		{"sh -c foo", "sh: 1: foo: not found\n", 127},
		{"exit 7", "", 7},
		{"cat /nope", "cat: /nope: No such file or directory\n", 1},
		{
			"cat /sys/class/infiniband/rocep1s0f0/ports/1/gid_attrs/types/9",
			"cat: /sys/class/infiniband/rocep1s0f0/ports/1/gid_attrs/types/9: Invalid argument\n", 1,
		},
		{"ip link set enp1s0f0np0 mtu 9000", "RTNETLINK answers: Operation not permitted\n", 2},
		{"ping -c 1 nowhere", "ping: nowhere: Temporary failure in name resolution\n", 2},
	} {
		if got := b.try("spark-01", c.command); got.err != c.err || got.code != c.code {
			t.Errorf("%s: exit %d, %q; want %d, %q", c.command, got.code, got.err, c.code, c.err)
		}
	}
}

// Whatever a script says, it sees the node and never the host.
func TestHostIsOutOfReach(t *testing.T) {
	t.Setenv("RAILBENCH_HOST_SECRET", "visible")
	b := newBench(t, Options{})
	if got := b.must("spark-02",
		"cat /etc/hostname; echo $RAILBENCH_HOST_SECRET; env | grep -c SECRET || true"); got != "spark-02\n\n0\n" {
		t.Errorf("the host shows: %q", got)
	}
	if got := b.must("spark-01", "cat /etc/passwd; echo ~root ~daemon; pwd -P"); !strings.HasSuffix(got,
		"/bin/bash\n/root /home/daemon\n/home/nvidia\n") || strings.Count(got, "\n") != 4 {
		t.Errorf("the host shows: %q", got)
	}
	for _, command := range []string{
		"cat <(echo x)", "eval 'cat <(echo x)'", "ls /var/lib", "/usr/bin/go version", "/proc/self/exe", ". /etc/profile",
		"echo x > /etc/railbench-was-here", "cd /var/lib", "exec /bin/uptime-of-host", "cat < /proc/self/environ",
		"trap 'cat <(ls)' EXIT",
		"[ -f /etc/shadow ]", "test -d /var/lib", "command -v go", "command . /etc/profile", "source /etc/bash.bashrc",
		"ls -d /var/lib/*",
	} {
		if got := b.try("spark-01", command); got.code == 0 {
			t.Errorf("%s: exit 0, %q", command, got.out)
		}
	}
}

func TestStdinAndBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	s, err := b.client("spark-01").NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Stdin = strings.NewReader("one\ntwo\n")
	out, err := s.Output("sleep 1000 & read a; echo got $a; cat; sudo -n sh -c 'echo root'")
	if err != nil || string(out) != "got one\ntwo\nroot\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestConnectionEndsScripts(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 1})
	b.start("spark-01", "ib_write_bw & while :; do sleep 100; done")
	b.listening(0, rdma.PerftestPort)
	b.clients["spark-01"].Close()
	delete(b.clients, "spark-01")
	b.until("the end of the server",
		func() bool { return len(b.rack.Nodes[0].Procs) == 0 && len(b.rack.Nodes[0].Listeners) == 0 })
}

func TestKeepalive(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		b.client("spark-01").SendRequest("keepalive@openssh.com", true, nil)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		t.Error("no answer")
	}
}

func TestHostKeysAreKeptBySeed(t *testing.T) {
	t.Parallel()
	a, b, c := newBench(t, Options{Seed: 1}), newBench(t, Options{Seed: 1}), newBench(t, Options{Seed: 2})
	if !bytes.Equal(a.HostKey("spark-01").Marshal(), b.HostKey("spark-01").Marshal()) {
		t.Error("the same seed has other host keys")
	}
	if bytes.Equal(a.HostKey("spark-01").Marshal(), c.HostKey("spark-01").Marshal()) ||
		bytes.Equal(a.HostKey("spark-01").Marshal(), a.HostKey("spark-02").Marshal()) {
		t.Error("two nodes share a host key")
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	s, err := b.client("spark-01").NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.RequestPty("xterm", 24, 80, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	in, _ := s.StdinPipe()
	out, _ := s.StdoutPipe()
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "x=5\rcd /sys\recho $x in $PWD\rsleep 100000\r"); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	buf := make([]byte, 4096)
	broke, left := false, false
	for {
		n, err := out.Read(buf)
		seen.Write(buf[:n])
		if !broke && strings.Contains(seen.String(), "sleep 100000\r\n") {
			broke = true
			io.WriteString(in, "\x03")
		}
		if broke && !left && strings.Contains(seen.String(), "^C") {
			left = true
			io.WriteString(in, "exit 3\r")
		}
		if err != nil {
			break
		}
	}
	if code := exitOf(t, s.Wait()); code != 3 || !strings.Contains(seen.String(), "5 in /sys\r\n") ||
		!strings.Contains(seen.String(), "nvidia@spark-01:~$ ") {
		t.Errorf("exit %d, screen %q", code, seen.String())
	}
}

func TestServeOnLoopback(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Speed: 50})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, ln, "spark-02") }()
	c, err := ssh.Dial("tcp", ln.Addr().String(), &ssh.ClientConfig{
		User: "anyone", Auth: []ssh.AuthMethod{ssh.Password("anything")},
		HostKeyCallback: ssh.FixedHostKey(b.HostKey("spark-02")),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.clients["spark-02"] = c
	if got := b.must("spark-02", "hostname"); got != "spark-02\n" {
		t.Errorf("%q", got)
	}
	if _, err := c.Dial("tcp", "127.0.0.1:22"); err == nil {
		t.Error("a forwarded connection was accepted")
	}
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
}
