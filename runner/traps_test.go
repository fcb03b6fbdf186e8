package runner

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// TestKeyFilesAreTraps: what stands where a file of keys is named may be a pipe that no one writes into, or have no
// end. No one waits for it, and no host is trusted because of it.
func TestKeyFilesAreTraps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, endless, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "endless"), filepath.Join(dir, "huge")
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		syscall.Mkfifo(pipe, 0o600), syscall.Mkfifo(pipe+".pub", 0o600), syscall.Mkfifo(pipe+"-cert.pub", 0o600),
		os.Symlink("/dev/zero", endless), os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 1<<40),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, trap := range []string{pipe, endless, huge, dir} {
		k := &keyring{
			node: "node", target: Target{Identities: []string{trap}, Certificates: []string{trap}}, ask: NoAsker{},
			unlocked: &Unlocked{},
		}
		if signers := k.signers(t.Context(), newLoginTimer(time.Hour, func() {}), nil); len(signers) != 0 {
			t.Errorf("%s is no key: %v", filepath.Base(trap), signers)
		}
		if _, _, err := readKnownHosts([]string{trap}); err == nil {
			t.Errorf("%s was read as known hosts", filepath.Base(trap))
		}
		if _, err := revokedIn(t.Context(), trap, key); err == nil {
			t.Errorf("%s was read as revoked keys", filepath.Base(trap))
		}
		if err := (hostKeys{}).remember(trap, "host:22", key); err == nil {
			t.Errorf("%s has taken a host's key", filepath.Base(trap))
		}
		if _, err := readConfig(trap, "host"); err == nil {
			t.Errorf("%s was read as a configuration", filepath.Base(trap))
		}
	}
	// ssh's way to keep no keys is not a trap, and a link to a file of keys is that file.
	if _, _, err := readKnownHosts([]string{os.DevNull}); err != nil {
		t.Error(err)
	}
	if err := (hostKeys{}).remember(os.DevNull, "host:22", key); err != nil {
		t.Error(err)
	}
	file, link := filepath.Join(dir, "known_hosts"), filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := (hostKeys{}).remember(link, "host:22", key); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%q (%v)", text, err)
	}
}
