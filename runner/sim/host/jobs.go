package host

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim/clock"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter runs background jobs and pipelines in goroutines of its own, which the clock would not
// know, and it cannot end one: its $! is not a process id, and it has no kill. So each "X &" is turned into
//
//	{ @job; { SIM_JOB=$SIM_LAST; @begin; ( X ) && @end || @end; } & }
//
// where @job draws a process id into SIM_LAST, which $! also becomes, and makes an actor of the clock that
// lives from @begin to @end. Every command inside finds its job by SIM_JOB and ends when kill says so. Each
// "X | Y" is turned into
//
//	{ @pipe; { SIM_JOB=$SIM_PIPE; @begin; ( X ) >"/@pipe/$SIM_PIPE" && @end || @end; } &
//	( SIM_IN=$SIM_PIPE; Y ); @join; }
//
// where @pipe makes a job with a pipe, from which commands in Y read unless they have another input, and
// @join waits for the job and returns Y's status.
const (
	lastJobVariable = "SIM_LAST" // the process id of the last job
	ownJobVariable  = "SIM_JOB"  // the job that a command is in
	pipeVariable    = "SIM_PIPE" // the job that writes into the last pipe
	inputVariable   = "SIM_IN"   // the job whose pipe is the input
	pipeDir         = "/@pipe/"
)

// A backgroundJob is one "X &", or what is left of a "|".
type backgroundJob struct {
	// A part of a pipeline lives in the job or the line that it is in; a background job lives as
	// long as the shell.
	ctx    context.Context //nolint:containedctx // it is the job's life, which kill ends
	cancel context.CancelFunc
	PID    int
	// Begun where @job is, on the turn of who starts it: jobs get their turns in the order of their
	// starting, whichever goroutine is faster.
	actor  *clock.Actor
	pipe   *pipe // that it writes into; nil for none
	parent *backgroundJob
	// Under the shell's lock; setsid looks once the job has ended.
	Killed bool // by a command, and not with the script
	// over is set when it has ended, with code.
	over atomic.Bool
	code int
}

// Terminated is the status of what SIGTERM has ended.
const Terminated = 128 + int(syscall.SIGTERM)

func (bg *backgroundJob) ended() bool { return bg.over.Load() }

// The rewriting makes trees, never text: no quoting can go wrong in it.
func word(parts ...syntax.WordPart) *syntax.Word { return &syntax.Word{Parts: parts} }

func lit(text string) *syntax.Lit { return &syntax.Lit{Value: text} }

func valueOf(name string) *syntax.ParamExp { return &syntax.ParamExp{Short: true, Param: lit(name)} }

func simple(c syntax.Command) *syntax.Stmt { return &syntax.Stmt{Cmd: c} }

func command(name string) *syntax.Stmt {
	return simple(&syntax.CallExpr{Args: []*syntax.Word{word(lit(name))}})
}

func assign(name, from string) *syntax.Stmt {
	return simple(&syntax.CallExpr{Assigns: []*syntax.Assign{{Name: lit(name), Value: word(valueOf(from))}}})
}

func block(all ...*syntax.Stmt) *syntax.Block { return &syntax.Block{Stmts: all} }

// life is a job from its beginning to its end, which comes under set -e, too.
func life(variable string, inner *syntax.Stmt) *syntax.Stmt {
	well := simple(&syntax.BinaryCmd{Op: syntax.AndStmt, X: inner, Y: command("@end")})
	end := simple(&syntax.BinaryCmd{Op: syntax.OrStmt, X: well, Y: command("@end")})
	return &syntax.Stmt{Background: true, Cmd: block(assign(ownJobVariable, variable), command("@begin"), end)}
}

// trackJob rewrites a statement that runs in the background.
func trackJob(st *syntax.Stmt) {
	// A copy, since *st itself becomes the statement around it.
	inner := *st
	inner.Background = false
	*st = *simple(block(command("@job"), life(lastJobVariable, simple(&syntax.Subshell{Stmts: []*syntax.Stmt{&inner}}))))
}

