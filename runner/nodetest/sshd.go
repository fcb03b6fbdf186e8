package nodetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
)

// An Sshd is a real OpenSSH server on loopback, for the user of the test.
type Sshd struct {
	Dir, Key, KnownHosts, HostKey, Config string
	User                                  string
	Port                                  int
	cmd                                   *exec.Cmd
	within                                []string // the command, with its arguments, that starts it
}

// StartSshd starts one that ends with the test. extra are lines for its configuration.
// A test that needs one waits for real time to pass, and is the gate's.
func StartSshd(t testing.TB, extra ...string) *Sshd {
	t.Helper()
	testform.NeedsFull(t, "starts a real sshd")
	s := prepare(t, extra...)
	s.Start(t, "")
	return s
}

// prepare writes what an sshd needs, and has it ended with the test.
func prepare(t testing.TB, extra ...string) *Sshd {
	t.Helper()
	keygen := testform.Tool(t, "ssh-keygen")
	if os.Getuid() == 0 {
		// root's sshd wants a folder of its own to confine a child in; the distribution's service makes it.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Sshd{
		Dir: dir, User: me.Username, Key: filepath.Join(dir, "id"), HostKey: filepath.Join(dir, "host"),
		KnownHosts: filepath.Join(dir, "known_hosts"), Config: filepath.Join(dir, "ssh_config"),
	}
	for _, key := range []string{s.Key, s.HostKey} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	public, err := os.ReadFile(s.Key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "authorized_keys", string(public))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// It is free now, and again when sshd is started again: a port of 0 would be another one each time.
	s.Port = ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	// What the user's own shell does at each login is not what is tested: some take seconds,
	// and print where several log in at once.
	home := t.TempDir()
	// StrictModes off, because the test's folder may be writable for its group; more sessions than sshd's ten,
	// because a suite's scripts run side by side over one connection.
	// The first of several lines counts.
	s.write(t, "sshd_config", fmt.Sprintf(`%s
Port %d
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxSessions 20
LogLevel VERBOSE
SetEnv HOME=%s
`, strings.Join(extra, "\n"), s.Port, s.HostKey, filepath.Join(dir, "authorized_keys"), home))
	host, err := os.ReadFile(s.HostKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, host))
	// Nothing of the user's: neither his agent nor his keys nor the hosts that he knows.
	s.write(t, "ssh_config", fmt.Sprintf(`Host node
  HostName 127.0.0.1
  Port %d
  User %s
  IdentityFile %s
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile %s
  GlobalKnownHostsFile none
`, s.Port, s.User, s.Key, s.KnownHosts))
	t.Cleanup(func() { s.Stop() })
	return s
}

func (s *Sshd) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server (again) and waits until it listens.
// bin is another build's sshd; empty is the machine's own.
func (s *Sshd) Start(t testing.TB, bin string) {
	t.Helper()
	if bin == "" {
		bin = testform.Tool(t, "sshd")
	}
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := append(slices.Clone(s.within), bin, "-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config"))
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port)); err == nil {
			conn.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	t.Fatalf("sshd does not listen: %s", b)
}

// Stop ends the server; the connections it has forked go on.
func (s *Sshd) Stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
