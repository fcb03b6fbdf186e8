package sim

import (
	"context"
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter runs background jobs, but cannot end one: its $! is no process
// id, and it has no kill. So each "X &" is turned into
//
//	{ @job; { SIM_JOB=$SIM_LAST SIM_JOBS=0; X; } & }
//
// where @job draws a process id into SIM_LAST, which is also what $! becomes.
// Every command inside finds its job by SIM_JOB and ends when kill says so.
const (
	lastJobVariable  = "SIM_LAST" // the process id of the last job
	ownJobVariable   = "SIM_JOB"  // the job that a command is in
	jobCountVariable = "SIM_JOBS" // how many jobs the shell has started
)

// A backgroundJob is one "X &".
type backgroundJob struct {
	ctx    context.Context //nolint:containedctx // it is the job's life, which kill ends
	cancel context.CancelFunc
	number int // which of its shell's jobs it is, from 1
	pid    int
}

// trackJob rewrites a statement that runs in the background.
func trackJob(st *syntax.Stmt) {
	word := func(part syntax.WordPart) *syntax.Word { return &syntax.Word{Parts: []syntax.WordPart{part}} }
	assign := func(name string, value syntax.WordPart) *syntax.Assign {
		return &syntax.Assign{Name: &syntax.Lit{Value: name}, Value: word(value)}
	}
	simple := func(c syntax.Command) *syntax.Stmt { return &syntax.Stmt{Cmd: c} }
	inner := *st
	inner.Background = false
	job := &syntax.Stmt{
		Background: true,
		Cmd: &syntax.Block{Stmts: []*syntax.Stmt{
			simple(&syntax.CallExpr{Assigns: []*syntax.Assign{
				assign(ownJobVariable, &syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: lastJobVariable}}),
				assign(jobCountVariable, &syntax.Lit{Value: "0"}),
			}}),
			&inner,
		}},
	}
	*st = syntax.Stmt{Cmd: &syntax.Block{Stmts: []*syntax.Stmt{
		simple(&syntax.CallExpr{Args: []*syntax.Word{word(&syntax.Lit{Value: "@job"})}}),
		job,
	}}}
}

// newJob enters a job before it starts, and is what the shell does for @job.
func (sh *shell) newJob(ctx context.Context, env expand.Environ) []string {
	n := sh.node
	n.rig.mu.Lock()
	pid := n.nextPID
	n.nextPID += 3
	n.rig.mu.Unlock()
	count, _ := strconv.Atoi(env.Get(jobCountVariable).String())
	bg := &backgroundJob{number: count + 1, pid: pid}
	bg.ctx, bg.cancel = context.WithCancel(context.WithoutCancel(ctx))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.jobs == nil {
		sh.jobs = map[int]*backgroundJob{}
	}
	sh.jobs[pid] = bg
	return []string{"eval", lastJobVariable + "=" + strconv.Itoa(pid) + " " + jobCountVariable + "=" + strconv.Itoa(bg.number)}
}

// jobOf is the job that a command runs in; nil in the foreground.
func (sh *shell) jobOf(env expand.Environ) *backgroundJob {
	pid, err := strconv.Atoi(env.Get(ownJobVariable).String())
	if err != nil {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.jobs[pid]
}

// beforeWait turns process ids into the interpreter's own names of jobs.
func (sh *shell) beforeWait(args []string) []string {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	named := []string{"wait"}
	for _, a := range args[1:] {
		if pid, err := strconv.Atoi(a); err == nil && sh.jobs[pid] != nil {
			a = "g" + strconv.Itoa(sh.jobs[pid].number)
		}
		named = append(named, a)
	}
	return named
}

// endJob ends a job, or only asks whether there is one; it is false for a
// process id that is none of the shell's jobs.
func (sh *shell) endJob(pid int, ask bool) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	bg := sh.jobs[pid]
	if bg == nil || ask && bg.ctx.Err() != nil {
		return false
	}
	if !ask {
		bg.cancel()
	}
	return true
}