// trackPipe rewrites a pipeline.
func trackPipe(st *syntax.Stmt) {
	both := st.Cmd.(*syntax.BinaryCmd)
	left := simple(&syntax.Subshell{Stmts: []*syntax.Stmt{both.X}})
	left.Redirs = []*syntax.Redirect{{Op: syntax.RdrOut, Word: word(lit(pipeDir), valueOf(pipeVariable))}}
	if both.Op == syntax.PipeAll {
		left.Redirs = append(left.Redirs, &syntax.Redirect{Op: syntax.DplOut, N: lit("2"), Word: word(lit("1"))})
	}
	right := simple(&syntax.Subshell{Stmts: []*syntax.Stmt{assign(inputVariable, pipeVariable), both.Y}})
	st.Cmd = block(command("@pipe"), life(pipeVariable, left), right, command("@join"))
}

// newJob enters a job before it starts, and is what the shell does for @job and @pipe.
func (sh *Shell) newJob(env expand.Environ, variable string) []string {
	n := sh.node
	// Before the shell's lock is taken: the clock may give a turn to an actor that takes it.
	bg := &backgroundJob{parent: sh.jobOf(env), actor: n.Rack.Clock.Begin(false)}
	whole := sh.Life
	if variable == pipeVariable {
		bg.pipe = NewPipe(n.Rack.Clock)
		whole = sh.lifeOf(bg.parent)
	}
	bg.ctx, bg.cancel = context.WithCancel(whole)
	n.Rack.Lock()
	bg.PID = n.NextPID
	n.NextPID += 3
	n.Rack.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.jobs == nil {
		sh.jobs = map[int]*backgroundJob{}
	}
	sh.jobs[bg.PID] = bg
	return []string{"eval", variable + "=" + strconv.Itoa(bg.PID)}
}

// jobOf is the job that a command runs in; nil in the foreground.
func (sh *Shell) jobOf(env expand.Environ) *backgroundJob { return sh.jobIn(env, ownJobVariable) }

func (sh *Shell) jobIn(env expand.Environ, variable string) *backgroundJob {
	pid, err := strconv.Atoi(env.Get(variable).String())
	if err != nil {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.jobs[pid]
}

// lifeOf is what a command in a job lasts for; nil is the foreground.
func (sh *Shell) lifeOf(bg *backgroundJob) context.Context {
	if bg != nil {
		return bg.ctx
	}
	return sh.Line
}

// beginJob takes a job's first turn.
func (sh *Shell) beginJob(bg *backgroundJob) []string {
	bg.actor.TakeTurn()
	return []string{"true"}
}

// endJob ends a job's last turn. What the interpreter does for it after that touches nothing of the node. It
// may be called twice, by && @end and by || @end: the second call finds that the job is over, or that a
// waiter has taken it off the list already.
func (sh *Shell) endJob(bg *backgroundJob, code int) []string {
	switch {
	case bg == nil:
		return status(code)
	case bg.ended():
		return status(bg.code)
	}
	if bg.pipe != nil {
		bg.pipe.Close()
	}
	bg.code = code
	// However its last command ended, the job was ended.
	if bg.ctx.Err() != nil {
		bg.code = Terminated
	}
	bg.over.Store(true)
	sh.node.Rack.Clock.Leave(bg.actor)
	return status(bg.code)
}

// join waits for the left side of a pipe once the right one has ended: a command that
// still writes ends by that.
func (sh *Shell) join(bg *backgroundJob, code int) []string {
	bg.pipe.Abandon(bg.cancel)
	sh.node.Rack.Clock.Park(context.Background(), clock.Never, bg.ended)
	sh.mu.Lock()
	delete(sh.jobs, bg.PID)
	sh.mu.Unlock()
	return status(code)
}

// status is a command that ends with a status.
func status(code int) []string { return []string{"@status", strconv.Itoa(code)} }

// waitFor is what the shell does for wait.
func (sh *Shell) waitFor(ctx context.Context, env expand.Environ, args []string) []string {
	// In the order of process ids: wait without arguments waits for the first first, each time.
	var all []*backgroundJob
	code := 0
	sh.mu.Lock()
	if own := sh.jobIfAny(env); len(args) == 0 {
		for _, bg := range sh.jobs {
			if bg.parent == own {
				all = append(all, bg)
			}
		}
	}
	for _, a := range args {
		pid, _ := strconv.Atoi(a)
		if bg := sh.jobs[pid]; bg != nil {
			all = append(all, bg)
		} else {
			code = 127
		}
	}
	sh.mu.Unlock()
	slices.SortFunc(all, byPID)
	for _, bg := range all {
		sh.node.Rack.Clock.Park(ctx, clock.Never, bg.ended)
		if ctx.Err() != nil {
			return []string{"exit", strconv.Itoa(Terminated)}
		}
		if len(args) > 0 {
			code = bg.code
		}
	}
	return status(code)
}

// jobIfAny is jobOf; mu is held.
func (sh *Shell) jobIfAny(env expand.Environ) *backgroundJob {
	pid, err := strconv.Atoi(env.Get(ownJobVariable).String())
	if err != nil {
		return nil
	}
	return sh.jobs[pid]
}

// killJob ends a job, or only asks whether there is one; it is false for a
// process id that is none of the shell's jobs.
func (sh *Shell) killJob(pid int, ask bool) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	bg := sh.jobs[pid]
	if bg == nil || ask && (bg.ctx.Err() != nil || bg.ended()) {
		return false
	}
	if !ask {
		bg.Killed = true
		bg.cancel()
	}
	return true
}

