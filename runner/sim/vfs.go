package sim

import (
	"errors"
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
	user   bool // it belongs to the user of the login, not to root
	kids   map[string]*inode
	target string
	read   func() (string, error)
	file   *file
}

// A file is what a script wrote. It lives as long as somebody can reach it.
type file struct {
	data []byte
}

// What somebody may want of an entry: the bits of a mode.
const (
	toRead  fs.FileMode = 4
	toWrite fs.FileMode = 2
	toEnter fs.FileMode = 1
)

// may says whether the entry's mode lets somebody do that. Nothing in a mode
// stops root.
func (i *inode) may(root bool, want fs.FileMode) bool {
	bits := i.mode.Perm()
	if i.user {
		bits >>= 6
	}
	return root || bits&want == want
}

func newDir() *inode {
	return &inode{mode: fs.ModeDir | 0o755, kids: map[string]*inode{}}
}

// newFile is a file that nobody changes.
func newFile(text string) *inode {
	return &inode{mode: 0o444, read: func() (string, error) { return text + "\n", nil }}
}

func newLink(target string) *inode { return &inode{mode: fs.ModeSymlink | 0o777, target: target} }

func newProgram() *inode { return &inode{mode: 0o755} }

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
	i.put(name, newFile(text))
}

func (i *inode) link(name, target string) {
	i.put(name, newLink(target))
}

// lookup walks to a path as root does, and also returns it without links.
// Callers hold the rig's lock.
func (n *node) lookup(name string, follow bool) (*inode, string, error) {
	return n.walk(name, follow, true)
}

// walk is lookup for either user: a directory on the way may be closed.
func (n *node) walk(name string, follow, root bool) (*inode, string, error) {
	if n.tree == nil || n.treeOf != n.Devices {
		n.tree, n.treeOf = n.buildTree(), n.Devices
	}
	todo := strings.Split(name, "/")
	at := n.tree
	above, names := []*inode{n.tree}, []string(nil) // of the way, without links
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
			if len(names) > 0 {
				above, names = above[:len(above)-1], names[:len(names)-1]
			}
			at = above[len(above)-1]
			continue
		}
		if !at.may(root, toEnter) {
			return nil, "", syscall.EACCES
		}
		next := at.kids[part]
		if next == nil && len(names) == 1 && names[0] == "proc" {
			next = n.procDir(part)
		}
		if next == nil {
			return nil, "", syscall.ENOENT
		}
		if next.mode&fs.ModeSymlink != 0 && (follow || len(todo) > 0) {
			if links++; links > 40 {
				return nil, "", syscall.ELOOP
			}
			if strings.HasPrefix(next.target, "/") {
				at, above, names = n.tree, above[:1], names[:0]
			}
			todo = append(strings.Split(next.target, "/"), todo...)
			continue
		}
		at = next
		above, names = append(above, at), append(names, part)
	}
	return at, "/" + strings.Join(names, "/"), nil
}

// readFile is what reading the file at a path gives.
func (n *node) readFile(name string, root bool) (string, error) {
	i, _, err := n.walk(name, true, root)
	switch {
	case err != nil:
		return "", err
	case !i.may(root, toRead):
		return "", syscall.EACCES
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
func (n *node) create(name string, root bool, mode fs.FileMode) (*file, error) {
	i, _, err := n.walk(name, true, root)
	switch {
	case err == nil && i.kids != nil:
		return nil, syscall.EISDIR
	case err == nil && (i.file == nil || !i.may(root, toWrite)):
		return nil, syscall.EACCES
	case err == nil:
		return i.file, nil
	case !errors.Is(err, syscall.ENOENT):
		return nil, err
	}
	f := &file{}
	return f, n.enter(name, root, &inode{mode: mode, user: !root, file: f})
}

// mkdir makes a directory.
func (n *node) mkdir(name string, root bool, mode fs.FileMode) error {
	if _, _, err := n.walk(name, true, root); err == nil {
		return syscall.EEXIST
	}
	return n.enter(strings.TrimRight(name, "/"), root, &inode{
		mode: fs.ModeDir | mode, user: !root, kids: map[string]*inode{},
	})
}

// enter puts an entry into the directory above it.
func (n *node) enter(name string, root bool, i *inode) error {
	dir, real, err := n.walk(path.Dir(name), true, root)
	switch {
	case err != nil:
		return err
	case dir.kids == nil:
		return syscall.ENOTDIR
	case pretended(real) || !dir.may(root, toWrite|toEnter):
		return syscall.EACCES
	}
	n.files[path.Join(real, path.Base(name))] = i
	dir.kids[path.Base(name)] = i
	return nil
}

// pretended says that a directory is the kernel's: nobody makes a file in it.
func pretended(dir string) bool {
	return strings.HasPrefix(dir+"/", "/sys/") || strings.HasPrefix(dir+"/", "/proc/")
}

// leave takes an entry, which exists, and all below it out of its directory.
func (n *node) leave(name string, root bool) (*inode, error) {
	i, real, err := n.walk(name, false, root)
	if err != nil {
		return nil, err
	}
	dir, _, err := n.walk(path.Dir(real), true, root)
	switch {
	case err != nil:
		return nil, err
	case n.files[real] == nil, !dir.may(root, toWrite|toEnter):
		return nil, syscall.EACCES
	case dir.mode&fs.ModeSticky != 0 && !root && !i.user:
		return nil, syscall.EPERM
	}
	delete(dir.kids, path.Base(real))
	for name := range n.files {
		if name == real || strings.HasPrefix(name, real+"/") {
			delete(n.files, name)
		}
	}
	return i, nil
}

// rename is what mv does: the entry is never seen half.
func (n *node) rename(from, to string, root bool) error {
	i, _, err := n.walk(from, false, root)
	if err != nil {
		return err
	}
	if old, _, err := n.walk(to, false, root); err == nil && old != i {
		if old.kids != nil {
			return syscall.EISDIR
		}
		if _, err := n.leave(to, root); err != nil {
			return err
		}
	}
	if dir, real, err := n.walk(path.Dir(to), true, root); err != nil {
		return err
	} else if dir.kids == nil || pretended(real) || !dir.may(root, toWrite|toEnter) {
		return syscall.EACCES
	}
	if _, err := n.leave(from, root); err != nil {
		return err
	}
	if err := n.enter(to, root, i); err != nil {
		return err
	}
	_, real, err := n.walk(to, false, root)
	i.below(real, func(name string, kid *inode) { n.files[name] = kid })
	return err
}

// below calls f with everything under a directory.
func (i *inode) below(name string, f func(string, *inode)) {
	for kid, k := range i.kids {
		f(path.Join(name, kid), k)
		k.below(path.Join(name, kid), f)
	}
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
