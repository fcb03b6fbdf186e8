package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/railbench/railbench/runner/safefile"
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
	db, named, err := readKnownHosts(h.target.KnownHosts)
	if err != nil {
		return nil, nil, fmt.Errorf("read known hosts: %w", err)
	}
	known := db.HostKeyCallback()
	name := h.name()
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		if err := h.revoked(ctx, key); err != nil {
			return err
		}
		if err := h.target.Algorithms.orDefaults().weak(key); err != nil {
			return &Error{
				Kind: HostChanged, Op: "trust the host key of", Node: h.node, Err: err,
				Hint: "Nothing was sent. Give the host another key, or change the configuration for it",
			}
		}
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
					ssh.FingerprintSHA256(key), named(revoked.Revoked.Filename), revoked.Revoked.Line),
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
					key.Type(), ssh.FingerprintSHA256(key), named(want.Filename), want.Line, ssh.FingerprintSHA256(want.Key)),
				Hint: "Nothing was sent. If the node was installed again: ssh-keygen -R " +
					Quote(knownhosts.Normalize(name)) + "; if not, another machine may be in between",
			}
		default:
			return err
		}
	}, h.target.Algorithms.orDefaults().forHost(db.HostKeyAlgorithms(name)), nil
}

// revoked looks for the key among those that are not to be trusted any more.
func (h hostKeys) revoked(ctx context.Context, key ssh.PublicKey) error {
	file := h.target.RevokedHostKeys
	if file == "" {
		return nil
	}
	yes, err := revokedIn(ctx, file, key)
	if err == nil && !yes {
		return nil
	}
	e := &Error{Kind: HostChanged, Op: "trust the host key of", Node: h.node, Err: err}
	if err == nil {
		e.Err = fmt.Errorf("the key %s is revoked in %s", ssh.FingerprintSHA256(key), file)
		e.Hint = "Nothing was sent. Whoever holds this key must not be talked to: ask the node's owner"
	} else {
		e.Hint = "Nothing was sent: with RevokedHostKeys in its configuration ssh, too, trusts no host whose key it can't " +
			"look up"
	}
	return e
}

// badLines is how many lines of known_hosts may be keys of a host whose name can't be read. ssh passes
// over them, too.
const badLines = 100

// readKnownHosts reads files without the lines that are not keys: the library would refuse every host because
// of one of them. named gives the original name of a file that was read.
func readKnownHosts(paths []string) (db *knownhosts.HostKeyDB, named func(string) string, err error) {
	own := map[string]string{}
	defer func() {
		for copied := range own {
			_ = os.Remove(copied) // it was read
		}
	}()
	named = func(read string) string { return cmp.Or(own[read], read) }
	var files []string
	for _, path := range paths {
		if path == os.DevNull {
			continue // it has no hosts and is not a file
		}
		// A file that can't be read may hold the key's revocation, so this is an error.
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, nil, err
		}
		read, err := withoutBadLines(path)
		if err != nil {
			return nil, nil, err
		}
		if read != path {
			own[read] = path
		}
		files = append(files, read)
	}
	db, err = knownhosts.NewDB(files...)
	return db, named, err
}

// withoutBadLines gives a path at which the file can be read: its own where nothing is wrong,
// else that of a copy in which the bad lines are empty, so that all others keep their numbers.
func withoutBadLines(path string) (string, error) {
	// First, because the library would wait for the writer of a pipe.
	text, err := safefile.Read(path, keyFileLimit)
	if err != nil {
		return "", err
	}
	_, wrong := xknownhosts.New(path)
	if wrong == nil {
		return path, nil
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		lines[i] = readable(line)
	}
	f, err := os.CreateTemp("", "railbench-known-hosts-")
	if err != nil {
		return "", err
	}
	copied := f.Name()
	f.Close()
	read := copied
	if err := os.WriteFile(copied, bytes.Join(lines, []byte("\n")), 0o600); err != nil {
		_ = os.Remove(copied)
		return "", err
	}
	_, wrong = xknownhosts.New(copied)
	for range badLines {
		if wrong == nil {
			return copied, nil
		}
		// The library says where it stopped, in words: "knownhosts: FILE:LINE: why".
		at, _, _ := strings.Cut(strings.TrimPrefix(wrong.Error(), "knownhosts: "+read+":"), ":")
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 || n > len(lines) {
			break
		}
		lines[n-1] = nil
		if err := os.WriteFile(copied, bytes.Join(lines, []byte("\n")), 0o600); err != nil {
			_ = os.Remove(copied)
			return "", err
		}
		_, wrong = xknownhosts.New(copied)
	}
	_ = os.Remove(copied)
	return "", wrong
}

// readable is a line of known_hosts that the library can read, nil if it is not a key. A key whose line is
// too long to be read is still revoked if the line says so: that does not depend on a host.
func readable(line []byte) []byte {
	if len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
		return nil
	}
	marker, _, key, _, _, err := ssh.ParseKnownHosts(line)
	switch {
	case err != nil || marker != "" && marker != "revoked" && marker != "cert-authority":
		return nil
	case len(line) < bufio.MaxScanTokenSize/2:
		return line
	case marker == "revoked":
		return append([]byte("@revoked * "), bytes.TrimSpace(ssh.MarshalAuthorizedKey(key))...)
	}
	return nil
}

// unknown asks whether a key that no file has may be trusted, unless that was settled
// beforehand.
func (h hostKeys) unknown(ctx context.Context, name string, key ssh.PublicKey) error {
	if h.target.KeepsNone || len(h.target.KnownHosts) == 0 {
		return &Error{
			Kind: UnknownHost, Op: "trust the host key of", Node: h.node + " (" + h.target.String() + ")",
			Err: fmt.Errorf("the host is not known (%s %s), and no file for keys is configured", key.Type(),
				ssh.FingerprintSHA256(key)),
			Hint: "Name one with UserKnownHostsFile for this host",
		}
	}
	file := h.target.KnownHosts[0]
	if h.target.OnlyKnown {
		return &Error{
			Kind: UnknownHost, Op: "trust the host key of", Node: h.node + " (" + h.target.String() + ")",
			Err: fmt.Errorf("the host is not known (%s %s), and the ssh configuration says StrictHostKeyChecking yes",
				key.Type(), ssh.FingerprintSHA256(key)),
			Hint: "Put its key into " + file + " yourself, or say StrictHostKeyChecking ask for this host",
		}
	}
	// What a KnownHostsCommand would say may be that the key is another one, or revoked: a person decides.
	accepted := (h.acceptNew || h.target.AcceptNew) && !h.target.KnownByCommand
	if h.target.Batch && !accepted {
		return &Error{
			Kind: UnknownHost, Op: "trust the host key of", Node: h.node + " (" + h.target.String() + ")",
			Err: fmt.Errorf("the host is not known (%s %s), and the ssh configuration says BatchMode yes",
				key.Type(), ssh.FingerprintSHA256(key)),
			Hint: "Log in once with ssh -o BatchMode=no",
		}
	}
	if !accepted {
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
	if file == os.DevNull {
		return nil // as ssh would keep it
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the host key: %w", err)
	}
	host := knownhosts.Normalize(name)
	if strings.ContainsAny(host, ",*?! \t\r\n|@#") {
		return fmt.Errorf("keep the host key: in a file of known hosts %q stands for other hosts, too", host)
	}
	if h.target.HashKnownHosts {
		host = xknownhosts.HashHostname(host)
	}
	line := host + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n"
	// A file without an end of line would swallow the new entry.
	old, err := safefile.Read(file, keyFileLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the host key: %w", err)
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o600)
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
