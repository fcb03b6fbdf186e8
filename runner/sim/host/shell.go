package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// A Shell interprets scripts on a node. Its file system, its commands and its
// environment are the node's: the machine that the simulator runs on is never
// seen, whatever a script says.
type Shell struct {
	// Set once, as root and bash are.
	node *Node
	root bool
	bash bool // a login shell is bash, a script's is sh
	// nil until it is started; $$ is its number then.
	Proc *Process
	// TTY is where an interactive shell prints: tools flush each line there.
	TTY io.Writer
	// Umask is guarded by the rig's lock.
	Umask fs.FileMode

	// in is what commands read where nothing else is their input; nil for nothing.
	in io.Reader
	// Life is how long jobs last, and line how long the foreground does. The holder of the turn may read
	// them. A line of an interactive shell ends by Ctrl-C, and the jobs that it has left go on.
	Life, Line context.Context //nolint:containedctx // the interpreter has contexts of its own

	// It is never taken while the rig's lock is held, nor the other way round.
	mu   sync.Mutex
	jobs map[int]*backgroundJob // by process id
}

// NewShell is a shell of a user. A script's is sh, and a login's is bash: they differ in grammar
// and in the words of errors.
func NewShell(n *Node, root, bash bool) *Shell {
	sh := &Shell{node: n, root: root, bash: bash, Umask: 0o002}
	if root {
		sh.Umask = 0o022
	}
	return sh
}

// A Job is one text for a shell and what surrounds it.
type Job struct {
	Name string // $0
	// $1 and those after it.
	Params []string
	Env    []string // NAME=value, on top of the login environment
	// Where it begins; the user's home where empty.
	Dir string
	// A pipe ends with the script; anything else has to be there already.
	Stdin  io.Reader // nil where there is none
	Stdout io.Writer
	Stderr io.Writer
}

// Run interprets a text and returns the exit status once everything that it
// started is over, background jobs too: 143 where ctx ended it.
func (sh *Shell) Run(ctx context.Context, text string, j Job) int {
	file, err := sh.Parse(text, j.Name)
	if err != nil {
		fmt.Fprintln(j.Stderr, err)
		return 2
	}
	r, err := sh.Interpreter(j)
	if err != nil {
		fmt.Fprintf(j.Stderr, "%s: %v\n", j.Name, err)
		return 2
	}
	return sh.runFile(ctx, r, file)
}

// stubborn is the real time after which a script that was ended is cut off where it is:
// a loop that calls nothing never learns that it was.
const stubborn = 3 * time.Second

// ctx is the script's life. Each of its commands is called with it and ends by it; the interpreter
// itself is cut off only where that is not enough.
func (sh *Shell) runFile(ctx context.Context, r *interp.Runner, file *syntax.File) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sh.Life, sh.Line = ctx, ctx
	// The interpreter itself isn't notified that the script was ended: each of its jobs has to come to its
	// end.
	whole, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer sh.CutOff(ctx, cut)()
	code := ExitCode(r.Run(whole, file))
	if ctx.Err() != nil {
		code = Terminated
	}
	// What is left in the background ends with the script, as under the supervisor.
	cancel()
	sh.Finish()
	return code
}

// CutOff ends what goes on after it was asked to end, until it is called off.
func (sh *Shell) CutOff(ctx context.Context, cut context.CancelFunc) (off func()) {
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		// First the interpreter, which ends at the next statement; then, for a job whose goroutine
		// never comes back, the clock's wait for it.
		for _, do := range []func(){cut, sh.forgetJobs} {
			select {
			case <-over:
				return
			case <-time.After(stubborn):
				do()
			}
		}
	})
	return func() {
		stop()
		close(over)
	}
}

// ExitCode is the status of what the interpreter returned: 1 where it failed by itself.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status)
	}
	return 1
}

// pidVariable holds what $$ would be on the node.
const pidVariable = "SIM_PID"

// Parse reads a text and refuses what would reach the host. What a sh must not
// accept is refused by the POSIX grammar; what runs is always the tree of the
// Bash grammar, because only there does the interpreter know export and readonly.
func (sh *Shell) Parse(text, name string) (*syntax.File, error) {
	parse := func() (*syntax.File, error) { return sh.parse(text, name) }
	if len(text) > longText {
		return parse()
	}
	return parsed.get(source{sh.bash, name, text}, parse) // the interpreter only reads the tree
}

// parsed are the scripts that were read, all nodes': of long ones there would be too much to keep.
var parsed = memo[source, *syntax.File]{most: 1024}

