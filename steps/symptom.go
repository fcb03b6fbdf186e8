package steps

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// What a user types is rarely what a tool prints. If no phrase of a check stands in a text, its words are
// compared: in any order, without their endings, with one name for things that have several, and with typing
// errors forgiven. Only text that was typed is read that way: a page of output contains every word somewhere.

const (
	mostTyped = 25 // words of a text that was typed
	leastSaid = 3  // words of a part of it that says something by itself
	leastHit  = 0.5
	// A check is named next to the best one if it comes this near to it.
	nearBest  = 0.7
	mostFound = 8
	// A word that one saying has weighs as one that some have: else a chance word decides.
	mostWeight = 3.5
	// With more sayings than these, words that many of them have would weigh as if they were rare.
	mostCounted = 480
	// A text whose words are scattered over the phrases of a saying means it at most so much: less than Sure.
	scattered = 0.7
	// A phrase that stands in a sentence by its words has at least so much weight, its words, as many as leastSaid,
	// are not farther apart than so many times their number, and a long one may lack so much.
	leastTold  = 5.2
	mostSpread = 2
	mostLacked = 0.25
	// With what its context says, so many words are in the sentence itself.
	leastHere = 2
)

// A Saying is what people say or a tool prints of something: phrases, in which * stands for anything, and the checks
// that could confirm it, the likeliest first. Its title is a phrase, too.
type Saying struct {
	Title           string
	Phrases, Checks []string
}

// A Meant is a saying that a text means.
type Meant struct {
	Saying int // its index
	// Score is from 0 to 1: how much of the text a phrase has, and how much of the phrase that is.
	Score float64
}

// Sure is the score from which a text means a saying, and does not only share some words with it.
const Sure = 0.75

// Sayings compares texts with phrases by the meanings of their words. A word that few sayings have weighs more.
type Sayings struct {
	all     []Saying
	words   lexicon
	phrases [][][]string   // by saying, as words
	told    [][][]term     // by saying, with what is denied
	plain   [][]string     // by saying, as they stand in a text
	in      map[string]int // of how many sayings a word is
	known   []string       // words whose slips are forgiven, in order
	weights map[string]float64
}

// NewSayings prepares some sayings.
func NewSayings(all []Saying) *Sayings {
	s := &Sayings{
		all: all, words: newLexicon(), phrases: make([][][]string, len(all)), told: make([][][]term, len(all)),
		plain: make([][]string, len(all)), in: map[string]int{},
	}
	for i, saying := range all {
		seen := map[string]bool{}
		for _, phrase := range append([]string{saying.Title}, saying.Phrases...) {
			terms := once(s.words.terms(phrase))
			of := meant(terms)
			s.phrases[i], s.plain[i] = append(s.phrases[i], of), append(s.plain[i], plain(phrase))
			s.told[i] = append(s.told[i], terms)
			for _, w := range of {
				if !seen[w] {
					seen[w] = true
					s.in[w]++
				}
			}
		}
	}
	s.weights = map[string]float64{}
	counted := float64(min(len(all), mostCounted))
	for w, n := range s.in {
		s.weights[w] = min(mostWeight, math.Log(1+counted/float64(n)))
	}
	s.known = slices.Concat(sortedKeys(s.in), sortedKeys(s.words.names))
	return s
}

func (s *Sayings) weight(w string) float64 {
	if known, ok := s.weights[w]; ok {
		return known
	}
	return 0.7 // unknown: it speaks against a saying a little
}

// Words is how many words of a text say anything.
func (s *Sayings) Words(text string) int { return len(s.words.meanings(text)) }

// Meanings are the words of a text that say anything, each once, without endings, and one for those that mean the same.
// What its figures say is left out.
func (s *Sayings) Meanings(text string) []string { return meant(s.words.split(text)) }

