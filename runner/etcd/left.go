package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/railbench/railbench/runner/safefile"
)

// Claims record on this machine which keys of a foreign etcd belong to a run that goes on. A claim is a file
// that the kernel locks for as long as its process lives. A claim without a lock is of a run that was killed,
// and its keys can be deleted.
type Claims struct {
	Dir string // of this user
}

// A claim is what a file says.
type claim struct {
	Endpoint string `json:"endpoint"`
	Prefix   string `json:"prefix"` // of the keys
}

// claimLimit is how long a claim may be, bytes.
const claimLimit = 4096

// Take remembers that the keys below a prefix are a run's, until release is called, which is once
// they are gone.
func (c Claims) Take(run, endpoint, prefix string) (release func(), err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("remember what a run leaves in etcd: %w", err)
	}
	path := filepath.Join(c.Dir, run+".json")
	// A run's name is its own: a claim that is there is of another run, and not to be written over.
	f, err := safefile.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("remember what a run leaves in etcd: %w", err)
	}
	text, err := json.Marshal(claim{endpoint, prefix})
	// A claim without text is being made.
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err != nil {
		_ = os.Remove(path)
		return nil, errors.Join(fmt.Errorf("remember what a run leaves in etcd: %w", err), f.Close())
	}
	return func() {
		_ = os.Remove(path) // the keys are gone: a claim that stays finds nothing
		_ = f.Close()
	}, nil
}

// A Left is what a run that was killed has left in an etcd.
type Left struct {
	Endpoint, Prefix string
	Keys             int   // that were removed
	Err              error // why it is still there
}

// None reports whether there are no claims, so that there is nothing to clear.
func (c Claims) None() bool {
	files, err := filepath.Glob(filepath.Join(c.Dir, "*.json"))
	return err != nil || len(files) == 0
}

// Clear removes what runs that were killed have left, wherever that is, and forgets them. An etcd
// that doesn't answer is asked again the next time.
func (c Claims) Clear(ctx context.Context) (all []Left) {
	files, err := filepath.Glob(filepath.Join(c.Dir, "*.json"))
	if err != nil {
		return nil
	}
	for _, path := range files {
		if l, ok := c.clear(ctx, path); ok {
			all = append(all, l)
		}
	}
	return all
}

// clear is Clear for one claim. ok is false where its process lives, or where it says nothing.
func (c Claims) clear(ctx context.Context, path string) (l Left, ok bool) {
	f, err := safefile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return l, false
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return l, false
	}
	text, err := io.ReadAll(io.LimitReader(f, claimLimit))
	var said claim
	// Of a file that was altered nothing is removed anywhere.
	if err != nil || json.Unmarshal(text, &said) != nil || !whole(said.Prefix) {
		return l, false
	}
	l = Left{Endpoint: said.Endpoint, Prefix: said.Prefix}
	client, err := Open(said.Endpoint)
	if err != nil {
		return l, false
	}
	defer func() { _ = client.Close() }()
	if l.Keys, l.Err = client.Clear(ctx, said.Prefix); l.Err == nil {
		_ = os.Remove(path) // it is looked at again otherwise, and then finds nothing
	}
	return l, true
}

// whole reports whether a prefix is that of one group of keys, and not of everybody's.
func whole(prefix string) bool {
	above, group, ok := strings.Cut(strings.TrimSuffix(prefix, "/"), "/")
	return ok && above != "" && group != "" && strings.HasSuffix(prefix, "/")
}
