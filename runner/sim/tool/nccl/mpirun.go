package nccl

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
)

// An mpiJob is one call of mpirun: a process on each host.
// Its ranks run one after the other and not at once: what they would do together the last one plays for all
// (meet).
type mpiJob struct {
	c     *host.Call
	id    string
	hosts []*host.Node // a rank each
	args  []string     // the program's
}

// mpiStart is what it takes to start the daemons by ssh, in nodes' time.
const mpiStart = 4e8 // ns

// mpiLost is mpirun's status where a daemon or a process came to nothing.
const mpiLost = 1

// runMpirun is Open MPI's mpirun: one process a host, whose names are looked up. What a rank
// prints comes out here. The ranks begin one after the
// other, the first one last: that plays a collective, for all.
func runMpirun(ctx context.Context, c *host.Call) int {
	j := &mpiJob{c: c}
	names, code := j.parse()
	if names == nil {
		return code
	}
	for _, name := range names {
		if why := j.reach(name); why != "" {
			return c.Fail(mpiLost, "%s\n%s\n%s", strings.Repeat("-", 74), why, strings.Repeat("-", 74))
		}
	}
	var daemons []*host.Process
	c.Locked(func() {
		for _, n := range j.hosts {
			p := n.Spawn([]string{"orted"}, c.Root)
			if n == c.Node {
				p.Args = c.Args
			}
			daemons = append(daemons, p)
		}
		// Another job of this moment has another process there.
		j.id = fmt.Sprintf("%s-%d", j.hosts[0].Name, daemons[0].PID)
	})
	defer c.Locked(func() {
		delete(c.Node.Rack.Shared, mpiWorld(j.id))
		for i, n := range j.hosts {
			delete(n.Procs, daemons[i].PID)
		}
	})
	if !c.Node.Rack.Clock.Sleep(ctx, mpiStart) {
		return host.Terminated
	}
	// In a real job all begin at once, and rank 0 prints. Here one plays for all, and must know the others.
	for rank := range slices.Backward(j.hosts) {
		if code := j.rank(ctx, rank); code != 0 {
			if ctx.Err() != nil {
				return host.Terminated
			}
			return c.Fail(code, "%s\nmpirun detected that one or more processes exited with non-zero status, thus causing\n"+
				"the job to be terminated. The first process to do so was:\n\n  Process name: [[%d,1],%d]\n  Exit code:    %d\n%s",
				strings.Repeat("-", 74), 20000+daemons[0].PID, rank, code, strings.Repeat("-", 74))
		}
	}
	return 0
}

// parse reads the options that railbench's launchers and people use. Without hosts there is nothing
// to run, and code is mpirun's status.
func (j *mpiJob) parse() (hosts []string, code int) {
	// An option's number of values: what it means to a real mpirun, apart from the hosts and the ranks, makes
	// no difference here.
	values := map[string]int{
		"--host": 1, "-host": 1, "-H": 1, "-np": 1, "-n": 1, "--np": 1, "--map-by": 1, "--bind-to": 1, "--mca": 2, "-mca": 2,
		"-x": 1,
	}
	args, ranks := j.c.Args[1:], 0
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n, known := values[args[0]]
		switch {
		case args[0] == "--version" || args[0] == "-V":
			j.c.Println("mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/")
			return nil, 0
		case args[0] == "--allow-run-as-root":
			args = args[1:]
			continue
		case !known || len(args) <= n:
			return nil, j.c.Fail(mpiLost, "mpirun: Error: unknown option \"%s\"\nType 'mpirun --help' for usage.", args[0])
		}
		switch args[0] {
		case "--host", "-host", "-H":
			hosts = strings.Split(args[1], ",")
		case "-np", "-n", "--np":
			ranks, _ = strconv.Atoi(args[1])
		}
		args = args[1+n:]
	}
	j.args = args
	if len(hosts) == 0 {
		hosts = []string{j.c.Node.Name}
	}
	switch {
	case len(args) == 0:
		return nil, j.c.Fail(mpiLost, "mpirun could not find anything to do.")
	// A host has one slot, unless HOST:N says otherwise, and railbench runs one rank on each.
	case ranks > 0 && ranks != len(hosts):
		return nil, j.c.Fail(mpiLost, "There are not enough slots available in the system to satisfy the %d\nslots that "+
			"were requested by the application:\n\n  %s", ranks, args[0])
	}
	return hosts, 0
}

// reach finds a host by its name, over the way that ssh takes; why is what mpirun says of one
// that it doesn't reach.
func (j *mpiJob) reach(name string) (why string) {
	// HOST:SLOTS.
	name, _, _ = strings.Cut(name, ":")
	j.c.Locked(func() {
		n := j.c.Node
		addr, ok := n.Resolve(name)
		way, routed := n.Route(addr)
		switch {
		case !ok:
			why = fmt.Sprintf("ssh: Could not resolve hostname %s: Name or service not known", name)
		case routed && way.Local:
			j.hosts = append(j.hosts, n)
			return
		case !routed || way.Peer == nil:
			why = fmt.Sprintf("ssh: connect to host %s port 22: No route to host", name)
		default:
			j.hosts = append(j.hosts, n.Rack.Of(way.Peer))
			return
		}
		why += "\nORTE was unable to reliably start one or more daemons."
	})
	return why
}

// rank runs the program as one of the ranks, in the environment of mpirun itself.
func (j *mpiJob) rank(ctx context.Context, rank int) int {
	sub := *j.c
	sub.Node, sub.Args = j.hosts[rank], j.args
	// orted starts it in an environment of mpirun's and not of a login there.
	sub.Sh = host.NewShell(sub.Node, j.c.Root, false)
	sub.Sh.TTY, sub.Sh.Proc = j.c.Sh.TTY, j.c.Sh.Proc
	list := slices.Clone(j.c.Exported())
	for name, value := range map[string]string{
		"OMPI_COMM_WORLD_RANK": strconv.Itoa(rank), "OMPI_COMM_WORLD_SIZE": strconv.Itoa(len(j.hosts)),
		"OMPI_COMM_WORLD_LOCAL_RANK": "0", mpiJobVariable: j.id,
	} {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	sub.Exported = func() []string { return list }
	sub.Env = host.ValueIn(list)
	return sub.Exec(ctx, j.args)
}

// mpiJobVariable names a rank's job.
const mpiJobVariable = "OMPI_MCA_ess_base_jobid"

// mpiWorld is the key of what the ranks of a job know of each other.
type mpiWorld string

// meet joins the ranks of a job. The last one, which is the first rank, gets the calls of all, in their
// order; for any other whole is false. A program without a launcher is alone.
func meet(c *host.Call) (ranks []*host.Call, whole bool) {
	id, size := c.Env(mpiJobVariable), 1
	if n, err := strconv.Atoi(c.Env("OMPI_COMM_WORLD_SIZE")); err == nil && id != "" {
		size = n
	}
	if size == 1 {
		return []*host.Call{c}, true
	}
	c.Locked(func() {
		shared := c.Node.Rack.Shared
		ranks, _ = shared[mpiWorld(id)].([]*host.Call)
		ranks = append([]*host.Call{c}, ranks...)
		shared[mpiWorld(id)] = ranks
	})
	return ranks, len(ranks) == size
}

// forEver waits until the program is ended.
func forEver(ctx context.Context, c *host.Call) int {
	clock.Wait(ctx, c.Node.Rack.Clock, make(chan struct{}))
	return host.Terminated
}
