package runner

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// readLines reads r to its end and hands over its lines in batches, cleaned and
// with the supervisor's own lines taken out. It never holds more than one buffer and
// one line of MaxLine, whatever is printed. again reports that the supervisor has announced another
// script: what follows is that script's. login is the first part of what the login printed, such as a
// greeting in .bashrc: all that a stream with marks prints before the supervisor's first word. The
// script has not started by then, so login is not part of its output.
func readLines(
	r io.Reader, stream Stream, mark string, lines chan<- []Line, marks chan<- string,
) (again bool, login string) {
	c := cleaner{stream: stream, mark: mark, unbegun: marks != nil}
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		// Once a read: all of its lines have arrived together.
		c.now = time.Now()
		c.feed(buf[:n])
		again = err == nil && slices.Contains(c.marks, overAgain)
		if err != nil || again {
			c.flush()
		}
		if c.unbegun {
			c.drop()
		}
		if n := len(c.out); n > 0 {
			lines <- c.out
			// The reader has the slice now, so the next batch gets another: of a flood each is as
			// long as the last.
			c.out = make([]Line, 0, n)
			// This goroutine and its reader hand each other the processor for as long as a tool
			// prints, and who waits for a key would wait until they are preempted, 10 ms.
			runtime.Gosched()
		}
		// After the lines that came before them: the reader of "exit" has all of the output.
		for _, m := range c.marks {
			if marks != nil {
				marks <- m
			}
		}
		c.marks = nil
		if err != nil || again {
			return again, strings.TrimSpace(string(c.login))
		}
	}
}

// Lines cuts what is written to it into lines as a Node's Run emits them, for kinds of nodes whose scripts
// are not processes. The writer is for one stream of one script.
func Lines(stream Stream, now func() time.Time, emit func(Line)) io.WriteCloser {
	return &lineWriter{cleaner: cleaner{stream: stream}, clock: now, emit: emit}
}

type lineWriter struct {
	cleaner
	clock func() time.Time
	emit  func(Line)
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.now = w.clock()
	w.feed(p)
	w.hand()
	return len(p), nil
}

// Close hands over a last line that has no line end.
func (w *lineWriter) Close() error {
	w.now = w.clock()
	w.flush()
	w.hand()
	return nil
}

// The slice is used again, so emit must not keep it; it keeps lines, which are values.
func (w *lineWriter) hand() {
	for _, line := range w.out {
		w.emit(line)
	}
	w.out = w.out[:0]
}

// A cleaner cuts a stream into lines from which every escape sequence is removed, also one that is split across
// reads, and in which every other control character is made visible. A line end is LF, CR LF, or a lone CR: what a
// progress meter overwrites on a terminal stands one below the other. What SGR sequences say of a line's looks is
// kept next to it, up to its end: a tool that dies with red text on must not paint what comes after it.
type cleaner struct {
	stream Stream
	mark   string // what a line of the supervisor starts with; empty where it says nothing
	now    time.Time

	state escape
	line  []byte
	// Reset with each line.
	spans []Span // of line
	style Style  // of what comes next
	// params are those of the sequence that is being read; foreign says that it is not an SGR, whatever its
	// last byte is.
	params  []byte
	foreign bool
	rune    []byte // an incomplete UTF-8 sequence at the end of the last read
	// The last character was a CR: whether an LF follows decides what kind of line end it is.
	cr    bool
	inner []byte // of a line that may be the supervisor's, from behind its RS, while inMk
	inMk  bool

	// unbegun is true until the supervisor's first word. What is printed before goes to login, up to maxLogin.
	unbegun bool
	login   []byte

	out   []Line
	marks []string
}

// maxLogin bounds what is kept of a login's own output, in bytes.
const maxLogin = 300

// drop moves lines to login: the login printed them, not the script.
func (c *cleaner) drop() {
	for _, line := range c.out {
		text := line.Text
		if len(c.login) > 0 {
			text = " " + text
		}
		c.login = append(c.login, text[:min(len(text), maxLogin-len(c.login))]...)
	}
	c.out = c.out[:0]
}

type escape uint8

const (
	text        escape = iota
	afterEsc           // ESC
	afterEscIn         // ESC with intermediates: ESC ( B
	inCSI              // ESC [ … final
	inString           // OSC, DCS, SOS, PM, APC: up to BEL or ST
	inStringEsc        // ESC inside a string: ST or a new sequence
)

const tab = "        "

