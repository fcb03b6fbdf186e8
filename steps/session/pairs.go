package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
	"github.com/railbench/railbench/steps/sanitize"
)

// aliveLimit is how long a node has to say that it is there, where a test on it came to nothing.
const aliveLimit = 10 * time.Second

// A Pairing is a matrix to be measured: every pair of the rig's nodes, over every rail.
type Pairing struct {
	// Cell is the one whose PARTNERS say with how many others each node is measured.
	Cell steps.Cell
	// Cells are those that measure a pair: bandwidth and latency, each rail by itself, with counters.
	Bandwidth, Latency steps.Cell
	// Known, where not nil, is an earlier matrix that this one goes on with.
	Known *pairs.Matrix
	// Measured, where not nil, is called after each round with how many tests are done, and what comes next.
	// An error ends the run: results that can't be kept are not measured. It is called by one goroutine,
	// while nothing is measured.
	Measured func(m *pairs.Matrix, p pairs.Progress) error
	// Logged, where not nil, is called at the end with a sentence about where the output is of the tests that
	// did not pass, if there are any.
	Logged func(where string)
}

// A pairing is one run of a Pairing.
type pairing struct {
	Pairing
	s    *Session
	seen look
	m    *pairs.Matrix
	// subnets are the rails' where several nodes share them; nil where a rail is a number on each link.
	subnets []string
	// params are those of each cell, as they were when it began.
	params map[string]map[string]string
	done   int
	again  bool
	began  time.Time // as if it had not been interrupted

	mu   sync.Mutex // guards what follows and the matrix's conditions: pairs are measured side by side
	dead map[int]string
	log  func(line steps.OutputLine, cut bool) // gets the output of tests that did not pass; nil is allowed
}

// pairing is a run of a Pairing.
func (s *Session) pairing(p Pairing) *pairing {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &pairing{Pairing: p, s: s, dead: map[int]string{}, params: map[string]map[string]string{}}
	for _, c := range []steps.Cell{p.Cell, p.Bandwidth, p.Latency} {
		run.params[c.ID] = effective(s.table, s.set, c.ID)
	}
	return run
}

// Pairs measures between all nodes, n/2 pairs at once, and what looks bad once more, fewer at a time and
// in the end alone. The matrix is what was measured until then, also where an error, as of an interrupt,
// ended it. It returns when nothing of it is alive on any node. The session need not be open.
func (s *Session) Pairs(ctx context.Context, p Pairing) (m *pairs.Matrix, err error) {
	s.clock.Join(ctx, func(ctx context.Context) {
		run := s.pairing(p)
		defer s.release()
		if err = run.lockNodes(ctx); err != nil {
			return
		}
		run.seen = lookAt(ctx, s.o)
		if err = run.prepare(); err != nil {
			return
		}
		m = run.m
		log := testLog{s: s}
		if s.o.Logs != "" {
			run.log = log.add
		}
		run.began = s.clock.Now().Add(-m.Elapsed)
		err = run.all(ctx)
		if where := log.close(); where != "" && p.Logged != nil {
			p.Logged(where)
		}
		m.Elapsed = s.clock.Now().Sub(run.began)
	})
	return m, err
}

// PairsCost looks at the nodes and says what Pairs would take, with what is wrong already, a sentence each.
func (s *Session) PairsCost(ctx context.Context, p Pairing) (c pairs.Cost, wrong []string, err error) {
	run := s.pairing(p)
	s.clock.Join(ctx, func(ctx context.Context) { run.seen = lookAt(ctx, s.o) })
	if err := run.prepare(); err != nil {
		return c, nil, err
	}
	c, wrong = run.cost()
	return c, wrong, nil
}

// cost is what measuring it takes, and what is wrong already.
func (p *pairing) cost() (c pairs.Cost, wrong []string) {
	for no, n := range p.m.Nodes {
		if why := p.gone(pairs.Pair{From: no, To: no}); why != "" {
			wrong = append(wrong, why)
		}
		for _, why := range n.Lacks {
			if why != "" {
				wrong = append(wrong, why)
			}
		}
	}
	if p.partners() != p.m.Partners && p.m.Uncabled != nil {
		wrong = append(wrong, fmt.Sprintf("%s is ignored: cables join only some pairs, and each of those is measured",
			pairs.Partners))
	}
	return pairs.CostOf(len(p.m.Nodes), len(p.m.Rails), p.m.Partners, p.bytes()).Of(p.rounds()), wrong
}

