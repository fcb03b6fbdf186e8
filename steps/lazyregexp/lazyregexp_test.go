package lazyregexp

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
	return ok && of.Name == "lazyregexp" && s.Sel.Name == "New"
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

// A pattern is compiled once.
func TestPattern(t *testing.T) {
	p := New(`(\w)(\d+)`)
	if first := p.Regexp(); first.String() != `(\w)(\d+)` || p.Regexp() != first {
		t.Errorf("%v, and then %v", first, p.Regexp())
	}
}
