package host

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// An Inode is one entry of a node's pretend file system: a directory, a link, a
// file that is made when it is read (sysfs, proc), or one that a script wrote.
type Inode struct {
	// With the kind, as the kernel has it.
	Mode fs.FileMode
	User bool // it belongs to the user of the login, not to root
	// By name; nil for all but directories. add and drop change them.
	Kids map[string]*Inode
	// Of Kids, sorted; nil until it is asked for.
	names   []string
	entries []fs.DirEntry
	// Of a link, absolute or seen from its directory.
	Target string
	// Called with the rig's lock held, at each read.
	read func() (string, error)
	// nil for what is never written to.
	file *file
}

// A file is what a script wrote. It lives as long as it can be reached.
type file struct {
	Data []byte
	node *Node // whose disk it is on
}

// fileLimit bounds what a script can write into one pretend file, in bytes.
const fileLimit = 16 << 20

// Append writes at the end of the file. Callers hold the rig's lock.
func (f *file) Append(p []byte) error {
	if len(f.Data)+len(p) > fileLimit || f.node != nil && f.node.Full {
		return syscall.ENOSPC
	}
	f.Data = append(f.Data, p...)
	return nil
}

// Access to an entry: the bits of a mode.
const (
	ToRead  fs.FileMode = 4
	toWrite fs.FileMode = 2
	toEnter fs.FileMode = 1
)

// May reports whether the entry's mode allows an access. Nothing in a mode stops root.
func (i *Inode) May(root bool, want fs.FileMode) bool {
	bits := i.Mode.Perm()
	// There is one user, who belongs to no other group: the owner's bits or the others' apply.
	if i.User {
		bits >>= 6
	}
	return root || bits&want == want
}

// newDir is a directory of root's, which everybody may look into.
func newDir() *Inode {
	return &Inode{Mode: fs.ModeDir | 0o755, Kids: map[string]*Inode{}}
}

// NewFile is a file that never changes.
func NewFile(text string) *Inode {
	return &Inode{Mode: 0o444, read: func() (string, error) { return text + "\n", nil }}
}

// NewLink is a symbolic link, absolute or seen from where it is put.
func NewLink(target string) *Inode { return &Inode{Mode: fs.ModeSymlink | 0o777, Target: target} }

// NewProgram is a file that may be run. What runs is the tool of its name, if there is one.
func NewProgram() *Inode { return &Inode{Mode: 0o755} }

// put adds an entry and the directories above it.
func (i *Inode) put(name string, entry *Inode) {
	dir := i
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for _, p := range parts[:len(parts)-1] {
		next := dir.Kids[p]
		if next == nil {
			next = newDir()
			dir.add(p, next)
		}
		dir = next
	}
	dir.add(parts[len(parts)-1], entry)
}

// text adds a file that is made when it is read, and ends with a line end.
func (i *Inode) text(name string, read func() string) {
	i.put(name, &Inode{Mode: 0o444, read: func() (string, error) { return read() + "\n", nil }})
}

func (i *Inode) fixed(name, text string) {
	i.put(name, NewFile(text))
}

func (i *Inode) link(name, target string) {
	i.put(name, NewLink(target))
}

// Lookup walks to a path as root does, and also returns it without links.
// Callers hold the rig's lock.
func (n *Node) Lookup(name string, follow bool) (*Inode, string, error) {
	return n.Walk(name, follow, true)
}

// Walk is lookup for either user: a directory on the way may be closed.
func (n *Node) Walk(name string, follow, root bool) (*Inode, string, error) {
	var way []string
	i, _, err := n.walk(name, follow, root, &way)
	if err != nil {
		return nil, "", err
	}
	return i, "/" + strings.Join(way, "/"), nil
}

// find is Walk for those who don't ask where they have come to: most of all looks. Scripts look at one entry of a
// directory of sysfs after the other, so the way to the last directory is kept.
func (n *Node) find(name string, follow, root bool) (*Inode, error) {
	slash := strings.LastIndexByte(name, '/')
	base := name[slash+1:]
	if slash <= 0 || base == "" || base == "." || base == ".." {
		i, _, err := n.walk(name, follow, root, nil)
		return i, err
	}
	last := lastDir{name: name[:slash], root: root, devices: n.Devices, moves: moves.Load()}
	dir := n.last.dir
	if last.dir = dir; dir == nil || n.tree == nil || last != n.last {
		var lasts bool
		var err error
		if dir, lasts, err = n.walk(last.name, true, root, nil); err != nil {
			return nil, err
		}
		n.last = lastDir{}
		if lasts && dir != n.tree.Kids["proc"] {
			last.dir, last.moves = dir, moves.Load() // the walk may have built the tree
			n.last = last
		}
	}
	if n.last.dir == nil || dir.Kids == nil {
		i, _, err := n.walk(name, follow, root, nil)
		return i, err
	}
	i, err := n.enterable(dir, nil, base, root)
	if err == nil && follow && i.Mode&fs.ModeSymlink != 0 {
		i, _, err = n.walk(name, follow, root, nil)
	}
	return i, err
}

