package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
)

func TestSplitDest(t *testing.T) {
	for _, c := range []struct{ dest, user, host, port string }{
		{"spark-02", "", "spark-02", ""},
		{"nvidia@spark-02", "nvidia", "spark-02", ""},
		{"nvidia@spark-02:2222", "nvidia", "spark-02", "2222"},
		{"ssh://nvidia@spark-02:22", "nvidia", "spark-02", "22"},
		{"spark-02:22", "", "spark-02", "22"},
		// A name in a directory may have an @ of its own: the last one counts.
		{"me@example.com@spark-02", "me@example.com", "spark-02", ""},
		{"fe80::1%eth0", "", "fe80::1%eth0", ""},
		{"[fe80::1]", "", "fe80::1", ""},
		{"root@[fe80::1]:2222", "root", "fe80::1", "2222"},
	} {
		user, host, port, err := splitDest(c.dest)
		if err != nil || user != c.user || host != c.host || port != c.port {
			t.Errorf("%q: %q %q %q, %v", c.dest, user, host, port, err)
		}
	}
	for _, dest := range []string{
		"", "nvidia@", "-oProxyCommand=id", "-l@host", "ho st",
		"host\n", "host\x00", "host:0", "host:65536", "host:ssh",
		// A ProxyCommand's shell would run it.
		"a;id", "a$(id)", "a`id`", "a|id", "a&id", "a>x", `a"b`, "a'b", "{a,b}", "a$HOME", `a\b`, "host\r", "host\x1b",
		"host\u0085",
		"x;id@a", "x`id`@a", "x|id@a", `x\@a`, "x(y)@a",
	} {
		if _, _, _, err := splitDest(dest); err == nil {
			t.Errorf("%q is taken", dest)
		}
	}
}

