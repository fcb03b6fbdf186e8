package session

import (
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
	"github.com/railbench/railbench/steps/lazyregexp"
)

// everyLink runs a check, or what looks at every node, over the links of a rig of more than two nodes and folds what
// they came to. One that moves data goes around the nodes, over as many links as there are nodes and half of them at
// once: each port's way is tried both as here and as the peer. With many nodes so does every other
// one: what each says of itself is seen twice, and what differs anywhere differs between two neighbours.
func (r *run) everyLink(ctx context.Context) (steps.Result, steps.Verdict) {
	nodes := len(r.s.o.Nodes)
	looks := onlyLooks(r.cell)
	if r.seen == nil {
		seen := r.s.look(ctx, fresh)
		r.seen = &seen
	}
	links, ring := r.seen.rig.Cabled()
	if looks {
		r.gather(ctx, ring)
	}
	switch {
	case len(ring) == len(links), looks && nodes <= allLinksUpTo,
		looks && r.cell.Check.EveryPair && nodes <= everyPairUpTo:
	case looks && r.cell.Check.EveryPair:
		every := len(links)
		links = ring
		for _, l := range r.seen.rig.Doubled() {
			if !slices.Contains(ring, l) {
				links = append(links, l)
			}
		}
		r.tell("over %d of %d links: each node to the next and to those in a shared subnet", len(links),
			every)
	case looks:
		r.tell("over %d of %d links, each node to the next", len(ring), len(links))
		links = ring
	default:
		r.tell("over %d of %d links, each node to the next; testing all would take %.1f times "+
			"as long",
			len(ring), len(links), float64(len(links))/float64(len(ring)))
		links = ring
	}
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

// askedAtOnce is how many nodes a check asks beside each other.
const askedAtOnce = 32

// asking is a script as one node was asked it.
type asking struct {
	node   int // its number
	script string
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
	type task struct {
		rig   steps.Rig
		end   steps.End
		role  steps.Role
		asked runner.Script
		out   steps.Output
	}
	var tasks []*task
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
		for _, role := range c.Roles {
			for _, e := range steps.Ends {
				t := &task{rig: rig, end: e, role: role, asked: r.script(rig, -1, role, e, r.limit())}
				key := asking{rig.At(e).No, t.asked.Text()}
				if _, ok := r.gathered[key]; ok {
					continue
				}
				r.gathered[key] = steps.Output{}
				tasks = append(tasks, t)
			}
		}
	}
	next := make(chan *task, len(tasks))
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

// mostReasons is how many are told in one verdict: of many links each may have its own figures.
const mostReasons = 4

// foldLinks makes one verdict of a check's, a link each. SKIPPED everywhere is SKIPPED;
// otherwise the worst counts, and is told with its link, and then what is less wrong elsewhere.
// What several links say in the same words, as they do of a node that they share, is told once.
func foldLinks(told []linkVerdict) steps.Verdict {
	v := steps.Verdict{Evidence: []steps.Evidence{}}
	worst := map[string]steps.Grade{} // the worst grade of the links that say it, by evidence
	for _, t := range told {
		v.Grade = v.Grade.Worst(t.Grade)
		for _, e := range t.Evidence {
			grade, ok := worst[evidenceKey(e)]
			if !ok {
				v.Evidence = append(v.Evidence, e)
			}
			worst[evidenceKey(e)] = grade.Worst(t.Grade)
		}
		for _, f := range t.Advice {
			if !slices.Contains(v.Advice, f) {
				v.Advice = append(v.Advice, f)
			}
		}
	}
	var codes []steps.Code
	for g := v.Grade; g > steps.Pass; g-- {
		for _, t := range told {
			if t.Grade == g {
				codes = append(append(codes, t.Code), t.Codes...)
			}
		}
	}
	v.Code, v.Codes = steps.Causes(codes)
	if v.Grade == steps.Skipped && len(told) > 0 {
		v.Code = told[0].Code
	}
	nodes := nodesOf(told)
	many := len(nodes) > allLinksUpTo
	v.Evidence = foldEvidence(v.Evidence, nodes,
		func(e steps.Evidence) bool { return many && worst[evidenceKey(e)] != v.Grade })
	for _, t := range told { // a picture of each link, or of some that decided
		for _, table := range t.Tables {
			switch at := slices.IndexFunc(v.Tables, table.Extends); {
			case table.OfNodes() && at >= 0:
				v.Tables[at] = v.Tables[at].With(table)
			case table.OfNodes() || !many || t.Grade == v.Grade && len(v.Tables) < mostReasons:
				v.Tables = append(v.Tables, table)
			}
		}
	}
	// A verdict is about one node where all links that have this grade name the same one:
	// that is the node that they share.
	node, several := "", false
	for _, t := range told {
		if t.Grade == v.Grade {
			several = several || node != "" && t.Node != node
			node = t.Node
		}
	}
	if !several {
		v.Node = node
	}
	// A node that can't be looked at says nothing of those at the other ends of its links.
	var dead []string
	if v.Grade > steps.Inconclusive {
		dead = outliers(told, steps.Inconclusive)
	}
	rest := without(told, dead)
	ill := outliers(rest, v.Grade)
	if v.Grade >= steps.Warn && len(ill) > 0 {
		v.Reason = standOut(rest, ill, v.Grade)
		if len(ill) == 1 {
			v.Node = ill[0]
		}
	} else {
		left := 0
		if v.Reason, left = reasonsAt(told, v.Grade); left > 0 {
			v.Reason += fmt.Sprintf(" Over %d more links there are others; see the evidence.", left)
		}
	}
	// What is worse somewhere hides nothing that is amiss elsewhere.
	for g := v.Grade; g > steps.Warn; g-- {
		less, left := reasonsAt(told, g-1)
		if _, ok := nodeFacts(told, g-1); !ok {
			if rest = without(told, ill); g-1 != steps.Inconclusive {
				rest = without(rest, dead)
			}
			if odd := outliers(rest, g-1); len(odd) > 0 {
				less, left = standOut(rest, odd, g-1), 0
				ill = append(ill, odd...)
			}
		}
		if less != "" {
			v.Reason += fmt.Sprintf(" And %s, %s", g-1, less)
		}
		if left > 0 {
			v.Reason += fmt.Sprintf(" Over %d more links there are others.", left)
		}
	}
	return v
}

// reasonsAt are the reasons of the links that have a grade, each with its links, and no more than a few; left is how
// many links have others. Empty where no link has the grade.
func reasonsAt(told []linkVerdict, g steps.Grade) (text string, left int) {
	if text, ok := nodeFacts(told, g); ok {
		return text, 0
	}
	var reasons []string
	links := map[string][]string{}
	for _, x := range grouped(told, g) {
		said, whole := x.says(g >= steps.Warn)
		if len(x.links) == len(told) && (whole || g <= steps.Pass) {
			switch {
			case !whole: // behind it: a narrow screen shows how it begins
				return fmt.Sprintf("%s: %s The same applies to each of %d links, with its own nodes and values.",
					x.links[0], said, len(told)), 0
			case len(told) > 1 && (ofTwo.Regexp().MatchString(said) ||
				said == x.reasons[0] && counts.Regexp().MatchString(said)):
				return fmt.Sprintf("%s The same applies to each of %d links.", said, len(told)), 0
			}
			return said, 0
		}
		if whole {
			if links[said] == nil { // of a node that is first in one link and second in another
				reasons = append(reasons, said)
			}
			links[said] = append(links[said], x.links...)
			continue
		}
		for _, t := range told {
			if t.Grade != g || !slices.Contains(x.reasons, t.Reason) {
				continue
			}
			if links[t.Reason] == nil {
				reasons = append(reasons, t.Reason)
			}
			links[t.Reason] = append(links[t.Reason], t.link.String())
		}
	}
	for i, reason := range reasons {
		if reasons[i] = listed(links[reason]) + ": " + reason; i >= mostReasons {
			left += len(links[reason])
		}
	}
	return strings.Join(reasons[:min(mostReasons, len(reasons))], " "), left
}

// ofTwo is how a judge, who sees a link, speaks of its ends, and counts what it counts there: of more nodes it would be
// said of some two.
var (
	ofTwo  = lazyregexp.New(`(?i)\b(?:both|n?either)\b|\bthe other\b`)
	counts = lazyregexp.New(`(?:^|[\s(])\d`)
)

// mostListed is how many links of one reason are named.
const mostListed = 6

// listed names links: all, or the first and how many more.
func listed(links []string) string {
	if len(links) <= mostListed {
		return strings.Join(links, ", ")
	}
	return fmt.Sprintf("%s and %d more links", strings.Join(links[:mostListed-1], ", "), len(links)-mostListed+1)
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
	values := saidOf(told, nodes)
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

// enclosed are the nodes that have links to some others alone: where those are ill nothing tells how these are.
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

// sayAlike is how many nodes that say the same are told as one.
const sayAlike = 3

// foldEvidence tells once, of all nodes that say it, what several say of themselves: an item of
// evidence has its node's name first. spark-[01-03] rocep1s0f0 is what is left of three items. What
// few say is left out where drop says so: of many links, those that are well would hide the others.
func foldEvidence(all []steps.Evidence, nodes []string, drop func(steps.Evidence) bool) []steps.Evidence {
	type said struct {
		names []string
		at    int // the first item, in all
	}
	alike := map[string]*said{}
	known := map[string]bool{}
	for _, node := range nodes {
		known[node] = true
	}
	of := func(e steps.Evidence) (node, key string) {
		node, rest, _ := strings.Cut(e.Name, " ")
		if !known[node] {
			return "", ""
		}
		e.Name = rest
		text, err := json.Marshal(e)
		if err != nil {
			return "", ""
		}
		return node, string(text)
	}
	for i, e := range all {
		if node, key := of(e); node != "" {
			if alike[key] == nil {
				alike[key] = &said{at: i}
			}
			alike[key].names = append(alike[key].names, node)
		}
	}
	folded := []steps.Evidence{}
	for i, e := range all {
		node, key := of(e)
		if s := alike[key]; node != "" && len(s.names) >= sayAlike {
			if s.at != i {
				continue
			}
			e.Name = named(slices.Sorted(slices.Values(s.names))) + strings.TrimPrefix(e.Name, node)
		} else if drop(e) {
			continue
		}
		folded = append(folded, e)
	}
	return folded
}

// standOut says of each outlier that it is one, and what one of its links came to.
func standOut(told []linkVerdict, ill []string, g steps.Grade) string {
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
				// One to a node that is well tells what is the matter with this one: they are the majority.
				if at.Grade != g || is[at.link[0]] && is[at.link[1]] {
					at = t
				}
			}
		}
		all = append(all, fmt.Sprintf("%s at each of its %d links%s: %s: %s", node, links, which, at.link, at.Reason))
	}
	if len(ill) > mostReasons {
		all = append(all, fmt.Sprintf("The same applies to each link of %s.", named(ill[mostReasons:])))
	}
	if between := enclosed(told, nodesOf(told), ill); len(between) > 0 {
		all = append(all, fmt.Sprintf("%s %s links to these alone.", named(between), has(len(between))))
	}
	return apart(told, nodesOf(told), ill) + strings.Join(all, " ") + " All other links are better."
}

// mostNames is how long a list of names may be, in bytes: what many nodes that don't follow each other are called
// nobody reads.
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

func saidOf(told []linkVerdict, nodes []string) sayings {
	s := sayings{values: map[string]map[string]string{}, unclear: map[string]bool{}}
	known := set(nodes)
	for _, t := range told {
		for _, e := range t.Evidence {
			node, name, _ := strings.Cut(e.Name, " ")
			if !known[node] {
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

// apart says what outliers have, and all other nodes alike: "eth0 MTU: 7 of 8 have 9,000 bytes, spark-03 has
// 1,500 bytes. " It is of what nodes say of themselves; empty where nothing tells them apart so.
func apart(told []linkVerdict, nodes, ill []string) string {
	said := saidOf(told, nodes)
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

// owned is a value as somebody has it: a word has no unit, and what is missing nobody has.
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

func has(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

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
