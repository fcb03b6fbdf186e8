package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// Bounds of what is read as a person's own words.
const (
	mostSaid  = 30  // sentences
	mostLooks = 400 // lines that may be a person's
	leastSaid = 2   // words of a sentence
	// Of a longer text a sentence needs so many words that say anything.
	leastMeaning = 3
	mostMeant    = 3 // entries
	// What the first line says counts so much more: it is a report's title.
	titled = 1.3
	// Of a longer text, a phrase that scores less is not an answer: of those most led to another cause.
	leastByWords = 1.2
	// An entry is named next to the best one if it comes this near to it.
	nearBest = 0.6
)

// A sentence of a person, and the line in which it begins.
type sentence struct {
	line  int
	text  string
	title bool
}

// A listener keeps what the sentences of a text mean.
type listener struct {
	*Knowledge
	best map[int]float64 // by entry
	told map[int]bool    // entries that are said, and not only shared words with
	head map[int]bool    // those of them that the title says
	at   map[int][]Fact
}

func (l *listener) mean(m steps.Meant, s sentence, sure bool) {
	if sure {
		l.told[m.Saying] = true
		l.head[m.Saying] = l.head[m.Saying] || s.title
	}
	if s.title {
		m.Score *= titled
	}
	l.best[m.Saying] = max(l.best[m.Saying], m.Score)
	l.at[m.Saying] = append(l.at[m.Saying], Fact{s.line, short(s.text)})
}

// hear takes what a sentence means. typed is for a text of a few lines, ours for one of the field; context may say what
// the sentence is about.
func (l *listener) hear(s sentence, typed, ours bool, context string) {
	fault := ofFault.Regexp().MatchString(s.text)
	if typed || fault && l.Sayings().Words(s.text) >= leastMeaning {
		for _, m := range l.Sayings().Meant(s.text) {
			l.mean(m, s, m.Score >= steps.Sure && (typed || !denial.Regexp().MatchString(s.text)))
		}
	}
	if !ours || !fault {
		return
	}
	for _, m := range l.Sayings().Told(s.text, context) {
		if c := l.Causes[m.Saying]; c.Sure != "healthy" && c.Sure != "harmless" {
			l.mean(m, s, true)
		}
	}
}

// said finds the entries that a text means in a person's own words, or says among others.
func (k *Knowledge) said(t text) (found []Found) {
	heard := listener{k, map[int]float64{}, map[int]bool{}, map[int]bool{}, map[int][]Fact{}}
	typed := len(t.lines) <= mostTyped
	field := slices.ContainsFunc(t.lines, func(l line) bool { return ours.Regexp().MatchString(l.lower) })
	all, title := sentences(t, typed), ""
	for i, s := range all {
		context := title
		if s.title {
			title += " " + s.text
		} else if i > 0 {
			context += " " + all[i-1].text
		}
		heard.hear(s, typed, field, context)
	}
	if len(t.lines) > mostShort {
		maps.DeleteFunc(heard.told, func(i int, _ bool) bool {
			return k.Causes[i].Common || k.Causes[i].Hint && !heard.head[i]
		})
	}
	for i, score := range heard.best {
		sure := ByWords
		switch {
		case !heard.told[i] && len(heard.told) > 0:
			continue
		case !heard.told[i], !typed && score < leastByWords:
			sure = Weak
		}
		f := k.Causes[i].found(sure, heard.at[i])
		f.score = rank[sure] + int(100*score)
		found = append(found, f)
	}
	return bestOf(k.without(found))
}

// bestOf are the causes that a text means most, the best first.
func bestOf(found []Found) []Found {
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ID, b.ID))
	})
	if len(found) > 0 && !found[0].common {
		found = slices.DeleteFunc(found, func(f Found) bool { return f.common && !f.hint })
	}
	found = found[:min(len(found), mostMeant)]
	return slices.DeleteFunc(found, func(f Found) bool {
		return f.Sure == ByWords && float64(f.score-rank[ByWords]) < nearBest*float64(found[0].score-rank[ByWords])
	})
}

// without leaves out what an entry of words alone makes needless.
func (k *Knowledge) without(found []Found) []Found {
	for _, c := range k.Causes {
		words := len(c.any)+len(c.all) == 0
		if words && slices.ContainsFunc(found, func(f Found) bool { return f.ID == c.ID && f.Sure != Weak }) {
			found = slices.DeleteFunc(found, func(f Found) bool { return slices.Contains(c.Over, f.ID) })
		}
	}
	return found
}