// feed takes what one read brought, which may end inside a letter or a sequence.
func (c *cleaner) feed(b []byte) {
	// The bytes of a letter that two reads have cut in the middle.
	if len(c.rune) > 0 && len(b) > 0 {
		b = append(c.rune, b...)
		c.rune = nil
	}
	for len(b) > 0 {
		if c.state == text && !c.inMk && !c.cr {
			// The common case is a run of plain ASCII.
			n := plain(b)
			c.add(b[:n])
			if b = b[n:]; len(b) == 0 {
				return
			}
		}
		r, size := rune(b[0]), 1
		if b[0] >= utf8.RuneSelf {
			// b is the caller's buffer, which the next read fills again.
			if !utf8.FullRune(b) {
				c.rune = bytes.Clone(b)
				return
			}
			r, size = utf8.DecodeRune(b)
		}
		c.step(r)
		b = b[size:]
	}
}

// plain is how many bytes from the first are printable ASCII.
func plain(b []byte) int {
	for i, x := range b {
		if x < 0x20 || x > 0x7e {
			return i
		}
	}
	return len(b)
}

// step takes one character, in the state that those before it left.
func (c *cleaner) step(r rune) {
	if c.inMk {
		c.ofMark(r)
		return
	}
	// A lone CR ended the line as soon as something else follows it.
	if c.cr {
		c.cr = false
		c.end()
		if r == '\n' {
			return
		}
	}
	// In whatever state: a tool that was ended in the middle of a sequence must not take the
	// supervisor's word along.
	if r == supervisorRS && c.mark != "" {
		c.inMk = true
		return
	}
	c.ordinary(r)
}

// ordinary takes a character that is the tool's own.
func (c *cleaner) ordinary(r rune) {
	switch c.state {
	case text:
		c.ofText(r)
	case afterEsc:
		c.ofEscape(r)
	case afterEscIn:
		if !intermediate(r) {
			c.state = text
			c.ended(r)
		}
	case inCSI:
		c.ofSequence(r)
	case inString, inStringEsc:
		c.ofString(r)
	}
}

// ofMark reads what follows an RS. It is the supervisor's only with the run's id, which no tool
// knows: anybody can print an RS, and "exit 0" behind it. What turns out to be another's is
// read again as what it is. A line of the supervisor that has no end is bounded all the same.
func (c *cleaner) ofMark(r rune) {
	due := c.mark + " "
	n := len(c.inner)
	switch {
	case n < len(due) && r == rune(due[n]): // an id is plain ASCII
		c.inner = append(c.inner, byte(r))
	case n < len(due):
		begun := c.notMark()
		for _, b := range begun {
			c.ordinary(rune(b))
		}
		c.step(r)
	case r == '\n':
		if c.unbegun { // the login may have printed a line without an end
			if len(c.line) > 0 || c.cr {
				c.cr = false
				c.end()
			}
			c.drop()
			c.unbegun = false
		}
		c.marks = append(c.marks, string(c.inner[len(due):]))
		c.inMk, c.inner = false, nil
		c.state = text // what was open in the tool's output ended with the tool
	case n < MaxLine:
		c.inner = utf8.AppendRune(c.inner, r)
	}
}

// notMark gives back what looked like the beginning of a line of the supervisor, its RS first.
func (c *cleaner) notMark() []byte {
	begun := append([]byte{supervisorRS}, c.inner...)
	c.inMk, c.inner = false, nil
	return begun
}

// ofText reads what belongs to no escape sequence, or begins one. The C1 controls are the
// second way to begin one: 0x9b is ESC [, and so on.
func (c *cleaner) ofText(r rune) {
	switch {
	case r == '\n':
		c.end()
	case r == '\r':
		c.cr = true
	case r == '\t':
		c.add([]byte(tab[:8-utf8.RuneCount(c.line)%8]))
	case r == 0x1b:
		c.state = afterEsc
	case r == 0x9b:
		c.sequence()
	case strings.ContainsRune(stringsInC1, r):
		c.state = inString
	default:
		c.add(seen(r))
	}
}

// ofEscape reads what follows ESC.
func (c *cleaner) ofEscape(r rune) {
	switch {
	case r == '[':
		c.sequence()
	case strings.ContainsRune(stringsAfterEsc, r):
		c.state = inString
	case intermediate(r):
		c.state = afterEscIn
	case r == 0x1b: // the one before it was none
	default:
		c.state = text
		c.ended(r)
	}
}

// ended takes a line's end that came in the place of the letter that a sequence ends with.
func (c *cleaner) ended(r rune) {
	if r == '\n' || r == '\r' {
		c.ofText(r)
	}
}

