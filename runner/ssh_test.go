package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

func dial(t *testing.T, s *nodetest.Sshd, change func(*runner.SSHOptions)) *runner.SSH {
	t.Helper()
	target, err := runner.Resolve(t.Context(), "node", s.Config)
	if err != nil {
		t.Fatal(err)
	}
	o := runner.SSHOptions{Name: "node", Target: target, Ask: runner.NoAsker{}}
	if change != nil {
		change(&o)
	}
	n := runner.NewSSH(o)
	t.Cleanup(func() { n.Close() })
	return n
}

func TestSSH(t *testing.T) {
	s := nodetest.StartSshd(t)
	nodetest.Run(t, func(t *testing.T) runner.Node { return dial(t, s, nil) }, nodetest.Options{Processes: true})
}

// asker answers from what a test prepared and counts the questions.
type asker struct {
	mu       sync.Mutex
	hostKey  bool
	secrets  []string
	hostKeys []runner.HostKeyQuestion
	asked    []runner.SecretQuestion
	slow     time.Duration // how long a user takes to answer
}

func (a *asker) HostKey(_ context.Context, q runner.HostKeyQuestion) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hostKeys = append(a.hostKeys, q)
	return a.hostKey, nil
}

func (a *asker) Secret(_ context.Context, q runner.SecretQuestion) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q)
	time.Sleep(a.slow)
	if len(a.secrets) == 0 {
		return "", errors.New("declined")
	}
	s := a.secrets[0]
	a.secrets = a.secrets[1:]
	return s, nil
}

func kind(err error) runner.Kind {
	if e, ok := errors.AsType[*runner.Error](err); ok {
		return e.Kind
	}
	return runner.Unknown
}

// Five ways of not reaching a host are five different answers.
func TestSSHRefusals(t *testing.T) {
	s := nodetest.StartSshd(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closedPort := free.Addr().(*net.TCPAddr).Port
	free.Close()
	for _, c := range []struct {
		name   string
		want   runner.Kind
		hint   string
		change func(*runner.SSHOptions)
	}{
		{
			"unresolved", runner.Unresolved, "spelling",
			func(o *runner.SSHOptions) { o.Target.Host = "no-such-host.invalid" },
		},
		{"refused", runner.Refused, "sshd", func(o *runner.SSHOptions) { o.Target.Port = closedPort }},
		{"unknown host", runner.UnknownHost, "--accept-new-host-key", func(o *runner.SSHOptions) {
			o.Target.KnownHosts = []string{filepath.Join(t.TempDir(), "none")}
		}},
		{"changed host key", runner.HostChanged, "ssh-keygen -R", func(o *runner.SSHOptions) {
			o.Target.KnownHosts = []string{otherKey(t, s, "")}
			o.AcceptNewHostKey = true
		}},
		{"revoked host key", runner.HostChanged, "must not be talked to", func(o *runner.SSHOptions) {
			host, err := os.ReadFile(s.HostKey + ".pub")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "known")
			if err := os.WriteFile(file, []byte("@revoked * "+string(host)), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Target.KnownHosts = []string{file}
			o.AcceptNewHostKey = true
		}},
		{"strict", runner.UnknownHost, "StrictHostKeyChecking ask", func(o *runner.SSHOptions) {
			o.Target.KnownHosts = []string{filepath.Join(t.TempDir(), "none")}
			o.Target.OnlyKnown = true
			o.AcceptNewHostKey = true
		}},
		{"revoked elsewhere", runner.HostChanged, "must not be talked to", func(o *runner.SSHOptions) {
			o.Target.RevokedHostKeys = s.HostKey + ".pub"
		}},
		{"revoked by a list of ssh-keygen's", runner.HostChanged, "must not be talked to", func(o *runner.SSHOptions) {
			o.Target.RevokedHostKeys = keyList(t, s.HostKey+".pub")
		}},
		{"a list of the revoked that isn't there", runner.HostChanged, "can't look up", func(o *runner.SSHOptions) {
			o.Target.RevokedHostKeys = filepath.Join(t.TempDir(), "none")
		}},
		{
			"no key", runner.NotPermitted, fmt.Sprintf("ssh-copy-id -p %d %s@127.0.0.1", s.Port, s.User),
			func(o *runner.SSHOptions) { o.Target.Identities = nil },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := dial(t, s, c.change)
			_, err := n.Run(t.Context(), runner.Script{Name: "x", Body: "echo ran"},
				func(runner.Line) { t.Error("ran") })
			if kind(err) != c.want {
				t.Fatalf("got %v, %v", kind(err), err)
			}
			if !strings.Contains(err.Error(), c.hint) {
				t.Errorf("%q does not say what to do (%q)", err, c.hint)
			}
		})
	}
	log, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	// The refused logins offered nothing: only the last case got as far as a user name.
	if n := strings.Count(string(log), "preauth"); n == 0 {
		t.Errorf("no log of the logins: %s", log)
	}
}

