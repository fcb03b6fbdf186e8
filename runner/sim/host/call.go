package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"syscall"
)

// A Tool is a program of the node. It prints what the real one prints and
// returns its exit status.
type Tool struct {
	Dir string // where it is installed; empty for what only the shell knows
	// It returns soon after ctx has ended, waits by the rig's clock alone, and holds no lock when
	// it returns. What it writes to Out is flushed for it.
	Run func(ctx context.Context, c *Call) int
}

// A Call is one command that a script runs: the program's arguments, streams
// and environment.
type Call struct {
	// The shell that runs it, with its mask and its jobs.
	Sh   *Shell
	Node *Node
	// It runs as root: by sudo, or in root's shell.
	Root bool
	Job  *backgroundJob // that it is in; nil in the foreground
	Args []string       // with the program's name
	// The working directory; Path sees names from there.
	Dir string
	// Never nil; without input it ends at once.
	In  io.Reader
	Out *bufio.Writer
	Raw io.Writer // what out writes to
	// It isn't buffered, as stderr isn't.
	Err  io.Writer
	Live bool // lines are wanted at once, not at the exit
	// A variable's value; empty where there is none, too.
	Env func(string) string
	// NAME=value of all that a program is given.
	Exported func() []string
}

// Live programs flush each line by themselves: stdio does so where it sees a terminal.
func (c *Call) setOut(w io.Writer) {
	c.Raw = w
	c.Out = outs.Get().(*bufio.Writer)
	c.Out.Reset(w)
}

// outs are buffers of programs that have ended: as large as the C library's for a pipe.
var outs = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 4<<10) }}

// Printf and Println write to Out. That it can't be written to shows when it is flushed, and a real
// program dies of SIGPIPE then, which the pipe itself does (pipe.Write).
func (c *Call) Printf(format string, args ...any) { fmt.Fprintf(c.Out, format, args...) }

func (c *Call) Println(s string) { c.Out.WriteString(s); c.Out.WriteByte('\n') }

// Fail prints an error and returns an exit status. What the caller has printed stays in its
// buffer: what must stand before the error is flushed by who knows that it must.
func (c *Call) Fail(code int, format string, args ...any) int {
	fmt.Fprintf(c.Err, format+"\n", args...)
	return code
}

// Program is the name that the call's program has in errors.
func (c *Call) Program() string { return path.Base(c.Args[0]) }

// Locked runs f with the rig's lock and the fabric up to date. What f prints is
// held back until the lock is free: it may go into a file of the node, which the
// lock guards too, or into a pipe whose reader waits for the lock.
func (c *Call) Locked(f func()) {
	var said, complained bytes.Buffer
	out, errs := c.Out, c.Err
	held := outs.Get().(*bufio.Writer)
	held.Reset(&said)
	c.Out, c.Err = held, &complained
	c.alone(f)
	held.Flush()
	outs.Put(held)
	c.Out, c.Err = out, errs
	_, _ = c.Err.Write(complained.Bytes()) // a stream without a reader loses it
	_, _ = c.Out.Write(said.Bytes())
}

// alone holds the lock for f. The fabric is brought up to the present first: every file and every
// tool shows counters of now.
func (c *Call) alone(f func()) {
	c.Node.Rack.Lock()
	defer c.Node.Rack.Unlock()
	c.Node.Rack.Fabric.Advance()
	f()
}

// Path is a file argument, seen from the working directory.
func (c *Call) Path(name string) string { return absolute(c.Dir, name) }

// Read is the text of a file, or of stdin for "-".
func (c *Call) Read(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(c.In)
		return string(b), err
	}
	c.Node.Rack.Lock()
	defer c.Node.Rack.Unlock()
	return c.Node.ReadFile(c.Path(name), c.Root)
}

// Exec runs another command in the call's place, as sudo and timeout do.
func (c *Call) Exec(ctx context.Context, args []string) (code int) {
	defer func() {
		// A bug in one pretend tool must not end the program around it.
		// The lock may be held where it happened: alone gives it back by its defer.
		if p := recover(); p != nil {
			fmt.Fprintf(c.Err, "%s: the simulator failed: %v\n", args[0], p)
			code = 128 + int(syscall.SIGSEGV)
		}
	}()
	t, err := c.Find(args[0])
	if err != nil {
		return c.unknown(args[0], err)
	}
	// A copy: the caller may go on with its own arguments, as timeout does.
	sub := *c
	sub.Args = args
	c.Node.Rack.ran(c.Node, args[0])
	return t.Run(ctx, &sub)
}

