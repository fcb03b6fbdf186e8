package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys checks a host's key as ssh does with StrictHostKeyChecking=ask: a key
// that is known passes, an unknown one is asked about, another one or a revoked
// one is refused. Nothing of the user's is sent before.
type hostKeys struct {
	node      string
	target    Target
	ask       Asker
	acceptNew bool
}

// name is the host as known_hosts files it.
func (h hostKeys) name() string {
	if h.target.HostKeyAlias != "" {
		// As ssh files an alias: without a port, whatever the host's is (Normalize leaves 22 out).
		return net.JoinHostPort(h.target.HostKeyAlias, "22")
	}
	return h.target.address()
}

// check returns the callback for one connection and the key types to ask for,
// those that are known first: else a host that has several keys would seem changed.
func (h hostKeys) check(ctx context.Context) (ssh.HostKeyCallback, []string, error) {
	var files []string
	for _, f := range h.target.KnownHosts {
		// A file that can't be looked at may hold the key's revocation: that is no reason to go on.
		if _, err := os.Stat(f); err == nil {
			files = append(files, f)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read known hosts: %w", err)
		}
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, nil, fmt.Errorf("read known hosts: %w", err)
	}
	known := db.HostKeyCallback()
	name := h.name()
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		// The address says nothing more: a jump or a proxy has its own.
		err := known(name, &net.TCPAddr{IP: net.IPv4zero}, key)
		var revoked *xknownhosts.RevokedError
		var mismatch *xknownhosts.KeyError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &revoked):
			return &Error{
				Kind: HostChanged, Op: "trust the host key of", Node: h.node,
				Err: fmt.Errorf("the key %s is revoked in %s:%d",
					ssh.FingerprintSHA256(key), revoked.Revoked.Filename, revoked.Revoked.Line),
				Hint: "Nothing was sent. Whoever holds this key must not be talked to: ask the node's owner",
			}
		// Before mismatch: an unknown host's is an error of that kind, with no key that would be
		// wanted.
		case knownhosts.IsHostUnknown(err):
			return h.unknown(ctx, name, key)
		case errors.As(err, &mismatch) && len(mismatch.Want) > 0:
			want := mismatch.Want[0]
			return &Error{
				Kind: HostChanged, Op: "trust the host key of", Node: h.node,
				Err: fmt.Errorf("the host has another key than before: it shows %s %s, %s:%d has %s",
					key.Type(), ssh.FingerprintSHA256(key), want.Filename, want.Line, ssh.FingerprintSHA256(want.Key)),
				Hint: "Nothing was sent. If the node was installed anew: ssh-keygen -R " +
					Quote(knownhosts.Normalize(name)) + "; if not, somebody may be in between",
			}
		default:
			return err
		}
	}, db.HostKeyAlgorithms(name), nil
}

// unknown asks whether a key that no file has may be trusted, unless that was settled
// beforehand.
func (h hostKeys) unknown(ctx context.Context, name string, key ssh.PublicKey) error {
	// UserKnownHostsFile none.
	if len(h.target.KnownHosts) == 0 {
		return errors.New("no file for known hosts is configured")
	}
	file := h.target.KnownHosts[0]
	if !h.acceptNew && !h.target.AcceptNew {
		yes, err := h.ask.HostKey(ctx, HostKeyQuestion{
			Node: h.node, Address: knownhosts.Normalize(name),
			KeyType: key.Type(), Fingerprint: ssh.FingerprintSHA256(key), File: file,
		})
		if err != nil {
			return err
		}
		if !yes {
			return &Error{
				Kind: UnknownHost, Op: "trust the host key of", Node: h.node + " (" + h.target.String() + ")",
				Err: fmt.Errorf("the host is not known: %s %s", key.Type(), ssh.FingerprintSHA256(key)),
				Hint: "Compare the fingerprint on the node (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub)," +
					" then log in once with ssh, or give --accept-new-host-key",
			}
		}
	}
	return h.remember(file, name, key)
}

// remember adds a key as ssh itself would, so that ssh knows the host afterwards, too.
func (h hostKeys) remember(file, name string, key ssh.PublicKey) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the host key: %w", err)
	}
	host := knownhosts.Normalize(name)
	if h.target.HashKnownHosts {
		host = xknownhosts.HashHostname(host)
	}
	line := host + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n"
	// A file without an end of line would swallow the new entry.
	if old, err := os.ReadFile(file); err == nil && len(old) > 0 && old[len(old)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the host key: %w", err)
	}
	_, err = f.WriteString(line)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("keep the host key: %w", err)
	}
	return nil
}