// Meant lists the sayings that a text means, the best first. A long text means none: every word stands somewhere in it.
func (s *Sayings) Meant(text string) []Meant {
	asked := s.words.meanings(text)
	if len(asked) == 0 || len(asked) > mostTyped {
		return nil
	}
	parts := [][]string{asked}
	for _, clause := range clauses(text) {
		if said := s.words.meanings(clause); len(said) >= leastSaid && len(said) < len(asked) {
			parts = append(parts, said)
		}
	}
	scores := make([]float64, len(s.phrases))
	for _, said := range parts {
		for i, w := range said {
			said[i] = s.spelled(w)
		}
		for i, phrases := range s.phrases {
			for _, p := range phrases {
				scores[i] = max(scores[i], alike(said, p, s.weight))
			}
			// Several of its phrases may have a word each: that alone is never sure.
			scores[i] = max(scores[i], scattered*sharedBy(said, slices.Concat(phrases...), s.weight))
		}
	}
	var found []Meant
	for i, score := range scores {
		if score >= leastHit {
			found = append(found, Meant{i, score})
		}
	}
	slices.SortStableFunc(found, func(a, b Meant) int { return cmp.Compare(b.Score, a.Score) })
	if len(found) > 0 {
		best := found[0].Score
		found = slices.DeleteFunc(found, func(m Meant) bool { return m.Score < nearBest*best })
	}
	return found[:min(len(found), mostFound)]
}

// Told lists the sayings of which a sentence has a whole phrase: its words in any order and near to each other, denied
// where the phrase denies them. Unlike Meant it forgives whatever else the sentence says. What a sentence is about may
// stand before it, in the context; the fault may not. The score is from 1 to 2, and grows with what the phrase says.
func (s *Sayings) Told(sentence, context string) (found []Meant) {
	// A word may stand in it twice: the phrase is looked for at the first places, and at the last ones.
	first, last, about := map[term]int{}, map[term]int{}, map[term]bool{}
	for i, t := range s.words.terms(sentence) {
		if _, ok := first[t]; !ok {
			first[t] = i
		}
		last[t] = i
	}
	for _, t := range s.words.terms(context) {
		about[t] = true
	}
	for i, phrases := range s.told {
		score := 0.0
		for _, p := range phrases {
			if len(p) >= leastSaid {
				score = max(score, s.tells(first, about, p), s.tells(last, about, p))
			}
		}
		if score >= leastTold {
			found = append(found, Meant{i, 2 * score / (score + leastTold)})
		}
	}
	return found
}

// faults are the meanings that a phrase may not lack: without them it says what is, not what is wrong.
var faults = strings.Fields("hang slow broken half gone drop fallback timeout crash wrong wait mismatch same spik " +
	"down onedirection regress limit unstabl fluctuat onerail instead")

// reports is the weight of a phrase whose words are at some places; 0 where they are not, or too far apart. A long
// phrase that names a fault may lack a word that is neither its rarest nor that fault.
func (s *Sayings) tells(at map[term]int, about map[term]bool, phrase []term) float64 {
	here, before, lacks, rarest, first, last, fault := 0, 0.0, 0.0, 0.0, math.MaxInt, 0, false
	has := 0.0
	for _, t := range phrase {
		w := s.weight(t.word)
		rarest = max(rarest, w)
		i, ok := at[t]
		isFault := t.denied || slices.Contains(faults, t.word)
		switch {
		case ok:
			has, first, last, fault, here = has+w, min(first, i), max(last, i), fault || isFault, here+1
		case about[t] && !isFault && before == 0:
			before = w // what it is about; two words would stand anywhere
		case lacks > 0 || isFault || len(phrase) == leastSaid:
			return 0
		default:
			lacks = w
		}
	}
	if lacks+before > 0 && !fault || before > 0 && (lacks > 0 || here < leastHere) || lacks == rarest ||
		lacks > mostLacked*(has+lacks) || last-first > mostSpread*len(phrase) {
		return 0
	}
	return has + before
}

// Of several checks of a saying, each is less likely than the one before it by this factor.
const nextCheck = 0.9

// suspects are the checks of the sayings that a text means, by how well they fit.
func (s *Sayings) suspects(text string) map[string]float64 {
	found := map[string]float64{}
	for _, m := range s.Meant(text) {
		for _, id := range s.all[m.Saying].Checks {
			found[id] = max(found[id], m.Score)
			m.Score *= nextCheck
		}
	}
	return found
}

