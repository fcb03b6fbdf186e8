package pattern

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every pattern of steps compiles, and is written where this test can read it.
func TestPatternsCompile(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isNew(call.Fun) {
				return true
			}
			seen++
			expr, ok := text(call.Args[0])
			if !ok {
				return true // detect.go's marks are compiled by its own test
			}
			if _, err := regexp.Compile(expr); err != nil {
				t.Errorf("%s: %v", files.Position(call.Pos()), err)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 100 {
		t.Errorf("only %d patterns were seen", seen)
	}
}

func isNew(f ast.Expr) bool {
	s, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == "pattern" && s.Sel.Name == "New"
}

// text is a string's literal, or several that are joined.
func text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, left := text(e.X)
		b, right := text(e.Y)
		return a + b, left && right
	}
	return "", false
}

func TestPattern(t *testing.T) {
	p, re := New(`(\w)(\d+)`), regexp.MustCompile(`(\w)(\d+)`)
	for _, s := range []string{"", "none", "a1 b22", "x3"} {
		upper := strings.ToUpper
		if diff := cmp.Diff([]any{
			re.MatchString(s), re.FindString(s), re.FindStringIndex(s), re.FindStringSubmatch(s), re.FindStringSubmatchIndex(s),
			re.FindSubmatch([]byte(s)), re.FindSubmatchIndex([]byte(s)), re.FindAllString(s, -1), re.FindAllStringSubmatch(s, 1),
			re.FindAllStringSubmatchIndex(s, -1), re.ReplaceAllString(s, "$2"), re.ReplaceAllStringFunc(s, upper),
			re.Split(s, -1),
		}, []any{
			p.MatchString(s), p.FindString(s), p.FindStringIndex(s), p.FindStringSubmatch(s), p.FindStringSubmatchIndex(s),
			p.FindSubmatch([]byte(s)), p.FindSubmatchIndex([]byte(s)), p.FindAllString(s, -1), p.FindAllStringSubmatch(s, 1),
			p.FindAllStringSubmatchIndex(s, -1), p.ReplaceAllString(s, "$2"), p.ReplaceAllStringFunc(s, upper), p.Split(s, -1),
		}); diff != "" {
			t.Errorf("%q: %s", s, diff)
		}
	}
}