// A lastDir is where a path has led, as long as no directory has changed.
type lastDir struct {
	dir     *Inode // nil where there is none
	name    string
	root    bool
	devices int
	moves   uint64
}

// walk puts the names on the way, without links, into way if that isn't nil. They hold until an entry of a
// directory comes or goes; processes are in none.
func (n *Node) walk(name string, follow, root bool, way *[]string) (i *Inode, lasts bool, err error) {
	// Built on reading, not on each change: a change of a network is many changes of devices.
	if n.tree == nil || n.treeOf != n.Devices {
		n.tree, n.treeOf = n.buildTree(), n.Devices
	}
	// Deep enough for sysfs: this is where a script's loops over it spend their time.
	const deep = 24
	var aboveRoom [deep]*Inode
	var namesRoom [deep]string
	at := n.tree
	// above is always one longer than names: the root has no name.
	above, names := append(aboveRoom[:0], n.tree), namesRoom[:0]
	todo, more := name, true
	for links := 0; more; {
		var part string
		part, todo, more = strings.Cut(todo, "/")
		switch {
		// A file's name with a slash after it names no file.
		case at.Kids == nil && (part != "" || !more):
			return nil, false, syscall.ENOTDIR
		case part == "", part == ".":
			continue
		case part == "..":
			names = names[:max(0, len(names)-1)]
			above = above[:len(names)+1]
			at = above[len(names)]
			continue
		}
		next, err := n.enterable(at, names, part, root)
		if err != nil {
			return nil, false, err
		}
		if next.Mode&fs.ModeSymlink != 0 && (follow || more) {
			if links++; links > 40 {
				return nil, false, syscall.ELOOP
			}
			if strings.HasPrefix(next.Target, "/") {
				at, above, names = n.tree, above[:1], names[:0]
			}
			if more {
				todo = next.Target + "/" + todo
			} else {
				todo, more = next.Target, true
			}
			continue
		}
		at = next
		above, names = append(above, at), append(names, part)
	}
	if way != nil {
		*way = slices.Clone(names)
	}
	return at, len(names) == 0 || names[0] != "proc", nil
}

// enterable is an entry of a directory, which may be closed to the user; names are the way to the directory.
func (n *Node) enterable(dir *Inode, names []string, part string, root bool) (*Inode, error) {
	if !dir.May(root, toEnter) {
		return nil, syscall.EACCES
	}
	next := dir.Kids[part]
	// Processes come and go too often to be in the tree.
	if next == nil && len(names) == 1 && names[0] == "proc" {
		next = n.procDir(part)
	}
	if next == nil {
		return nil, syscall.ENOENT
	}
	return next, nil
}

// ReadFile is what reading the file at a path gives.
func (n *Node) ReadFile(name string, root bool) (string, error) {
	i, err := n.find(name, true, root)
	switch {
	case err != nil:
		return "", err
	case !i.May(root, ToRead):
		return "", syscall.EACCES
	case i.Kids != nil:
		return "", syscall.EISDIR
	case i.file != nil:
		return string(i.file.Data), nil
	// A program, or a device: nothing that a script could use.
	case i.read == nil:
		return "", nil
	default:
		return i.read()
	}
}

// Create makes the file at a path, or finds it, for writing. An existing file of the kernel or of the system
// can't be written to, not even by root.
func (n *Node) Create(name string, root bool, mode fs.FileMode) (*file, error) {
	i, _, err := n.Walk(name, true, root)
	switch {
	// At once: the interpreter's own echo doesn't mind what becomes of what it writes.
	case n.Full:
		return nil, syscall.ENOSPC
	case err == nil && i.Kids != nil:
		return nil, syscall.EISDIR
	case err == nil && (i.file == nil || !i.May(root, toWrite)):
		return nil, syscall.EACCES
	case err == nil:
		return i.file, nil
	case !errors.Is(err, syscall.ENOENT):
		return nil, err
	}
	f := &file{node: n}
	return f, n.enter(name, root, &Inode{Mode: mode, User: !root, file: f})
}

// Mkdir makes a directory.
func (n *Node) Mkdir(name string, root bool, mode fs.FileMode) error {
	if _, _, err := n.Walk(name, true, root); err == nil {
		return syscall.EEXIST
	}
	if n.Full {
		return syscall.ENOSPC
	}
	return n.enter(strings.TrimRight(name, "/"), root, &Inode{
		Mode: fs.ModeDir | mode, User: !root, Kids: map[string]*Inode{},
	})
}

// enter puts an entry into the directory above it.
func (n *Node) enter(name string, root bool, i *Inode) error {
	dir, real, err := n.Walk(path.Dir(name), true, root)
	switch {
	case err != nil:
		return err
	case dir.Kids == nil:
		return syscall.ENOTDIR
	case pretended(real) || !dir.May(root, toWrite|toEnter):
		return syscall.EACCES
	}
	// In both: the tree is built again from Files.
	n.Files[path.Join(real, path.Base(name))] = i
	dir.add(path.Base(name), i)
	return nil
}