// What one configuration says of a host, field by field, on top of one that says nothing.
func TestTarget(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("USER", "me")
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	bare := Target{
		Host: "spark-02", User: "me", Port: 22, Agent: "/run/agent", Timeout: connectTimeout,
		Identities: []string{"/home/me/.ssh/id_ed25519", "/home/me/.ssh/id_ecdsa", "/home/me/.ssh/id_rsa"},
		KnownHosts: []string{"/home/me/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"},
		Algorithms: Algorithms{}.orDefaults(), Prompts: tries,
		Ways: []string{"publickey", "keyboard-interactive", "password"},
	}
	for _, c := range []struct {
		says       string // KEYWORD VALUE, one a line
		user, port string // that were given with the name
		want       func(*Target)
	}{
		{"", "", "", func(*Target) {}},
		{"hostname 192.168.100.11\nuser nvidia\nport 2222", "", "", func(t *Target) {
			t.Host, t.User, t.Port = "192.168.100.11", "nvidia", 2222
		}},
		{"user nvidia\nport 2222", "root", "22", func(t *Target) { t.User = "root" }},
		{"identityfile ~/key\nidentityfile /other\nidentitiesonly yes", "", "", func(t *Target) {
			t.Identities, t.IdentitiesOnly = []string{"/home/me/key", "/other"}, true
		}},
		{"certificatefile none\ncertificatefile ~/cert", "", "", func(t *Target) {
			t.Certificates = []string{"/home/me/cert"}
		}},
		{"identityagent none", "", "", func(t *Target) { t.Agent = "" }},
		{"identityagent SSH_AUTH_SOCK", "", "", func(*Target) {}},
		{"identityagent ~/agent", "", "", func(t *Target) { t.Agent = "/home/me/agent" }},
		{"identityagent $HOME/agent", "", "", func(t *Target) { t.Agent = "/home/me/agent" }},
		{"userknownhostsfile ~/a ~/b\nglobalknownhostsfile /c", "", "", func(t *Target) {
			t.KnownHosts = []string{"/home/me/a", "/home/me/b", "/c"}
		}},
		{"proxyjump a,b\nhostkeyalias rig\nhashknownhosts yes", "", "", func(t *Target) {
			t.ProxyJump, t.HostKeyAlias, t.HashKnownHosts = []string{"a", "b"}, "rig", true
		}},
		{"proxyjump none\nproxycommand none", "", "", func(*Target) {}},
		{"addressfamily inet6\nbindaddress 10.0.0.1\nbindinterface eth0", "", "", func(t *Target) {
			t.Network, t.BindAddress, t.BindInterface = "tcp6", "10.0.0.1", "eth0"
		}},
		{"addressfamily any\nbindaddress none", "", "", func(*Target) {}},
		{"connecttimeout 3", "", "", func(t *Target) { t.Timeout = 3 * time.Second }},
		{"connecttimeout 0", "", "", func(*Target) {}},
		{"connecttimeout none", "", "", func(*Target) {}},
		{"stricthostkeychecking accept-new", "", "", func(t *Target) { t.AcceptNew = true }},
		// A changed key is refused in any case, so no is not more than accept-new.
		{"stricthostkeychecking no", "", "", func(t *Target) { t.AcceptNew = true }},
		{"stricthostkeychecking ask", "", "", func(*Target) {}},
		{"stricthostkeychecking yes", "", "", func(t *Target) { t.OnlyKnown = true }},
		{"revokedhostkeys none", "", "", func(*Target) {}},
		{"revokedhostkeys ~/revoked", "", "", func(t *Target) { t.RevokedHostKeys = "/home/me/revoked" }},
		// Names as ssh -G leaves them: tokens are in, quotes are gone.
		{"identityfile none", "", "", func(t *Target) { t.Identities = []string{} }},
		{"identityfile %d/.ssh/%r@%h:%p\nidentityfile ${HOME}/k%%", "", "", func(t *Target) {
			t.Identities = []string{"/home/me/.ssh/me@spark-02:22", "/home/me/k%"}
		}},
		{"certificatefile ~/%n-cert", "", "", func(t *Target) { t.Certificates = []string{"/home/me/spark-02-cert"} }},
		{"revokedhostkeys %d/revoked", "", "", func(t *Target) { t.RevokedHostKeys = "/home/me/revoked" }},
		{"userknownhostsfile /a b/known ~/c\nglobalknownhostsfile /d e", "", "", func(t *Target) {
			t.KnownHosts = []string{"/a b/known", "/home/me/c", "/d e"}
		}},
		{"userknownhostsfile none", "", "", func(t *Target) {
			t.KnownHosts, t.KeepsNone = []string{"/etc/ssh/ssh_known_hosts"}, true
		}},
		{"globalknownhostsfile none", "", "", func(t *Target) { t.KnownHosts = []string{"/home/me/.ssh/known_hosts"} }},
		{"knownhostscommand /bin/keys %H", "", "", func(t *Target) { t.KnownByCommand = true }},
		// What no one is to be asked for is not asked for.
		{"batchmode yes", "", "", func(t *Target) { t.Batch = true }},
		{"numberofpasswordprompts 1", "", "", func(t *Target) { t.Prompts = 1 }},
		{"passwordauthentication no", "", "", func(t *Target) { t.Ways = []string{"publickey", "keyboard-interactive"} }},
		{"kbdinteractiveauthentication no", "", "", func(t *Target) { t.Ways = []string{"publickey", "password"} }},
		{"challengeresponseauthentication no", "", "", func(t *Target) { t.Ways = []string{"publickey", "password"} }},
		{"pubkeyauthentication false", "", "", func(t *Target) { t.Ways = []string{"keyboard-interactive", "password"} }},
		{"preferredauthentications gssapi-with-mic,password,publickey", "", "", func(t *Target) {
			t.Ways = []string{"password", "publickey"}
		}},
		{"stricthostkeychecking YES", "", "", func(t *Target) { t.OnlyKnown = true }},
		{"requiredrsasize 3072", "", "", func(t *Target) { t.Algorithms.LeastRSA = 3072 }},
		{"casignaturealgorithms ssh-ed25519", "", "", func(t *Target) { t.Algorithms.Authorities = []string{"ssh-ed25519"} }},
		{"pubkeyacceptedkeytypes ssh-ed25519", "", "", func(t *Target) { t.Algorithms.PublicKeys = []string{"ssh-ed25519"} }},
		{"serveraliveinterval 0\nserveralivecountmax 3", "", "", func(*Target) {}},
		{"serveraliveinterval 5", "", "", func(t *Target) { t.Alive = 15 * time.Second }},
		{"serveraliveinterval 2\nserveralivecountmax 2", "", "", func(t *Target) { t.Alive = 4 * time.Second }},
		{"ciphers aes256-ctr,chacha20-poly1305@openssh.com", "", "", func(t *Target) {
			t.Algorithms.Ciphers = []string{"aes256-ctr", "chacha20-poly1305@openssh.com"}
		}},
	} {
		values := map[string][]string{}
		for line := range strings.Lines(c.says) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			values[key] = append(values[key], value)
		}
		get := func(keyword string) []string { return values[strings.ToLower(keyword)] }
		want := bare
		c.want(&want)
		if got, err := target(get, c.user, "spark-02", c.port); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v\nwant %+v", c.says, got, err, want)
		}
	}
	get := func(string) []string { return []string{"ssh"} }
	if _, err := target(get, "", "spark-02", ""); err == nil || !strings.Contains(err.Error(), `"ssh"`) {
		t.Errorf("a port that is not a number: %v", err)
	}
}

