package sim

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An inode is one entry of a node's pretend file system: a directory, a link, a
// file that is made when it is read (sysfs, proc), or one that a script wrote.
type inode struct {
	mode   fs.FileMode
	kids   map[string]*inode
	target string
	read   func() (string, error)
	file   *file
}

// A file is what a script wrote. It lives as long as the rig.
type file struct {
	data []byte
	mode fs.FileMode
}

func newDir() *inode {
	return &inode{mode: fs.ModeDir | 0o755, kids: map[string]*inode{}}
}

// put adds an entry and the directories above it.
func (i *inode) put(name string, entry *inode) {
	dir := i
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for _, p := range parts[:len(parts)-1] {
		next := dir.kids[p]
		if next == nil {
			next = newDir()
			dir.kids[p] = next
		}
		dir = next
	}
	dir.kids[parts[len(parts)-1]] = entry
}

// text adds a file that is made when it is read, and ends with a line end.
func (i *inode) text(name string, read func() string) {
	i.put(name, &inode{mode: 0o444, read: func() (string, error) { return read() + "\n", nil }})
}

func (i *inode) fixed(name, text string) {
	i.put(name, &inode{mode: 0o444, read: func() (string, error) { return text + "\n", nil }})
}

func (i *inode) link(name, target string) {
	i.put(name, &inode{mode: fs.ModeSymlink | 0o777, target: target})
}

// lookup walks to a path and also returns it without links. Callers hold the
// rig's lock.
func (n *node) lookup(name string, follow bool) (*inode, string, error) {
	if n.tree == nil {
		n.tree = n.buildTree()
	}
	todo := strings.Split(name, "/")
	at, real := n.tree, "/"
	above := []*inode{n.tree}
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if at.kids == nil {
			if part == "" && len(todo) == 0 {
				return nil, "", syscall.ENOTDIR
			}
			if part == "" {
				continue
			}
			return nil, "", syscall.ENOTDIR
		}
		switch part {
		case "", ".":
			continue
		case "..":
			if len(above) > 1 {
				above = above[:len(above)-1]
				real = path.Dir(real)
			}
			at = above[len(above)-1]
			continue
		}
		next := at.kids[part]
		if next == nil {
			return nil, "", syscall.ENOENT
		}
		if next.mode&fs.ModeSymlink != 0 && (follow || len(todo) > 0) {
			if links++; links > 40 {
				return nil, "", syscall.ELOOP
			}
			if strings.HasPrefix(next.target, "/") {
				at, real, above = n.tree, "/", []*inode{n.tree}
			}
			todo = append(strings.Split(next.target, "/"), todo...)
			continue
		}
		at, real = next, path.Join(real, part)
		above = append(above, at)
	}
	return at, real, nil
}

// readFile is what reading the file at a path gives.
func (n *node) readFile(name string) (string, error) {
	i, _, err := n.lookup(name, true)
	switch {
	case err != nil:
		return "", err
	case i.kids != nil:
		return "", syscall.EISDIR
	case i.file != nil:
		return string(i.file.data), nil
	case i.read == nil:
		return "", nil
	default:
		return i.read()
	}
}

// create makes the file at a path, or finds it, for writing.
func (n *node) create(name string, root bool) (*file, error) {
	i, _, err := n.lookup(name, true)
	if err == nil {
		if i.kids != nil {
			return nil, syscall.EISDIR
		}
		if i.file == nil {
			return nil, syscall.EACCES
		}
		return i.file, nil
	}
	dir, real, err := n.lookup(path.Dir(name), true)
	if err != nil {
		return nil, err
	}
	if dir.kids == nil {
		return nil, syscall.ENOTDIR
	}
	real = path.Join(real, path.Base(name))
	if !writable(real, root) {
		return nil, syscall.EACCES
	}
	f := &file{mode: 0o644}
	n.files[real] = f
	dir.kids[path.Base(name)] = &inode{mode: 0o644, file: f}
	return f, nil
}

// writable says where scripts may make files.
func writable(name string, root bool) bool {
	if strings.HasPrefix(name, "/sys/") || strings.HasPrefix(name, "/proc/") {
		return false
	}
	if root {
		return true
	}
	for _, dir := range []string{"/tmp/", "/dev/shm/", homeDir + "/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

func (n *node) mkdir(name string, root bool) error {
	if _, _, err := n.lookup(name, true); err == nil {
		return syscall.EEXIST
	}
	dir, real, err := n.lookup(path.Dir(name), true)
	if err != nil {
		return err
	}
	real = path.Join(real, path.Base(name))
	if !writable(real, root) {
		return syscall.EACCES
	}
	n.files[real] = &file{mode: fs.ModeDir | 0o755}
	dir.kids[path.Base(name)] = newDir()
	return nil
}

func (n *node) remove(name string) error {
	i, real, err := n.lookup(name, false)
	if err != nil {
		return err
	}
	if i.kids != nil {
		return syscall.EISDIR
	}
	if n.files[real] == nil {
		return syscall.EACCES
	}
	delete(n.files, real)
	n.tree = nil
	return nil
}

// info describes an entry to the shell.
type info struct {
	name string
	i    *inode
}

var (
	_ fs.FileInfo = info{}
	_ fs.DirEntry = info{}
)

func (f info) Name() string               { return f.name }
func (f info) IsDir() bool                { return f.i.mode.IsDir() }
func (f info) Mode() fs.FileMode          { return f.i.mode }
func (f info) Type() fs.FileMode          { return f.i.mode.Type() }
func (f info) Info() (fs.FileInfo, error) { return f, nil }
func (f info) ModTime() time.Time         { return time.Unix(1763700000, 0) }
func (f info) Sys() any                   { return nil }

func (f info) Size() int64 {
	switch {
	case f.i.file != nil:
		return int64(len(f.i.file.data))
	case f.i.mode.IsRegular():
		return 4096
	default:
		return 0
	}
}

// names are a directory's entries, sorted.
func (i *inode) names() []string {
	return slices.Sorted(maps.Keys(i.kids))
}
