package host

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/net"
)

// bare is the first of two nodes that have no program.
func bare(t *testing.T) *Node {
	t.Helper()
	r := NewRack(net.New(clock.New(time.Unix(1763700000, 0), clock.Max), 1, 2, false), nil)
	t.Cleanup(func() {
		r.Lock()
		r.Shut()
		r.Unlock()
		r.Close()
	})
	return r.Nodes[0]
}

// written makes a file of the user's.
func written(t *testing.T, n *Node, name, text string) {
	t.Helper()
	f, err := n.Create(name, false, 0o644)
	if err != nil {
		t.Fatalf("make %s: %v", name, err)
	}
	f.Data = []byte(text)
}

// The kernel's answers to a walk, for the user and for root.
func TestWalk(t *testing.T) {
	n := bare(t)
	written(t, n, "/home/nvidia/a", "text")
	n.Files["/home/nvidia/loop"] = NewLink("loop")
	n.Files["/home/nvidia/up"] = NewLink("../nvidia/./a")
	n.Files["/home/nvidia/sys"] = NewLink("/sys/class")
	n.Changed()
	for _, c := range []struct {
		name string
		root bool
		real string
		err  error
	}{
		{"/home/nvidia/a", false, "/home/nvidia/a", nil},
		{"//home/./nvidia/../nvidia//a", false, "/home/nvidia/a", nil},
		{"/../../home/nvidia/a", false, "/home/nvidia/a", nil},
		{"/home/nvidia/up", false, "/home/nvidia/a", nil},
		{"/home/nvidia/sys/net/../infiniband", false, "/sys/class/infiniband", nil},
		{"/home/nvidia/loop", false, "", syscall.ELOOP},
		{"/home/nvidia/a/b", false, "", syscall.ENOTDIR},
		{"/home/nvidia/a/", false, "", syscall.ENOTDIR},
		{"/home/nvidia/none", false, "", syscall.ENOENT},
		{"/root/x", false, "", syscall.EACCES},
		{"/root/x", true, "", syscall.ENOENT},
	} {
		_, real, err := n.Walk(c.name, true, c.root)
		if real != c.real || !errors.Is(err, c.err) {
			t.Errorf("%s (root %v): %q, %v, want %q, %v", c.name, c.root, real, err, c.real, c.err)
		}
	}
}

// A rename that fails has changed nothing: what stood in its place is there, and so is what
// was to be moved.
func TestARenameThatFailsLosesNothing(t *testing.T) {
	for _, c := range []struct {
		from, to string
		err      error // nil where it is done
	}{
		{"/home/nvidia/a", "/home/nvidia/c", nil},
		{"/home/nvidia/a", "/home/nvidia/b", nil},
		{"/home/nvidia/d", "/home/nvidia/d/inside", syscall.EINVAL},
		{"/home/nvidia/a", "/home/nvidia/d", syscall.EISDIR},
		{"/home/nvidia/none", "/home/nvidia/b", syscall.ENOENT},
		{"/etc/hostname", "/home/nvidia/b", syscall.EACCES}, // it isn't the user's to take away
		{"/home/nvidia/a", "/sys/class/net/b", syscall.EACCES},
		{"/home/nvidia/a", "/home/nvidia/b/x", syscall.ENOTDIR},
	} {
		n := bare(t)
		written(t, n, "/home/nvidia/a", "a")
		written(t, n, "/home/nvidia/b", "b")
		if err := n.Mkdir("/home/nvidia/d", false, 0o755); err != nil {
			t.Fatal(err)
		}
		written(t, n, "/home/nvidia/d/kid", "kid")
		had := n.listing("/home/nvidia")
		err := n.Rename(c.from, c.to, false)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, err, c.err)
		}
		n.Changed() // what scripts made is all that a new tree is built of
		has := n.listing("/home/nvidia")
		if c.err != nil && !slices.Equal(had, has) {
			t.Errorf("%s to %s failed, and of %q there is %q", c.from, c.to, had, has)
		}
		if c.err == nil {
			if text, err := n.ReadFile(c.to, false); text != "a" || err != nil {
				t.Errorf("%s holds %q, %v", c.to, text, err)
			}
		}
	}
}

// listing is every file under a directory, with what it holds.
func (n *Node) listing(dir string) (all []string) {
	i, _, err := n.Walk(dir, true, true)
	if err != nil {
		return []string{err.Error()}
	}
	i.Below(dir, func(name string, _ *Inode) {
		text, _ := n.ReadFile(name, true)
		all = append(all, name+"="+text)
	})
	slices.Sort(all)
	return all
}

// A file of a script is bounded, for every user.
func TestAFileIsBounded(t *testing.T) {
	n := bare(t)
	written(t, n, "/tmp/big", "")
	f, err := n.Create("/tmp/big", false, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	part := []byte(strings.Repeat("x", fileLimit/4))
	for i := range 4 {
		if err := f.Append(part); err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
	}
	if err := f.Append([]byte("x")); !errors.Is(err, syscall.ENOSPC) || len(f.Data) != fileLimit {
		t.Errorf("beyond the limit: %v, and it has %d bytes", err, len(f.Data))
	}
}

// What has been shut starts nothing more: nothing waits for it.
func TestAShutRackStartsNothing(t *testing.T) {
	n := bare(t)
	n.Rack.Lock()
	defer n.Rack.Unlock()
	n.Rack.Shut()
	n.StartService("late", Transient{Args: []string{"true"}})
	n.StartTimer("later", Transient{Args: []string{"true"}}, time.Second)
	if len(n.Units) > 0 || len(n.Procs) > 0 {
		t.Errorf("units %v, processes %v", n.Units, n.Procs)
	}
}
