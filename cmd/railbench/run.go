package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/cells"
)

type runFlags struct {
	all, json, yes, dryRun, verbose bool
	timeout                         time.Duration
	session, junit                  string
	trust                           bool
	runbooks                        []string
}

func runCommand(rig *rigFlags) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run CELL…|PART…|--all",
		Short: "Run cells without a screen",
		Long: `Runs cells (tests and set-up steps; some change the network, and ask first) or the cells of
parts, in the tutorial's order: railbench run ib-write-bw. Names: railbench list.

Progress goes to stderr, the result to stdout.

With --timeout, what has not ended by then is INCONCLUSIVE. With --trust, scripts and
programs of --session, --runbook, --inventory and the rig file run without a question.

Exit status: 0 nothing failed; 1 a cell FAILed; 2 wrong usage or configuration;
3 a node can't be reached; 4 nothing failed but something was INCONCLUSIVE; 5 the
result, or the session, could not be written.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, *rig, args)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "run all cells but the optional ones")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask; keep changes of the network that work")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print exactly what would run, and change nothing")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print outputs, tables and charts on stderr")
	cmd.Flags().StringVar(&f.session, "session", "", sessionDoes)
	cmd.Flags().StringVar(&f.junit, "junit", "", junitDoes)
	cmd.Flags().BoolVar(&f.trust, "trust", false, "run other users' scripts without asking")
	addRunbooks(cmd, &f.runbooks)
	cmd.ValidArgsFunction = completeCells(&f.runbooks)
	completeFlags(cmd, map[string]completer{"session": files("ipynb"), "junit": files("xml")})
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, timeoutDoes)
	return cmd
}

func (f runFlags) cells(t steps.Tutorial, args []string) ([]steps.Cell, error) {
	switch {
	case f.all && len(args) > 0:
		return nil, errors.New("--all runs every cell but the optional ones: leave out the names")
	case f.all:
		return t.Main(), nil
	case len(args) == 0:
		return nil, errors.New("name cells or parts, or give --all; railbench list shows them")
	default:
		cells, err := t.Select(args...)
		if i := slices.IndexFunc(args, runbook.HasName); err != nil && i >= 0 {
			err = fmt.Errorf("%s is a file, not a cell: run it with --runbook %[1]s and the ids of its cells, or --all", args[i])
		}
		return cells, err
	}
}

// run says what is wrong with the command line, and with the files that results go to, before it asks a node
// anything, and prints a result whatever becomes of the nodes.
func (f runFlags) run(cmd *cobra.Command, rig rigFlags, args []string) error {
	ctx := cmd.Context()
	if err := errors.Join(f.contradiction(), writable(cmd.Flags(), "junit")); err != nil {
		return usage(err)
	}
	if f.dryRun && rig.slurm != "" {
		return usage(errors.New("--dry-run does not ask Slurm for nodes: leave out --slurm, or run it in an allocation"))
	}
	rig.runbooks, rig.trust = f.runbooks, f.trust
	ask, confirm := newAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), f.yes)
	b, err := rig.open(ctx, ask)
	if err != nil {
		return err
	}
	defer b.close()
	b.options.Confirm = confirm
	cells, err := f.cells(b.options.Tutorial, args)
	if err != nil {
		return usage(err)
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("the --timeout of %s was reached", f.timeout))
		defer cancel()
	}
	if err := b.linked(cells); err != nil {
		return err
	}
	if f.dryRun {
		return f.plan(ctx, cmd.OutOrStdout(), b, cells)
	}
	b.options.Logs = logDir()
	if err := b.trustRunbooks(f.runbooks, f.trust); err != nil {
		return err
	}
	if err := b.trustSession(f.session, f.trust); err != nil {
		return err
	}
	if f.session != "" {
		if _, err := b.keep(f.session, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	b.tellWaits(cmd.ErrOrStderr())
	s := session.New(b.options)
	b.onState = s.State
	headless := newHeadless(s, cmd.ErrOrStderr(), f.verbose)
	list := newListing(cmd.OutOrStdout(), named(b), cells)
	if !f.json {
		headless.ended = list.ended
	}
	s.Open()
	headless.run(ctx, cells)
	found, probed := s.Rig()
	unreachable := s.Unreachable()
	closed, unsaved := finish(s, cmd.ErrOrStderr())
	b.remind(cmd.ErrOrStderr())
	// No one has looked at the nodes: the result has their names all the same.
	if !probed {
		found = named(b)
	}
	result := newObject(found, cells, headless.Ended)
	if f.json {
		err = writeJSON(cmd.OutOrStdout(), result)
	} else {
		err = list.rest(result)
		if err == nil {
			err = newPrinter(cmd.OutOrStdout(), found.Simulated, f.verbose).summaries(cells, headless.Ended)
		}
	}
	if f.junit != "" {
		err = errors.Join(err, results(found, cells, headless.Ended).WriteJUnit(f.junit))
	}
	return ending{written: err, unsaved: unsaved, unreachable: unreachable, closed: closed}.status(result.Summary)
}

// tellWaits says who has the nodes that a cell waits for.
func (b *bench) tellWaits(out io.Writer) {
	b.options.OnWait = func(why string) { sanitize.Fprintf(out, "  %s\n", why) }
}

// contradiction is of flags that can't be given together, or at all.
func (f runFlags) contradiction() error {
	switch {
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.dryRun && f.json:
		return errors.New("--dry-run prints scripts, and --json a result: give one of them")
	case f.dryRun && f.junit != "":
		return errors.New("--dry-run runs nothing, so --junit has nothing to write: give one of them")
	case f.dryRun && f.session != "":
		return errors.New("--dry-run runs nothing, so --session has nothing to save: give one of them")
	}
	return nil
}

// An ending is what went wrong around the cells, none of it with what they found.
type ending struct {
	written, unsaved, unreachable, closed error
}

// status is the exit status. A lost result goes before an unreachable node, and both go before the verdicts:
// a user who reads 1 takes the result for complete.
func (e ending) status(summary map[string]int) error {
	switch {
	case e.written != nil:
		return unwritten(fmt.Errorf("write the result: %w", e.written))
	case e.unsaved != nil:
		return unwritten(e.unsaved)
	case e.unreachable != nil:
		return status{exitUnreachable, e.unreachable}
	case e.closed != nil:
		return status{exitUnreachable, e.closed}
	}
	return outcome(summary)
}

// named is a rig of which nothing is known but how its nodes are called.
func named(b *bench) steps.Rig {
	return session.Named(b.options)
}

// plan prints what would be executed. Looking at the nodes is what it needs to
// know the values, and changes nothing.
func (f runFlags) plan(ctx context.Context, out io.Writer, b *bench, cells []steps.Cell) error {
	rig, err := session.Probe(ctx, b.options)
	if err != nil {
		return status{exitUnreachable, err}
	}
	writePlan(out, b.options, rig, cells)
	return nil
}

// writePlan writes what running cells on a rig would execute.
func writePlan(out io.Writer, o session.Options, rig steps.Rig, cells []steps.Cell) {
	for i, p := range session.Plan(o, rig, cells) {
		if i > 0 {
			sanitize.Fprintln(out)
		}
		what := []string{p.Cell.ID}
		if p.Role.Name != "" {
			what = append(what, p.Role.Name)
		}
		if p.Pair >= 0 {
			what = append(what, fmt.Sprintf("rail %d", p.Pair+1))
		}
		if p.Note != "" {
			sanitize.Fprintf(out, "# --- %s: nothing would run: %s\n", p.Cell.ID, p.Note)
			continue
		}
		where := o.Where[p.Node]
		simulated := ""
		if rig.Simulated {
			simulated = " SIMULATED"
		}
		asRoot := ""
		if p.Script.Root {
			asRoot = ", as root"
		}
		sanitize.Fprintf(out, "# --- %s, on %s (%s)%s%s\n%s", strings.Join(what, ", "),
			o.Nodes[p.Node].Name(), where, asRoot, simulated, sanitize.Several(p.Script.Text()))
	}
}

// A headless follows a session and says what happens on stderr.
type headless struct {
	*session.Follower
	out     io.Writer
	verbose bool
	said    string // the last complaint about a connection
	unsaved string // the same about saving
	unkept  bool   // whether the log's failed write was reported: each cell's log has its own name
	// ended gets each verdict that is printed elsewhere; nil if the progress shows the verdicts.
	ended func(steps.CellEnded)
}

func newHeadless(s *session.Session, out io.Writer, verbose bool) *headless {
	h := &headless{out: out, verbose: verbose}
	h.Follower = session.Follow(s, h.tell)
	return h
}

// run runs the cells one after the other; a FAIL does not stop it, a node that
// cannot be reached does.
func (h *headless) run(ctx context.Context, cells []steps.Cell) {
	for _, c := range cells {
		// A FAIL empties the queue after it was reported; this cell must not be in the queue then.
		_ = h.Session.Wait(ctx) // that ctx has ended is seen below
		switch {
		case ctx.Err() != nil:
			h.Leave(c.ID, session.Reason(ctx))
		// The first cell says itself what it is about a node; each after it would wait for that as long again.
		case h.Session.Unreachable() != nil && len(h.Ended) > 0:
			node := "a node"
			if e, ok := errors.AsType[*runner.Error](h.Session.Unreachable()); ok {
				node = e.Node
			}
			h.Leave(c.ID, "an earlier cell could not reach "+node+". Run: railbench doctor nodes")
		default:
			h.Run(ctx, c.ID)
		}
	}
}

// report reports one event.
func (h *headless) tell(e steps.Event) {
	switch e := e.(type) {
	case steps.CellStarted:
		c, _ := h.Book.Tutorial.Cell(e.Cell)
		sanitize.Fprintf(h.out, "▸ %s  %s\n", c.ID, c.Title)
	case steps.CellPrinted:
		h.lines(e)
	case steps.NodeChanged:
		// Each reconnection has its own; the same complaint twice says no more.
		if e.State == runner.Disconnected && e.Why != h.said {
			h.said = e.Why
			sanitize.Fprintf(h.out, "  %s\n", e.Why)
		}
	case steps.Saved:
		if e.Why != "" && e.Why != h.unsaved {
			h.unsaved = e.Why
			sanitize.Fprintf(h.out, "  %s\n", e.Why)
		}
	case steps.CellEnded:
		took := e.Elapsed.Round(100 * time.Millisecond)
		if h.ended == nil {
			sanitize.Fprintf(h.out, "  %s  %s  %s\n", e.Verdict.Grade, took, e.Verdict.Reason)
		} else {
			sanitize.Fprintf(h.out, "  %s  %s\n", e.Verdict.Grade, took)
			h.ended(e)
		}
		h.figures(e)
		if e.Unkept != "" && !h.unkept && !h.verbose {
			h.unkept = true
			sanitize.Fprintf(h.out, "  %s\n", e.Unkept)
		}
	}
}

// figures prints what a cell measured. Those of railbench's own cells are part of
// the result.
func (h *headless) figures(e steps.CellEnded) {
	c, ok := h.Book.Tutorial.Cell(e.Cell)
	if !h.verbose || !ok || c.Own != "" {
		return
	}
	p := newPrinter(h.out, h.Book.Rig.Simulated, true)
	p.indent = "    "
	p.print(e.Verdict) //nolint:errcheck // progress: a closed stderr can't be reported
}

func (h *headless) lines(e steps.CellPrinted) {
	if !h.verbose {
		return
	}
	if e.Dropped > 0 {
		sanitize.Fprintf(h.out, "    … %d lines are only in the log\n", e.Dropped)
	}
	for _, l := range e.Lines {
		from := l.From
		if l.Kind == steps.Note {
			from = "·"
		}
		sanitize.Fprintf(h.out, "    %s  %s\n", from, l.Text)
	}
}

// What flags of several commands do.
const (
	junitDoes   = "write the verdicts to this JUnit `FILE`, for a CI"
	sessionDoes = "save in this .ipynb `FILE`, or continue one"
	timeoutDoes = "end the whole run after this `TIME`, such as 5m"
)

func results(rig steps.Rig, all []steps.Cell, ended map[string]steps.CellEnded) notebook.Results {
	return notebook.Results{Program: version(), Rig: rig, Cells: all, Ended: ended, Evidence: cells.Evidence}
}

// runObject is what run --json prints; scripts rely on its keys.
type runObject struct {
	Railbench string         `json:"railbench"`
	Rig       rigObject      `json:"rig"`
	Cells     []cellObject   `json:"cells"`
	Summary   map[string]int `json:"summary"`
}

type rigObject struct {
	Name      string       `json:"name"`
	Simulated bool         `json:"simulated"`
	Nodes     []nodeObject `json:"nodes"`
	Rails     []railObject `json:"rails"`
}

type nodeObject struct {
	Name   string `json:"name"`
	End    string `json:"end"`
	Where  string `json:"where"`
	Host   string `json:"host"`
	Kernel string `json:"kernel"`
	OS     string `json:"os"`
}

// about is what a node is, for people.
func (n nodeObject) about() string {
	return strings.Join(slices.DeleteFunc([]string{n.Where, n.OS, n.Kernel}, func(s string) bool { return s == "" }), ", ")
}

type railObject struct {
	Node     string  `json:"node"`
	Dev      string  `json:"dev"`
	Netdev   string  `json:"netdev"`
	Address  string  `json:"address"`
	Pair     int     `json:"pair"` // 1 is RAIL1; 0 where nothing is at the other end
	GIDIndex int     `json:"gidIndex"`
	MTU      int     `json:"mtu"`
	PCI      string  `json:"pci"`
	PCIeGTps float64 `json:"pcieGTps"`
	Lanes    int     `json:"pcieLanes"`
	LinkGbps float64 `json:"linkGbps"`
	State    string  `json:"state"`
}

type cellObject struct {
	ID        string           `json:"id"`
	Part      string           `json:"part"`
	Title     string           `json:"title"`
	Verdict   steps.Grade      `json:"verdict"`
	Reason    string           `json:"reason"`
	Code      steps.Code       `json:"code,omitempty"`
	Codes     []steps.Code     `json:"codes,omitempty"`
	Decided   steps.Witness    `json:"decided,omitempty"`
	Findings  []steps.Found    `json:"findings,omitempty"`
	Advice    []steps.Found    `json:"advice,omitempty"`
	Evidence  []steps.Evidence `json:"evidence"`
	Figures   []steps.Figure   `json:"figures"`
	Exit      *int             `json:"exit"` // null where nothing ran
	ElapsedMS int64            `json:"elapsedMS"`
	Rails     []bytesObject    `json:"rails"`
	Tables    []steps.Table    `json:"tables,omitempty"`
	Charts    []steps.Chart    `json:"charts,omitempty"`
	Log       string           `json:"log,omitempty"`
}

type bytesObject struct {
	Node    string `json:"node"`
	Rail    string `json:"rail"`
	TxBytes uint64 `json:"txBytes"`
	RxBytes uint64 `json:"rxBytes"`
}

// grades are the verdicts in the order of a summary.
var grades = []steps.Grade{steps.Pass, steps.Warn, steps.Fail, steps.Inconclusive, steps.Skipped}

// newObject is what cells came to. A cell's lists are empty and not null, and grades that none has are 0, so
// that scripts need not ask.
func newObject(rig steps.Rig, cells []steps.Cell, ended map[string]steps.CellEnded) runObject {
	r := runObject{
		Railbench: version(), Rig: rigObject{Name: rig.Name, Simulated: rig.Simulated, Rails: []railObject{}},
		Summary: map[string]int{},
	}
	for i, n := range rig.Nodes {
		e := steps.End(i)
		r.Rig.Nodes = append(r.Rig.Nodes, nodeObject{n.Name, e.String(), n.Where, n.Host, n.Kernel, n.OS})
		for i, rail := range n.Rails {
			pair := 1 + slices.IndexFunc(rig.Pairs, func(p steps.Pair) bool { return e <= steps.Peer && p.Rails[e] == i })
			r.Rig.Rails = append(r.Rig.Rails, railObject{
				Node: n.Name, Dev: rail.Dev, Netdev: rail.Netdev.Name, Address: rail.Addr, Pair: pair, GIDIndex: rail.GIDIndex,
				MTU: rail.MTU, PCI: rail.PCI.Addr, PCIeGTps: rail.PCI.GTps,
				Lanes: rail.PCI.Width, LinkGbps: rail.RateGbps, State: rail.State,
			})
		}
	}
	for _, g := range grades {
		r.Summary[g.String()] = 0
	}
	for _, c := range cells {
		e := ended[c.ID]
		cell := cellObject{
			ID: c.ID, Part: c.Part, Title: c.Title, Verdict: e.Verdict.Grade, Reason: e.Verdict.Reason,
			Code: e.Verdict.Code, Codes: e.Verdict.Codes,
			Decided: e.Verdict.Decided, Findings: e.Verdict.Findings, Advice: e.Verdict.Advice,
			Evidence: e.Verdict.Evidence, Figures: e.Verdict.Figures,
			ElapsedMS: e.Elapsed.Milliseconds(), Rails: []bytesObject{}, Log: e.Log,
			Tables: marked(rig, e.Verdict.Tables, func(t *steps.Table) *string { return &t.Title }),
			Charts: marked(rig, e.Verdict.Charts, func(c *steps.Chart) *string { return &c.Title }),
		}
		if cell.Evidence == nil {
			cell.Evidence = []steps.Evidence{}
		}
		if cell.Figures == nil {
			cell.Figures = []steps.Figure{}
		}
		if e.HasExit {
			cell.Exit = &e.Exit.Code
		}
		cell.Rails = append(cell.Rails, total(rig, e.Bytes)...)
		r.Cells = append(r.Cells, cell)
		r.Summary[e.Verdict.Grade.String()]++
	}
	return r
}

// marked are the figures with SIMULATED in their titles, where they are: each may be
// taken out of the object and shown alone.
func marked[T any](rig steps.Rig, all []T, title func(*T) *string) []T {
	if !rig.Simulated {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		text := title(&all[i])
		*text = strings.TrimSpace(*text + " SIMULATED")
	}
	return all
}

// total adds up the stages of a cell. A rail whose counters were not known in
// one of them is left out: part of a sum would read as the whole.
func total(rig steps.Rig, bytes []steps.RailBytes) []bytesObject {
	type key struct {
		end steps.End
		dev string
	}
	sums := map[key]*bytesObject{}
	unknown := map[key]bool{}
	var order []key
	for _, b := range bytes {
		k := key{b.End, b.Dev}
		if sums[k] == nil {
			sums[k] = &bytesObject{Node: rig.At(b.End).Name, Rail: b.Dev}
			order = append(order, k)
		}
		unknown[k] = unknown[k] || !b.Known
		sums[k].TxBytes += b.Tx
		sums[k].RxBytes += b.Rx
	}
	var out []bytesObject
	for _, k := range order {
		if !unknown[k] {
			out = append(out, *sums[k])
		}
	}
	return out
}

func writeJSON(out io.Writer, v any) error { return sanitize.JSON(out, v) }

// A listing is the result of a run for people, on stdout: a line for each cell as soon as it has ended.
type listing struct {
	out   io.Writer
	rig   steps.Rig
	wide  int // of the longest cell's name
	began bool
	done  map[string]bool
	err   error // the first
}

func newListing(out io.Writer, rig steps.Rig, cells []steps.Cell) *listing {
	l := &listing{out: out, rig: rig, done: map[string]bool{}}
	for _, c := range cells {
		l.wide = max(l.wide, len(c.ID))
	}
	return l
}

func (l *listing) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = sanitize.Fprintf(l.out, format, args...)
	}
}

// cell prints a cell's verdict, and below it the findings that its reason only counts.
func (l *listing) cell(id string, grade steps.Grade, reason string, findings []steps.Found) {
	if !l.began {
		l.began = true
		simulated := ""
		if l.rig.Simulated {
			simulated = "  SIMULATED"
		}
		l.print("rig %s%s\n", l.rig.Name, simulated)
	}
	l.print("%-12s  %-*s  %s\n", grade, l.wide, id, reason)
	for _, f := range findings[min(1, len(findings)):] { // the reason has the first
		l.print("%-12s  %-*s  + %s: %s\n", "", l.wide, "", f.Grade, f.Text)
	}
	l.done[id] = true
}

// ended prints a cell's verdict.
func (l *listing) ended(e steps.CellEnded) {
	l.cell(e.Cell, e.Verdict.Grade, e.Verdict.Reason, e.Verdict.Findings)
}

// rest prints the cells that did not begin, and the sums.
func (l *listing) rest(r runObject) error {
	for _, c := range r.Cells {
		if !l.done[c.ID] {
			l.cell(c.ID, c.Verdict, c.Reason, c.Findings)
		}
	}
	l.print("%s\n", sums(r.Summary))
	return l.err
}

// sums are the grades with how often each was given.
func sums(summary map[string]int) string {
	var all []string
	for _, g := range grades {
		if n := summary[g.String()]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, g))
		}
	}
	return strings.Join(all, ", ")
}

// outcome is the exit status that follows from the grades.
func outcome(summary map[string]int) error {
	switch {
	case summary[steps.Fail.String()] > 0:
		return status{code: exitFail}
	case summary[steps.Inconclusive.String()] > 0:
		return status{code: exitInconclusive}
	default:
		return nil
	}
}
