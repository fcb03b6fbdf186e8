package runner

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner/testform"
)

func TestAllowed(t *testing.T) {
	defaults, all := []string{"a", "b"}, []string{"a", "b", "old-c", "old-d"}
	for spec, want := range map[string]string{
		"":              "a b",
		"b,a":           "b a",
		"b,unknown":     "b",
		"unknown":       "",
		"+old-c":        "a b old-c",
		"+a":            "a b",
		"-a":            "b",
		"-old-c":        "a b",
		"^b":            "b a",
		"^old-d,b":      "old-d b a",
		"old-*":         "old-c old-d",
		"+*":            "a b old-c old-d",
		"-*":            "",
		"?":             "a b",
		"a,a":           "a",
		"+[":            "a b",
		"A":             "",
		"old-d,b,old-c": "old-d b old-c",
	} {
		if got := strings.Join(allowed(spec, defaults, all), " "); got != want {
			t.Errorf("%q: got %q, want %q", spec, got, want)
		}
	}
	if !slices.Equal(defaults, []string{"a", "b"}) {
		t.Errorf("the defaults are %v now", defaults)
	}
}

// A configuration means the same to railbench as to ssh. railbench reads it with ssh -G, or with the library
// where there is no ssh. No algorithm with SHA-1 is offered unless a user asks for it.
func TestAlgorithms(t *testing.T) {
	const sha1Kex, sha1Key, cbc = "diffie-hellman-group14-sha1", "ssh-rsa", "aes128-cbc"
	for _, c := range []struct {
		says         string
		list         func(Algorithms) []string
		with, absent []string
	}{
		{"", kex, []string{"curve25519-sha256"}, []string{sha1Kex, "diffie-hellman-group1-sha1"}},
		{"", keys, []string{"ssh-ed25519", "rsa-sha2-512"}, []string{sha1Key, "ssh-dss"}},
		{"", publics, []string{"ssh-ed25519", "rsa-sha2-512"}, []string{sha1Key, "ssh-dss"}},
		{"", ciphers, []string{"aes256-gcm@openssh.com"}, []string{cbc, "3des-cbc", "arcfour"}},
		{"KexAlgorithms +" + sha1Kex, kex, []string{"curve25519-sha256", sha1Kex}, nil},
		{"KexAlgorithms " + sha1Kex, kex, []string{sha1Kex}, []string{"curve25519-sha256"}},
		{"KexAlgorithms -curve25519*", kex, []string{"ecdh-sha2-nistp256"}, []string{"curve25519-sha256"}},
		{"HostKeyAlgorithms +" + sha1Key, keys, []string{"ssh-ed25519", sha1Key}, nil},
		{"HostKeyAlgorithms ssh-ed25519", keys, []string{"ssh-ed25519"}, []string{"rsa-sha2-512", "ecdsa-sha2-nistp256"}},
		{"PubkeyAcceptedAlgorithms +" + sha1Key, publics, []string{sha1Key, "rsa-sha2-512"}, nil},
		{"Ciphers aes256-ctr," + cbc, ciphers, []string{"aes256-ctr", cbc}, []string{"aes128-ctr"}},
		{"Ciphers ^aes128-ctr", ciphers, []string{"aes128-ctr", "aes256-ctr"}, []string{cbc}},
		{"MACs hmac-sha2-512", macs, []string{"hmac-sha2-512"}, []string{"hmac-sha2-256", "hmac-sha1"}},
	} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte("Host node\n  "+c.says+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		resolve := map[string]func() (Target, error){
			"the library": func() (Target, error) {
				get, err := readConfig(file, "node")
				if err != nil {
					return Target{}, err
				}
				return target(get, "", "node", "")
			},
		}
		if _, err := exec.LookPath("ssh"); err == nil && testform.Full() {
			resolve["ssh -G"] = func() (Target, error) { return Resolve(t.Context(), "node", file) }
		}
		for reader, resolve := range resolve {
			target, err := resolve()
			if err != nil {
				t.Errorf("%q, read by %s: %v", c.says, reader, err)
				continue
			}
			got := c.list(target.Algorithms)
			for _, name := range c.with {
				if !slices.Contains(got, name) {
					t.Errorf("%q, read by %s: no %s in %v", c.says, reader, name, got)
				}
			}
			for _, name := range c.absent {
				if slices.Contains(got, name) {
					t.Errorf("%q, read by %s: %s in %v", c.says, reader, name, got)
				}
			}
		}
	}
	get := func(keyword string) []string {
		return map[string][]string{"Ciphers": {"none-that-is-known"}}[keyword]
	}
	if _, err := target(get, "", "node", ""); err == nil || !strings.Contains(err.Error(), "none-that-is-known") {
		t.Errorf("a configuration that allows nothing: %v", err)
	}
}