const longText = 32 << 10

// A source is a script as a shell reads it: the name stands in the tree, for errors.
type source struct {
	bash       bool
	name, text string
}

func (sh *Shell) parse(text, name string) (*syntax.File, error) {
	if !sh.bash {
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), name); err != nil {
			return nil, err
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	if err := contain(file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// contain keeps the interpreter inside the node: process substitution would
// make FIFOs on the host, $$ is the host's process, and the tests for a file's
// owner look into the host's stat. Background jobs get what kill needs, and cases and patterns
// what makes them quick.
func contain(node syntax.Node) error {
	var err error
	var found statements
	var calls []*syntax.CallExpr
	names := false // patterns are to be taken for names
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			quickRead(n)
			found.add(n)
		case *syntax.CallExpr:
			calls = append(calls, n)
			names = names || forbidsGlobs(n)
		case *syntax.ProcSubst:
			err = errors.New("process substitution is not simulated")
		case *syntax.ParamExp:
			switch n.Param.Value {
			case "$", "PPID":
				n.Param.Value = pidVariable
			case "!":
				n.Param.Value = lastJobVariable
			}
		case *syntax.UnaryTest:
			switch n.Op {
			case syntax.TsUsrOwn, syntax.TsGrpOwn, syntax.TsModif:
				n.Op = syntax.TsExists
			default:
			}
		}
		return err == nil
	})
	for _, c := range calls {
		if !names {
			quickGlobs(c)
		}
	}
	found.rewrite()
	return err
}

// Statements that are rewritten, by what they are. They are found first and rewritten afterwards: a rewritten
// statement would be walked into again.
type statements struct{ background, pipes, cases []*syntax.Stmt }

func (s *statements) add(n *syntax.Stmt) {
	if n.Background {
		s.background = append(s.background, n)
	}
	if b, ok := n.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		s.pipes = append(s.pipes, n)
	}
	if _, ok := n.Cmd.(*syntax.CaseClause); ok {
		s.cases = append(s.cases, n)
	}
}

func (s *statements) rewrite() {
	for _, st := range s.cases {
		if quick := quickCase(st.Cmd.(*syntax.CaseClause)); quick != nil {
			st.Cmd = quick
		}
	}
	// Pipes before jobs: a pipeline in the background is a job whose inside is rewritten already.
	for _, st := range s.pipes {
		trackPipe(st)
	}
	for _, st := range s.background {
		trackJob(st)
	}
}

// Interpreter makes what interprets texts in the node, with nothing of the host in it: every
// handler that the interpreter has a default for is replaced.
func (sh *Shell) Interpreter(j Job) (*interp.Runner, error) {
	sh.in = j.Stdin
	dir := j.Dir
	if dir == "" {
		dir = HomeDir
	}
	opts := []interp.RunnerOption{
		interp.Env(sh.environment(j.Env)),
		// interp.Dir would look for the directory on the host.
		func(r *interp.Runner) error { r.Dir = dir; return nil },
		interp.StdIO(nil, j.Stdout, j.Stderr),
		interp.CallHandler(sh.beforeCall),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.exec }),
		interp.OpenHandler(sh.open),
		interp.ReadDirHandler2(sh.readDir),
		interp.StatHandler(sh.stat),
		interp.AccessHandler(sh.access),
	}
	if len(j.Params) > 0 {
		opts = append(opts, interp.Params(append([]string{"--"}, j.Params...)...))
	}
	return interp.New(opts...)
}

// environ is a shell's first environment.
type environ struct {
	names  []string
	values map[string]expand.Variable
}

func (e *environ) Get(name string) expand.Variable {
	// The interpreter looks here for a user's home before it asks the host.
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		home := "/home/" + user
		if user == "root" {
			home = "/root"
		}
		return expand.Variable{Set: true, Kind: expand.String, Str: home}
	}
	return e.values[name]
}

func (e *environ) Each(visit func(string, expand.Variable) bool) {
	for _, name := range e.names {
		if !visit(name, e.values[name]) {
			return
		}
	}
}

func (e *environ) set(name, value string, exported bool) {
	if _, ok := e.values[name]; !ok {
		// In order, since env prints them so.
		e.names = append(e.names, name)
	}
	e.values[name] = expand.Variable{Set: true, Exported: exported, Kind: expand.String, Str: value}
}

