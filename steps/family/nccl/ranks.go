package nccl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// A rank is one process that a launcher has started, as it reports itself.
type rank struct {
	No, Of int
	Host   string
}

// maxRanks bounds what is read of an output that repeats itself.
const maxRanks = 4096

var rankLine = lazyregexp.New(`^rank (\d{1,6}) of (\d{1,6}) on ([A-Za-z0-9][A-Za-z0-9._-]{0,252})$`)

// readRanks reads what the ranks of mpi-launch print. Their lines come in any order.
func readRanks(text string) (all []rank, err error) {
	for line := range strings.Lines(text) {
		m := rankLine.Regexp().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		no, a := strictnum.Count(m[1])
		of, b := strictnum.Count(m[2])
		if a && b && len(all) < maxRanks {
			all = append(all, rank{no, of, m[3]})
		}
	}
	if all == nil {
		return nil, parse.ErrNoResult
	}
	return all, nil
}

// noLauncher is what env says of a launcher that is not there. GNU's quotes depend on the locale.
var noLauncher = regexp.MustCompile(`env: \W*([A-Za-z0-9_./+-]+)\W*: No such file`)

// unlaunched is why nothing could be started; ok is false where something else is the matter.
func unlaunched(rig steps.Rig, o steps.Output) (why string, ok bool) {
	if o.Exit.Code != 127 {
		return "", false
	}
	m := noLauncher.FindStringSubmatch(o.Complaint + "\n" + o.Text)
	if m == nil {
		return "", false
	}
	why = fmt.Sprintf("%s has no %s", rig.NameOf(o.End), m[1])
	if pkg := rig.PackageOf(m[1]); pkg != "" {
		why += ". Install " + pkg + " there and on every other node"
	}
	return why, true
}

const (
	// A crash is a fault of what ran; a signal from outside may be the kernel's, short of memory, or a
	// person's, and proves nothing.
	crashed = "a process on %[2]s crashed (segmentation fault). Check its last lines and " +
		"dmesg"
	killed = "a process on %[2]s was ended by signal %[3]s. Check dmesg there for lack of " +
		"memory"
)

// lostCauses are how launchers word that a process or a node was lost: all others then complain of lost connections,
// and the launcher itself ends with that process's status.
// Signal 11 stands first: the pattern of all signals matches its line, too.
var lostCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`process rank \d+ with PID \d+ on node ([A-Za-z0-9._-]+) exited on signal 11\b`),
		Code:    steps.ProgramCrashed, Grade: steps.Fail, Means: crashed,
	},
	{
		Pattern: lazyregexp.New(`process rank \d+ with PID \d+ on node ([A-Za-z0-9._-]+) exited on signal (\d+(?: \([A-Za-z ]+\))?)`),
		Code:    steps.ProgramKilled, Grade: steps.Inconclusive, Means: killed,
	},
	{
		Pattern: lazyregexp.New(`srun: error: ([A-Za-z0-9._-]+): tasks? [0-9,-]+: Segmentation fault`),
		Code:    steps.ProgramCrashed, Grade: steps.Fail, Means: crashed,
	},
	{
		Pattern: lazyregexp.New(`srun: error: ([A-Za-z0-9._-]+): tasks? [0-9,-]+: (Killed|Aborted|Bus error|Illegal instruction|` +
			`Out Of Memory)`),
		Code: steps.ProgramKilled, Grade: steps.Inconclusive, Means: killed,
	},
	{
		Pattern: lazyregexp.New(`lost communication with a remote daemon[\s\S]{0,300}?Remote daemon: \S+ on node ([A-Za-z0-9._-]+)|` +
			`Node failure on ([A-Za-z0-9._-]+)`),
		Code: steps.NodeLost, Grade: steps.Inconclusive,
		Means: "the launcher lost %[2]s%[3]s during the run. Check whether it restarted " +
			"(uptime), and its management network",
	},
}

// launchCauses are how launchers word that they could not start.
var launchCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`Could not resolve hostname ([A-Za-z0-9._-]+)`), Code: steps.NameUnresolved, Grade: steps.Fail,
		Means: "%[1]s cannot resolve %[2]s. Add it to /etc/hosts, or use addresses " +
			"(LAUNCH_HOSTS)",
	},
	{
		Pattern: lazyregexp.New(`connect to host ([A-Za-z0-9._-]+) port`), Code: steps.SSHUnreachable, Grade: steps.Fail,
		Means: "%[1]s cannot reach %[2]s by ssh. Check the node and its sshd",
	},
	{
		Pattern: lazyregexp.New(`(?:Permission denied \(|Host key verification failed)`), Code: steps.SSHRefused,
		Grade: steps.Fail,
		Means: "%[1]s may not log in to another node by ssh. Set up keys and host keys " +
			"(ssh-copy-id, ssh-keyscan)",
	},
	{
		Pattern: lazyregexp.New(`not enough slots`), Code: steps.LauncherSlots, Grade: steps.Fail,
		Means: "the launcher on %[1]s has too few slots for one process per node. Check its " +
			"host file or allocation",
	},
	{
		Pattern: lazyregexp.New(`(?:orted|prted): (?:command )?not found|unable to (?:find|launch).*orted`),
		Code:    steps.CommandMissing, Grade: steps.Fail,
		Means: "%[1]s reached a node without Open MPI in its PATH. Install the same Open MPI " +
			"on every node",
	},
	{
		Pattern: lazyregexp.New(`unable to reliably start one or more daemons|ORTE does not know how to route`),
		Code:    steps.LaunchFailed, Grade: steps.Fail,
		Means: "the launcher on %[1]s could not start its daemon on another node. Read its " +
			"messages",
	},
	{
		Pattern: lazyregexp.New(`(?:Unable to allocate resources|Unable to create step|Invalid node name|No nodes|not in this allocation)`),
		Code:    steps.AllocationMissing, Grade: steps.Inconclusive,
		Means: "Slurm on %[1]s grants no step on these nodes. Run railbench inside an " +
			"allocation that has them (salloc)",
	},
}

