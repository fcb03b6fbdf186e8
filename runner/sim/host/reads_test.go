package host

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// Which reads take a line from the node itself, and which stay with the interpreter.
func TestQuickRead(t *testing.T) {
	for script, quick := range map[string]bool{
		`read -r a b <"$dir/speed"`:        true,
		`read a </proc/uptime`:             true,
		`IFS= read -r a 2>/dev/null <"$1"`: true,
		`! read a <$f`:                     true,
		`read a <f 2>/dev/null`:            false, // what it complains of goes elsewhere
		`read a`:                           false,
		`read <f`:                          false,
		`read -u 4 a <f`:                   false,
		`read "$name" <f`:                  false,
		`read a 4<f`:                       false,
		`read a <<<word`:                   false,
		`read a <"$(ls)"`:                  false,
		`read a <~/f`:                      false,
		`while read a; do :; done <f`:      false,
	} {
		file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
		if err == nil {
			err = contain(file)
		}
		if err != nil {
			t.Errorf("%s: %v", script, err)
			continue
		}
		call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
		if made := ok && call.Args[0].Lit() == "@read"; made != quick {
			t.Errorf("%s: it is made quick: %t", script, made)
		}
	}
}