// The two ways to read a configuration agree on a plain one: a machine without ssh reaches
// the same host.
func TestWithoutSSHTheLibraryReads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "Host spark-02\n  HostName 192.168.100.11\n  User nvidia\n" +
		"  Port 2222\n  IdentityFile /k1\n  IdentityFile /k2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	got, err := Resolve(t.Context(), "spark-02", file)
	if err != nil || got.String() != "nvidia@192.168.100.11:2222" ||
		!slices.Equal(got.Identities, []string{"/k1", "/k2"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Alias != "spark-02" || got.config != file {
		t.Errorf("looked up as %q in %q", got.Alias, got.config)
	}
	if _, err := Resolve(t.Context(), "spark-02", file+".none"); err == nil {
		t.Error("a configuration that isn't there is taken")
	}
}

// Each reason asks something else of the user: the kinds and what the hint names.
func TestExplain(t *testing.T) {
	here := Target{Host: "192.168.100.11", User: "nvidia", Port: 2222}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		kind Kind
		says string
	}{
		{&net.DNSError{Name: "spark-02", Err: "no such host"}, Unresolved, "the name spark-02 does not resolve"},
		{refused, Refused, "port 2222"},
		{&noBannerError{10 * time.Second}, Unreachable, "it may be hung"},
		{context.DeadlineExceeded, Unreachable, "ip route get 192.168.100.11"},
		{os.NewSyscallError("connect", syscall.EHOSTUNREACH), Unreachable, "ip route get"},
		{os.NewSyscallError("connect", syscall.ENETUNREACH), Unreachable, "ip route get"},
		{
			errors.New("ssh: unable to authenticate," +
				" attempted methods [none publickey password], no supported methods"),
			NotPermitted, "offered: the public keys, password",
		},
		{
			errors.New("ssh: unable to authenticate, attempted methods [none], no supported methods remain"),
			NotPermitted, "the key is missing",
		},
		{
			errors.New(`ssh: handshake failed: ssh: disconnect, reason 2: "Too many authentication failures"`),
			NotPermitted, "IdentitiesOnly",
		},
		{errors.New("ssh: handshake failed: EOF"), Refused, "Check that sshd listens there"},
		{os.NewSyscallError("read", syscall.ECONNRESET), Refused, "Check that sshd listens there"},
		{errors.New("something new"), Unknown, "something new"},
		// An error that has a kind keeps it, and gets the node's name.
		{
			&Error{Kind: HostChanged, Op: "trust", Err: errors.New("another key")},
			HostChanged, "trust spark-02: another key",
		},
	} {
		e, ok := errors.AsType[*Error](explain(c.err, here, "spark-02"))
		if !ok || e.Kind != c.kind || !strings.Contains(e.Error(), c.says) || !strings.Contains(e.Node, "spark-02") {
			t.Errorf("%v: kind %v, %v", c.err, e.Kind, e)
		}
	}
}

// What a configuration has ssh print, and what ssh says of it, has a bound here.
func TestConfigurationThatFloods(t *testing.T) {
	testform.Tool(t, "ssh")
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, " VARIABLE_%d=value", i)
	}
	flood := "Match exec \"head -c 3000000 /dev/zero | tr '\\\\0' x >&2\"\n"
	for name, c := range map[string]struct {
		text string
		fine bool
	}{
		"fine": {flood + "Port 2222\n", true}, "wrong": {flood + "Nonsense x\n", false},
		"long": {"SetEnv" + many.String() + "\n", false},
	} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Resolve(t.Context(), "node", file); (err == nil) != c.fine || err != nil && len(err.Error()) > 2*maxWhy {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// No one's configuration is endless: neither ssh nor the library is made to hold it.
func TestLongConfigurations(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, bytes.Repeat([]byte("#"), configBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(file, "node"); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("by the library: %v", err)
	}
	if _, err := askSSH(t.Context(), "ssh", file, "", "node", ""); err == nil ||
		!strings.Contains(err.Error(), "longer than") {
		t.Errorf("by ssh: %v", err)
	}
}