// explain finds what a launcher's words mean. A cause's first argument is the node that the
// launcher ran on, and the others are its pattern's groups.
func explain(rig steps.Rig, o steps.Output, causes []registry.Cause, rep *registry.Report) bool {
	for _, c := range causes {
		m := c.Pattern.Regexp().FindStringSubmatch(o.Text)
		if m == nil {
			continue
		}
		words := []any{rig.NameOf(o.End)}
		for _, group := range m[1:] {
			words = append(words, called(rig, group))
		}
		rep.Add(c.Code, c.Grade, c.Means, words...)
		return true
	}
	return false
}

// called is a host in a launcher's words by its node's name, with the address where it is that of a rail.
func called(rig steps.Rig, host string) string {
	for i, n := range rig.Nodes {
		if host != "" && n.Host != "" && short(n.Host) == short(host) {
			return rig.NameOf(steps.End(i))
		}
		for _, r := range n.Rails {
			if r.Addr != "" && r.Addr == host {
				return fmt.Sprintf("%s (%s of %s)", rig.NameOf(steps.End(i)), host, r.Dev)
			}
		}
	}
	return host
}

// judgeLaunch: the processes that were started are exactly one on each node.
// A lost node is looked for before the launcher's own status, which only follows from it.
func judgeLaunch(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	s := r.Stages[0]
	if s.Err != "" {
		rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", s.Err)
	}
	if len(s.Outputs) != 1 {
		rep.Add(steps.NotRunToEnd, steps.Inconclusive, "%d scripts ran, expected one", len(s.Outputs))
		return rep.Verdict()
	}
	o := s.Outputs[0]
	if why, ok := unlaunched(r.Rig, o); ok {
		return rep.Skipped(steps.CommandMissing, "%s", why)
	}
	if !o.Exit.OK() && explain(r.Rig, o, lostCauses, &rep) {
		return rep.Verdict()
	}
	if f, bad := registry.Trouble(r.Rig, o); bad {
		rep.Note(f)
		return rep.Verdict()
	}
	if !o.Exit.OK() && explain(r.Rig, o, launchCauses, &rep) {
		return rep.Verdict()
	}
	if registry.Exited(r, o, &rep) || s.Err != "" {
		return rep.Verdict()
	}
	ranks, ok := registry.Value[[]rank](r, o, &rep)
	if !ok {
		return rep.Verdict()
	}
	everyNode(r.Rig, ranks, &rep)
	return rep.Verdict(fmt.Sprintf("%d processes started, one on each of %s", len(ranks), names(r.Rig)))
}

// everyNode compares the ranks with the nodes that were asked for: each has one.
func everyNode(rig steps.Rig, ranks []rank, rep *registry.Report) {
	n := len(rig.Nodes)
	seen := map[string][]int{}
	var numbers []int
	for _, k := range ranks {
		// Under another MPI's launcher each process is the only one of its own job, rank 0 of 1.
		if k.Of != n {
			rep.Add(steps.MPIDiffers, steps.Fail, "rank %d reports %d ranks instead of %d. Check that the program is built for "+
				"this launcher's MPI",
				k.No, k.Of, n)
			return
		}
		seen[short(k.Host)], numbers = append(seen[short(k.Host)], k.No), append(numbers, k.No)
	}
	slices.Sort(numbers)
	for i := range rig.Nodes {
		e := steps.End(i)
		host := short(rig.At(e).Host)
		switch got := seen[host]; len(got) {
		case 0:
			rep.At(rig, e, steps.RanksWrong, steps.Fail, "no process was started on %s", rig.NameOf(e))
		case 1:
			rep.Show("rank on "+rig.NameOf(e), got[0], "", nil)
		default:
			rep.At(rig, e, steps.RanksWrong, steps.Fail, "%d processes were started on %s instead of one", len(got),
				rig.NameOf(e))
		}
		delete(seen, host)
	}
	for host := range seen {
		rep.Add(steps.RanksWrong, steps.Fail, "a process was started on %s, which is not a node of this rig", host)
	}
	for i, no := range numbers {
		if i >= n || no != i {
			rep.Add(steps.RanksWrong, steps.Fail, "the ranks are %v, expected 0 to %d", numbers, n-1)
			return
		}
	}
}

// short is a host's name without its domain.
func short(host string) string {
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return name
}

// names are the rig's nodes: few one by one, and many as a list.
func names(rig steps.Rig) string {
	const few = 4
	var all []string
	for i := range rig.Nodes {
		all = append(all, rig.NameOf(steps.End(i)))
	}
	if len(all) <= few {
		return registry.And(all)
	}
	return nodeset.Fold(slices.Sorted(slices.Values(all)))
}