// said are the checks of the sayings of which a text has a phrase: by the length of that phrase. Weak ones are those of
// which a text of several words has only short phrases, such as "slow".
func (s *Sayings) said(text string) (found map[string]float64, weak map[string]bool) {
	found, weak = map[string]float64{}, map[string]bool{}
	several := len(strings.Fields(text)) > 2
	text = plain(text)
	for i, phrases := range s.plain {
		most, long := 0, false
		for _, p := range phrases {
			if !says(text, p) {
				continue
			}
			long = long || strings.Contains(p, " ") || len(p) > 10
			if n := len(p); n > len(text) {
				most = max(most, len(text)*len(text)/n) // the text is a part of the phrase
			} else {
				most = max(most, n)
			}
		}
		if most == 0 {
			continue
		}
		score := float64(most)
		for _, id := range s.all[i].Checks {
			_, before := found[id]
			weak[id] = several && !long && (weak[id] || !before)
			found[id] = max(found[id], score)
			score *= nextCheck
		}
	}
	return found, weak
}

// clauses are the parts of a sentence: a user who describes what happened says more than the symptom.
func clauses(text string) []string {
	text = strings.NewReplacer(", ", "\n", "; ", "\n", ": ", "\n", ". ", "\n", " and ", "\n", " but ", "\n").Replace(text)
	return strings.Split(text, "\n")
}

// alike is from 0 to 1: how much of what was asked a phrase has, and how much of the phrase that is.
func alike(asked, phrase []string, weight func(string) float64) float64 {
	return sharedBy(asked, phrase, weight) * (0.4 + 0.6*sharedBy(phrase, asked, weight))
}

// sharedBy is how much of some words others have, by their weight.
func sharedBy(of, others []string, weight func(string) float64) float64 {
	has, all := 0.0, 0.0
	for _, w := range of {
		all += weight(w)
		if slices.Contains(others, w) {
			has += weight(w)
		}
	}
	if all == 0 {
		return 0
	}
	return has / all
}

// spelled is the known word that one was meant to be, or the word itself.
func (s *Sayings) spelled(word string) string {
	if s.in[word] > 0 || len(word) < 5 {
		return word
	}
	best, least := word, 2 // slips
	if len(word) < 8 {
		least = 1
	}
	for _, k := range s.known {
		if k[0] != word[0] || abs(len(k)-len(word)) > least || len(k) < 5 {
			continue
		}
		if d := distance(word, k); d <= least && (best == word || d < least) {
			best, least = k, d
		}
	}
	return cmp.Or(s.words.names[best], best)
}

func sortedKeys[T any](m map[string]T) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func abs(n int) int { return max(n, -n) }

// meanings are a text's words, each once: what several words say is one first, then what says
// nothing is left out, endings are cut off, and what has several names gets one.
func (l lexicon) meanings(text string) []string { return meant(l.terms(text)) }

func meant(terms []term) (all []string) {
	for _, t := range terms {
		all = append(all, t.word)
	}
	return once(all)
}

// once is each of some words, where it stands first.
func once[T comparable](of []T) (all []T) {
	for _, w := range of {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// A term is a word's meaning, and whether a word close before it denies it.
type term struct {
	word   string
	denied bool
}

// denies is for how many words that mean something a "no" or "not" counts.
const denies = 2

var (
	// onlyRate is a rate of which a person says that it is low, or asks whether it is right.
	aRate    = ` [~\d][\d.]* ?(?:g(?:b|bit|bits|ib|igabits?)?|m(?:b|ib|bit|bits))(?:ps|/s| per second|/sec)?\b`
	onlyRate = lazyregexp.New(`(?i)\b(?:(?:only|just|merely)(?: [\w']+){0,2}|(?:less|lower|smaller) than|` +
		`(?:can ?not|can't|couldn't|unable|never|not|don't)(?: [\w']+){0,4} ` +
		`(?:(?:more|greater|higher) than|beyond|above|over))` + aRate +
		`|\bis` + aRate + ` (?:ok|okay|normal|right|expected|reasonable)\b`)
	// otherRelease is one that a person compares with.
	otherRelease = lazyregexp.New(`(?i)\b(?:since|slower than|worse than|(?:rolled )?back to|down to|downgrad\w+ to|` +
		`up(?:grad|dat)\w+ (?:from|to)) (?:\w+ ){0,2}v?\d+\.\d+(?:\.\d+)?\b`)
	// one and two are words where they count things.
	counted = lazyregexp.New(`(?i)\b(only(?: us\w+)? 1 |1 (?:\w+ )?(?:node|server|machine|host|nic|port|hca|core|stream|` +
		`thread|adapter|card)\b|2 (?:\w+ )?(?:nodes|servers|machines|hosts|nics|ports|clients|adapters|cards)\b)`)
)

// terms are the meanings of a text, in its order.
func (l lexicon) terms(text string) []term {
	if strings.ContainsAny(text, "0123456789") {
		text = onlyRate.Regexp().ReplaceAllString(text, " low rate ")
		text = otherRelease.Regexp().ReplaceAllString(text, " regression ")
		text = counted.Regexp().ReplaceAllStringFunc(text, func(s string) string {
			return strings.NewReplacer("1 ", "one ", "2 ", "two ").Replace(s)
		})
	}
	return l.split(text)
}

// split makes the terms of a text, without those that its figures say.
func (l lexicon) split(text string) (all []term) {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			b.WriteRune(r)
		case strings.ContainsRune(",;:()", r):
			b.WriteString(" , ") // what is denied ends here
		default:
			b.WriteByte(' ')
		}
	}
	text = " " + strings.Join(strings.Fields(b.String()), " ") + " "
	for _, s := range sayings {
		text = strings.ReplaceAll(text, " "+s[0]+" ", " "+s[1]+" ")
	}
	denied := 0
	for w := range strings.FieldsSeq(text) {
		switch w {
		case "no", "not", "t", "without", "never", "cannot", "unable", "nor", "neither":
			denied = denies
		case ",", "but", "and", "while", "between", "when", "if", "after", "in", "on", "with", "at":
			denied = 0
		}
		if len(w) == 1 || l.empty[w] || !strings.ContainsFunc(w, unicode.IsLetter) || strings.HasPrefix(w, "0x") {
			continue // a number or a letter is not a word
		}
		w = stem(w)
		if name, ok := l.names[w]; ok {
			w = name
		}
		all = append(all, term{w, denied > 0})
		denied--
	}
	return all
}