// ofSequence reads parameters up to the byte that says what the sequence does.
func (c *cleaner) ofSequence(r rune) {
	switch {
	case r == '\n' || r == '\r': // a sequence that never ended must not eat the rest
		c.state = text
		c.ofText(r)
	case r == can || r == sub: // as a terminal gives it up
		c.state = text
	case r == 0x1b:
		c.state = afterEsc
	case r >= 0x40 && r <= 0x7e:
		c.state = text
		if r == 'm' && !c.foreign {
			c.style.sgr(string(c.params))
		}
	case r >= '0' && r <= ';' && len(c.params) < maxParams:
		c.params = append(c.params, byte(r))
	default:
		c.foreign = true // a private one, one with intermediates, one too long
	}
}

// ofString reads a title, a link or whatever else is a string to a terminal, and drops it.
func (c *cleaner) ofString(r rune) {
	switch {
	case r == 0x07 || r == 0x9c || r == can || r == sub || c.state == inStringEsc && r == '\\':
		c.state = text
	case r == 0x1b:
		c.state = inStringEsc
	case r == '\n': // as a sequence, it ends with the line
		c.state = text
		c.end()
	default:
		c.state = inString
	}
}

// What begins DCS, SOS, OSC, PM and APC (ECMA-48, 8.3): ESC and a letter, or one control
// character of C1.
const (
	stringsAfterEsc = "PX]^_"
	stringsInC1     = "\u0090\u0098\u009d\u009e\u009f"
)

// CAN and SUB take back a sequence that has begun.
const (
	can = 0x18
	sub = 0x1a
)

// intermediate reports whether a byte stands between ESC and the letter that ends the
// sequence, as ( does in ESC ( B.
func intermediate(r rune) bool { return r >= 0x20 && r <= 0x2f }

// seen is a character as it may be shown: ^G for a control character, as cat -v has it, and
// the replacement character for what has no such name.
func seen(r rune) []byte {
	switch {
	case r < 0x20:
		return []byte{'^', byte(r) + 0x40}
	case r == 0x7f:
		return []byte("^?")
	case r >= 0x80 && r < 0xa0 || reorders(r):
		return []byte(string(utf8.RuneError))
	default:
		return utf8.AppendRune(nil, r)
	}
}

// reorders reports whether a character changes the direction or order of the text around
// it, or has no width: a line that holds one may read as what it is not.
func reorders(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
		return true
	case r == 0x200e, r == 0x200f: // marks of a direction
		return true
	case r == 0x2028, r == 0x2029: // separators of lines and paragraphs
		return true
	}
	return r == 0xfeff // no width, and no break
}

// sequence begins an escape sequence with parameters.
func (c *cleaner) sequence() {
	c.state, c.params, c.foreign = inCSI, c.params[:0], false
}

// add puts text on the line. What is longer than a line may be goes on in the next piece,
// and never begins inside a letter.
func (c *cleaner) add(b []byte) {
	for len(c.line)+len(b) > MaxLine {
		// Back to the beginning of a letter: a piece is valid UTF-8 as the line is.
		n := MaxLine - len(c.line)
		for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
			n--
		}
		c.append(b[:n])
		b = b[n:]
		c.put(true)
	}
	c.append(b)
}

// append is add for what fits. A span begins only where text comes: a tool that changes its
// mind before it prints leaves none.
func (c *cleaner) append(b []byte) {
	if len(b) == 0 {
		return
	}
	before := Style{}
	if n := len(c.spans); n > 0 {
		before = c.spans[n-1].Style
	}
	style := c.style
	if len(c.spans) >= maxSpans-1 {
		style = Style{} // the last one's colour must not run over all that follows
	}
	if style != before {
		c.spans = append(c.spans, Span{At: int32(len(c.line)), Style: style})
	}
	c.line = append(c.line, b...)
}

// end closes the line, and its colours with it.
func (c *cleaner) end() {
	c.put(false)
	c.style = Style{}
}

// put hands the line over as it stands; cut says that the rest follows.
func (c *cleaner) put(cut bool) {
	line := Line{At: c.now, Stream: c.stream, Text: string(c.line), Cut: cut}
	// A copy of what most lines don't have: the slice itself is used for the next line.
	if len(c.spans) > 0 {
		line.Spans = slices.Clone(c.spans)
	}
	c.out = append(c.out, line)
	c.line, c.spans = c.line[:0], c.spans[:0]
}

// flush ends a last line that has no line end.
func (c *cleaner) flush() {
	if c.inMk && len(c.inner) <= len(c.mark) {
		for _, b := range c.notMark() {
			c.ordinary(rune(b))
		}
	}
	if len(c.rune) > 0 {
		c.add([]byte(string(utf8.RuneError)))
		c.rune = nil
	}
	if len(c.line) > 0 || c.cr {
		c.cr = false
		c.end()
	}
}
