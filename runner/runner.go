// Package runner runs shell scripts on a node: on this machine, over SSH, or on
// the simulated rig. It knows processes, sockets, signals, exit codes and SSH.
// It knows nothing about RDMA: a word like rail or GID belongs to steps.
package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Node is a machine that scripts run on.
//
// Run starts s and calls emit with each line that it prints. The contract,
// which nodetest holds every kind of node to:
//
//   - emit is called from one goroutine, in order, and never after Run returned.
//   - The error says that the script could not be run, or that its end could
//     not be observed (*Error). What the script itself answered, a non-zero
//     status too, is the Exit.
//   - Run returns only once nothing that the script started is alive on the
//     node, whatever ended it: its own end, ctx, Script.Limit or a lost
//     connection (there the node does it alone, within SupervisorSilence).
//   - Lines are clean: no byte of them can control a terminal (see cleaner).
//
// Run may be called by several goroutines at once.
type Node interface {
	// Name is what the rig file calls the node, for example spark-01.
	Name() string
	Run(ctx context.Context, s Script, emit func(Line)) (Exit, error)
	// Close ends the connection and every script that still runs.
	Close() error
}

// DefaultLimit ends a script that has no limit of its own.
const DefaultLimit = 2 * time.Minute

// A Script is plain POSIX shell that reads its values from variables.
type Script struct {
	// Name says what this is in errors and logs, for example a cell's id.
	// It is never shell, and no part of a path.
	Name string
	// Body is the shell text, as the user reads it.
	Body string
	// Vars are handed over as quoted assignments before Body, never as text
	// inside it: a value cannot become syntax.
	Vars map[string]string
	// Limit is the hard limit of its wall time; DefaultLimit where zero.
	Limit time.Duration
	// Patient scripts run in the background until they are ended, and nothing waits for them: a simulated
	// rig's time doesn't advance for their sake.
	Patient bool
	// Root runs the script with sudo where the login user isn't root.
	Root bool
	// Detaches lets what leaves its session and clears its environment outlive the script, as a
	// dead-man's switch has to.
	Detaches bool
}

// Text is what the node's shell executes, byte for byte: the assignments,
// sorted by name, and then the body. A dry run prints exactly this.
func (s Script) Text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
		b.WriteString(assignment(name, s.Vars[name]))
	}
	// One line end, and no more: the body's last line has to end before "end ID" of the supervisor.
	b.WriteString(strings.TrimRight(s.Body, "\n"))
	b.WriteByte('\n')
	return b.String()
}

// assignment is a line of shell that gives a variable a value. What can't be seen in the
// value is written as printf reads it: the line can be shown as it is, and shows all.
func assignment(name, value string) string {
	if utf8.ValidString(value) && !strings.ContainsFunc(value, Hidden) {
		return name + "=" + Quote(value) + "\n"
	}
	var format strings.Builder
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		switch {
		// In octal: it is the only escape of printf that POSIX has for any byte.
		case r == utf8.RuneError && n == 1 || Hidden(r) || i == 0 && r == '-': // no option of printf
			for _, c := range []byte(value[i : i+n]) {
				fmt.Fprintf(&format, `\%03o`, c)
			}
		case r == '%':
			format.WriteString("%%")
		case r == '\\':
			format.WriteString(`\\`)
		default:
			format.WriteString(value[i : i+n])
		}
		i += n
	}
	// $(…) takes the line ends off: the dot keeps them.
	return fmt.Sprintf("%[1]s=$(printf %[2]s)\n%[1]s=${%[1]s%%.}\n", name, Quote(format.String()+"."))
}

// Hidden reports whether a character does something in place of being seen: a control
// character but the line's end and the tab, what turns the direction of writing, a
// separator of lines, and what has no width. The joiners of letters are letters'.
func Hidden(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false // nearly all that there is: the tables are long
	}
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

// Deceives finds the first character of a script that isn't what it is seen as, and gives its bytes; at is -1 where
// there is none. A mark on a blank or a sign is one: with it they are what the shell takes for letters.
func Deceives(script string) (at int, char string) {
	before := '\n'
	for at, r := range script {
		_, n := utf8.DecodeRuneInString(script[at:])
		if deceives(r) || r == utf8.RuneError && n <= 1 ||
			unicode.Is(unicode.M, r) && before < utf8.RuneSelf && !unicode.In(before, unicode.L, unicode.N) {
			return at, script[at : at+n]
		}
		before = r
	}
	return -1, ""
}

