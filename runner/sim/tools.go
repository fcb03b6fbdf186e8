package sim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A tool is a program of the node. It prints what the real one prints and
// returns its exit status.
type tool struct {
	dir string // where it is installed; empty for what only the shell knows
	pkg string // the Debian package that it comes from
	run func(ctx context.Context, c *call) int
}

// A call is one command that a script runs: the program's arguments, streams
// and environment.
type call struct {
	sh       *shell
	node     *node
	root     bool
	job      *backgroundJob // that it is in; nil in the foreground
	args     []string       // with the program's name
	dir      string
	in       io.Reader
	out      *bufio.Writer
	raw      io.Writer // what out writes to
	err      io.Writer
	live     bool // lines are wanted at once, not at the exit
	env      func(string) string
	exported func() []string
}

func (c *call) setOut(w io.Writer) {
	c.raw = w
	// As large as the C library's buffer for a pipe.
	c.out = bufio.NewWriterSize(w, 4<<10)
}

func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }
func (c *call) println(s string)                  { c.out.WriteString(s); c.out.WriteByte('\n') }

// fail prints an error and returns an exit status. What was printed before on
// stdout goes out first, as it would on a terminal.
func (c *call) fail(code int, format string, args ...any) int {
	fmt.Fprintf(c.err, format+"\n", args...)
	return code
}

// program is the name that the call's program has in errors.
func (c *call) program() string { return path.Base(c.args[0]) }

// locked runs f with the rig's lock and the fabric up to date. What f prints is
// held back until the lock is free: it may go into a file of the node, which the
// lock guards too, or into a pipe whose reader waits for the lock.
func (c *call) locked(f func()) {
	var said, complained bytes.Buffer
	out, errs := c.out, c.err
	c.out, c.err = bufio.NewWriter(&said), &complained
	c.alone(f)
	c.out.Flush()
	c.out, c.err = out, errs
	_, _ = c.err.Write(complained.Bytes()) // a stream that nobody reads any more loses it
	_, _ = c.out.Write(said.Bytes())
}

func (c *call) alone(f func()) {
	c.node.rack.Lock()
	defer c.node.rack.Unlock()
	c.node.rack.Fabric.Advance()
	f()
}

// path is a file argument, seen from the working directory.
func (c *call) path(name string) string { return absolute(c.dir, name) }

// read is the text of a file, or of stdin for "-".
func (c *call) read(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(c.in)
		return string(b), err
	}
	c.node.rack.Lock()
	defer c.node.rack.Unlock()
	return c.node.readFile(c.path(name), c.root)
}

// exec runs another command in the call's place, as sudo and timeout do.
func (c *call) exec(ctx context.Context, args []string) (code int) {
	defer func() {
		// A bug in one pretend tool must not end the program around it.
		if p := recover(); p != nil {
			fmt.Fprintf(c.err, "%s: the simulator failed: %v\n", args[0], p)
			code = 128 + int(syscall.SIGSEGV)
		}
	}()
	t, err := c.find(args[0])
	if err != nil {
		return c.unknown(args[0], err)
	}
	sub := *c
	sub.args = args
	return t.run(ctx, &sub)
}

// find looks a command up, by its path or in the directories of tools.
func (c *call) find(name string) (tool, error) {
	r := c.node.rack
	if !strings.Contains(name, "/") {
		t, ok := r.tools[name]
		if !ok || !c.node.installedLocked(name) {
			return tool{}, syscall.ENOENT
		}
		return t, nil
	}
	r.Lock()
	defer r.Unlock()
	i, real, err := c.node.lookup(c.path(name), true)
	if err != nil {
		return tool{}, err
	}
	if i.mode&0o111 == 0 || i.kids != nil {
		return tool{}, syscall.EACCES
	}
	return r.tools[path.Base(real)], nil
}

func (c *call) unknown(name string, err error) int {
	switch wrapper := c.program(); {
	case wrapper == "timeout" || wrapper == "stdbuf":
		return c.fail(127, "%s: failed to run command ‘%s’: %s", wrapper, name, errorText(err))
	case wrapper == "env" || wrapper == "nice" || wrapper == "nohup":
		return c.fail(127, "%s: ‘%s’: %s", wrapper, name, errorText(err))
	case errors.Is(err, syscall.EACCES):
		return c.fail(126, "sh: 1: %s: Permission denied", name)
	case c.sh.bash && !strings.Contains(name, "/"):
		return c.fail(127, "bash: line 1: %s: command not found", name)
	default:
		return c.fail(127, "sh: 1: %s: not found", name)
	}
}