func kex(a Algorithms) []string     { return a.KeyExchanges }
func keys(a Algorithms) []string    { return a.HostKeys }
func publics(a Algorithms) []string { return a.PublicKeys }
func ciphers(a Algorithms) []string { return a.Ciphers }
func macs(a Algorithms) []string    { return a.MACs }

// Known keys are asked for first, and only as far as they are allowed.
func TestHostKeyOrder(t *testing.T) {
	a := Algorithms{HostKeys: []string{"ssh-ed25519", "rsa-sha2-512"}}
	for _, c := range []struct{ known, want []string }{
		{nil, a.HostKeys},
		{[]string{"rsa-sha2-512", "rsa-sha2-256"}, []string{"rsa-sha2-512"}},
		{[]string{"ecdsa-sha2-nistp256"}, a.HostKeys},
	} {
		if got := a.forHost(c.known); !slices.Equal(got, c.want) {
			t.Errorf("known %v: got %v, want %v", c.known, got, c.want)
		}
	}
}

// An RSA key signs with SHA-2, also for a host that doesn't say what it takes.
func TestSignsWithoutSHA1(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		allowed []string
		want    []string
	}{
		{Algorithms{}.orDefaults().PublicKeys, []string{"rsa-sha2-256", "rsa-sha2-512"}},
		{[]string{"ssh-rsa"}, []string{"ssh-rsa"}},
		{[]string{"ssh-ed25519"}, nil},
	} {
		s := Algorithms{PublicKeys: c.allowed}.signs(plain)
		var got []string
		if multi, ok := s.(ssh.MultiAlgorithmSigner); ok {
			got = multi.Algorithms()
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("allowed %v: signs by %v", c.allowed, got)
		}
	}
}

// A host's key that ssh would refuse for its size, or for how its certificate is signed, is none to be trusted.
func TestWeakHostKeys(t *testing.T) {
	signer := func(bits int) ssh.Signer {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	small, large := signer(1024), signer(2048)
	signed := func(key, authority ssh.Signer, how string) ssh.PublicKey {
		limited, err := ssh.NewSignerWithAlgorithms(authority.(ssh.AlgorithmSigner), []string{how})
		if err != nil {
			t.Fatal(err)
		}
		cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidBefore: ssh.CertTimeInfinity}
		if err := cert.SignCert(rand.Reader, limited); err != nil {
			t.Fatal(err)
		}
		return cert
	}
	for _, c := range []struct {
		name, says string
		key        ssh.PublicKey
		weak       bool
	}{
		{"plain", "", large.PublicKey(), false},
		{"small, and allowed", "RequiredRSASize 1024", small.PublicKey(), false},
		{"smaller than is required", "RequiredRSASize 2048", small.PublicKey(), true},
		{"smaller, in a certificate", "RequiredRSASize 2048", signed(small, large, ssh.KeyAlgoRSASHA512), true},
		{"signed with SHA-2", "", signed(large, large, ssh.KeyAlgoRSASHA256), false},
		{"signed with SHA-1", "", signed(large, large, ssh.KeyAlgoRSA), true},
		{"signed with SHA-1, and allowed", "CASignatureAlgorithms +ssh-rsa", signed(large, large, ssh.KeyAlgoRSA), false},
		{
			"signed with another than is allowed", "CASignatureAlgorithms ssh-ed25519",
			signed(large, large, ssh.KeyAlgoRSASHA512), true,
		},
	} {
		keyword, value, _ := strings.Cut(c.says, " ")
		a, err := algorithms(func(k string) []string {
			if k == keyword {
				return []string{value}
			}
			return nil
		}, "node")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.weak(c.key); (err != nil) != c.weak {
			t.Errorf("%s: %v", c.name, err)
		}
		file := filepath.Join(t.TempDir(), "known_hosts")
		check := hostKeys{node: "node", ask: NoAsker{}, acceptNew: true, target: Target{
			Host: "node", Port: 22, KnownHosts: []string{file}, Algorithms: a,
		}}
		callback, _, err := check.check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		key := c.key
		if cert, ok := key.(*ssh.Certificate); ok {
			key = cert.SignatureKey
			text := "@cert-authority * " + string(ssh.MarshalAuthorizedKey(key))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if callback, _, err = check.check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := callback("node:22", nil, c.key); (err != nil) != c.weak {
			t.Errorf("%s: the host is told: %v", c.name, err)
		}
	}
}

// railbench accepts no key without asking for a user whose configuration forbids questions, or whose known
// hosts it can't see.
func TestUnknownHosts(t *testing.T) {
	key := newSigner(t)
	for name, c := range map[string]struct {
		target          Target
		asked, accepted bool
	}{
		"plain":             {Target{}, true, false},
		"accept-new":        {Target{AcceptNew: true}, false, true},
		"batch":             {Target{Batch: true}, false, false},
		"batch, accept-new": {Target{Batch: true, AcceptNew: true}, false, true},
		"a command":         {Target{KnownByCommand: true, AcceptNew: true}, true, false},
		"no file":           {Target{KeepsNone: true, AcceptNew: true}, false, false},
	} {
		file := filepath.Join(t.TempDir(), "known_hosts")
		c.target.Host, c.target.Port, c.target.KnownHosts = "node", 22, []string{file}
		var asked counting
		callback, _, err := hostKeys{node: "node", target: c.target, ask: &asked}.check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = callback("node:22", nil, key.PublicKey())
		if _, there := os.Stat(file); (err == nil) != c.accepted || (there == nil) != c.accepted || (asked > 0) != c.asked {
			t.Errorf("%s: %v, asked %d times, kept: %v", name, err, asked, there == nil)
		}
	}
}

type counting int

func (c *counting) HostKey(context.Context, HostKeyQuestion) (bool, error) { *c++; return false, nil }

func (c *counting) Secret(context.Context, SecretQuestion) (string, error) {
	*c++
	return "", errors.New("nobody is here")
}

// TestNobodyIsAsked: a way to log in that the configuration forbids is not tried.
func TestNobodyIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		target Target
		want   int
	}{
		"all": {Target{}, 3}, "keys": {Target{Ways: []string{"publickey"}}, 1}, "none": {Target{Ways: []string{}}, 0},
		"batch": {Target{Batch: true}, 1}, "a password": {Target{Ways: []string{"password", "publickey"}}, 2},
	} {
		k := &keyring{node: "node", target: c.target, ask: NoAsker{}, unlocked: &Unlocked{}}
		methods, done := k.methods(t.Context(), newLoginTimer(time.Hour, func() {}))
		done()
		if len(methods) != c.want {
			t.Errorf("%s: %d ways", name, len(methods))
		}
	}
}