func byPID(a, b *backgroundJob) int { return a.PID - b.PID }

// Finish ends all jobs, and returns when they are over.
// Called with the turn, and without the lock: what ends takes both.
func (sh *Shell) Finish() {
	sh.mu.Lock()
	var all []*backgroundJob
	for _, bg := range sh.jobs {
		bg.cancel()
		all = append(all, bg)
	}
	sh.mu.Unlock()
	slices.SortFunc(all, byPID)
	for _, bg := range all {
		sh.node.Rack.Clock.Park(context.Background(), clock.Never, bg.ended)
	}
}

// forgetJobs gives up the jobs that don't come to their end.
func (sh *Shell) forgetJobs() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, bg := range sh.jobs {
		// Exactly one of endJob and this makes a job over.
		if !bg.over.Swap(true) {
			sh.node.Rack.Clock.Forget(bg.actor)
		}
	}
}

// readLine is the builtin read where the input is a pipe of the node.
// The interpreter's own would read past the line's end, and not by the clock.
func (sh *Shell) readLine(ctx context.Context, hc interp.HandlerContext, in io.Reader, args []string) []string {
	raw := false
	names := args[1:]
	for len(names) > 0 && strings.HasPrefix(names[0], "-") {
		if names[0] != "-r" {
			return []string{"@refuse", "read: invalid option " + names[0]}
		}
		raw, names = true, names[1:]
	}
	for _, name := range names {
		if !syntax.ValidName(name) {
			return []string{"@refuse", "read: invalid identifier " + name}
		}
	}
	line, err := oneLine(in, raw)
	if ctx.Err() != nil {
		return []string{"exit", strconv.Itoa(Terminated)}
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
	}
	values := expand.ReadFields(&expand.Config{Env: hc.Env}, line, len(names), raw)
	var text strings.Builder
	for i, name := range names {
		value := ""
		if i < len(values) {
			value = values[i]
		}
		text.WriteString(name + "=" + runner.Quote(value) + "\n")
	}
	if err != nil {
		text.WriteString("@status 1\n")
	}
	return []string{"eval", text.String()}
}

// oneLine reads up to a line's end and no further: the next command reads on there.
func oneLine(in io.Reader, raw bool) (string, error) {
	var line []byte
	var b [1]byte
	escaped := false
	for {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return string(line), err
		}
		switch {
		case b[0] == '\n' && escaped && !raw:
			line = line[:len(line)-1]
			escaped = false
		case b[0] == '\n':
			return string(line), nil
		default:
			line = append(line, b[0])
			escaped = b[0] == '\\' && !escaped
		}
	}
}

