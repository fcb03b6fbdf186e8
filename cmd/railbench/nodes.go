package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/nodelist"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/trust"
)

// rigFlags choose the rig; every command that needs one has them.
type rigFlags struct {
	rig, here, peer string
	sshConfig       string
	etcd            string
	link            string
	acceptNew       bool
	speed           speed
	start           time.Time // of the simulated rig's time; zero is now
	seed            uint64
	faults          []string
	nodeCount       int    // of the simulated rig
	nodeList        string // real nodes, as nodeset reads them
	inventory       string // Ansible's, in which they are looked up
	slurm           string // PARTITION:N, what Slurm is asked for
	// report informs the user next to the result; nil for no one.
	tell      func(text string)
	params    []string
	container string
	// runbooks are what is opened in place of the built-in tutorial: files and folders.
	runbooks []string
	// trust lets run unseen what the rig file brings.
	trust bool
}

func (f *rigFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.rig, "rig", "", "the rig: a rig file, sim (simulated), ring (simulated, cabled in a ring) or "+
		"virtual (see railbench rig)")
	flags.StringVar(&f.peer, "peer", "", "the other node: user@host[:port], or a name from ~/.ssh/config")
	flags.StringVar(&f.here, "here", "", "with --peer: the client node, if it is not this machine")
	flags.StringVar(&f.sshConfig, "ssh-config", "", "read this file instead of ~/.ssh/config")
	flags.BoolVar(&f.acceptNew, "accept-new-host-key", false, "trust and store the key of an unknown host")
	flags.StringVar(&f.etcd, "etcd", "", "use this etcd, http://HOST:PORT, instead of railbench's own")
	flags.StringArrayVarP(&f.params, "param", "p", nil,
		"set a parameter: NAME=VALUE, or CELL.NAME=VALUE for one cell (see railbench list --params)")
	flags.StringVar(&f.container, "container", "",
		"on every node, check libraries, limits and settings inside this container (docker or podman)")
	flags.StringVar(&f.link, "link", "", "the link under test, A:B: two nodes by name or number; the clients run on A")
	f.speed = 1
	flags.Var(&f.speed, "speed", "how much faster the simulated rig's time runs; max: as fast as the processor allows")
	flags.Uint64Var(&f.seed, "seed", 1, "repeat the simulated rig's figures exactly")
	flags.Var(nodesFlag{f}, "nodes",
		"the rig's nodes: a,b or spark-[01-04] or @group (see railbench nodes); a number sets the size of the "+
			"simulated rig (default 2)")
	flags.StringVar(&f.inventory, "inventory", "", "take the nodes from this Ansible inventory (all, or those of "+
		"--nodes)")
	flags.StringVar(&f.slurm, "slurm", "", "PARTITION:N, reserve N nodes of Slurm for this command; inside an "+
		"allocation use --nodes slurm")
	flags.StringSliceVar(&f.faults, "fault", nil,
		"break the simulated rig: NAME or NAME@NODE (see railbench sim --fault list)")
}

// tutorial returns the built-in tutorial with the checklist, as a copy that the caller may change, and a
// catalog with everything that the tutorial names.
func tutorial() (steps.Tutorial, steps.Catalog, error) {
	t, err := builtIn()
	return t.Own(), catalog.New(), err
}

// builtIn is read and checked once: it is 250 kB of Markdown, and a command asks for it more than once.
var builtIn = sync.OnceValues(func() (steps.Tutorial, error) {
	t, err := runbook.Load(assets.Tutorial, "tutorial")
	if err != nil {
		return t, err
	}
	list, err := runbook.Load(assets.Checklist, "checklist")
	if err != nil {
		return t, err
	}
	stage, err := runbook.Load(assets.Stage, "stage")
	if err != nil {
		return t, err
	}
	t.Checklist = slices.Concat(list.Parts, stage.Parts)
	t.Sayings = func() *steps.Sayings {
		k, err := knowledge()
		if err != nil {
			panic(err) // it is embedded, and a test reads it
		}
		return k.Sayings()
	}
	return t, runbook.Check(t, catalog.New())
})

