package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// chosen are the links that a cell runs over, of all and of those from each node to the next; it says so where these
// are not all.
func (r *run) chosen(links, ring []steps.Link, looks bool) []steps.Link {
	nodes := len(r.s.o.Nodes)
	switch {
	case len(ring) == len(links), looks && nodes <= allLinksUpTo,
		looks && r.cell.Check.EveryPair && nodes <= everyPairUpTo:
		return links
	case looks && r.cell.Check.EveryPair:
		all := ring
		for _, l := range r.seen.rig.Doubled() {
			if !slices.Contains(ring, l) {
				all = append(all, l)
			}
		}
		r.tell("over %d of %d links: each node to the next and to those in a shared subnet", len(all), len(links))
		return all
	case looks:
		r.tell("over %d of %d links, each node to the next", len(ring), len(links))
	default:
		r.tell("over %d of %d links, each node to the next; testing all would take %.1f times "+
			"as long",
			len(ring), len(links), float64(len(links))/float64(len(ring)))
	}
	return ring
}

// everyLink runs a check, or what looks at every node, over the links of a rig of more than two nodes and folds what
// they came to. One that moves data goes around the nodes, over as many links as there are nodes and half of them at
// once: each port's way is tried both as here and as the peer. With many nodes so does every other
// one: what each says of itself is seen twice, and what differs anywhere differs between two neighbours.
func (r *run) everyLink(ctx context.Context) (steps.Result, steps.Verdict) {
	looks := onlyLooks(r.cell)
	if r.seen == nil {
		seen := r.s.look(ctx, fresh)
		r.seen = &seen
	}
	links, ring := r.seen.rig.Cabled()
	if looks {
		r.gather(ctx, ring)
	}
	links = r.chosen(links, ring, looks)
	var all steps.Result
	var told []linkVerdict
	keep := func(result steps.Result) {
		if all.Rig.Nodes == nil {
			all.Rig = result.Rig
		}
		all.Stages = append(all.Stages, r.s.renumbered(result)...)
	}
	if !looks {
		results, told := r.inRounds(ctx, links)
		for _, result := range results {
			keep(result)
		}
		return all, foldLinks(told)
	}
	for _, l := range links {
		if ctx.Err() != nil && told != nil {
			break
		}
		r.tell("link %s", r.ends(l))
		result, v := r.overLink(ctx, l)
		told = append(told, linkVerdict{r.ends(l), v})
		keep(result)
	}
	return all, foldLinks(told)
}

// allLinksUpTo is how many nodes are compared each with each: 28 pairs of them.
const allLinksUpTo = 8

// everyPairUpTo is how many nodes a check of each two does compare so: 2,016 pairs. Of more, those that have
// something in common were found by looking at them.
const everyPairUpTo = 64

// askedAtOnce is how many nodes a check asks at a time.
const askedAtOnce = 32

// asking is a script as one node was asked it.
type asking struct {
	node   int // its number
	script string
}

// A gathering is a script that one node runs for all of its links.
type gathering struct {
	rig   steps.Rig
	end   steps.End
	role  steps.Role
	asked runner.Script
	out   steps.Output
}