// deceives reports whether a character alone isn't what a reader takes it for. It is Hidden or drawn as
// nothing, it is a blank that the shell takes for a letter, or it looks like a character that has a meaning
// in the shell. A # behind one of these characters begins no comment, and the text that looks like a comment
// runs. A character whose look depends on the font alone counts as invisible: private use, and code points
// that are not characters. The joiners count as invisible, too: scripts are read as they stand, and not as a
// language.
func deceives(r rune) bool {
	switch r {
	case '\u200c', '\u200d', // the joiners
		'\u2800',     // a pattern of Braille's without a dot
		'\ufffc',     // stands for an object
		'\U00016fe4', // a filler of Khitan's
		'\U0001d159': // a notehead that is none
		return true
	}
	switch {
	case Hidden(r):
		return true
	case r < utf8.RuneSelf:
		return false
	}
	return unicode.In(r, unicode.White_Space, unicode.Variation_Selector, unicode.Co, unicode.Noncharacter_Code_Point) ||
		strings.ContainsRune(shellMinds, asASCII(r))
}

// shellMinds are the characters that a shell may take for more than themselves (POSIX.1-2024, XCU 2.2), and braces.
const shellMinds = "|&;<>()$`\\\"'*?[]#~=%{}!"

// asASCII is the character of ASCII that another one is by its decomposition (UnicodeData.txt, of one character each),
// or the character itself.
func asASCII(r rune) rune {
	if r >= '\uff01' && r <= '\uff5e' {
		return r - '\uff01' + '!' // full width
	}
	if c, ok := asciiOf[r]; ok {
		return c
	}
	return r
}

var asciiOf = map[rune]rune{
	'\u037e': ';', '\u1fef': '`', // the same even canonically
	'\u207c': '=', '\u207d': '(', '\u207e': ')', '\u208c': '=', '\u208d': '(', '\u208e': ')',
	'\ufe14': ';', '\ufe15': '!', '\ufe16': '?', // for vertical text
	'\ufe35': '(', '\ufe36': ')', '\ufe37': '{', '\ufe38': '}', '\ufe47': '[', '\ufe48': ']',
	'\ufe54': ';', '\ufe56': '?', '\ufe57': '!', '\ufe59': '(', '\ufe5a': ')', '\ufe5b': '{', '\ufe5c': '}', // small
	'\ufe5f': '#', '\ufe60': '&', '\ufe61': '*', '\ufe64': '<', '\ufe65': '>', '\ufe66': '=', '\ufe68': '\\',
	'\ufe69': '$', '\ufe6a': '%',
}

// MaxScript is how long a script's text may be, in bytes: Linux hands no longer string to a program
// (MAX_ARG_STRLEN, 32 pages of 4 KiB, less its name).
const MaxScript = 128<<10 - len("RAILBENCH_TEXT=") - 1

// Check reports what a node would refuse before it runs anything: a variable whose name the shell does not
// allow, or a NUL byte, which no shell can hold.
func (s Script) Check() error {
	for name, value := range s.Vars {
		if !shellName(name) {
			return fmt.Errorf("script %s: %q is not a name for a shell variable", s.Name, name)
		}
		// execve ends a string there: what comes after it would be gone without a word.
		if strings.ContainsRune(value, 0) {
			return fmt.Errorf("script %s: the value of %s holds a NUL byte", s.Name, name)
		}
	}
	if strings.ContainsRune(s.Body, 0) {
		return fmt.Errorf("script %s: its text holds a NUL byte", s.Name)
	}
	if n := len(s.Text()); n > MaxScript {
		return fmt.Errorf("script %s: it is %d KiB long with its variables, and a node's kernel hands over %d KiB at most:"+
			" put what is long into a file on the node", s.Name, (n+1023)/1024, MaxScript>>10)
	}
	return nil
}

// HardLimit is the limit that holds. It is never 0: nothing runs without one.
func (s Script) HardLimit() time.Duration { return s.limit() }

func (s Script) limit() time.Duration {
	if s.Limit <= 0 {
		return DefaultLimit
	}
	return s.Limit
}

func shellName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// Quote makes one POSIX shell word of s, whatever it holds. A quote in it becomes
// '"'"', not the shorter '\”: mvdan.cc/sh 3.14.1, the simulated nodes' shell,
// keeps that one's backslash in an assignment.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// A Stream is where a line was printed.
type Stream uint8

// The two streams of a process.
const (
	Stdout Stream = iota
	Stderr
)

