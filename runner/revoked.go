package runner

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner/safefile"
)

// keyFileLimit bounds a file of keys, in bytes: the known hosts of a large site are a few MB.
const keyFileLimit = 64 << 20

// revokedIn reports whether a file of RevokedHostKeys has a host's key, or the key that signed its
// certificate. As with ssh a file that can't be read revokes all.
func revokedIn(ctx context.Context, file string, key ssh.PublicKey) (bool, error) {
	keys := []ssh.PublicKey{key}
	if cert, ok := key.(*ssh.Certificate); ok {
		keys = []ssh.PublicKey{cert, cert.Key, cert.SignatureKey}
	}
	text, err := safefile.Read(file, keyFileLimit)
	if err != nil {
		return false, fmt.Errorf("read RevokedHostKeys: %w", err)
	}
	if bytes.HasPrefix(text, []byte("SSHKRL\n\x00")) {
		return revokedByList(ctx, file, key)
	}
	for n, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		one, _, _, _, err := ssh.ParseAuthorizedKey(line)
		if err != nil {
			return false, fmt.Errorf("read RevokedHostKeys: line %d of %s is not a key: %w", n+1, file, err)
		}
		if slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), one.Marshal()) }) {
			return true, nil
		}
	}
	return false, nil
}

// revokedByList asks ssh-keygen, whose format a KRL is.
func revokedByList(ctx context.Context, list string, key ssh.PublicKey) (bool, error) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return false, fmt.Errorf("read RevokedHostKeys: %s is a list of ssh-keygen's, which is not here: %w", list, err)
	}
	folder, err := safefile.Hold(os.TempDir(), "railbench-hostkey-")
	if err != nil {
		return false, fmt.Errorf("read RevokedHostKeys: %w", err)
	}
	defer folder.Remove() //nolint:errcheck // the next one removes what stays
	file := filepath.Join(folder.Path, "key.pub")
	if err := os.WriteFile(file, ssh.MarshalAuthorizedKey(key), 0o600); err != nil {
		return false, fmt.Errorf("read RevokedHostKeys: %w", err)
	}
	// By now the list may be something that has no end.
	ctx, cancel := context.WithTimeout(ctx, configLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, keygen, "-Q", "-f", list, file)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return false, nil
	// Its status is also 1 where something went wrong.
	case strings.Contains(string(out), "REVOKED"):
		return true, nil
	default:
		return false, fmt.Errorf("read RevokedHostKeys: ssh-keygen -Q -f %s: %w: %s", list, err, bytes.TrimSpace(out))
	}
}