// stem removes English endings. What it leaves is not a word, but the same for all forms of one.
func stem(w string) string {
	for _, e := range []struct{ end, by string }{
		{"ically", "ic"},
		{"ations", "at"},
		{"ation", "at"},
		{"ions", ""},
		{"ion", ""},
		{"ings", ""},
		{"ing", ""},
		{"ies", "y"},
		{"edly", ""},
		{"ed", ""},
		{"ly", ""},
		{"es", ""},
		{"s", ""},
		{"e", ""},
	} {
		if rest, ok := strings.CutSuffix(w, e.end); ok && len(rest) >= 3 && !(e.end == "s" && strings.HasSuffix(rest, "s")) {
			w = rest + e.by
			break
		}
	}
	if n := len(w); n > 4 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
		w = w[:n-1] // dropped, stopped
	}
	return w
}

// sayings are what several words say together.
var sayings = [][2]string{
	{"time out", "timeout"},
	{"times out", "timeout"},
	{"timed out", "timeout"},
	{"timing out", "timeout"},
	{"time outs", "timeout"},
	{"congestion window", "cwnd"},
	{"near zero", "slow"},
	{"next to nothing", "slow"},
	{"close to zero", "slow"},
	{"not faster", "same"},
	{"no faster", "same"},
	{"no gain", "same"},
	{"no better", "same"},
	{"no improvement", "same"},
	{"no speedup", "same"},
	{"shut down", "gone"},
	{"shuts down", "gone"},
	{"shutting down", "gone"},
	{"went away", "gone"},
	{"goes away", "gone"},
	{"used up", "full"},
	{"out of order", "disorder"},
	{"single rail", "one rail"},
	{"dual rail", "two rail"},
	{"multi rail", "two rail"},
	{"one rail", "onerail"},
	{"one link", "onerail"},
	{"one port", "onerail"},
	{"one interface", "onerail"},
	{"one physical interface", "onerail"},
	{"single port", "onerail"},
	{"single link", "onerail"},
	{"single interface", "onerail"},
	{"one slave", "onerail"},
	{"single slave", "onerail"},
	{"both rails", "two rail"},
	{"second rail", "two rail"},
	{"second link", "two rail"},
	{"both links", "two rail"},
	{"does not work", "broken"},
	{"doesn t work", "broken"},
	{"not working", "broken"},
	{"core dumped", "crash"},
	{"core dump", "crash"},
	{"seg fault", "crash"},
	{"no answer", "silent"},
	{"does not answer", "silent"},
	{"doesn t answer", "silent"},
	{"too hot", "heat"},
	{"not responding", "silent"},
	{"bad address", "badaddress"},
	{"in use", "busy"},
	{"network manager", "networkmanager"},
	{"fell back", "fallback"},
	{"falls back", "fallback"},
	{"fall back", "fallback"},
	{"tried different", "tried several"},
	{"try different", "try several"},
	{"do not work", "broken"},
	{"don t work", "broken"},
	{"did not work", "broken"},
	{"didn t work", "broken"},
	{"no longer works", "broken"},
	{"no longer work", "broken"},
	{"stopped working", "broken"},
	{"stops working", "broken"},
	{"never returns", "hang"},
	{"never finishes", "hang"},
	{"never completes", "hang"},
	{"gpu direct", "gpudirect"},
	{"queue pair", "qp"},
	{"queue pairs", "qp"},
	{"virtual machine", "vm"},
	{"virtual machines", "vm"},
	{"bare metal", "baremetal"},
	{"one direction", "onedirection"},
	{"single direction", "onedirection"},
	{"one way", "onedirection"},
	{"multi node", "multinode"},
	{"multiple nodes", "multinode"},
	{"multiple machines", "multinode"},
	{"across nodes", "multinode"},
	{"between nodes", "multinode"},
	{"inter node", "multinode"},
	{"cross node", "multinode"},
	{"nccl test", "nccltest"},
	{"nccl tests", "nccltest"},
	{"goes down", "drop"},
	{"go down", "drop"},
	{"goes over", "use"},
	{"go over", "use"},
}

