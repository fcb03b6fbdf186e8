package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/family/nccl"
	"github.com/railbench/railbench/steps/launch"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/nodelist"
	"github.com/railbench/railbench/steps/rendezvous"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/upload"
)

// An openRig is the rig that flags name, opened: everything that a session is made of, and what must be closed.
type openRig struct {
	options session.Options
	simRig  *sim.Rig // nil on a real rig
	etcd    *rendezvous.Etcd
	file    string           // the rig file, where there is one
	temp    *safefile.Folder // the simulated rig's journal, or copies of an ssh configuration; it is gone with the rig
	// onState is where the nodes report their connection's state, once a session is open.
	onState    func(node int, state runner.State, why error)
	allocation runner.Allocation // of Slurm's, whose nodes they are; job 0 for none
	listed     rigfile.File      // the nodes of --nodes and --inventory, as a rig file has them
	release    func()            // gives Slurm back what was asked for; nil where nothing was
	unlocked   runner.Unlocked   // keys by passphrases that were typed, for all nodes
}

// close ends the nodes first: they are in the allocation, and reach what serves them, until then.
func (b *openRig) close() {
	for _, n := range b.options.Nodes {
		if n != nil {
			n.Close()
		}
	}
	if b.release != nil {
		b.release()
		b.release = nil // close may be called twice
	}
	if b.etcd != nil {
		_ = b.etcd.Close() // the program ends here and reports no more errors; a temporary folder may be left
	}
	if b.simRig != nil {
		b.simRig.Close()
	}
	if b.temp != nil {
		_ = b.temp.Remove() // the system cleans its folder of temporary files, too
	}
}

// serve gives the cells what railbench runs for them. endpoint, where not empty, is
// an etcd that is there already.
func (b *openRig) serve(endpoint string) error {
	start := rendezvous.Starter(etcd.Start)
	if b.simRig != nil { // what is simulated needs no program and no port of this machine
		start = func(context.Context) (*etcd.Server, error) { return etcd.Within(b.simRig.Etcd()), nil }
	}
	e, err := rendezvous.NewEtcd(endpoint, start)
	if err != nil {
		return usage(err)
	}
	b.etcd = e
	// What a railbench that was killed has left; the folders of those that run are held.
	for _, name := range []string{simFolder, console.ShownFolder} {
		safefile.Sweep(os.TempDir(), name)
	}
	if state, err := stateDir("etcd"); err == nil {
		e.Remember(state)
	}
	b.options.Services = map[string]session.Service{
		"etcd": e, "nixl-runtime": rendezvous.NewRuntime(e), "railbench": handedOver(),
		steps.LaunchService: launch.Service{Launchers: sync.OnceValues(launchers)},
		"room":              launch.Room{Buffers: nccl.Buffers()},
	}
	return nil
}

// handedOver is this program, as nodes without it are given it for a run. Where its file is gone, as
// after an upgrade, a cell that needs it says so, and all else works.
func handedOver() upload.Program {
	p := upload.Program{OS: runtime.GOOS, Arch: runtime.GOARCH}
	p.Own, _ = os.Executable()
	// Programs for other platforms lie in the folder of the file itself
	if file, err := filepath.EvalSymlinks(p.Own); err == nil {
		p.Own = file
	}
	if v := version(); released.Regexp().MatchString(v) {
		p.Version = v
	}
	return p
}

// released is the form of a release's version; what was built by hand has a longer one, or none.
var released = lazyregexp.New(`^v?\d+\.\d+\.\d+$`)

// simFolder is what the folder of a simulated rig's journal begins with.
const simFolder = "railbench-sim-"

// keepJournal sets where the rollback scripts of changes are stored. Without a folder nothing is changed, and
// everything else works.
func (b *openRig) keepJournal() {
	if b.simRig != nil {
		if folder, err := safefile.Hold(os.TempDir(), simFolder); err == nil {
			b.temp = folder
			b.options.Journal = &undo.Journal{Dir: folder.Path}
		}
		return
	}
	if journal, err := realJournal(); err == nil {
		b.options.Journal = &journal
	}
}

// linked asks for the link under test where there is more than one to choose and a cell runs over it.
func (b *openRig) linked(cells []steps.Cell) error {
	if b.options.Link != (steps.Link{}) || len(b.options.Nodes) <= len(steps.Ends) {
		return nil
	}
	i := slices.IndexFunc(cells, steps.Cell.OverLink)
	if i < 0 {
		return nil
	}
	names := b.names()
	return usage(fmt.Errorf("the rig has %d nodes: "+
		"choose the link for %s with --link A:B, for example --link %s:%s (%s)",
		len(names), cells[i].ID, names[0], names[1], nodeset.Some(names)))
}

// names are the nodes', in order.
func (b *openRig) names() []string {
	return steps.Each(b.options.Nodes, runner.Node.Name)
}

// add puts a node at the end of the rig.
func (b *openRig) add(n runner.Node, where string) {
	b.options.Nodes, b.options.Where = append(b.options.Nodes, n), append(b.options.Where, where)
}

// slurmWait is how long --slurm waits for its nodes.
const slurmWait = 10 * time.Minute

// allocate asks Slurm for the nodes that --slurm names, and makes a rig of them. They are the
// rig's to give back.
func (f rigFlags) allocate(ctx context.Context, b *openRig) (rigfile.File, error) {
	partition, nodes, err := nodelist.WantsSlurm(f.slurm)
	if err != nil {
		return rigfile.File{}, usage(err)
	}
	f.told("asking Slurm for %d nodes of %s, for %s at most; ctrl+c gives up", nodes, partition, slurmWait)
	ctx, cancel := context.WithTimeoutCause(ctx, slurmWait, fmt.Errorf("there were none for %s", slurmWait))
	defer cancel()
	a, err := runner.Allocate(ctx, partition, nodes)
	if err != nil {
		return rigfile.File{}, status{exitUnreachable, err}
	}
	f.told("allocation %d: %s; it is given back at the end", a.Job, nodeset.Fold(a.Nodes))
	b.release = func() {
		if err := a.Release(); err != nil {
			f.told("%v", err)
			return
		}
		f.told("gave the allocation %d back", a.Job)
	}
	b.allocation = a
	return rigfile.OfAllocation(a.Nodes), nil
}

// inAllocation finds the allocation that a rig of Slurm's nodes is in, and looks whether it has them.
func (b *openRig) inAllocation(file rigfile.File) error {
	if file.Engine != rigfile.Slurm || b.allocation.Job != 0 {
		return nil
	}
	a, err := nodelist.Allocated()
	if err != nil {
		return err
	}
	for _, n := range file.Nodes {
		if !slices.Contains(a.Nodes, n.Name) {
			return nodelist.Lacking(a, n.Name)
		}
	}
	b.allocation = a
	return nil
}

// told shows the user a message that is not part of the result, before there is a screen and after it.
func (f rigFlags) told(format string, args ...any) {
	if f.tell != nil {
		f.tell(fmt.Sprintf(format, args...))
	}
}
