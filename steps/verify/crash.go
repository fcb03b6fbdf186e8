package verify

import (
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// crash is how a shell, a C library or an interpreter says that a program was ended. A script goes
// on behind it, and what counts for its status is its last command's: the program's own figure, printed
// before, is half of a run.
var crash = lazyregexp.New(`^(?:\S{1,80}: (?:line )?\d+: +)?(?:\d+ +)?` +
	`(?:(?:Killed|Aborted|Bus error|Segmentation fault|Illegal instruction|Floating point exception|` +
	`Trace/breakpoint trap|Bad system call|Hangup|Quit|Alarm clock|User defined signal [12]|Stack fault|` +
	`CPU time limit exceeded|Cputime limit exceeded|File ?size limit exceeded|Virtual timer expired|Profiling timer expired)` +
	`(?: +\(core dumped\))?(?: .*)?$|` +
	`Traceback \(most recent call last\):|Fatal Python error: |panic: |fatal error: |thread '.*' panicked at |` +
	`==\d+== ?ERROR: \w+Sanitizer|CUDA error|Out of memory$|(?:.*: )?No space left on device$|timeout: sending signal |.*Assertion .* failed\.?$|` +
	`terminate called |\*\*\* stack smashing|\*\*\* buffer overflow detected|` +
	`(?:double free|free\(\)|malloc\(\)|realloc\(\)|munmap_chunk\(\)|corrupted (?:size|double-linked)|` +
	`malloc_consolidate\(\)|\w+\(\): invalid))|` +
	// UCX, in whatever program it is loaded: what it calls an error ended a transfer, and a signal the program.
	`^\[[^\]]*\].*(?:UCX  ?(?:ERROR|FATAL) |Caught signal \d+ \()`)

// Crashed is what an output says of a program in it that was ended; empty where it says nothing.
func Crashed(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) < 400 && crash.Regexp().MatchString(line) {
			return line
		}
	}
	return ""
}

// whole reports whether none of the ends says that a program of it was ended, status 0 or not.
func (l Line) whole() bool {
	for _, o := range l.Stage.Outputs {
		if said := Crashed(o.Text); said != "" {
			l.Add(steps.ProgramCrashed, steps.Inconclusive,
				"a program of %s did not end well, although the script ended with status 0: %s", whose(l.Rig, o), said)
			return false
		}
	}
	return true
}