// installed says whether the node has a program. Callers hold the rig's lock.
func (n *node) installed(name string) bool {
	_, ok := n.rack.tools[name]
	return ok && !n.absent[name]
}

func (n *node) installedLocked(name string) bool {
	n.rack.Lock()
	defer n.rack.Unlock()
	return n.installed(name)
}

// errorText is what the C library says for an error.
func errorText(err error) string {
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

// flags takes single-letter options apart, clustered or not, and stops at the
// first argument that is none. withValue are the letters that take a value.
func (c *call) flags(withValue string) (set map[byte][]string, rest []string, ok bool) {
	set = map[byte][]string{}
	args := c.args[1:]
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return set, args[1:], true
		}
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
					c.fail(2, "%s: option requires an argument -- '%c'", c.program(), a[i])
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

// has says whether any of the letters was given.
func has(set map[byte][]string, letters string) bool {
	for i := range len(letters) {
		if _, ok := set[letters[i]]; ok {
			return true
		}
	}
	return false
}

// last is the value that was given last for a letter.
func last(set map[byte][]string, letter byte, otherwise string) string {
	if v := set[letter]; len(v) > 0 {
		return v[len(v)-1]
	}
	return otherwise
}

// toolTable is every program that the nodes have.
func toolTable() map[string]tool {
	t := map[string]tool{}
	add := func(dir, pkg string, tools map[string]func(context.Context, *call) int) {
		for name, run := range tools {
			t[name] = tool{dir, pkg, run}
		}
	}
	add("", "", map[string]func(context.Context, *call) int{
		"@command-v": runCommandV, "@command-V": runType, "@type": runType, "@refuse": runRefuse, "@status": runStatus,
		"@kill": runKill, "@ulimit": runUlimit, "@umask": runUmask, "@jobs": runTrue, "@pwd": runPwd,
	})
	add("/usr/bin", "coreutils", map[string]func(context.Context, *call) int{
		"true": runTrue, "false": runFalse, "echo": runEcho, "cat": runCat, "ls": runLs,
		"readlink": runReadlink, "realpath": runReadlink, "basename": runBasename, "dirname": runDirname,
		"head": runHead, "tail": runTail, "wc": runWc, "sort": runSort, "uniq": runUniq, "tr": runTr,
		"cut": runCut, "seq": runSeq, "sleep": runSleep, "date": runDate, "id": runID, "whoami": runWhoami,
		"nproc": runNproc, "env": runEnv, "printenv": runEnv, "timeout": runTimeout, "nice": runNice,
		"stdbuf": runStdbuf, "nohup": runNice, "uname": runUname, "tee": runTee, "mkdir": runMkdir,
		"rm": runRm, "touch": runTouch, "mv": runMv, "rmdir": runRmdir, "chmod": runChmod, "mktemp": runMktemp,
		"pwd": runPwd, "stat": runStat, "test": runTest,
	})
	add("/usr/bin", "hostname", map[string]func(context.Context, *call) int{"hostname": runHostname})
	add("/usr/bin", "procps", map[string]func(context.Context, *call) int{
		"uptime": runUptime, "free": runFree, "pgrep": runPgrep, "ps": runPs, "kill": runKill,
	})
	add("/usr/bin", "grep", map[string]func(context.Context, *call) int{
		"grep": runGrep, "egrep": runGrep, "fgrep": runGrep,
	})
	add("/usr/bin", "findutils", map[string]func(context.Context, *call) int{"find": runFind})
	add("/usr/bin", "dash", map[string]func(context.Context, *call) int{"sh": runSh, "dash": runSh, "bash": runSh})
	add("/usr/bin", "sudo", map[string]func(context.Context, *call) int{"sudo": runSudo})
	add("/usr/bin", "debianutils", map[string]func(context.Context, *call) int{"which": runWhich})
	add("/usr/bin", "util-linux", map[string]func(context.Context, *call) int{"dmesg": runDmesg, "setsid": runSetsid})
	add("/usr/bin", "dpkg", map[string]func(context.Context, *call) int{"dpkg-query": runDpkgQuery, "dpkg": runDpkgQuery})
	add("/usr/bin", "pciutils", map[string]func(context.Context, *call) int{"lspci": runLspci})
	add("/usr/bin", "iputils-ping", map[string]func(context.Context, *call) int{"ping": runPing})
	add("/usr/bin", "curl", map[string]func(context.Context, *call) int{"curl": runCurl})
	add("/usr/bin", "systemd", map[string]func(context.Context, *call) int{
		"systemd-run": runSystemdRun, "systemctl": runSystemctl, "journalctl": runJournalctl,
	})
	add("/usr/bin", "network-manager", map[string]func(context.Context, *call) int{"nmcli": runNmcli})
	add("/usr/sbin", "netplan.io", map[string]func(context.Context, *call) int{"netplan": runNetplan})
	add("/usr/sbin", "kmod", map[string]func(context.Context, *call) int{
		"lsmod": runLsmod, "modprobe": runModprobe, "rmmod": runModprobe, "modinfo": runModinfo,
	})
	add("/usr/sbin", "libc-bin", map[string]func(context.Context, *call) int{"ldconfig": runLdconfig})
	add("/usr/bin", "libc-bin", map[string]func(context.Context, *call) int{"ldd": runLdd})
	add("/usr/sbin", "nftables", map[string]func(context.Context, *call) int{"nft": runNft})
	add("/usr/sbin", "iproute2", map[string]func(context.Context, *call) int{"ip": runIP, "ss": runSs})
	add("/usr/bin", "iproute2", map[string]func(context.Context, *call) int{"rdma": runRdma})
	add("/usr/sbin", "ethtool", map[string]func(context.Context, *call) int{"ethtool": runEthtool})
	add("/usr/bin", "ibverbs-utils", map[string]func(context.Context, *call) int{
		"ibv_devices": runIbvDevices, "ibv_devinfo": runIbvDevinfo,
	})
	add("/usr/sbin", "infiniband-diags", map[string]func(context.Context, *call) int{
		"ibstat": runIbstat, "ibstatus": runIbstatus,
	})
	add("/usr/sbin", "mlnx-tools", map[string]func(context.Context, *call) int{
		"show_gids": runShowGids, "ibdev2netdev": runIbdev2netdev,
	})
	add("/usr/bin", "perftest", map[string]func(context.Context, *call) int{
		"ib_write_bw": runPerftest, "ib_write_lat": runPerftest, "ib_read_bw": runPerftest,
		"ib_send_bw": runPerftest, "ib_read_lat": runPerftest, "ib_send_lat": runPerftest,
	})
	add("/usr/bin", "iperf3", map[string]func(context.Context, *call) int{"iperf3": runIperf3})
	add("/usr/bin", "ucx-utils", map[string]func(context.Context, *call) int{"ucx_info": runUcxInfo})
	add("/usr/local/bin", "nixl", map[string]func(context.Context, *call) int{"nixlbench": runNixlbench})
	add("/usr/bin", "python3", map[string]func(context.Context, *call) int{"python3": runPython})
	add("/usr/bin", "nvidia-utils-580", map[string]func(context.Context, *call) int{"nvidia-smi": runNvidiaSmi})
	add("/usr/bin", "mokutil", map[string]func(context.Context, *call) int{"mokutil": runMokutil})
	add("/usr/bin", "mft", map[string]func(context.Context, *call) int{"mget_temp": runMgetTemp})
	return t
}

func runTrue(context.Context, *call) int  { return 0 }
func runFalse(context.Context, *call) int { return 1 }

func runRefuse(_ context.Context, c *call) int {
	return c.fail(2, "sh: 1: %s", strings.Join(c.args[1:], " "))
}

// where is the path of a program, as a shell finds it.
func (c *call) where(name string) (string, bool) {
	if strings.Contains(name, "/") {
		_, err := c.find(name)
		return name, err == nil
	}
	t, err := c.find(name)
	if err != nil || t.dir == "" {
		return "", false
	}
	for dir := range strings.SplitSeq(c.env("PATH"), ":") {
		var ok bool
		c.locked(func() {
			var i *inode
			if i, _, err = c.node.lookup(dir+"/"+name, true); err == nil {
				ok = i.mode&0o111 != 0 && i.mode&fs.ModeDir == 0
			}
		})
		if ok {
			return dir + "/" + name, true
		}
	}
	return "", false
}

// shellWords are what the shell itself answers for.
var shellWords = []string{
	"echo", "printf", "test", "[", "cd", "pwd", "read", "set", "unset", "export", "exit", "return", "shift",
	"eval", "exec", "trap", "wait", "command", "type", "ulimit", "umask", "kill", "true", "false", ":", ".",
	"alias", "break", "continue", "getopts", "hash", "jobs", "local", "readonly", "times", "unalias",
}

func runCommandV(_ context.Context, c *call) int {
	code := 127
	for _, name := range c.args[1:] {
		if slices.Contains(shellWords, name) {
			c.println(name)
			code = 0
		} else if p, ok := c.where(name); ok {
			c.println(p)
			code = 0
		}
	}
	return code
}

// runStatus ends with the status that it is given.
func runStatus(_ context.Context, c *call) int {
	code, _ := strconv.Atoi(c.args[1])
	return code
}

func runType(_ context.Context, c *call) int {
	code := 0
	for _, name := range c.args[1:] {
		if slices.Contains(shellWords, name) {
			c.printf("%s is a shell builtin\n", name)
		} else if p, ok := c.where(name); ok {
			c.printf("%s is %s\n", name, p)
		} else {
			c.printf("%s: not found\n", name)
			code = 127
		}
	}
	return code
}

func runWhich(_ context.Context, c *call) int {
	code := 0
	for _, name := range c.args[1:] {
		if p, ok := c.where(name); ok {
			c.println(p)
		} else {
			code = 1
		}
	}
	return code
}

func runSh(ctx context.Context, c *call) int {
	set, rest, ok := c.flags("co")
	if !ok {
		return 2
	}
	sh := newShell(c.node, c.root, c.program() == "bash")
	sh.tty, sh.proc = c.sh.tty, c.sh.proc
	c.locked(func() { sh.umask = c.umask() })
	j := job{name: c.program(), dir: c.dir, env: c.exported(), stdin: c.in, stdout: c.raw, stderr: c.err}
	text := last(set, 'c', "")
	switch {
	case has(set, "c"):
		if len(rest) > 0 {
			j.name, j.params = rest[0], rest[1:]
		}
	case len(rest) > 0:
		var err error
		if text, err = c.read(rest[0]); err != nil {
			return c.fail(2, "%s: 0: cannot open %s: %s", c.program(), rest[0], errorText(err))
		}
		j.name, j.params = rest[0], rest[1:]
	default:
		b, _ := io.ReadAll(c.in)
		text, j.stdin = string(b), nil
	}
	if has(set, "e") {
		text = "set -e\n" + text
	}
	if has(set, "x") {
		text = "set -x\n" + text
	}
	return sh.run(ctx, text, j)
}

func runSudo(ctx context.Context, c *call) int {
	set, rest, ok := c.flags("pugCrtThD")
	if !ok {
		return 1
	}
	if len(rest) == 0 && !has(set, "vklnK") {
		return c.fail(1, "usage: sudo -h | -K | -k | -V")
	}
	password := ""
	c.locked(func() { password = c.node.password })
	if password != "" && !c.root && (len(rest) > 0 || has(set, "vl")) {
		switch {
		case has(set, "S"):
			prompt := "[sudo] password for nvidia: "
			if has(set, "p") {
				prompt = last(set, 'p', "")
			}
			if !checkPassword(c.in, c.err, prompt, password) {
				return 1
			}
		case has(set, "n"):
			return c.fail(1, "sudo: a password is required")
		default:
			c.fail(1, "sudo: a terminal is required to read the password; "+
				"either use the -S option to read from standard input or configure an askpass helper")
			return c.fail(1, "sudo: a password is required")
		}
	}
	for len(rest) > 0 && strings.Contains(rest[0], "=") && !strings.HasPrefix(rest[0], "=") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return 0
	}
	sub := *c
	sub.root = true
	sub.exported = func() []string {
		return []string{"HOME=/root", "USER=root", "LOGNAME=root", "SUDO_USER=nvidia", "SUDO_UID=1000", "LANG=en_US.UTF-8"}
	}
	if _, err := sub.find(rest[0]); err != nil {
		return c.fail(1, "sudo: %s: command not found", rest[0])
	}
	return sub.exec(ctx, rest)
}

// checkPassword reads passwords, one a line, as sudo -S does: three tries.
func checkPassword(in io.Reader, errs io.Writer, prompt, password string) bool {
	for try := 1; ; try++ {
		io.WriteString(errs, prompt)
		line, err := readLine(in)
		if line == password {
			return true
		}
		if err != nil {
			fmt.Fprintln(errs)
			if try == 1 {
				fmt.Fprintln(errs, "sudo: no password was provided")
			} else {
				fmt.Fprintf(errs, "sudo: no password was provided\nsudo: %s\n", attempts(try-1))
			}
			return false
		}
		if try == 3 {
			fmt.Fprintf(errs, "sudo: %s\n", attempts(3))
			return false
		}
		fmt.Fprintln(errs, "Sorry, try again.")
	}
}

func attempts(n int) string {
	if n == 1 {
		return "1 incorrect password attempt"
	}
	return fmt.Sprintf("%d incorrect password attempts", n)
}

// readLine reads one line a byte at a time: what follows belongs to somebody else.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		if n == 1 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
		}
		if err != nil {
			return string(line), err
		}
	}
}
