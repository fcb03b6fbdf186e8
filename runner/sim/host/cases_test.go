package host

import (
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// Which cases are made quick, and which stay.
func TestQuickCase(t *testing.T) {
	for script, quick := range map[string]bool{
		`case $x in a) echo;; *) echo;; esac`:             true,
		`case "$x" in "$1:" | 'b'*) echo;; esac`:          true,
		`case $x-$y in a-b) ;; esac`:                      true,
		`case $(date) in a) echo;; esac`:                  false,
		`case $? in 0) echo;; esac`:                       false,
		`case ${x:=1} in 1) echo;; esac`:                  false,
		`case $x in $y) echo;; esac`:                      false,
		`case $x in a) echo $?;; esac`:                    false,
		`case $x in a) return;; esac`:                     false,
		`case $x in a) (exit);; esac`:                     false,
		`case $x in \*) echo;; esac`:                      false,
		`case $x in a) exit 3;; b) return 1;; esac`:       true,
		`case $x in a) while :; do continue; done;; esac`: true,
	} {
		file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
		if err == nil {
			err = contain(file)
		}
		if err != nil {
			t.Errorf("%s: %v", script, err)
			continue
		}
		if _, stays := file.Stmts[0].Cmd.(*syntax.CaseClause); stays == quick {
			t.Errorf("%s: it stays: %t", script, stays)
		}
	}
}

// A pattern may hold a value, and so be another each time.
func TestWhatIsKeptIsBounded(t *testing.T) {
	for i := range 2 * matched.most {
		if value := strconv.Itoa(i); !caseMatches([]string{caseValue, value, value}) {
			t.Fatal(i)
		}
	}
	for what, n := range map[string][2]int{
		"patterns": {len(patterns.known), patterns.most}, "expressions": {len(compiled.known), compiled.most},
		"lines": {len(matched.known), matched.most},
	} {
		if n[0] == 0 || n[0] > n[1] {
			t.Errorf("%d %s are kept", n[0], what)
		}
	}
}