// pretended reports whether a directory is the kernel's: no file can be made in it.
func pretended(dir string) bool {
	return strings.HasPrefix(dir+"/", "/sys/") || strings.HasPrefix(dir+"/", "/proc/")
}

// Leave takes an entry, which exists, and all below it out of its directory.
func (n *Node) Leave(name string, root bool) (*Inode, error) {
	i, dir, real, err := n.leaving(name, root)
	if err != nil {
		return nil, err
	}
	dir.drop(path.Base(real))
	for name := range n.Files {
		if name == real || strings.HasPrefix(name, real+"/") {
			delete(n.Files, name)
		}
	}
	return i, nil
}

// leaving is an entry that may leave its directory, both, and where it is without links.
// What came with the system stays: it isn't among the files that scripts made.
func (n *Node) leaving(name string, root bool) (i, dir *Inode, real string, err error) {
	if i, real, err = n.Walk(name, false, root); err != nil {
		return nil, nil, "", err
	}
	dir, _, err = n.Walk(path.Dir(real), true, root)
	switch {
	case err != nil:
	case n.Files[real] == nil, !dir.May(root, toWrite|toEnter):
		err = syscall.EACCES
	case dir.Mode&fs.ModeSticky != 0 && !root && !i.User:
		err = syscall.EPERM
	}
	return i, dir, real, err
}

// Rename is what mv does: the entry is never seen half. Whether all of it can be done is
// looked at first, since what stood in its place is gone afterwards.
func (n *Node) Rename(from, to string, root bool) error {
	i, _, real, err := n.leaving(from, root)
	if err != nil {
		return err
	}
	dir, above, err := n.Walk(path.Dir(to), true, root)
	switch {
	case err != nil:
		return err
	case dir.Kids == nil:
		return syscall.ENOTDIR
	case pretended(above), !dir.May(root, toWrite|toEnter):
		return syscall.EACCES
	case i.Kids != nil && strings.HasPrefix(above+"/", real+"/"):
		return syscall.EINVAL // into itself
	}
	if old, _, err := n.Walk(to, false, root); err == nil && old != i {
		if old.Kids != nil {
			return syscall.EISDIR
		}
		if _, err := n.Leave(to, root); err != nil {
			return err
		}
	}
	if _, err := n.Leave(from, root); err != nil {
		return err
	}
	if err := n.enter(to, root, i); err != nil {
		return err
	}
	_, real, err = n.Walk(to, false, root)
	i.Below(real, func(name string, kid *Inode) { n.Files[name] = kid })
	return err
}

// Below calls f with everything under a directory.
func (i *Inode) Below(name string, f func(string, *Inode)) {
	for kid, k := range i.Kids {
		f(path.Join(name, kid), k)
		k.Below(path.Join(name, kid), f)
	}
}

// info describes an entry to the shell.
type info struct {
	name string
	i    *Inode
}

var (
	_ fs.FileInfo = info{}
	_ fs.DirEntry = info{}
)

func (f info) Name() string               { return f.name }
func (f info) IsDir() bool                { return f.i.Mode.IsDir() }
func (f info) Mode() fs.FileMode          { return f.i.Mode }
func (f info) Type() fs.FileMode          { return f.i.Mode.Type() }
func (f info) Info() (fs.FileInfo, error) { return f, nil }

// The same for all: nothing on the rig compares times of files.
func (f info) ModTime() time.Time { return time.Unix(1763700000, 0) }
func (f info) Sys() any           { return nil }

func (f info) Size() int64 { return f.i.Size() }

// Size is what ls shows.
func (i *Inode) Size() int64 {
	switch {
	case i.file != nil:
		return int64(len(i.file.Data))
	// sysfs says so of every attribute: a page.
	case i.Mode.IsRegular():
		return 4096
	default:
		return 0
	}
}

// moves counts the changes of any node's directories: a directory doesn't know whose it is.
var moves atomic.Uint64

func (i *Inode) add(name string, kid *Inode) {
	moves.Add(1)
	i.Kids[name], i.names, i.entries = kid, nil, nil
}

func (i *Inode) drop(name string) {
	moves.Add(1)
	delete(i.Kids, name)
	i.names, i.entries = nil, nil
}

// Chmod gives an entry another mode: a directory may be closed by it.
func (i *Inode) Chmod(mode fs.FileMode) {
	moves.Add(1)
	i.Mode = mode
}

// Names are a directory's entries, sorted. They are not the caller's to change.
func (i *Inode) Names() []string {
	if i.names == nil {
		i.names = slices.Sorted(maps.Keys(i.Kids))
	}
	return i.names
}

// Owner is the login's user or root: no other users exist.
func (i *Inode) Owner() string {
	if i.User {
		return "nvidia"
	}
	return "root"
}