// bytes is what one test of bandwidth writes, as on the first link that has a rail.
func (p *pairing) bytes() float64 {
	for _, l := range steps.Ring(len(p.s.o.Nodes)) {
		rig, err := p.seen.over(p.s.o, l)
		if err != nil || len(rig.Pairs) == 0 {
			continue
		}
		v := vars(rig, steps.Here, 0, p.params[p.Bandwidth.ID])
		size, _ := strconv.ParseFloat(v["SIZE"], 64) // CheckParam has read both
		count, _ := strconv.ParseFloat(v["ITERATIONS"], 64)
		return size * count
	}
	return 0
}

// lockNodes locks all nodes of the rig.
func (p *pairing) lockNodes(ctx context.Context) error {
	o := p.s.o
	if o.LockOwner.Token == "" {
		return nil
	}
	return p.s.await(ctx, everyNode(len(o.Nodes)), func(by string, first bool) {
		if first && o.OnWait != nil {
			o.OnWait(by + ". The pairs wait until that ends, or until you interrupt it")
		}
	})
}

func everyNode(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// prepare makes the matrix from what the nodes look like, or goes on with the known one.
func (p *pairing) prepare() error {
	o := p.s.o
	answered := 0
	for i, err := range p.seen.errs {
		if err == nil {
			answered++
			continue
		}
		p.dead[i] = err.Error()
	}
	switch {
	case len(o.Nodes) < len(steps.Ends):
		return errors.New("one node has no pair. Name two or more nodes")
	case answered < len(steps.Ends):
		return errors.Join(p.seen.errs...)
	}
	cabled, _ := p.seen.rig.Cabled()
	links, partners := steps.Links(len(o.Nodes)), p.partners()
	if len(cabled) < len(links) {
		partners = 0
	}
	p.m = pairs.New(o.Rig, make([]pairs.Node, len(o.Nodes)), p.rails(), partners)
	p.m.Simulated, p.m.Began = o.Simulated, p.s.clock.Now()
	p.m.ByLink = p.subnets == nil && len(o.Nodes) > 2
	p.m.Conditions.Settings = p.settings()
	for i := range p.m.Nodes {
		p.describe(i)
	}
	for _, l := range links { // both are in one order
		if len(cabled) > 0 && cabled[0] == l {
			cabled = cabled[1:]
		} else {
			p.m.Uncable(pairs.Pair{From: l.Here, To: l.Peer})
		}
	}
	if p.Known == nil {
		return nil
	}
	return p.goOn(partners)
}

// goOn goes on with the known matrix, if it is of what the nodes look like.
func (p *pairing) goOn(partners int) error {
	why := p.Known.Unlike(p.m, "the rig")
	if at := p.m.LeavesOut(p.Known); why == "" && at != "" {
		why = fmt.Sprintf("it has a result of %s, which is not a pair that %s=%d measures", at, pairs.Partners, partners)
	}
	if why == "" {
		if now := p.Known.Rewired(p.m); now != nil {
			why = now[0]
		}
	}
	if why != "" {
		return fmt.Errorf("it cannot be continued: %s. Save to another file", why)
	}
	p.m.Take(p.Known)
	return nil
}

// partners are with how many others each node is to be measured; 0 is all of them.
func (p *pairing) partners() int {
	asked, _ := strconv.Atoi(p.params[p.Cell.ID][pairs.Partners]) // CheckParam has read it
	return pairs.PartnersOf(len(p.s.o.Nodes), asked)
}

// settings are the parameters that decide what the figures are, in a line.
func (p *pairing) settings() string {
	var all []string
	for _, c := range []steps.Cell{p.Bandwidth, p.Latency} {
		params := p.params[c.ID]
		for _, name := range []string{"SIZE", "ITERATIONS", "LAT_ITERATIONS"} {
			set := name + "=" + params[name]
			if slices.ContainsFunc(c.Roles, func(r steps.Role) bool { return r.Reads(name) }) && params[name] != "" &&
				!slices.Contains(all, set) {
				all = append(all, set)
			}
		}
	}
	return strings.Join(all, " ")
}

// rails finds what the rails are that nodes have in common: their subnets where three nodes or more are
// in one of them, as behind a switch, and else their places on each link.
func (p *pairing) rails() []string {
	n := len(p.s.o.Nodes)
	in, at := map[string]map[int]bool{}, map[string]int{}
	most := 0
	links := steps.Ring(n)
	for other := 1; other < n; other++ {
		links = append(links, steps.Link{Here: 0, Peer: other})
	}
	for _, l := range links {
		rig, err := p.seen.over(p.s.o, l)
		if err != nil {
			continue
		}
		most = max(most, len(rig.Pairs))
		for _, pair := range rig.Pairs {
			if in[pair.Subnet] == nil {
				in[pair.Subnet], at[pair.Subnet] = map[int]bool{}, pair.Rails[steps.Here]
			}
			in[pair.Subnet][l.Here], in[pair.Subnet][l.Peer] = true, true
			at[pair.Subnet] = min(at[pair.Subnet], pair.Rails[steps.Here])
		}
	}
	// Where one is a switch's, two nodes are in another because the others have lost it.
	shared := false
	for _, nodes := range in {
		shared = shared || len(nodes) > 2
	}
	if shared {
		p.subnets = slices.Collect(maps.Keys(in))
	}
	slices.SortFunc(p.subnets, func(a, b string) int { return cmp.Or(cmp.Compare(at[a], at[b]), cmp.Compare(a, b)) })
	if p.subnets != nil {
		most = len(p.subnets)
	}
	names := make([]string, min(most, pairs.MostRails))
	for i := range names {
		names[i] = fmt.Sprintf("rail %d", i+1)
	}
	return names
}

// describe says what a node is: its rails as some link shows them.
func (p *pairing) describe(no int) {
	o := p.s.o
	node := pairs.Node{Name: o.Nodes[no].Name()}
	count := len(p.m.Rails)
	node.Halves, node.Ports, node.Lacks = make([]string, count), make([]string, count), make([]string, count)
	hardware := make([]string, count)
	for other := range o.Nodes {
		if other == no {
			continue
		}
		rig, err := p.seen.over(o, steps.Link{Here: no, Peer: other})
		if err != nil {
			continue
		}
		for rail := range count {
			i := p.pair(rig, rail)
			if i < 0 || hardware[rail] != "" {
				continue
			}
			r := rig.Rail(rig.Pairs[i], steps.Here)
			hardware[rail] = fmt.Sprintf("%s %g Gb/s MTU %d %gx%d", r.Dev, r.RateGbps, r.MTU, r.PCI.GTps, r.PCI.Width)
			node.Halves[rail] = r.PCI.Half()
			if r.PhysPort >= 0 && !p.m.ByLink { // there it is another one on each link
				node.Ports[rail] = fmt.Sprint(r.PhysPort)
			}
			if r.Soft() {
				p.m.Conditions.Soft = "over soft-RoCE the processor is measured, so no pair is compared with the best"
			}
		}
		if !slices.Contains(hardware, "") {
			break
		}
	}
	for rail, h := range hardware {
		if h == "" && p.dead[no] == "" {
			node.Lacks[rail] = fmt.Sprintf("%s has no %s", node.Name, p.m.Rails[rail])
			if p.subnets != nil {
				node.Lacks[rail] += fmt.Sprintf(" (%s)", p.subnets[rail])
			}
		}
	}
	node.Hardware = pairs.HardwareOf(hardware)
	p.m.Nodes[no] = node
}

// pair is the index of a rail among a link's pairs; -1 where the link has none.
func (p *pairing) pair(rig steps.Rig, rail int) int {
	if p.subnets != nil {
		return slices.IndexFunc(rig.Pairs, func(pair steps.Pair) bool { return pair.Subnet == p.subnets[rail] })
	}
	if rail < len(rig.Pairs) {
		return rail
	}
	return -1
}

// rounds are those of all pairs that a cable joins.
func (p *pairing) rounds() [][]pairs.Pair {
	n := len(p.s.o.Nodes)
	if p.m.Uncabled == nil {
		return pairs.Rounds(n, p.m.Partners)
	}
	none := map[pairs.Pair]bool{}
	for _, pair := range p.m.Uncabled {
		none[pair] = true
	}
	var all []pairs.Pair
	for _, l := range steps.Links(n) {
		if pair := (pairs.Pair{From: l.Here, To: l.Peer}); !none[pair] {
			all = append(all, pair)
		}
	}
	return pairs.Beside(all, len(all))
}

// all measures what is not known, and once more what looks bad.
func (p *pairing) all(ctx context.Context) error {
	if why := pairs.TooMany(len(p.m.Nodes), len(p.m.Rails), p.m.Partners); why != "" {
		return errors.New(why)
	}
	rounds := p.rounds()
	for i, round := range rounds {
		p.round(ctx, round, func(ctx context.Context, at pairs.Pair) {
			p.measure(ctx, steps.Throughput, at, len(round))
			p.measure(ctx, steps.Throughput, pairs.Pair{From: at.To, To: at.From}, len(round))
			p.measure(ctx, steps.Latency, at, len(round))
		})
		if err := p.tell(ctx, pairs.Progress{Round: i + 1, Rounds: len(rounds), Beside: len(round)}); err != nil {
			return err
		}
	}
	p.again = true
	for _, what := range pairs.Measures {
		if err := p.suspects(ctx, what); err != nil {
			return err
		}
	}
	return nil
}

// suspects measures the pairs that look bad again: half as many at a time in each round, until one is alone.
// A pair that is good then is no longer suspect.
func (p *pairing) suspects(ctx context.Context, what steps.Measure) error {
	left := p.m.Suspects(what)
	most := 0
	for _, round := range pairs.Beside(left, len(left)) {
		most = max(most, len(round))
	}
	for _, width := range pairs.Widths(most) {
		left = p.m.Suspects(what)
		if len(left) > pairs.MostAgain(len(p.m.Nodes)) {
			left = left[:pairs.MostAgain(len(p.m.Nodes))]
		}
		rounds := pairs.Beside(left, width)
		for i, round := range rounds {
			p.round(ctx, round, func(ctx context.Context, at pairs.Pair) { p.measure(ctx, what, at, len(round)) })
			if err := p.tell(ctx, pairs.Progress{
				Round: i + 1, Rounds: len(rounds), Beside: len(round),
				Again: true,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// round measures pairs side by side, none of which shares a node with another.
func (p *pairing) round(ctx context.Context, round []pairs.Pair, measure func(context.Context, pairs.Pair)) {
	atOnce(ctx, p.s.clock, len(round), func(ctx context.Context, i int) { measure(ctx, round[i]) })
}

func (p *pairing) tell(ctx context.Context, at pairs.Progress) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.Measured == nil {
		return nil
	}
	at.Tests = p.done
	p.m.Elapsed = p.s.clock.Now().Sub(p.began)
	return p.Measured(p.m, at)
}

// measure measures one way of a pair over every rail, one rail after the other.
func (p *pairing) measure(ctx context.Context, what steps.Measure, at pairs.Pair, beside int) {
	if ctx.Err() != nil || !p.again && p.m.Done(what, at) {
		return
	}
	rig, err := p.seen.over(p.s.o, steps.Link{Here: at.From, Peer: at.To})
	for rail := range p.m.Rails {
		why := p.gone(at)
		if why == "" && err != nil {
			why = err.Error()
		}
		i := -1
		if why == "" {
			if i = p.pair(rig, rail); i < 0 {
				why = or(or(p.m.Nodes[at.From].Lacks[rail], p.m.Nodes[at.To].Lacks[rail]),
					fmt.Sprintf("no %s connects %s to %s (railbench init shows the cabling)", p.m.Rails[rail],
						p.m.Nodes[at.From].Name, p.m.Nodes[at.To].Name))
			}
		}
		v := steps.Verdict{Grade: steps.Inconclusive, Code: steps.NodeAway, Reason: why}
		if why == "" {
			v = p.test(ctx, what, rig, i)
			p.askAfter(ctx, at, v)
		}
		if ctx.Err() != nil {
			return // what an interrupt broke off was not measured
		}
		p.record(what, at, rail, beside, v)
	}
}

// gone says that a node of a pair has died, and how; empty where none has.
func (p *pairing) gone(at pairs.Pair) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, no := range []int{at.From, at.To} {
		if why := p.dead[no]; why != "" {
			return fmt.Sprintf("%s does not answer: %s", p.s.o.Nodes[no].Name(), why)
		}
	}
	return ""
}

// askAfter asks the nodes of a test that came to nothing whether they are there, so that one that is not
// holds up none of its other pairs.
func (p *pairing) askAfter(ctx context.Context, at pairs.Pair, v steps.Verdict) {
	if v.Grade != steps.Inconclusive && v.Grade != steps.Fail || len(v.Figures) > 0 || ctx.Err() != nil {
		return
	}
	for _, no := range []int{at.From, at.To} {
		_, err := runner.Text(ctx, p.s.o.Nodes[no], runner.Script{Name: "look at the node", Body: "true", Limit: aliveLimit})
		if err != nil && ctx.Err() == nil {
			p.mu.Lock()
			p.dead[no] = err.Error()
			p.mu.Unlock()
		}
	}
}

// test runs the cell of a measure over one rail of a link, and has its own judge judge it. Of the rig
// there are the link's two nodes alone: the others' ports are busy with other pairs.
func (p *pairing) test(ctx context.Context, what steps.Measure, rig steps.Rig, pair int) steps.Verdict {
	cell := p.Bandwidth
	if what == steps.Latency {
		cell = p.Latency
	}
	params := p.params[cell.ID]
	why := p.s.o.refuses(cell, params) // unchanged: edits of cells do not apply here
	cell.EachRail = false
	if p.s.o.Limit > 0 {
		cell.Limit = p.s.o.Limit
	}
	rig.Nodes = rig.Nodes[:len(steps.Ends)]
	r := &run{
		s: p.s, cell: cell, name: newRun(), link: rig.Link(), held: &heldLines{},
		params: params,
	}
	if why == "" {
		why = r.missing(rig)
	}
	if err := r.bonded(rig); why == "" && err != nil {
		why = err.Error()
	}
	if why != "" {
		return steps.Verdict{Grade: steps.Inconclusive, Code: steps.NotRunToEnd, Reason: why}
	}
	result := steps.Result{Rig: rig, Stages: []steps.Stage{r.stage(ctx, rig, pair)}}
	v := r.judge(result)
	if v.Grade != steps.Pass && ctx.Err() == nil {
		p.keep(fmt.Sprintf("%s from %s to %s, rail %d: %s: %s", what, rig.At(steps.Here).Name, rig.At(steps.Peer).Name,
			pair+1, v.Grade, v.Reason), r.held)
	}
	return v
}

// keep has what a test printed written down.
func (p *pairing) keep(title string, held *heldLines) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log == nil {
		return
	}
	p.log(steps.OutputLine{Kind: steps.Note, Text: sanitize.Line(title)}, false)
	for _, l := range held.lines {
		p.log(l.OutputLine, l.cut)
	}
}

// A testLog is the file with the output of tests, which begins with the first of them.
type testLog struct {
	s    *Session
	file *logFile
	err  error // why there is none
}

func (l *testLog) add(line steps.OutputLine, cut bool) {
	if l.file == nil && l.err == nil {
		l.file, l.err = createLog(l.s.o.Logs, &run{s: l.s, cell: steps.Cell{ID: "pairs", Pairs: []string{}}})
	}
	if l.err == nil {
		l.file.add(line, cut)
	}
}

// close says where the file is; empty where nothing was added.
func (l *testLog) close() string {
	if l.file != nil && l.err == nil {
		l.err = l.file.close()
	}
	switch {
	case l.err != nil:
		return fmt.Sprintf("output of failed tests could not be saved: %v", l.err)
	case l.file != nil:
		return "output of failed tests: " + l.file.file.Name()
	}
	return ""
}

// record puts a verdict into the matrix.
func (p *pairing) record(what steps.Measure, at pairs.Pair, rail, beside int, v steps.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	c := p.m.At(what, rail, at.From, at.To)
	was := *c
	*c = pairs.Cell{Grade: v.Grade, Beside: uint16(beside)}
	if v.Grade != steps.Pass {
		c.Reason, c.Code = v.Reason, v.Code
	}
	for _, f := range v.Measured(what) {
		c.Value = float32(f.Value)
		p.m.Conditions.Add(f)
	}
	if p.again {
		if c.First = was.First; c.First == 0 {
			c.First = was.Value
		}
		c.Failed = v.Grade != steps.Fail && (was.Failed || was.Grade == steps.Fail)
		if c.Failed && c.Reason == "" && was.Reason != "" { // it is good now, and why it was not would be lost
			c.Reason = "At first: " + was.Reason
		}
	}
}