func (sh *Shell) environment(extra []string) expand.Environ {
	e := &environ{values: map[string]expand.Variable{}}
	user, home, uid := "nvidia", HomeDir, "1000"
	if sh.root {
		user, home, uid = "root", "/root", "0"
	}
	// What $$ is where no process was started, in an interactive shell's first moment.
	pid := 4211
	if sh.Proc != nil {
		pid = sh.Proc.PID
	}
	for _, kv := range [][2]string{
		{"HOME", home},
		{"USER", user},
		{"LOGNAME", user},
		{"SHELL", "/bin/bash"},
		{"LANG", "en_US.UTF-8"},
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	} {
		e.set(kv[0], kv[1], true)
	}
	for _, kv := range [][2]string{{"UID", uid}, {"EUID", uid}, {"GID", uid}, {pidVariable, strconv.Itoa(pid)}} {
		e.set(kv[0], kv[1], false)
	}
	sh.node.Rack.Lock()
	login := sh.node.loginEnvironment()
	sh.node.Rack.Unlock()
	for _, kv := range login {
		e.set(kv[0], kv[1], true)
	}
	for _, kv := range extra {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.set(name, value, true)
		}
	}
	return e
}

// beforeCall replaces builtins of the interpreter that would look at the host,
// or that it lacks, by the node's own ("@kill" is in the table of tools under
// that name, which no script can write as a path).
func (sh *Shell) beforeCall(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	bg := sh.jobOf(hc.Env)
	args = sh.globbed(args)
	switch args[0] {
	case "@begin":
		return sh.beginJob(bg), nil
	case "@end":
		return sh.endJob(bg, hc.LastExitStatus), nil
	case "@join":
		return sh.join(sh.jobIn(hc.Env, pipeVariable), hc.LastExitStatus), nil
	}
	life := sh.lifeOf(bg)
	if life.Err() != nil {
		return []string{"exit", strconv.Itoa(Terminated)}, nil
	}
	switch args[0] {
	case "@case":
		if caseMatches(args[1:]) {
			return []string{"true"}, nil
		}
		return []string{"false"}, nil
	case "@job":
		return sh.newJob(hc.Env, lastJobVariable), nil
	case "@pipe":
		return sh.newJob(hc.Env, pipeVariable), nil
	case "@read":
		return sh.readFrom(life, hc, args), nil
	case "wait":
		return sh.waitFor(life, hc.Env, args[1:]), nil
	case "read":
		if hc.Stdin == nil {
			return sh.readLine(life, hc, sh.input(life, hc), args), nil
		}
	case "command":
		return sh.beforeCommand(ctx, args)
	case "builtin":
		if len(args) > 1 {
			return sh.beforeCall(ctx, args[1:])
		}
	case "eval":
		return beforeEval(args), nil
	case ".", "source":
		return sh.beforeSource(ctx, hc.Dir, args)
	}
	return instead(args), nil
}

// instead is what runs in the place of a builtin that would look at the host, or of an option
// that would.
func instead(args []string) []string {
	switch args[0] {
	case "type", "kill", "ulimit", "umask", "jobs":
		return append([]string{"@" + args[0]}, args[1:]...)
	case "hash":
		return []string{"true"}
	case "pwd":
		if len(args) > 1 && args[1] == "-P" {
			return []string{"@pwd"}
		}
	case "cd":
		for len(args) > 1 && slices.Contains([]string{"-P", "-L", "--"}, args[1]) {
			args = append(args[:1:1], args[2:]...)
		}
	case "trap":
		return beforeTrap(args)
	case "test", "[":
		for i := 1; i+1 < len(args); i++ {
			if slices.Contains([]string{"-O", "-G", "-N"}, args[i]) {
				args[i] = "-e"
			}
		}
	}
	return args
}

// beforeEval keeps a text that is made by the script inside the node, too.
func beforeEval(args []string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(strings.Join(args[1:], " ")), "eval")
	if err == nil {
		err = contain(file)
	}
	if err != nil {
		return []string{"@refuse", err.Error()}
	}
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, file); err != nil {
		return []string{"@refuse", err.Error()}
	}
	return []string{"eval", text.String()}
}

// beforeSource reads a file of the node, which eval runs.
func (sh *Shell) beforeSource(ctx context.Context, dir string, args []string) ([]string, error) {
	if len(args) < 2 {
		return []string{"@refuse", "filename argument required"}, nil
	}
	sh.node.Rack.Lock()
	text, err := sh.node.ReadFile(absolute(dir, args[1]), sh.root)
	sh.node.Rack.Unlock()
	if err != nil {
		return []string{"@refuse", args[1] + ": " + ErrorText(err)}, nil
	}
	return sh.beforeCall(ctx, []string{"eval", text})
}