// gatherings are the scripts of a cell on every node of a ring, each once.
func (r *run) gatherings(ring []steps.Link) (tasks []*gathering) {
	r.gathered = map[asking]steps.Output{}
	for _, link := range ring {
		rig, err := r.seen.over(r.s.o, link)
		if err != nil || r.missing(rig) != "" || r.lacksRails(rig) != "" || r.bonded(rig) != nil {
			continue
		}
		plan := r.plan(rig)
		if plan.Refuse+plan.Nothing != "" {
			continue
		}
		for _, e := range steps.Ends {
			r.vars[e] = map[string]string{"RUN": r.name}
			maps.Copy(r.vars[e], plan.Vars[e])
		}
		for _, role := range r.cell.Roles {
			for _, e := range steps.Ends {
				t := &gathering{rig: rig, end: e, role: role, asked: r.script(rig, -1, role, e, r.limit())}
				key := asking{rig.At(e).No, t.asked.Text()}
				if _, ok := r.gathered[key]; ok {
					continue
				}
				r.gathered[key] = steps.Output{}
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// gather asks every node once, side by side, what a check asks both ends of a link: what a node
// says of itself it need not say for each link that it is at, and what is compared between nodes
// was said at the same time. What names the peer is asked over each link of the ring so, and over
// another one by that link itself.
func (r *run) gather(ctx context.Context, ring []steps.Link) {
	c := r.cell
	if r.s.o.refuses(c, r.params) != "" || c.EachRail || c.Counters || len(c.With) > 0 || c.Own != "" {
		return
	}
	if slices.ContainsFunc(c.Roles, func(role steps.Role) bool { return len(role.On.Ends()) != len(steps.Ends) }) {
		return
	}
	tasks := r.gatherings(ring)
	next := make(chan *gathering, len(tasks))
	for _, t := range tasks {
		next <- t
	}
	close(next)
	atOnce(ctx, r.s.clock, min(askedAtOnce, len(tasks)), func(ctx context.Context, _ int) {
		for t := range next {
			t.out = r.ask(ctx, t.rig, t.role, t.end, t.asked, nil)
		}
	})
	for _, t := range tasks {
		r.gathered[asking{t.rig.At(t.end).No, t.asked.Text()}] = t.out
	}
}

// linkEnds are the names of the nodes at the ends of a link.
type linkEnds [2]string

func (e linkEnds) String() string { return e[0] + ":" + e[1] }

type linkVerdict struct {
	link linkEnds
	steps.Verdict
}

// mostReasons is how many reasons one verdict has: each of many links may have its own figures.
const mostReasons = 4

// mostFindings is how many of a grade are listed.
const mostFindings = 16

// foldLinks makes one verdict of a check's, a link each. SKIPPED everywhere is SKIPPED; otherwise the worst counts, and
// then what is less wrong elsewhere. What several links found, as they do of a node that they share, is one finding.
func foldLinks(told []linkVerdict) steps.Verdict {
	var v steps.Verdict
	for _, t := range told {
		v.Grade = v.Grade.Worst(t.Grade)
		for _, f := range t.Advice {
			if !slices.ContainsFunc(v.Advice, func(x steps.Found) bool { return x.Code == f.Code && x.Text == f.Text }) {
				v.Advice = append(v.Advice, f)
			}
		}
	}
	many := len(nodesOf(told)) > allLinksUpTo
	v.Code, v.Codes = foldCodes(told, v.Grade)
	v.Evidence = evidenceOf(told, v.Grade, many)
	v.Tables = foldTables(told, v.Grade, many)
	v.Node, v.Devices = nodeAt(told, v.Grade), devicesAt(told, v.Grade)
	// A node that can't be looked at says nothing of those at the other ends of its links.
	var dead, ill []string
	if v.Grade > steps.Inconclusive {
		dead = outliers(told, steps.Inconclusive)
	}
	var found []steps.Found
	for g := v.Grade; g > steps.NotRun && (g == v.Grade || g > steps.Pass); g-- {
		rest := without(told, ill)
		if g != steps.Inconclusive {
			rest = without(rest, dead)
		}
		here, placed := foundAt(told, g)
		if odd := outliers(rest, g); g > steps.Pass && len(odd) > 0 && (!placed || g == v.Grade) {
			here, ill = []steps.Found{standOut(rest, odd, g)}, append(ill, odd...)
			if g == v.Grade && len(odd) == 1 {
				v.Node = odd[0]
			}
		}
		found = append(found, here...)
	}
	v.Reason, v.Findings = registry.Reason(found)
	return v
}

// foldCodes are the causes of all links, the worst first.
func foldCodes(told []linkVerdict, worst steps.Grade) (steps.Code, []steps.Code) {
	if worst == steps.Skipped {
		return told[0].Code, nil
	}
	var codes []steps.Code
	for g := worst; g > steps.Pass; g-- {
		for _, t := range told {
			if t.Grade == g {
				codes = append(append(codes, t.Code), t.Codes...)
			}
		}
	}
	return steps.Causes(codes)
}

// evidenceOf is all evidence once; of many links that of those that decide.
func evidenceOf(told []linkVerdict, worst steps.Grade, many bool) []steps.Evidence {
	all := []steps.Evidence{}
	grades := map[string]steps.Grade{} // the worst grade of the links that say it, by evidence
	for _, t := range told {
		for _, e := range t.Evidence {
			grade, ok := grades[evidenceKey(e)]
			if !ok {
				all = append(all, e)
			}
			grades[evidenceKey(e)] = grade.Worst(t.Grade)
		}
	}
	return foldEvidence(all, func(e steps.Evidence) bool { return many && grades[evidenceKey(e)] != worst })
}

// foldTables are the pictures of each link, or of some that decided; tables of nodes are one.
func foldTables(told []linkVerdict, worst steps.Grade, many bool) (all []steps.Table) {
	for _, t := range told {
		for _, table := range t.Tables {
			switch at := slices.IndexFunc(all, table.Extends); {
			case table.OfNodes() && at >= 0:
				all[at] = all[at].With(table)
			case table.OfNodes() || !many || t.Grade == worst && len(all) < mostReasons:
				all = append(all, table)
			}
		}
	}
	return all
}

// nodeAt is the node that all links of a grade are about; empty where that is not one.
func nodeAt(told []linkVerdict, g steps.Grade) (node string) {
	for _, t := range told {
		if t.Grade == g {
			if node != "" && t.Node != node {
				return ""
			}
			node = t.Node
		}
	}
	return node
}

// devicesAt are the RDMA devices that links of a grade are about.
func devicesAt(told []linkVerdict, g steps.Grade) (devs []string) {
	for _, t := range told {
		for _, dev := range t.Devices {
			if t.Grade == g && !slices.Contains(devs, dev) {
				devs = append(devs, dev)
			}
		}
	}
	return devs
}

// A linkFinding is what links found alike: the same cause in the same words, but for the node that it is about.
type linkFinding struct {
	steps.Found
	links []linkEnds
	over  map[string]int // over how many links it was found, by the node that it is about
}

// linkFindings are the findings of a grade in their order, with where each was found.
func linkFindings(told []linkVerdict, g steps.Grade) (all []*linkFinding) {
	type key struct {
		code steps.Code
		text string
	}
	at := map[key]*linkFinding{}
	for _, t := range told {
		for _, f := range t.found(g) {
			k := key{f.Code, cmp.Or(f.Like, f.Text)}
			x := at[k]
			if x == nil {
				x = &linkFinding{Found: f, over: map[string]int{}}
				all, at[k] = append(all, x), x
			}
			if !slices.Contains(x.links, t.link) {
				x.links = append(x.links, t.link)
			}
			if f.Node != "" {
				x.over[f.Node]++
			}
		}
	}
	return all
}

// found are a link's findings of a grade; the reason, where its judge made no report.
func (t linkVerdict) found(g steps.Grade) (all []steps.Found) {
	for _, f := range t.All {
		if f.Grade == g && g > steps.Pass && t.Grade > steps.Pass {
			all = append(all, f)
		}
	}
	if all == nil && t.Grade == g {
		all = append(all, steps.Found{Grade: g, Code: t.Code, Text: t.Reason, Node: t.Node, Devices: t.Devices})
	}
	return all
}

// onNodes is a finding that is about some nodes.
func onNodes(f steps.Found, nodes []string) steps.Found {
	node := f.Node
	f.Node = ""
	switch {
	case len(nodes) == 1:
		// That its links have one node in common may not be in its text.
		if f.Node = nodes[0]; node == "" && !slices.Contains(f.Names, f.Node) {
			f.Text = f.Node + ": " + f.Text
		}
	case f.OnNode:
		slices.Sort(nodes)
		who := named(nodes)
		if len(nodes) <= sayAlike {
			who = registry.And(nodes)
		}
		f.Text = registry.OnNodes(f, who)
	default:
		f.Text += fmt.Sprintf(" The same applies to %s.", named(nodes[1:]))
	}
	return f
}

// foundAt are the findings of a grade, each with its place: the nodes that it is about, where it was found over all
// links that they have, or the links; placed is true where all are about nodes. What is well says each link of its own
// nodes: the first stands for all.
func foundAt(told []linkVerdict, g steps.Grade) (all []steps.Found, placed bool) {
	findings := linkFindings(told, g)
	of := map[string]int{} // how many links a node has
	for _, t := range told {
		of[t.link[0]]++
		of[t.link[1]]++
	}
	if len(findings) > 1 && g == steps.Pass &&
		!slices.ContainsFunc(told, func(t linkVerdict) bool { return t.Grade != g }) {
		return []steps.Found{{Grade: g, Text: fmt.Sprintf("%s: %s The same applies to each of %d links, "+
			"with its own nodes and values.", findings[0].links[0], findings[0].Text, len(told))}}, false
	}
	placed = len(findings) > 0
	for i, x := range findings {
		if i == mostFindings {
			left := registry.Count(len(findings)-i, "finding", "findings")
			return append(all, steps.Found{Grade: g, Code: x.Code, Text: "See the evidence for " + left + " more."}), placed
		}
		f, whole := x.Found, len(x.links) == len(told)
		nodes := x.about(of, g > steps.Pass && !whole)
		switch {
		case len(told) == 1:
		case len(nodes) > 0:
			f = onNodes(f, nodes)
		case whole:
			f.Text += fmt.Sprintf(" The same applies to each of %d links.", len(told))
		default:
			f.Text = listed(x.links) + ": " + f.Text
		}
		placed = placed && len(nodes) > 0
		all = append(all, f)
	}
	return all, placed
}

// about are the nodes that a finding is about. A judge that names none found it at the node whose links it was found
// over, all of them and no other.
func (x *linkFinding) about(of map[string]int, shared bool) (nodes []string) {
	for _, node := range x.links[0] {
		at := func(l linkEnds) bool { return l[0] == node || l[1] == node }
		if shared && len(x.over) == 0 && len(x.links) > 1 && len(x.links) == of[node] &&
			!slices.ContainsFunc(x.links, func(l linkEnds) bool { return !at(l) }) {
			return []string{node}
		}
	}
	for node, n := range x.over {
		if n != of[node] {
			return nil // over another one of its links it is not so
		}
		if node != x.Node {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	if x.Node != "" { // whom the text names
		nodes = slices.Insert(nodes, 0, x.Node)
	}
	return nodes
}

// mostListed is how many links of one reason are named.
const mostListed = 6

// listed names links: all, or the first and how many more.
func listed(links []linkEnds) string {
	var names []string
	for _, l := range links[:min(len(links), mostListed)] {
		names = append(names, l.String())
	}
	if len(links) <= mostListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more links", strings.Join(names[:mostListed-1], ", "), len(links)-mostListed+1)
}

// outliers are the nodes that explain a grade: their links to all others have it, no link between two others has it,
// and they are fewer than the others. Three nodes have no majority that would be worth the name. Several that have
// the same wrong thing agree with each other, so what each says of itself is asked first.
func outliers(told []linkVerdict, g steps.Grade) []string {
	nodes := nodesOf(told)
	if len(nodes) <= 3 {
		return nil
	}
	for _, find := range []func([]linkVerdict, []string, steps.Grade) []string{differing, disagreeing, everywhere} {
		ill := find(told, nodes, g)
		if len(ill) > 0 && 2*len(ill) < len(nodes) && explain(told, ill, g) {
			return ill
		}
	}
	return nil
}

// explain reports whether no link between others has the grade, and each that leads from these to others has it.
func explain(told []linkVerdict, ill []string, g steps.Grade) bool {
	is := set(ill)
	return !slices.ContainsFunc(told, func(t linkVerdict) bool {
		a, b := is[t.link[0]], is[t.link[1]]
		return !a && !b && t.Grade == g || a != b && t.Grade != g
	})
}

// differing are the nodes that say something else of themselves than most, where all of their links to those have the
// grade.
func differing(told []linkVerdict, nodes []string, g steps.Grade) (ill []string) {
	all := map[string]bool{}
	values := saidOf(told)
	for _, name := range values.names {
		who, _ := values.who(name, nodes)
		var most []string
		for _, same := range who {
			if len(same) > len(most) {
				most = same
			}
		}
		if values.unclear[name] || who[""] != nil || 2*len(most) <= len(nodes) {
			continue
		}
		is := set(most)
		if !slices.ContainsFunc(told, func(t linkVerdict) bool { return is[t.link[0]] != is[t.link[1]] && t.Grade != g }) {
			for _, node := range nodes {
				all[node] = all[node] || !is[node]
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return !all[node] })
}

// disagreeing are the nodes that differ from the one that differs from fewest, where each is compared with each.
func disagreeing(told []linkVerdict, nodes []string, g steps.Grade) []string {
	if 2*len(told) != len(nodes)*(len(nodes)-1) {
		return nil
	}
	from := map[string]map[string]bool{}
	for _, node := range nodes {
		from[node] = map[string]bool{}
	}
	for _, t := range told {
		if t.Grade == g {
			from[t.link[0]][t.link[1]], from[t.link[1]][t.link[0]] = true, true
		}
	}
	well := slices.MinFunc(nodes, func(a, b string) int { return len(from[a]) - len(from[b]) })
	return slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return !from[well][node] })
}

// everywhere are the nodes of which all links have the grade, but for those that have links to such ones alone.
func everywhere(told []linkVerdict, nodes []string, g steps.Grade) []string {
	well := map[string]bool{}
	for _, t := range told {
		if t.Grade != g {
			well[t.link[0]], well[t.link[1]] = true, true
		}
	}
	ill := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return well[node] })
	between := enclosed(told, nodes, ill)
	return slices.DeleteFunc(ill, func(node string) bool { return slices.Contains(between, node) })
}

// enclosed are the nodes that have links only to some others: if those are faulty, the state of these is
// unknown.
func enclosed(told []linkVerdict, nodes, by []string) []string {
	is, open := set(by), map[string]bool{}
	for _, t := range told {
		open[t.link[0]] = open[t.link[0]] || !is[t.link[1]]
		open[t.link[1]] = open[t.link[1]] || !is[t.link[0]]
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return open[node] })
}

// without are the links at which none of these nodes is.
func without(told []linkVerdict, nodes []string) []linkVerdict {
	if len(nodes) == 0 {
		return told
	}
	is := set(nodes)
	return slices.DeleteFunc(slices.Clone(told), func(t linkVerdict) bool { return is[t.link[0]] || is[t.link[1]] })
}

func set(names []string) map[string]bool {
	is := map[string]bool{}
	for _, name := range names {
		is[name] = true
	}
	return is
}

// nodesOf are all nodes that the links have, in their order.
func nodesOf(told []linkVerdict) (nodes []string) {
	seen := map[string]bool{}
	for _, t := range told {
		for _, node := range t.link {
			if !seen[node] {
				seen[node] = true
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}

// sayAlike is from how many nodes equal items are folded into one.
const sayAlike = 3

// foldEvidence folds items of evidence that several nodes have in common: spark-[01-03] rocep1s0f0 is what becomes of
// three items. Items of few nodes are left out if drop says so:
// those of the healthy links would hide the others.
func foldEvidence(all []steps.Evidence, drop func(steps.Evidence) bool) []steps.Evidence {
	type said struct {
		names []string
		at    int // the first item, in all
	}
	alike := map[string]*said{}
	of := func(e steps.Evidence) (key string) { // empty where it is of no node
		if e.Node == "" {
			return ""
		}
		e.Node, e.Name = "", e.OnNode()
		text, err := json.Marshal(e)
		if err != nil {
			return ""
		}
		return string(text)
	}
	for i, e := range all {
		if key := of(e); key != "" {
			if alike[key] == nil {
				alike[key] = &said{at: i}
			}
			alike[key].names = append(alike[key].names, e.Node)
		}
	}
	folded := []steps.Evidence{}
	for i, e := range all {
		if s := alike[of(e)]; s != nil && len(s.names) >= sayAlike {
			if s.at != i {
				continue
			}
			e.Node, e.Name = "", named(slices.Sorted(slices.Values(s.names)))+" "+e.OnNode()
		} else if drop(e) {
			continue
		}
		folded = append(folded, e)
	}
	return folded
}

// standOut says of each outlier that it is one, and what one of its links came to.
func standOut(told []linkVerdict, ill []string, g steps.Grade) steps.Found {
	f := steps.Found{Grade: g}
	if len(ill) == 1 {
		f.Node = ill[0]
	}
	var all []string
	is := set(ill)
	for _, node := range ill[:min(mostReasons, len(ill))] {
		at, links, which := linkVerdict{}, 0, ""
		for _, t := range told {
			switch {
			case !slices.Contains(t.link[:], node):
			case t.Grade != g: // to another one that has the same
				which = " to the others"
			default:
				links++
				// A link to a healthy node shows what is wrong with this one: those are the majority.
				if at.Grade != g || is[at.link[0]] && is[at.link[1]] {
					at = t
				}
			}
		}
		f.Code = cmp.Or(f.Code, at.Code)
		all = append(all, fmt.Sprintf("%s at each of its %d links%s: %s: %s", node, links, which, at.link, at.Reason))
	}
	if len(ill) > mostReasons {
		all = append(all, fmt.Sprintf("The same applies to each link of %s.", named(ill[mostReasons:])))
	}
	if between := enclosed(told, nodesOf(told), ill); len(between) > 0 {
		all = append(all, fmt.Sprintf("%s %s links to these alone.", named(between), has(len(between))))
	}
	f.Text = apart(told, nodesOf(told), ill) + strings.Join(all, " ") + " All other links are better."
	return f
}

// mostNames is how long a list of names may be, in bytes: long lists of names that don't follow each other
// are not read.
const mostNames = 200

// named are names folded, and where that is long the first of them and how many more.
func named(names []string) string {
	const few = 8
	folded := nodeset.Fold(names)
	if len(folded) <= mostNames || len(names) <= few {
		return folded
	}
	return fmt.Sprintf("%s and %d more", nodeset.Fold(names[:few]), len(names)-few)
}

// What nodes say of themselves: values are by what they are of, and by node.
type sayings struct {
	names   []string
	values  map[string]map[string]string
	unclear map[string]bool // who says one thing over one link and another over another
}

func saidOf(told []linkVerdict) sayings {
	s := sayings{values: map[string]map[string]string{}, unclear: map[string]bool{}}
	for _, t := range told {
		for _, e := range t.Evidence {
			node, name := e.Node, e.OnNode()
			if node == "" {
				continue
			}
			if s.values[name] == nil {
				s.values[name] = map[string]string{}
				s.names = append(s.names, name)
			}
			value := owned(e)
			s.unclear[name] = s.unclear[name] || s.values[name][node] != "" && s.values[name][node] != value
			s.values[name][node] = value
		}
	}
	return s
}

// who says what; of are the values by node.
func (s sayings) who(name string, nodes []string) (who map[string][]string, of map[string]string) {
	who, of = map[string][]string{}, s.values[name]
	for _, node := range nodes {
		who[of[node]] = append(who[of[node]], node)
	}
	return who, of
}

// apart says what outliers have, and all other nodes have alike: "eth0 MTU: 7 of 8 have 9,000 bytes, spark-03
// has 1,500 bytes. " It comes from the nodes' own evidence; empty if nothing separates them.
func apart(told []linkVerdict, nodes, ill []string) string {
	said := saidOf(told)
	one := nodes[slices.IndexFunc(nodes, func(n string) bool { return !slices.Contains(ill, n) })]
	var texts []string
	of := map[string][]string{} // what each text is of: the same may hold of several rails
	for _, name := range said.names {
		who, values := said.who(name, nodes)
		well := values[one]
		odd := slices.DeleteFunc(slices.Clone(ill), func(node string) bool { return values[node] == well })
		if said.unclear[name] || who[""] != nil || len(odd) == 0 || len(who[well]) != len(nodes)-len(odd) {
			continue
		}
		said := []string{fmt.Sprintf("%d of %d have %s", len(who[well]), len(nodes), well)}
		for _, node := range odd {
			if value := values[node]; who[value][0] == node {
				said = append(said, fmt.Sprintf("%s %s %s", named(who[value]), has(len(who[value])), value))
			}
		}
		if left := len(said) - 1 - mostReasons; left > 0 {
			said = append(said[:1+mostReasons], fmt.Sprintf("and there are %d more values", left))
		}
		text := strings.Join(said, ", ")
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], name)
	}
	var all strings.Builder
	for _, text := range texts[:min(mostReasons, len(texts))] {
		fmt.Fprintf(&all, "%s: %s. ", strings.Join(of[text], ", "), text)
	}
	return all.String()
}

// owned is a value with its unit, if it has one; a missing value has none.
func owned(e steps.Evidence) string {
	text := fmt.Sprint(e.Value)
	if v, ok := e.Number(); ok && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		text = steps.Thousands(int(v))
	}
	switch {
	case text == "missing":
		return "none"
	case text == "" || text[0] < '0' || text[0] > '9':
		return text
	}
	return strings.TrimSpace(text + " " + e.Unit)
}

func has(n int) string { return registry.Plural(n, "has", "have") }

// evidenceKey is the same for evidence that says the same.
func evidenceKey(e steps.Evidence) string {
	return e.Name + "\x00" + e.Unit + "\x00" + fmt.Sprint(e.Value)
}

// renumbered are a result's stages with the ends of the rig as the session has it: what
// ran over another link has its own order of nodes.
func (s *Session) renumbered(result steps.Result) []steps.Stage {
	order := s.currentLink().Reorder(len(s.o.Nodes))
	end := func(e steps.End) steps.End { return steps.End(max(0, slices.Index(order, result.Rig.At(e).No))) }
	for _, st := range result.Stages {
		for i := range st.Outputs {
			st.Outputs[i].End = end(st.Outputs[i].End)
		}
		for i := range st.Bytes {
			st.Bytes[i].End = end(st.Bytes[i].End)
		}
	}
	return result.Stages
}
