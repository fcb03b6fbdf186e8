package explain

import (
	"slices"
	"strings"
	"unicode"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
)

// Omitted are lines in the middle of a text that were not read: After is the last line before them.
type Omitted struct{ After, Lines int }

// A line of a text. whole is as it was written, without colours and quotes; text has lost the prefixes of logs, too.
type line struct {
	n                  int
	whole, text, lower string
	command            string // what a prompt ran
	part               int
	again              bool // a line like this one was there before, with other numbers
	known              bool // a tool's reader, or a rule of lines that say nothing, knows it
	aside              bool // a quotation, or Markdown's code
}

// A text is its lines, and how many of them were not kept.
type text struct {
	lines   []line
	dropped int
}

// Prompts: "user@host:~$ command", "[root@host ~]# command", "(venv) user@host ~ % command", "$ command".
var prompt = lazyregexp.New(`^(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[: ][^$#%>]{0,80}[$#%>] ?|` +
	`\[[\w.-]+@[\w.-]+ [^\]]{0,80}\][$#%] ?|root@[\w.-]+:[^#]{0,80}# ?|[$%] |PS> ?)(.*)$`)

// Prefixes of logs, in the order in which they stand before each other.
var prefixes = []*lazyregexp.Pattern{
	// A pod's, a container's or a node's name before a bar, a pod's name in brackets, a rank of torchrun or mpirun.
	lazyregexp.New(`^[\w./-]{2,80}\s+[|│] `),
	lazyregexp.New(`^\[(?:pod/)?[\w.-]+(?:/[\w.-]+)?\] `),
	lazyregexp.New(`^\[\d+(?:,\d+)?\]<std(?:out|err)>:\s?`),
	lazyregexp.New(`^\[(?:default|rank)\d*\]:\s?`),
	lazyregexp.New(`^\d+: `), // srun -l
	// Time stamps: ISO, syslog, dmesg.
	lazyregexp.New(`^\[?\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,:]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s+`),
	lazyregexp.New(`^(?:<\d+>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? [\w.-]+ `),
	lazyregexp.New(`^\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] `),
	lazyregexp.New(`^(?:<\d+>)?\[ *\d+\.\d+\] `),
	lazyregexp.New(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `), // klog
	lazyregexp.New(`^(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? `),
	lazyregexp.New(`^\((?:EngineCore|Worker|APIServer|VllmWorker)[\w -]*(?: pid=\d+)?\) `),
	lazyregexp.New(`^(?:kernel|[\w.-]+\[\d+\]): (?:\[ *\d+\.\d+\] )?`),
	// "host:pid:tid [0] NCCL INFO" stays from NCCL on.
	lazyregexp.New(`^[\w.-]+:\d+:\d+ (?:\[\d+\] )?`),
	lazyregexp.New(`^\[[\w.-]+:\d+:\d+(?::\d+)?\] +`), // UCX and MPI
}

var (
	numbers = lazyregexp.New(`0x[0-9a-fA-F]+|\d+`)
	// What says nothing and is in every paste.
	silent = lazyregexp.New(`(?i)^(?:[\W\d_]*|[\w.]+ ?[:=] ?\d+|legend:?|nic legend:?|nic statistics:|iperf done\.?|--- .* ---|` +
		`done\.?|hi|hello|thanks?.*|failed to complete run_iter\w+ function successfully|cache|` +
		`completion with error at \w+|scnt=\d+, ccnt=\d+|errno: no such file or directory\.?|` +
		`exit|logout|edit:.*|wrote:?|on .* wrote:|all processes are ready to proceed|connecting to etcd at \S+|` +
		`[\w ]+ : not active)$`)
)

// ofProgram is in lines that a program prints and no person writes.
var ofProgram = lazyregexp.New(`^\S+\.(?:c|cc|cpp|h|py|go|rs)\b ?[:(]|\*\*\*|^\w+: (?:FATAL|ERROR|WARNING):`)

// codeOrQuote is a quotation, an indented block or a table.
var codeOrQuote = lazyregexp.New(`^(?:\s*>(?:[^>]|$)|\t| {4}|\s*\|)`)

// rule is a line of dashes: Open MPI prints its messages between two of them.
var rule = lazyregexp.New(`^-{40,}$`)

// cut makes the lines of a text.
func cut(s string, omitted Omitted) text {
	var t text
	shapes := map[string]int{}
	n, part, fenced, boxed := 0, 0, false, false
	for raw := range strings.Lines(parse.Plain(s)) {
		if n++; n == omitted.After+1 {
			n += omitted.Lines
			part++
		}
		if len(t.lines) >= mostLines {
			t.dropped++
			continue
		}
		l := line{n: n, whole: unquoted(strings.TrimRight(raw, "\r\n"))}
		if len(l.whole) > 8<<10 {
			l.whole = strings.ToValidUTF8(l.whole[:8<<10], "")
		}
		l.whole = strings.ToValidUTF8(l.whole, "�")
		if strings.HasPrefix(strings.TrimSpace(l.whole), "```") || strings.HasPrefix(l.whole, "~~~") {
			part++
			l.known = true
			fenced = !fenced
		}
		if rule.Regexp().MatchString(l.whole) {
			boxed = !boxed
		}
		l.aside = fenced || boxed || codeOrQuote.Regexp().MatchString(raw)
		if m := prompt.Regexp().FindStringSubmatch(l.whole); m != nil {
			part++
			l.command, l.known = strings.TrimSpace(m[1]), true
		}
		l.part = part
		l.text = bare(l.whole)
		l.lower = strings.ToLower(l.whole)
		l.known = l.known || silent.Regexp().MatchString(strings.TrimSpace(l.text))
		shape := numbers.Regexp().ReplaceAllString(l.text, "#")
		// A few lines of a shape are looked at: rows of a table have one, and their numbers matter.
		l.again = shapes[shape] >= 64
		if len(shapes) < mostLines/4 {
			shapes[shape]++
		}
		t.lines = append(t.lines, l)
	}
	return t
}

// unquoted is a line without the marks of a quotation, and without the indent of a list or a code block.
func unquoted(s string) string {
	for {
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		if !strings.HasPrefix(rest, ">") || strings.HasPrefix(rest, ">>>") {
			break
		}
		s = strings.TrimPrefix(strings.TrimPrefix(rest, ">"), " ")
	}
	return strings.Map(func(r rune) rune {
		if r == '\u00a0' {
			return ' ' // a browser's copy has these
		}
		return r
	}, s)
}

// bare is a line without the prefixes of logs.
func bare(s string) string {
	for range 5 {
		before := s
		for _, p := range prefixes {
			if at := p.Regexp().FindStringIndex(s); at != nil {
				s = s[at[1]:]
			}
		}
		if s == before {
			break
		}
	}
	return s
}

// parts are the pieces of a text between prompts and fences.
func (t *text) parts() (all [][]*line) {
	last := -1
	for i := range t.lines {
		l := &t.lines[i]
		if l.part != last {
			all = append(all, nil)
			last = l.part
		}
		all[len(all)-1] = append(all[len(all)-1], l)
	}
	return all
}

// joined is the text of some lines, with or without prefixes.
func joined(lines []*line, whole bool) string {
	var b strings.Builder
	for _, l := range lines {
		if l.command != "" {
			continue
		}
		if whole {
			b.WriteString(l.whole)
		} else {
			b.WriteString(l.text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lineWith is the number of the first line that has all of some words.
func lineWith(lines []*line, words ...string) int {
	for _, l := range lines {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l.whole, w) }) {
			return l.n
		}
	}
	if len(lines) == 0 {
		return 0
	}
	return lines[0].n
}

// title is the number of the first line that says anything.
func (t *text) title() int {
	for _, l := range t.lines {
		if worth(l.text) {
			return l.n
		}
	}
	return 0
}

// asks reports whether a person says anything in a text, or a program complains of what no entry knows.
func (t *text) asks(understood map[int]bool) bool {
	return slices.ContainsFunc(t.lines, line.isPerson) || t.complains(understood)
}

// isPerson reports whether a line reads like a person's sentence.
func (l line) isPerson() bool {
	words, share := plain(l.whole)
	return words >= leastWords && share >= leastPlain && !l.isAside() && !l.known
}

// complains reports whether a program complains in a line that no entry knows: what a person says of it then leads to
// other faults that sound alike.
func (t *text) complains(understood map[int]bool) bool {
	title := t.title()
	return slices.ContainsFunc(t.lines, func(l line) bool {
		words, share := plain(l.text)
		printed := l.isAside() || l.n != title && (share < leastPlain || words < leastWords)
		return printed && !l.known && !understood[l.n] && l.complains()
	})
}