// command runs what follows as a program or a builtin, never as a function; here both look the same.
func (sh *Shell) beforeCommand(ctx context.Context, args []string) ([]string, error) {
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch rest[0] {
		case "-v", "-V":
			return append([]string{"@command" + rest[0]}, rest[1:]...), nil
		case "-p", "--":
			rest = rest[1:]
		default:
			return []string{"@refuse", "command: Illegal option " + rest[0]}, nil
		}
	}
	if len(rest) == 0 {
		return []string{"true"}, nil
	}
	return sh.beforeCall(ctx, rest)
}

// beforeTrap keeps the traps that the interpreter knows. The others are for signals, which a pretend process
// never gets.
func beforeTrap(args []string) []string {
	if len(args) < 3 {
		return []string{"true"}
	}
	if file, err := syntax.NewParser().Parse(strings.NewReader(args[1]), "trap"); err != nil || contain(file) != nil {
		return []string{"@refuse", "trap: syntax error"}
	}
	// EXIT and ERR are the interpreter's own doing, and need no signal.
	kept := []string{"trap", args[1]}
	for _, sig := range args[2:] {
		switch sig {
		case "0", "EXIT":
			kept = append(kept, "EXIT")
		case "ERR":
			kept = append(kept, sig)
		}
	}
	if len(kept) == 2 {
		return []string{"true"}
	}
	return kept
}

// exec runs one command of a script.
func (sh *Shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	bg := sh.jobOf(hc.Env)
	life := sh.lifeOf(bg)
	c := &Call{
		Sh: sh, Node: sh.node, Root: sh.root, Args: args, Dir: hc.Dir, Job: bg,
		In: sh.input(life, hc), Err: hc.Stderr,
		Live: sh.TTY != nil && hc.Stdout == sh.TTY,
		Env:  func(name string) string { return hc.Env.Get(name).String() },
		Exported: func() []string {
			var list []string
			seen := map[string]int{}
			for name, v := range hc.Env.Each {
				if !v.Exported || v.Kind != expand.String {
					continue
				}
				if i, ok := seen[name]; ok {
					list[i] = name + "=" + v.Str
					continue
				}
				seen[name] = len(list)
				list = append(list, name+"="+v.Str)
			}
			return list
		},
	}
	// Ended by SIGTERM, unless it comes to run.
	c.setOut(hc.Stdout)
	code := Terminated
	if life.Err() == nil {
		code = c.Exec(life, args)
	}
	c.Out.Flush()
	outs.Put(c.Out)
	if life.Err() != nil {
		code = Terminated
	}
	// Any other error would end the whole script.
	if code != 0 {
		return interp.ExitStatus(code)
	}
	return nil
}

// input is what a command reads. A file, or a text in the script, is the interpreter's
// own, and always there to be read. Everything else ends when life does.
func (sh *Shell) input(life context.Context, hc interp.HandlerContext) io.Reader {
	if f, ok := hc.Stdin.(*os.File); ok && f != nil {
		return f
	}
	in := sh.in
	if bg := sh.jobIn(hc.Env, inputVariable); bg != nil {
		in = pipeReader{life, bg.pipe}
	}
	switch in := in.(type) {
	case nil:
		return strings.NewReader("")
	case pipeReader:
		return pipeReader{life, in.p}
	default:
		return in
	}
}

// absolute is a name seen from a directory, not cleaned: Walk follows each part.
func absolute(dir, name string) string {
	if !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	return name
}

