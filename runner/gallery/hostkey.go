package gallery

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner/disk"
)

// mostKey is how long the file of a host key may be.
const mostKey = 16 << 10

// HostKey is the key in a file of this user's, which is made where there is none: viewers are
// told when a machine that they have seen is another.
func HostKey(path string) (ssh.Signer, error) {
	text, err := disk.ReadOwn(path, mostKey)
	if errors.Is(err, fs.ErrNotExist) {
		return newHostKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the host key: %w", err)
	}
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("read the host key in %s: %w; without the file a new one is made", path, err)
	}
	return key, nil
}

func newHostKey(path string) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a host key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "railbench serve --ssh")
	if err != nil {
		return nil, fmt.Errorf("make a host key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("keep the host key: %w", err)
	}
	if err := disk.Replace(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, fmt.Errorf("keep the host key: %w", err)
	}
	return ssh.NewSignerFromKey(private)
}