func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// A Line is one line of output without its line end, cleaned of everything that could control a terminal. Its
// colours are kept apart from its text.
type Line struct {
	// At is when the line arrived here. Lines that need the node's own clock
	// carry it in their text.
	At time.Time
	// Lines of two streams have no order between them: they come through two pipes.
	Stream Stream
	Text   string
	// Spans are in the order of the text, 256 at most. The text before the first is
	// plain.
	Spans []Span
	// Cut marks a piece of a line that was longer than MaxLine: the rest
	// follows in the next Line of the same stream. A parser that needs all of it joins them.
	Cut bool
}

// MaxLine is the longest Line.Text in bytes. A longer line comes in pieces, so
// that output without line ends keeps memory bounded.
const MaxLine = 16 << 10

// Why a script ended.
type Why uint8

// The ways a script can end.
const (
	Ended Why = iota // by itself
	// On the clock of who runs it, or on the node's own where that one is first (supervisor).
	TimedOut  // Script.Limit was reached
	Cancelled // ctx was cancelled
)

func (w Why) String() string {
	return [...]string{"ended", "timed out", "cancelled"}[w]
}

// An Exit is the script's own answer.
type Exit struct {
	// Code is the shell's exit status: 128+n where signal n ended it.
	Code int
	// Only where it is Ended is Code the script's own.
	Why Why
	// From the start to the script's own end, if it reported one: the time until the report arrives is not
	// included.
	Elapsed time.Duration
}

// OK reports whether the script ended by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Why == Ended }

func (e Exit) String() string {
	switch e.Why {
	case TimedOut:
		return fmt.Sprintf("timed out after %s", e.Elapsed.Round(100*time.Millisecond))
	case Cancelled:
		return "interrupted"
	default:
		return fmt.Sprintf("exit %d", e.Code)
	}
}

// A Kind is a reason why a script could not be run. Each needs something else from the user.
type Kind uint8

// The kinds of failure.
const (
	Unknown      Kind = iota
	Unresolved        // the host name does not resolve
	Refused           // nothing listens there
	Unreachable       // no answer, no route
	UnknownHost       // the host key is unknown, and was not accepted
	HostChanged       // the host key is another one than known_hosts has, or is revoked
	NotPermitted      // no key, agent or password was accepted
	Lost              // the connection broke while something ran
	Silent            // the node heard no heartbeat and ended the script
	Held              // the script has ended, and what it left could not be
	SudoPassword      // sudo wants a password and has none
	NoShell           // the node cannot run the supervisor
	NoForwarding      // the node does not listen for this side
	Closed            // Close was called
)

// An Error says what could not be done, where, and what to do about it.
type Error struct {
	Kind Kind
	Op   string // for example: connect
	Node string // for example: spark-01 (nvidia@192.168.100.10:22)
	// Never nil.
	Err error
	// Hint is one sentence that says what to do.
	Hint string
}

func (e *Error) Error() string { return e.Op + " " + e.Node + ": " + e.Cause() }

// Cause is the error without what was tried and where, for a line that says that itself.
func (e *Error) Cause() string {
	s := e.Err.Error()
	if e.Hint != "" {
		s += ". " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// An Asker puts questions to the user that a node cannot answer itself. A
// headless run has one that refuses.
type Asker interface {
	// HostKey asks whether an unknown host's key may be trusted and kept.
	// It may take as long as a person needs: nothing but ctx ends it.
	HostKey(ctx context.Context, q HostKeyQuestion) (bool, error)
	// Secret asks for a password or passphrase. It is kept in memory only.
	// The same secret is asked for once: who asks keeps it.
	Secret(ctx context.Context, q SecretQuestion) (string, error)
}

// A HostKeyQuestion describes a host that no known_hosts file knows.
type HostKeyQuestion struct {
	Node        string // the node's name in the rig
	Address     string // host:port
	KeyType     string // for example ssh-ed25519
	Fingerprint string // SHA256:…
	File        string // where an accepted key is written
}

// A SecretQuestion describes what is asked for.
type SecretQuestion struct {
	Node string
	// What is "sudo password", "password" or "passphrase".
	What string
	// For names the user or the key file.
	For string
	// Again is set when the last answer was wrong.
	Again bool
}

// State of a connection, for the screen.
type State uint8

// The states of a node's connection.
const (
	Connecting State = iota
	Connected
	Disconnected
)

func (s State) String() string {
	return [...]string{"connecting", "connected", "disconnected"}[s]
}

// at completes an error with the node's name.
// An error that has its node keeps it: what happened on the way there, at a jump host, is said so.
func at(err error, node string) error {
	var e *Error
	if errors.As(err, &e) && e.Node == "" {
		e.Node = node
	}
	return err
}

func closedError(op, node string) error {
	return &Error{Kind: Closed, Op: op, Node: node, Err: errors.New("the node was closed")}
}