// open is for redirections. The mode that the interpreter gives is not the shell's: the mask makes
// it.
func (sh *Shell) open(ctx context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	n := sh.node
	given := name
	name = absolute(interp.HandlerCtx(ctx).Dir, name)
	if pid, ok := strings.CutPrefix(given, pipeDir); ok {
		return sh.openPipe(pid)
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	fail := func(err error) (io.ReadWriteCloser, error) { return nil, sh.cannotOpen(given, writes, err) }
	if !writes {
		text, err := sh.text(name)
		if errors.Is(err, syscall.EINVAL) {
			return &content{Reader: failing{err}}, nil
		}
		if err != nil {
			return fail(err)
		}
		return piped(text)
	}
	if name == os.DevNull {
		return &content{Reader: strings.NewReader("")}, nil
	}
	n.Rack.Lock()
	defer n.Rack.Unlock()
	f, err := n.Create(name, sh.root, 0o666&^sh.Umask)
	if err != nil {
		return fail(err)
	}
	if flag&os.O_TRUNC != 0 {
		f.Data = nil
	}
	return &content{Reader: strings.NewReader(""), node: n, file: f}, nil
}

// piped is a text to be read, as a pipe's end. The interpreter makes a pipe of any other reader itself, and leaves
// its end to the collector: a script that reads a file in a loop would use up the descriptors there are.
func piped(text string) (io.ReadWriteCloser, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	write := func() {
		_, _ = io.WriteString(w, text) // who reads it may have ended
		w.Close()
	}
	if len(text) < os.Getpagesize() { // so much has room in every pipe
		write()
	} else {
		go write()
	}
	return r, nil
}

// openPipe opens what @pipe has made; see trackPipe.
func (sh *Shell) openPipe(pid string) (io.ReadWriteCloser, error) {
	no, _ := strconv.Atoi(pid)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if bg := sh.jobs[no]; bg != nil && bg.pipe != nil {
		return pipeFile{bg.pipe}, nil
	}
	return nil, &os.PathError{Op: "open", Path: pipeDir + pid, Err: syscall.ENOENT}
}

// cannotOpen is what the shell says for a redirection that fails.
func (sh *Shell) cannotOpen(name string, writes bool, err error) error {
	text, who := ErrorText(err), "sh: 1: cannot open"
	if writes {
		who = "sh: 1: cannot create"
	}
	switch {
	case sh.bash:
		who = "bash: line 1:"
	case errors.Is(err, syscall.ENOENT) && writes:
		text = "Directory nonexistent"
	case errors.Is(err, syscall.ENOENT):
		text = "No such file"
	}
	// The interpreter takes any other error for one that ends the script.
	return &os.PathError{Op: who, Path: name, Err: errors.New(text)}
}

// content is an open file.
type content struct {
	io.Reader
	node *Node
	file *file
}

// A write takes the lock, so nothing that holds it may write to a script's file: see Locked.
func (c *content) Write(p []byte) (int, error) {
	if c.file == nil {
		return len(p), nil
	}
	c.node.Rack.Lock()
	defer c.node.Rack.Unlock()
	if err := c.file.Append(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *content) Close() error { return nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (sh *Shell) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	n := sh.node
	n.Rack.Lock()
	defer n.Rack.Unlock()
	dir, err := n.find(absolute(interp.HandlerCtx(ctx).Dir, name), true, sh.root)
	if err != nil {
		return nil, err
	}
	if !dir.May(sh.root, ToRead) {
		return nil, syscall.EACCES
	}
	if dir.Kids == nil {
		return nil, syscall.ENOTDIR
	}
	// Scripts look into the same folders of sysfs again and again.
	entries, lasts := dir.entries, dir != n.tree.Kids["proc"]
	if entries == nil || !lasts {
		entries = nil
		for name, kid := range n.Entries(dir) {
			entries = append(entries, info{name, kid})
		}
	}
	if lasts {
		dir.entries = entries
	}
	return entries, nil
}

func (sh *Shell) stat(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	n := sh.node
	n.Rack.Lock()
	defer n.Rack.Unlock()
	i, err := n.find(absolute(interp.HandlerCtx(ctx).Dir, name), follow, sh.root)
	if err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return info{path.Base(name), i}, nil
}

// root may do what the mode forbids, but not run a file without an x.
func (sh *Shell) access(ctx context.Context, name string, mode interp.AccessMode) error {
	n := sh.node
	n.Rack.Lock()
	defer n.Rack.Unlock()
	i, err := n.find(absolute(interp.HandlerCtx(ctx).Dir, name), true, sh.root)
	switch {
	case err != nil:
		return err
	case mode&interp.AccessRead != 0 && !i.May(sh.root, ToRead),
		mode&interp.AccessWrite != 0 && !i.May(sh.root, toWrite),
		mode&interp.AccessExec != 0 && (i.Mode&0o111 == 0 || !i.May(sh.root, toEnter)):
		return syscall.EACCES
	}
	return nil
}

// Start runs a text as a process of the node.
// It is called with the turn and without the lock. The process is in the table until all that the
// text has started is over.
func (sh *Shell) Start(ctx context.Context, text string, j Job) int {
	n := sh.node
	n.Rack.Lock()
	sh.Proc = n.Spawn([]string{j.Name}, sh.root)
	n.Rack.Unlock()
	n.Rack.ran(n, "sh")
	defer func() {
		n.Rack.Lock()
		defer n.Rack.Unlock()
		delete(n.Procs, sh.Proc.PID)
	}()
	return sh.Run(ctx, text, j)
}