// open makes the nodes that the flags ask for. It connects to none of them. Where it fails nothing stays open.
func (f rigFlags) open(ctx context.Context, ask runner.Asker) (*openRig, error) {
	b := &openRig{onState: func(int, runner.State, error) {}}
	err := f.nodes(ctx, b, ask)
	if err == nil {
		err = f.settings(b)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// settings are what the flags say of the cells, and what is kept of it.
func (f rigFlags) settings(b *openRig) error {
	given := f.params
	if f.container != "" {
		given = append(slices.Clone(given), "CONTAINER="+f.container)
	}
	set, err := parseParams(given, b.options.Tutorial)
	if err == nil && f.link != "" {
		b.options.Link, err = steps.ParseLink(f.link, b.names())
	}
	if err != nil {
		return usage(err)
	}
	b.options.Params, b.options.CellParams = set.All, set.Cells
	b.keepJournal()
	if err := b.trustPrograms(); err != nil {
		return unwritten(err)
	}
	b.options.Reach, err = f.reach(b)
	return usage(err)
}

// reach are the flags by which the rig is found again, from any folder. A user who pastes a command from a
// message means this rig, whatever the default rig is then.
func (f rigFlags) reach(b *openRig) ([]string, error) {
	var flags []string
	absolute := func(flag, path string) error {
		path, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		flags = append(flags, flag, path)
		return nil
	}
	var err error
	switch {
	case b.simRig != nil:
		return nil, nil // it is gone with the program, and what was changed with it
	case b.file != "":
		err = absolute("--rig", b.file)
	case f.rig != "":
		flags = append(flags, "--rig", f.rig)
	case f.slurm != "":
		flags = append(flags, "--slurm", f.slurm)
	case f.list().Any():
		flags, err = f.list().Reach()
	case f.here != "":
		flags = append(flags, "--here", f.here, "--peer", f.peer)
	default:
		flags = append(flags, "--peer", f.peer)
	}
	if err == nil && f.sshConfig != "" {
		err = absolute("--ssh-config", f.sshConfig)
	}
	return flags, err
}

// tutorial is the built-in one, or the runbooks that are opened in place of it.
func (f rigFlags) tutorial() (steps.Tutorial, steps.Catalog, error) {
	if len(f.runbooks) == 0 {
		return tutorial()
	}
	return ownTutorial(f.runbooks)
}

// parseParams reads NAME=VALUE, and CELL.NAME=VALUE for one cell alone.
func parseParams(given []string, t steps.Tutorial) (set steps.Settings, err error) {
	for _, p := range given {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return set, fmt.Errorf("--param %s: write NAME=VALUE, or CELL.NAME=VALUE for one cell", p)
		}
		cell, own, forCell := strings.Cut(name, ".")
		if !forCell {
			cell, own = "", name
		} else if cell == "" {
			return set, fmt.Errorf("--param %s: the cell before the dot is missing", p)
		}
		if value, err = session.CheckParam(catalog.New(), t, cell, own, value); err != nil {
			return set, fmt.Errorf("--param %s: %w", name, err)
		}
		set = set.With(cell, own, value)
	}
	return set, nil
}

// A choice is the rig that the flags name.
type choice struct {
	simulated bool
	file      rigfile.File
	path      string // of the rig file, where there is one
}

// contradiction is of flags that name two rigs.
func (f rigFlags) contradiction() error {
	listed := f.list().Any()
	switch {
	case f.rig != "" && f.peer != "":
		return errors.New("--rig and --peer both name the rig: give one of them")
	case f.here != "" && f.peer == "":
		return errors.New("--here needs --peer, the other node")
	case f.slurm != "" && (listed || f.rig != "" || f.peer != "" || f.nodeCount != 0):
		return errors.New("give only one of --slurm, --rig, --peer, --nodes and --inventory: each names the rig")
	case listed && (f.rig != "" || f.peer != ""):
		return errors.New("give only one of --rig, --peer, --inventory and --nodes with a list: each names the rig")
	case f.inventory != "" && f.nodeCount != 0:
		return errors.New("--nodes with a number is for the simulated rig. With --inventory give a list: @group, or names")
	}
	return nil
}

// choose reads what names the rig and says what is wrong with it. It touches no node and
// takes no time, but where another program reads the list of nodes.
func (f rigFlags) choose(ctx context.Context) (c choice, err error) {
	if err = f.contradiction(); err == nil && f.etcd != "" {
		err = etcd.Check(f.etcd)
	}
	if err != nil {
		return c, usage(err)
	}
	switch {
	case f.slurm != "":
		// Which nodes they are is known once Slurm has given them.
		_, _, err = nodelist.WantsSlurm(f.slurm)
		c.file.Engine = rigfile.Slurm
	case f.rig == "sim", f.rig == ringRig:
		c.simulated = true
	case f.rig == "virtual":
		c.file, c.file.SSHConfig, err = virtualRig()
	case f.rig == "":
		c, err = f.configured(ctx)
	default:
		c.path = f.rig
		c.file, err = readRig(f.rig)
	}
	if err != nil {
		return c, usage(err)
	}
	if !c.simulated && (f.speed != 1 || f.seed > 1 || len(f.faults) > 0 || f.nodeCount != 0) {
		return c, usage(errors.New("--speed, --seed, --nodes with a number and --fault are for the simulated rig: add " +
			"--rig sim or --rig ring"))
	}
	return c, nil
}

// configured is the rig that is used where no --rig names one: the rig of --nodes or --peer, the rig of the
// user's own rig file, or the simulated one.
//
// The simulated rig comes last, and only where no rig file exists. A rig file that can't be read is an error,
// because a user who has a rig would take simulated figures for figures of that rig.
func (f rigFlags) configured(ctx context.Context) (c choice, err error) {
	if f.list().Any() {
		c.file, err = f.list().Rig(ctx)
		return c, err
	}
	if f.peer != "" {
		c.file = rigfile.File{Here: rigfile.Node{SSH: f.here, Local: f.here == ""}, Peer: rigfile.Node{SSH: f.peer}}
		return c, nil
	}
	path, err := rigPath()
	if err != nil {
		c.simulated = true // no home: nothing was configured
		return c, nil
	}
	c.file, err = readRig(path)
	if errors.Is(err, fs.ErrNotExist) {
		return choice{simulated: true}, nil
	}
	c.path = path
	return c, err
}

// nodes puts the nodes of the rig that the flags name into it. No node is connected to yet, and ssh reads no
// configuration that a rig file brings before the user trusts it.
func (f rigFlags) nodes(ctx context.Context, b *openRig, ask runner.Asker) (err error) {
	if b.options.Tutorial, b.options.Catalog, err = f.tutorial(); err != nil {
		return err
	}
	if b.options.Programs, err = programs(); err != nil {
		return err
	}
	c, err := f.choose(ctx)
	if err != nil {
		return err
	}
	if c.simulated {
		// What a runbook says reaches no machine there.
		b.options.Trust = newTrust(b.options.Tutorial)
		return f.simulate(b, ask)
	}
	if b.options.Trust, err = trustBeside(b.options.Tutorial, f.runbooks); err != nil {
		return err
	}
	return f.real(ctx, b, c, ask)
}

// real are the nodes of a real rig.
func (f rigFlags) real(ctx context.Context, b *openRig, c choice, ask runner.Asker) error {
	file := c.file
	if c.path != "" && file.SSHConfig != "" && f.sshConfig == "" {
		files, err := trustRig(b.options.Trust, c.path, file.SSHConfig, f.trust)
		if err != nil {
			return err
		}
		state, _ := stateDir() // without a home the copies are temporary files
		if b.temp, err = trust.CopySSH(state, files); err != nil {
			return usage(fmt.Errorf("rig file %s: %w", c.path, err))
		}
		f.sshConfig = filepath.Join(b.temp.Path, runner.SSHCopyName(0))
	}
	b.listed = file
	b.file, f.sshConfig = c.path, cmp.Or(f.sshConfig, file.SSHConfig)
	err := b.serve(cmp.Or(f.etcd, file.Etcd))
	if err != nil {
		return err
	}
	b.options.LockOwner = runner.ThisLockOwner()
	if f.slurm != "" {
		if file, err = f.allocate(ctx, b); err != nil {
			return err
		}
	}
	if err := b.inAllocation(file); err != nil {
		return usage(err)
	}
	if b.options.Rails, err = file.RailChoices(); err != nil {
		return usage(err)
	}
	if err := f.reached(ctx, b, file, ask); err != nil {
		return usage(err)
	}
	if b.options.Rig = file.Name; b.options.Rig == "" {
		if b.options.Rig = strings.Join(b.names(), "-"); len(b.names()) > 64 {
			b.options.Rig = nodeset.Fold(b.names())
		}
	}
	return nil
}

// reached puts the nodes of a rig file in the rig, as they are reached.
func (f rigFlags) reached(ctx context.Context, b *openRig, file rigfile.File, ask runner.Asker) (err error) {
	nodes := file.All()
	var targets []runner.Target
	if b.allocation.Job == 0 {
		dests := make([]string, len(nodes))
		for i, n := range nodes {
			if !n.Local {
				dests[i] = n.SSH
			}
		}
		if targets, err = runner.ResolveAll(ctx, dests, f.sshConfig); err != nil && b.temp != nil {
			err = fmt.Errorf("%s, of which ssh got a copy: %w", file.SSHConfig, err)
		}
		if err != nil {
			return err
		}
	}
	for i, n := range nodes {
		f.connect(b, i, n, targets, ask)
	}
	return nil
}

// connect puts a node at the end of the rig; targets are all nodes', where they are reached over SSH. It is asked for
// nothing before something runs on it.
func (f rigFlags) connect(b *openRig, i int, n rigfile.Node, targets []runner.Target, ask runner.Asker) {
	if n.Local {
		name := n.Name
		if name == "" {
			name, _ = os.Hostname()
		}
		if name == "" {
			name = steps.End(i).String()
		}
		b.add(runner.NewLocal(name, ask), "this machine")
		return
	}
	if a := b.allocation; a.Job != 0 {
		b.add(runner.NewSlurm(runner.SlurmOptions{
			Name: n.Name, Job: a.Job, Nodes: a.Nodes, Ask: ask,
			OnState: func(s runner.State, err error) { b.onState(i, s, err) },
		}), fmt.Sprint(steps.OfSlurm, a.Job))
		return
	}
	target := targets[i]
	name := cmp.Or(n.Name, target.Alias)
	b.add(runner.NewSSH(runner.SSHOptions{
		Name: name, Target: target, Ask: ask, Unlocked: &b.unlocked, AcceptNewHostKey: f.acceptNew,
		OnState: func(s runner.State, err error) { b.onState(i, s, err) },
	}), target.String())
}

// A speed is how much faster than real time a simulated rig's goes.
type speed float64

const fastest = 1000

func (s *speed) Set(text string) error {
	if text == "max" {
		*s = speed(sim.Max)
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= fastest) { // so that NaN is none either
		return fmt.Errorf("give a number above 0 and up to %d, or max", fastest)
	}
	*s = speed(v)
	return nil
}

func (s *speed) String() string {
	if float64(*s) == sim.Max {
		return "max"
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

func (s *speed) Type() string { return "float|max" }

// watched is the speed while a user watches, or is waited for.
func (s *speed) watched() float64 {
	if float64(*s) == sim.Max {
		return 1
	}
	return float64(*s)
}

// ringRig is the simulated rig with its nodes in a ring.
const ringRig = "ring"

// manySimulated is from how many nodes on this process is mostly their shells: what these leave is collected with
// fewer looks then, each of which would go through all that lives. Of hugeSimulated what lives is itself so large
// that three times as much next to it is more memory than a laptop has.
const (
	manySimulated = 8
	hugeSimulated = 256
)

// simulate makes the built-in rig.
func (f rigFlags) simulate(b *openRig, ask runner.Asker) error {
	rig, err := sim.New(sim.Options{
		Nodes: f.nodeCount, Ring: f.rig == ringRig, Seed: f.seed, Speed: float64(f.speed), Start: f.start, Faults: f.faults,
	})
	if err != nil {
		return usage(err)
	}
	b.simRig = rig
	if f.nodeCount > manySimulated && f.nodeCount <= hugeSimulated && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	// Of all that happens on the nodes one thing goes on at a time, as fast as it can: a second processor would be woken
	// at each turn, and find nothing. That took a tenth of the time of a checklist.
	if alone && f.nodeCount > manySimulated && float64(f.speed) == sim.Max && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	if err := b.serve(f.etcd); err != nil {
		return err
	}
	b.options.Rig, b.options.Simulated, b.options.Speed = "sim", true, f.speed.watched()
	if f.rig == ringRig {
		b.options.Rig = ringRig
	}
	for i, name := range simNames(rig) {
		node, err := rig.Node(name, sim.NodeOptions{
			Ask:     ask,
			OnState: func(s runner.State, err error) { b.onState(i, s, err) },
		})
		if err != nil {
			return err
		}
		b.add(node, "simulated")
	}
	return nil
}

// simNames are the simulated nodes' names, in the order of the rig: the clients run on
// spark-02 in the tutorials.
func simNames(rig *sim.Rig) []string {
	names := rig.Nodes()
	names[0], names[1] = names[1], names[0]
	return names
}