// A lexicon is made on the first use: the start doesn't wait for it.
type lexicon struct {
	empty map[string]bool   // words that say nothing of what is wrong
	names map[string]string // one name for what has several; both are stems
}

func newLexicon() lexicon {
	l := lexicon{empty: map[string]bool{}, names: map[string]string{}}
	for w := range strings.FieldsSeq("a an the it its is are was were be been i my we our you your this that these " +
		"those of on in at to from lot lots count counts high by with for and or but as than then when while where which " +
		"what who why how do does did doesn t s not no can cannot could will would should has have had get gets got only " +
		"just very still always never after before over under between there here any some all more most much many every " +
		"each x if so up out without unable nor neither " +
		"want wants enough put puts give gives see sees being don zero based configurations") {
		l.empty[w] = true
	}
	for _, group := range []string{
		"rat bandwidth throughput speed perform performanc bandwith", //nolint:misspell // as it is often typed
		"gb gbit gbp gigabit",
		"slow slower low lower poor bad weak terribl degrad throttl wors few decreas reduc collaps",
		"hang stuck freez froz block stall deadlock hung",
		"wait silent noth forever endless", //nolint:misspell // a stem
		"spik jump jitter",
		"timeout",
		"connect conn reach",
		"same equal identical",
		"rail link lane cabl",
		"broken fail error refus den reject",
		"gone gon disappear lost los vanish miss missing unload dissapear", //nolint:misspell // as people write it
		"heat overheat hot temperatur cool thermal",
		"crash abort dump segfault",
		"gpu vram cuda",
		"dram ram",
		"nod machin host peer comput",
		"two both dual second",
		"address addr ip addresse",
		"memory mem",
		"register registrat registr regist",
		"reboot restart boot",
		"other another",
		"releas version",
		"mismatch differ diff differenc unlik",
		"retransmit retransmiss resent resend retry",
		"adapter nic card hca adapt",
		"interfac netdev",
		"busy taken occupy",
		"fallback",
		"permis root sudo privileg",
		"firewall iptabl nft ufw",
		"duplicat twic conflict",
		"onerail",
		"rdma roc rocev2 infiniband ib verb",
		"ib_write_bw perftest ib_send_bw",
		"gpudirect gdr gdrdma",
		"larg larger big bigger hug abov exceed beyond greater",
		"us use used using utiliz",
		"topology topo",
		"hardwar hw",
		"recv receiv",
		"peermem nv_peer_mem nvidia_peermem",
		"small tiny",
		"container docker pod podman kubernet k8",
		"upgrad updat",
		"qp qps",
		"vm vms guest",
		"half halv",
		"grow increas",
		"number amount",
		"multinod internod",
		"ethernet eth0 eth1",
		"nccltest nccl_test all_reduce_perf",
	} {
		words := strings.Fields(group)
		for _, w := range words[1:] {
			l.names[w] = words[0]
		}
	}
	return l
}