var (
	// A text of the field has one of these words.
	ours = lazyregexp.New(`rdma|roce|infiniband|\bverbs\b|[nr]ccl|\bucx|openucx|\bmpi|mlx[45]|connectx|mellanox|perftest|` +
		`\bib_|\bib\b|iperf|gpu ?direct|nvlink|nvshmem|libfabric|\befa\b|\bgids?\b|nixl|\bbond|\bnics?\b|ethernet|` +
		`\bmtu\b|all_?reduce|\bhca\b|soft-?roce|\brxe\b|\bcx-?[4-8]\b|irdma|bnxt|peer_?mem|\bping`)
	// A sentence that describes a fault has one of these.
	ofFault = lazyregexp.New(`(?i)\b(?:not?|just|sometimes|than|but|whereas|only|instead|why|without|never|nothing|cannot|unable|` +
		`random\w*|varianc\w*|takes|terribl[ey]|worse|stop(?:s|ped)|collaps\w*|half|halve\w*|low\w*|less|slow\w*|poor\w*|bad\w*|` +
		`wrong|hang\w*|hung|stuck|stall\w*|fail\w*|error\w*|issue\w*|problem\w*|drop\w*|los[est]\w*|down|missing|time[ds]?[ -]?out|` +
		`timeouts?|crash\w*|unstable|fluctuat\w*|flap\w*|regress\w*|degrad\w*|decreas\w*|limit\w*|abnormal|strange|weird|` +
		`unexpected\w*|asymmetric\w*|differ\w*|gone|dis+ap+ear\w*|ok|okay|normal|reasonable|expected|jitter|spikes?|high\w*|long\w*|jumps?)\b|n['’]t\b`)
	denial = lazyregexp.New(`(?i)\b(?:not?|without|never)\b|n['’]t\b`)
	// What Markdown sets before a line: a heading, a list, a check box.
	marks = lazyregexp.New(`^\s*(?:#{1,6}\s+|(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?|(?i:title|subject)\s*:\s*)`)
	// usage is a line of a program's help.
	usage   = lazyregexp.New(`^\s*(?:-\w,? +)?--[a-z]`)
	tags    = lazyregexp.New(`^\s*(?:\[[\w /&-]{2,30}\]:?\s*)+`)
	endings = lazyregexp.New(`[.!]["')*]*\s+|\?["')*]*\s*|[.!:]["')*]*$`)
)

// sentences are those of a person: no output, no code and no quotation. The first line is a title.
func sentences(t text, typed bool) (all []sentence) {
	var s sentence
	end := func() {
		if len(strings.Fields(s.text)) >= leastSaid {
			all = append(all, s)
		}
		s = sentence{}
	}
	first, tried := true, 0
	for _, l := range t.lines {
		if len(all) >= mostSaid || tried >= mostLooks {
			break
		}
		title := first && strings.TrimSpace(l.whole) != ""
		first = first && !title
		mine, mark := saying(l, title)
		others := l.known || l.text != l.whole || !typed && l.isAside() || usage.Regexp().MatchString(l.text)
		if mine == "" || !title && others || l.command != "" {
			end()
			continue
		}
		tried++
		if words, share := plain(mine); !typed && !title && (share < leastPlain || words < leastWords && s.text == "") {
			end()
			continue
		}
		if mark {
			end()
		}
		for mine != "" {
			if s.text == "" {
				s.line, s.title = l.n, title
			}
			at := endings.Regexp().FindStringIndex(mine)
			if at == nil {
				s.text += " " + mine
				break
			}
			s.text += " " + mine[:at[1]]
			mine = mine[at[1]:]
			end()
		}
		if title {
			end()
		}
	}
	end()
	return all
}

// saying is what a line says without Markdown's mark, and whether it has one. Of a title the tags are left out, too.
func saying(l line, title bool) (mine string, marked bool) {
	if mine = l.text; title {
		mine = l.whole
	}
	mark := marks.Regexp().FindString(mine)
	if mine = strings.TrimSpace(mine[len(mark):]); title {
		mine = tags.Regexp().ReplaceAllString(mine, "")
	}
	return mine, mark != ""
}

// isAside reports whether a line is a quotation, code or a program's.
func (l line) isAside() bool {
	return l.aside || l.text != l.whole || ofProgram.Regexp().MatchString(l.text)
}

// A person's line has some words, and not much else.
const leastWords, leastPlain = 4, 0.65

// plain is how many words a line has, and the share of those that have letters only.
func plain(s string) (words int, share float64) {
	of := 0
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		words++
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz,.?!;:'\"()*`’-") == "" && strings.ContainsFunc(w, unicode.IsLetter) {
			of++
		}
	}
	return words, float64(of) / float64(max(words, 1))
}
