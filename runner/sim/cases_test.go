package sim

import (
	"bytes"
	"os/exec"
	"testing"
)

// A case is as a real sh has it, whichever way it runs here.
func TestCases(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Seed: 1})
	const sh = "sh"
	for name, script := range map[string]string{
		"first that fits": `for x in a ab b '' '*' '[x]' 'a b' "a'b"; do case $x in a) echo A;; a*) echo "A+ $x";; '') echo none;; "*") echo star;; '['*) echo bracket;; ?) echo one;; *) echo other;; esac; done`,
		"alternatives":    `for x in yes y no maybe; do case "$x" in y | yes) echo 1;; n|no) echo 0;; esac; echo "$?"; done`,
		"values":          `set -- en* 'a?'; for x in 'en*:' enp: 'a?' ab "Name=en*" 'en*: x'; do case $x in "$1:" | "$1: "*) echo first;; "Name=$1") echo name;; "$2") echo second;; *) echo "$x";; esac; done`,
		"words together":  `a=x b=y; case $a$b in xy) echo joined;; esac; case $a-$b in x-y) echo dash;; esac; case "$a:"$b in x:y) echo colon;; esac; case ${a}b in xb) echo braces;; esac`,
		"classes":         `for x in 7 q Q _; do case $x in [0-9]) echo digit;; [!a-z_]) echo not;; [[:lower:]]) echo lower;; *) echo rest;; esac; done`,
		"lines": `case "a
b" in a*b) echo through;; esac; x='a
b'; case $x in a?b) echo newline;; esac`,
		"status of before": `false; case a in a) echo "$?";; esac; (exit 3); case $? in 3) echo three;; *) echo "$?";; esac`,
		"status of after":  `case a in a) false;; esac; echo "$?"; case a in b) false;; esac; echo "$?"; case a in a) ;; esac; echo "$?"`,
		"what runs once":   `n=0; f() { n=$((n + 1)); echo "$n"; }; case $(f) in 2) echo two;; 1) echo one;; esac; case ${m:=$n} in 0) echo "$m";; esac`,
		"in a loop":        `for x in 1 2 3 4; do case $x in 2) continue;; 4) break;; esac; echo "$x"; done`,
		"in a pipe":        `printf '%s\n' a b c | while read -r x; do case $x in b) echo B;; *) echo "$x";; esac; done`,
		"in each other":    `x=a y=b; case $x in a) case $y in a) echo aa;; b) echo ab;; esac;; b) echo b;; esac`,
		"to a file":        `case a in a) echo in; echo err >&2;; esac 2>/dev/null | cat`,
		"with set -e":      `set -e; case a in b) false;; esac; case a in a) true;; esac; echo on; case a in a) false;; esac; echo never`,
		"by eval":          `x=b; eval 'case $x in a) echo A;; "$x"b | b) echo "B$x";; esac'; eval 'case "$x"y in by) ;; *) echo no;; esac'; echo "$?"`,
		"nothing":          `case x in esac; echo "$?"; case '' in '') echo empty;; esac`,
		"escapes":          `case '*' in \*) echo star;; esac; case a in \*) echo wrong;; *) echo right;; esac; case '~' in \~) echo tilde;; esac`,
	} {
		var out bytes.Buffer
		cmd := exec.Command(sh, "-c", script)
		cmd.Stdout = &out
		_ = cmd.Run() // its status is compared
		if got := b.try("spark-01", script); got.out != out.String() || got.code != cmd.ProcessState.ExitCode() {
			t.Errorf("%s: %q, %d; sh has %q, %d", name, got.out, got.code, out.String(), cmd.ProcessState.ExitCode())
		}
	}
}
