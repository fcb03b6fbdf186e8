package runner

import (
	"crypto/rand"
	"crypto/rsa"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
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

// What a configuration says means to railbench what it means to ssh: read with ssh -G, and by the
// library where there is no ssh. Nothing with SHA-1 is offered unless somebody asks for it.
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
		if _, err := exec.LookPath("ssh"); err == nil {
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