// TestBadLines: a line of known_hosts that is not a key, and one that is longer than the library reads, refuse no
// host, and revoke what they revoke.
func TestBadLines(t *testing.T) {
	line := func() string {
		key := newSigner(t)
		return string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	}
	good, bad := line(), line()
	long := strings.Repeat("host,", 20_000) + "host "
	for name, text := range map[string]string{
		"no keys":        strings.Repeat("nonsense\nnode ssh-ed25519 AAAA\n@strange node "+good+"|1|x|y "+good, 60),
		"long comment":   "# " + long + "\n",
		"long, no key":   long + "\n",
		"long":           long + bad,
		"long, revoked":  "@revoked " + long + bad,
		"short, revoked": "nonsense\n@revoked node " + bad,
	} {
		file := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(file, []byte(text+"node "+good+"node "+bad), 0o600); err != nil {
			t.Fatal(err)
		}
		callback, _, err := hostKeys{
			node: "node", ask: NoAsker{},
			target: Target{Host: "node", Port: 22, KnownHosts: []string{file}},
		}.check(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range []string{good, bad} {
			key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			revoked := text == bad && strings.Contains(name, "revoked")
			if err := callback("node:22", nil, key); (err != nil) != revoked {
				t.Errorf("%s: revoked %v: %v", name, revoked, err)
			}
		}
	}
}

// A key that is accepted is that of one host.
func TestRememberedForOneHost(t *testing.T) {
	key := newSigner(t)
	for name, fine := range map[string]bool{
		"host": true, "192.168.100.10": true, "fe80::1%eth0": true, "*": false, "a,other": false, "ho?t": false, "!a": false,
		"a b": false, "a\nother": false, "@cert-authority": false, "#": false, "|1|x": false,
	} {
		file := filepath.Join(t.TempDir(), "known_hosts")
		err := hostKeys{}.remember(file, net.JoinHostPort(name, "22"), key.PublicKey())
		if _, there := os.Stat(file); (err == nil) != fine || (there == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// newSigner is a key that no one has yet.
func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