// Find looks a command up, by its path or in the directories of tools.
// Find takes the rig's lock, so it is not called in Locked.
func (c *Call) Find(name string) (Tool, error) {
	r := c.Node.Rack
	if !strings.Contains(name, "/") {
		t, ok := r.tools[name]
		if !ok || !c.Node.installedLocked(name) {
			return Tool{}, syscall.ENOENT
		}
		return t, nil
	}
	r.Lock()
	defer r.Unlock()
	i, real, err := c.Node.Lookup(c.Path(name), true)
	if err != nil {
		return Tool{}, err
	}
	if i.Mode&0o111 == 0 || i.Kids != nil {
		return Tool{}, syscall.EACCES
	}
	return r.tools[path.Base(real)], nil
}

// Each of the programs that run another one has words of its own for one that isn't there.
func (c *Call) unknown(name string, err error) int {
	switch wrapper := c.Program(); {
	case wrapper == "timeout" || wrapper == "stdbuf":
		return c.Fail(127, "%s: failed to run command ‘%s’: %s", wrapper, name, ErrorText(err))
	case wrapper == "env" || wrapper == "nice" || wrapper == "nohup":
		return c.Fail(127, "%s: ‘%s’: %s", wrapper, name, ErrorText(err))
	case errors.Is(err, syscall.EACCES):
		return c.Fail(126, "sh: 1: %s: Permission denied", name)
	case c.Sh.bash && !strings.Contains(name, "/"):
		return c.Fail(127, "bash: line 1: %s: command not found", name)
	default:
		return c.Fail(127, "sh: 1: %s: not found", name)
	}
}

// Where is the path of a program, as a shell finds it.
func (c *Call) Where(name string) (string, bool) {
	if strings.Contains(name, "/") {
		_, err := c.Find(name)
		return name, err == nil
	}
	t, err := c.Find(name)
	if err != nil || t.Dir == "" {
		return "", false
	}
	// As the shell looks: the script may have changed its PATH, and a program that is in none of
	// its directories isn't found.
	for dir := range strings.SplitSeq(c.Env("PATH"), ":") {
		var ok bool
		c.Locked(func() {
			var i *Inode
			if i, _, err = c.Node.Lookup(dir+"/"+name, true); err == nil {
				ok = i.Mode&0o111 != 0 && i.Mode&fs.ModeDir == 0
			}
		})
		if ok {
			return dir + "/" + name, true
		}
	}
	return "", false
}

// ErrorText is what the C library says for an error.
func ErrorText(err error) string {
	for code, text := range map[syscall.Errno]string{
		syscall.ENOENT: "No such file or directory", syscall.EACCES: "Permission denied",
		syscall.EINVAL: "Invalid argument", syscall.EISDIR: "Is a directory",
		syscall.ENOTDIR: "Not a directory", syscall.ELOOP: "Too many levels of symbolic links",
		syscall.EEXIST: "File exists", syscall.ENOSPC: "No space left on device",
		syscall.ENOTEMPTY: "Directory not empty", syscall.EPERM: "Operation not permitted",
	} {
		if errors.Is(err, code) {
			return text
		}
	}
	return err.Error()
}

// Flags are single-letter options, with their values.
type Flags map[byte][]string

// Flags takes single-letter options apart, clustered or not, and stops at the
// first argument that is none. withValue are the letters that take a value.
func (c *Call) Flags(withValue string) (set Flags, rest []string, ok bool) {
	set = Flags{}
	args := c.Args[1:]
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return set, args[1:], true
		}
		// A lone dash is an argument: stdin.
		if len(a) < 2 || a[0] != '-' || strings.HasPrefix(a, "--") {
			break
		}
		args = args[1:]
		for i := 1; i < len(a); i++ {
			if !strings.ContainsRune(withValue, rune(a[i])) {
				set[a[i]] = append(set[a[i]], "")
				continue
			}
			value := a[i+1:]
			if value == "" {
				if len(args) == 0 {
					c.Fail(2, "%s: option requires an argument -- '%c'", c.Program(), a[i])
					return nil, nil, false
				}
				value, args = args[0], args[1:]
			}
			set[a[i]] = append(set[a[i]], value)
			break
		}
	}
	return set, args, true
}

// Has reports whether any of the letters was given.
func (set Flags) Has(letters string) bool {
	for i := range len(letters) {
		if _, ok := set[letters[i]]; ok {
			return true
		}
	}
	return false
}

// Last is the value that was given last for a letter.
func (set Flags) Last(letter byte, otherwise string) string {
	if v := set[letter]; len(v) > 0 {
		return v[len(v)-1]
	}
	return otherwise
}

// ValueIn looks variables up in an environment.
// ValueIn looks variables up in a list of NAME=value, the first of a name.
func ValueIn(env []string) func(string) string {
	return func(name string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
}