// keyList is a revocation list (KRL) of some public keys.
func keyList(t *testing.T, public ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "krl")
	if out, err := exec.Command("ssh-keygen",
		append([]string{"-k", "-f", file}, public...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// Other keys may be revoked, and lines of known_hosts that are not keys do not prevent a connection.
func TestSSHOtherKeysMayBeRevoked(t *testing.T) {
	s := nodetest.StartSshd(t)
	other := otherKey(t, s, "")
	known, err := os.ReadFile(s.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	text := "not a key\n@unknown * ssh-ed25519 AAAA\n" + string(known) + "|1|broken\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, revoked := range []string{
		"", filepath.Join(filepath.Dir(other), "other.pub"),
		keyList(t, filepath.Join(filepath.Dir(other), "other.pub")),
	} {
		n := dial(t, s, func(o *runner.SSHOptions) {
			o.Target.KnownHosts = []string{file}
			o.Target.RevokedHostKeys = revoked
		})
		if err := n.Connect(t.Context()); err != nil {
			t.Errorf("revoked %q: %v", revoked, err)
		}
	}
	// The line in the error is the line of the user's own file.
	mixed := filepath.Join(t.TempDir(), "mixed")
	changed, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mixed, []byte("not a key\n"+string(changed)), 0o600); err != nil {
		t.Fatal(err)
	}
	err = dial(t, s, func(o *runner.SSHOptions) { o.Target.KnownHosts = []string{mixed} }).Connect(t.Context())
	if kind(err) != runner.HostChanged || !strings.Contains(err.Error(), mixed+":2 ") {
		t.Errorf("a changed key beside a bad line: %v", err)
	}
}

// A host that only speaks SHA-1 is reached where the configuration asks for that.
func TestSSHOldHost(t *testing.T) {
	s := nodetest.StartSshd(t, "KexAlgorithms diffie-hellman-group14-sha1")
	err := dial(t, s, nil).Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "KexAlgorithms") {
		t.Errorf("got %v", err)
	}
	config, err := os.ReadFile(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Config, append(config, "  KexAlgorithms +diffie-hellman-group14-sha1\n"...),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, s, nil).Connect(t.Context()); err != nil {
		t.Error(err)
	}
}