// A pipe is what one command prints and another one reads, or what a caller outside writes to a script's
// input.
type pipe struct {
	clock *clock.Clock

	mu   sync.Mutex
	data []byte
	// By who writes: what is in it is read to its end.
	closed bool
	broken func() // ends a writer without a reader; nil while the pipe is read
	// Closed when there is room for a writer outside, which can't wait by the clock; nil without such a
	// writer.
	room chan struct{}
}

// pipeSize is how much a pipe holds.
// As Linux has it by default (pipe(7)).
const pipeSize = 64 << 10

func (p *pipe) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Write waits until there is room, as an actor.
func (p *pipe) Write(b []byte) (int, error) {
	for done := 0; ; {
		full := false
		var end func()
		p.locked(func() {
			if end = p.broken; end != nil {
				return
			}
			n := min(len(b)-done, pipeSize-len(p.data))
			p.data = append(p.data, b[done:done+n]...)
			done += n
			full = done < len(b)
		})
		if end != nil {
			end()
			return done, syscall.EPIPE
		}
		if !full {
			return len(b), nil
		}
		p.clock.Park(context.Background(), clock.Never, p.hasRoom)
	}
}

// hasRoom takes the pipe's lock, which is never held during a call of the clock: so Park may ask.
func (p *pipe) hasRoom() (ok bool) {
	p.locked(func() { ok = len(p.data) < pipeSize || p.broken != nil })
	return ok
}

// Fill is Write for a caller outside. A client that writes faster than a script reads is slowed down by its
// SSH window, since this waits.
func (p *pipe) Fill(b []byte) error {
	for len(b) > 0 {
		room := make(chan struct{})
		over := false
		p.locked(func() {
			n := min(len(b), pipeSize-len(p.data))
			p.data = append(p.data, b[:n]...)
			b = b[n:]
			p.room, over = room, p.broken != nil
		})
		p.clock.Look()
		if over {
			return syscall.EPIPE
		}
		if len(b) > 0 {
			<-room
		}
	}
	return nil
}

// Close is the end of the input, for who reads; calling it again does nothing.
func (p *pipe) Close() {
	p.locked(func() { p.closed = true })
}

// Abandon says that the pipe is read no more. A writer that goes on is ended.
func (p *pipe) Abandon(end func()) {
	p.locked(func() {
		p.broken = end
		p.data = nil
		p.more()
	})
}

// more signals room to a writer outside; mu is held.
func (p *pipe) more() {
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
}

// take reads what there is; it reports false where that is nothing, and more may come.
func (p *pipe) take(b []byte) (n int, over, ok bool) {
	p.locked(func() {
		if n = copy(b, p.data); n > 0 {
			p.data = p.data[n:]
			p.more()
		}
		over = n == 0 && p.closed
		ok = n > 0 || over
	})
	return n, over, ok
}

func (p *pipe) readable() (ok bool) {
	p.locked(func() { ok = len(p.data) > 0 || p.closed })
	return ok
}

// NewPipe is an empty pipe.
func NewPipe(c *clock.Clock) *pipe { return &pipe{clock: c} }

// Reader is the pipe as one command reads it, until ctx ends.
func (p *pipe) Reader(ctx context.Context) io.Reader { return pipeReader{ctx, p} }

// EndingWith is an input that ends when ctx does, if it is a pipe: all others are there to be read.
func EndingWith(ctx context.Context, in io.Reader) io.Reader {
	if in, ok := in.(pipeReader); ok {
		return in.p.Reader(ctx)
	}
	return in
}

// A pipeReader is one command's view of a pipe: its end is the end of the input.
type pipeReader struct {
	ctx context.Context //nolint:containedctx // an io.Reader has no other place for it
	p   *pipe
}

func (r pipeReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		// Taken before ctx is checked, and lost where ctx has ended: nothing reads on after that.
		n, over, ok := r.p.take(b)
		switch {
		case over, r.ctx.Err() != nil:
			return 0, io.EOF
		case ok:
			return n, nil
		}
		r.p.clock.Park(r.ctx, clock.Never, r.p.readable)
	}
}

// A pipeFile is a pipe as a file that was opened for writing.
type pipeFile struct{ *pipe }

func (pipeFile) Read([]byte) (int, error) { return 0, io.EOF }

func (pipeFile) Close() error { return nil }