// otherKey writes a known_hosts file with a key of our own for the server.
func otherKey(t *testing.T, s *nodetest.Sshd, prefix string) string {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "other")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "known_hosts")
	line := fmt.Sprintf("%s[127.0.0.1]:%d %s", prefix, s.Port, public)
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSSHUnknownHostIsAskedAboutAndKept(t *testing.T) {
	s := nodetest.StartSshd(t)
	file := filepath.Join(t.TempDir(), "deep", "known_hosts")
	for _, hashed := range []bool{false, true} {
		a := &asker{hostKey: true}
		withFile := func(o *runner.SSHOptions) {
			o.Target.KnownHosts = []string{file}
			o.Target.HashKnownHosts = hashed
			o.Ask = a
		}
		for range 2 {
			if err := dial(t, s, withFile).Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(a.hostKeys) != 1 || !strings.HasPrefix(a.hostKeys[0].Fingerprint, "SHA256:") {
			t.Errorf("asked %+v", a.hostKeys)
		}
		// OpenSSH reads what was written.
		out, err := exec.Command("ssh-keygen", "-F", fmt.Sprintf("[127.0.0.1]:%d", s.Port), "-f", file).CombinedOutput()
		if err != nil {
			t.Errorf("ssh-keygen -F: %v: %s", err, out)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSSHEncryptedKeyAsksForItsPassphrase(t *testing.T) {
	s := nodetest.StartSshd(t)
	encrypt := exec.Command("ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", s.Key)
	if out, err := encrypt.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := &asker{secrets: []string{"wrong", "sesame"}}
	n := dial(t, s, func(o *runner.SSHOptions) { o.Ask = a })
	if err := n.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(a.asked) != 2 || a.asked[0].What != "passphrase" || a.asked[0].Again || !a.asked[1].Again {
		t.Errorf("asked %+v", a.asked)
	}
	// Both nodes of a rig at once: there is one question, and a node that waits for the answer is not given
	// up.
	a = &asker{secrets: []string{"sesame"}, slow: time.Second}
	unlocked := new(runner.Unlocked)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			n := dial(t, s, func(o *runner.SSHOptions) {
				o.Ask, o.Unlocked, o.Target.Timeout = a, unlocked, 500*time.Millisecond
			})
			if err := n.Connect(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if len(a.asked) != 1 {
		t.Errorf("asked %+v", a.asked)
	}
	err := dial(t, s, nil).Connect(t.Context())
	if kind(err) != runner.NotPermitted || !strings.Contains(err.Error(), "ssh-add") {
		t.Errorf("nobody to ask: %v", err)
	}
}

func TestSSHAgentAndCertificate(t *testing.T) {
	s := nodetest.StartSshd(t)
	ca := filepath.Join(s.Dir, "ca")
	for _, args := range [][]string{
		{"-q", "-t", "ed25519", "-N", "", "-f", ca},
		{"-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.Dir, "certified")},
		{"-q", "-s", ca, "-I", "me", "-n", s.User, filepath.Join(s.Dir, "certified.pub")},
	} {
		if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	public, err := os.ReadFile(ca + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(s.Dir, "authorized_keys")
	if err := os.WriteFile(keys, []byte("cert-authority "+string(public)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, s, nil).Connect(t.Context()); kind(err) != runner.NotPermitted {
		t.Errorf("the plain key still works: %v", err)
	}
	n := dial(t, s, func(o *runner.SSHOptions) { o.Target.Identities = []string{filepath.Join(s.Dir, "certified")} })
	if err := n.Connect(t.Context()); err != nil {
		t.Errorf("with the certificate: %v", err)
	}

	// The same through an agent that holds the key and its certificate.
	agentBin := testform.Tool(t, "ssh-agent")
	socket := filepath.Join(s.Dir, "agent")
	cmd := exec.Command(agentBin, "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	add := exec.Command("ssh-add", filepath.Join(s.Dir, "certified"))
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	for range 100 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v: %s", err, out)
	}
	n = dial(t, s, func(o *runner.SSHOptions) {
		o.Target.Identities, o.Target.Agent, o.Target.IdentitiesOnly = nil, socket, false
	})
	if err := n.Connect(t.Context()); err != nil {
		t.Errorf("with the agent: %v", err)
	}
}

// The way to a node may lead over other hosts, given as a list or as a command.
func TestSSHProxy(t *testing.T) {
	s := nodetest.StartSshd(t)
	config, err := os.ReadFile(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	host := string(config)
	far := strings.Replace(host, "Host node", "Host far", 1) + "  ProxyJump node\n"
	further := strings.Replace(host, "Host node", "Host further", 1) + "  ProxyJump node,far\n"
	command := strings.Replace(host, "Host node", "Host command", 1) +
		fmt.Sprintf("  ProxyCommand ssh -F %s -W %%h:%%p node\n", s.Config)
	file := filepath.Join(s.Dir, "jumps")
	if err := os.WriteFile(file, []byte(host+far+further+command), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"far", "further", "command"} {
		target, err := runner.Resolve(t.Context(), name, file)
		if err != nil {
			t.Fatal(err)
		}
		n := runner.NewSSH(runner.SSHOptions{Name: name, Target: target, Ask: runner.NoAsker{}})
		t.Cleanup(func() { n.Close() })
		stdout, _, _ := nodetest.Do(t, n, `echo "${SSH_CONNECTION%% *}"`)
		if len(stdout) != 1 || stdout[0] != "127.0.0.1" {
			t.Errorf("%s: %q", name, stdout)
		}
	}
	log, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	// far 2, further 3 (node, far by way of node, further), command 2.
	if logins := strings.Count(string(log), "Accepted publickey"); logins < 7 {
		t.Errorf("%d logins: the jumps were not taken", logins)
	}
}

// A gate is a TCP proxy that a test can cut loudly or silently.
type gate struct {
	ln     net.Listener
	target string
	mu     sync.Mutex
	conns  []net.Conn
	silent bool
}

func openGate(t *testing.T, port int) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ln: ln, target: fmt.Sprintf("127.0.0.1:%d", port)}
	t.Cleanup(func() { ln.Close(); g.cut() })
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", g.target)
			if err != nil {
				in.Close()
				continue
			}
			g.mu.Lock()
			g.conns = append(g.conns, in, out)
			g.mu.Unlock()
			go g.pass(in, out)
			go g.pass(out, in)
		}
	}()
	return g
}

func (g *gate) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		g.mu.Lock()
		silent := g.silent
		g.mu.Unlock()
		if !silent && n > 0 {
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			if !silent {
				to.Close()
			}
			return
		}
	}
}

func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

func (g *gate) mute(on bool) {
	g.mu.Lock()
	g.silent = on
	g.mu.Unlock()
}

// lead makes a node be reached through the gate.
func (g *gate) lead(t *testing.T, s *nodetest.Sshd, o *runner.SSHOptions) {
	t.Helper()
	// The gate has another port: known_hosts knows the server's.
	o.Target.HostKeyAlias = "node"
	host, err := os.ReadFile(s.HostKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(file, []byte("node "+string(host)), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Target.KnownHosts = []string{file}
	o.Target.Port = g.port()
}

func (g *gate) port() int { return g.ln.Addr().(*net.TCPAddr).Port }

// A lost connection, closed or silent, is noticed within five seconds; nothing
// that ran there lives on for more than ten; the node comes back by itself.
func TestSSHLostConnection(t *testing.T) {
	for _, how := range []string{"closed", "silent"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := nodetest.StartSshd(t)
			g := openGate(t, s.Port)
			states := make(chan runner.State, 100)
			n := dial(t, s, func(o *runner.SSHOptions) {
				g.lead(t, s, o)
				o.OnState = func(s runner.State, _ error) { states <- s }
			})
			pids := make(chan string, 1)
			ended := make(chan error, 1)
			var lost time.Time
			go func() {
				_, err := n.Run(t.Context(), runner.Script{Name: "long", Body: "setsid sleep 300 & echo $!; sleep 300"},
					func(l runner.Line) { pids <- l.Text })
				ended <- err
			}()
			pid := <-pids
			waits := spares(t, s)
			if how == "silent" {
				g.mute(true)
			} else {
				g.cut()
			}
			lost = time.Now()
			err := <-ended
			if took := time.Since(lost); kind(err) != runner.Lost {
				t.Errorf("noticed after %s: %v", took, err)
			}
			for _, pid := range append(waits, pid) {
				for alive(pid) {
					if time.Since(lost) > 2*time.Minute {
						t.Fatalf("process %s (spares: %v) is alive %s after the cut", pid, waits, time.Since(lost))
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			t.Logf("all gone %.1f s after the cut, %d spares too", time.Since(lost).Seconds(), len(waits))
			g.mute(false)
			stdout, _, _ := nodetest.Do(t, n, "echo back")
			if len(stdout) != 1 || stdout[0] != "back" {
				t.Errorf("after the cut: %q", stdout)
			}
			var seen []runner.State
			for len(states) > 0 {
				seen = append(seen, <-states)
			}
			want := []runner.State{runner.Connecting, runner.Connected, runner.Disconnected}
			for i, s := range want {
				if i >= len(seen) || seen[i] != s {
					t.Fatalf("states %v", seen)
				}
			}
			if seen[len(seen)-1] != runner.Connected {
				t.Errorf("states %v", seen)
			}
		})
	}
}

// spares are the processes of the supervisors that wait at an sshd, once one does.
func spares(t *testing.T, s *nodetest.Sshd) (pids []string) {
	t.Helper()
	for range 200 {
		if pids = supervisors(t, s); len(pids) > 0 {
			return pids
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("no spare waits")
	return nil
}

func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// kill -9 of the process that holds the supervisor ends what runs on the supervisor, locally and over SSH.
func TestSupervisorOutlivesItsHolder(t *testing.T) {
	if os.Getenv("RAILBENCH_HOLDER") != "" {
		var n runner.Node = runner.NewLocal("here", runner.NoAsker{})
		if config := os.Getenv("RAILBENCH_HOLDER_SSH"); config != "" {
			target, err := runner.Resolve(t.Context(), "node", config)
			if err != nil {
				t.Fatal(err)
			}
			n = runner.NewSSH(runner.SSHOptions{Name: "node", Target: target, Ask: runner.NoAsker{}})
		}
		_, err := n.Run(t.Context(),
			runner.Script{Name: "held", Body: "sleep 300 & echo pid $!; setsid sleep 300 & echo pid $!; wait"},
			func(l runner.Line) { fmt.Println(l.Text) })
		t.Log(err)
		return
	}
	s := nodetest.StartSshd(t)
	for _, config := range []string{"", s.Config} {
		cmd := exec.Command(os.Args[0], "-test.run=TestSupervisorOutlivesItsHolder", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "RAILBENCH_HOLDER=1", "RAILBENCH_HOLDER_SSH="+config)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pids []string
		buf := make([]byte, 4096)
		var text string
		for len(pids) < 2 {
			n, err := out.Read(buf)
			text += string(buf[:n])
			pids = nil
			for line := range strings.Lines(text) {
				if pid, ok := strings.CutPrefix(strings.TrimSpace(line), "pid "); ok && strings.HasSuffix(line, "\n") {
					pids = append(pids, pid)
				}
			}
			if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.EOF) {
				break
			}
		}
		if len(pids) < 2 {
			t.Fatalf("the holder printed %q", text)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		killed := time.Now()
		for alive(pids[0]) || alive(pids[1]) {
			if time.Since(killed) > 2*time.Minute {
				t.Fatalf("alive 2 min after kill -9 (ssh %q): %v", config, pids)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
