package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	goconstant "go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the program says itself, in English: fields and methods, by package below the module; true once one is used.
var ownWords = map[string]bool{
	"steps.Verdict.Reason":         false,
	"steps.Found.Text":             false,
	"steps.Stage.Err":              false,
	"steps.Result.Skip":            false,
	"steps.Changed.Nothing":        false,
	"steps.Plan.Refuse":            false,
	"steps.Plan.Nothing":           false,
	"steps.Plan.Becomes":           false,
	"steps.Output.Err":             false,
	"steps.Output.ParseErr":        false,
	"steps.RailBytes.Why":          false,
	"steps.Node.Err":               false,
	"steps.NodeChanged.Why":        false,
	"steps.NodeChanged.Cause":      false,
	"steps.Connection.Why":         false,
	"steps.Connection.Cause":       false,
	"steps/registry.Finding.Text":  false,
	"steps/traffic.Finding.Text":   false,
	"steps/pairs.Cell.Reason":      false,
	"steps/pairs.Cause.Text":       false,
	"steps/pairs.Judgement.Reason": false,
	"runner.Exit.String":           false,
	"runner.Error.Hint":            false,
}

// Which packages' functions and methods look for something in a text. What only sets it in another way, as TrimSpace,
// Fields and TrimSuffix do, reads nothing of it.
var (
	readers = []string{
		"Contains", "ContainsAny", "Cut", "CutPrefix", "CutSuffix", "Count", "EqualFold", "HasPrefix", "HasSuffix", "Index",
		"IndexByte", "LastIndex", "Split", "SplitN", "TrimPrefix", "Lines",
	}
	matchers = []string{"Match", "Find"}
)

// TestSentencesAreNotRead: what a verdict, a finding or an error says is for people. Whoever decides by it decides
// otherwise once somebody improves a sentence, so it looks at the code, the grade, the node or an enumerated reason.
func TestSentencesAreNotRead(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,GoFiles,Export,Standard,Module",
		module+"cmd/railbench").Output()
	if err != nil {
		t.Fatal(err)
	}
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var own []pkg
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; strings.HasPrefix(p.ImportPath, module) {
			own = append(own, p)
		}
	}
	files := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(files, "gc", open)
	for _, p := range own {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		info := &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info); err != nil {
			t.Fatal(err)
		}
		for _, sel := range info.Selections {
			if name := fieldName(sel); !ownWords[name] {
				if _, listed := ownWords[name]; listed {
					ownWords[name] = true
				}
			}
		}
		s := sentenceReader{info: info, holds: map[types.Object]bool{}}
		for _, f := range parsed {
			for _, d := range f.Decls {
				for _, at := range s.read(d) {
					t.Errorf("%s: a sentence is read back", files.Position(at))
				}
			}
		}
	}
	for name, seen := range ownWords {
		if !seen {
			t.Errorf("no %s is used", name)
		}
	}
}

// A sentenceReader finds where a declaration reads a sentence: a field of the list, or a variable that got one.
type sentenceReader struct {
	info  *types.Info
	holds map[types.Object]bool
}

func (s sentenceReader) read(d ast.Decl) (found []token.Pos) {
	for n := -1; n != len(s.holds); { // a variable may get it from one that is assigned further down
		n = len(s.holds)
		ast.Inspect(d, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.AssignStmt:
				for i, left := range x.Lhs {
					if id, ok := left.(*ast.Ident); ok && len(x.Lhs) == len(x.Rhs) && s.says(x.Rhs[i]) {
						if obj := s.info.ObjectOf(id); obj != nil {
							s.holds[obj] = true
						}
					}
				}
			}
			return true
		})
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			if s.reads(x.Fun) && slices.ContainsFunc(x.Args, s.says) {
				found = append(found, x.Pos())
			}
		case *ast.BinaryExpr:
			if x.Op == token.EQL || x.Op == token.NEQ {
				if s.says(x.X) && s.words(x.Y) || s.says(x.Y) && s.words(x.X) {
					found = append(found, x.Pos())
				}
			}
		}
		return true
	})
	return found
}

// words reports whether something is a constant text that isn't empty.
func (s sentenceReader) words(e ast.Expr) bool {
	v := s.info.Types[e].Value
	return v != nil && v.Kind() == goconstant.String && goconstant.StringVal(v) != ""
}

// reads reports whether a function is one of package strings or a method of an expression that looks for something.
func (s sentenceReader) reads(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := s.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() {
	case "strings":
		return slices.Contains(readers, f.Name())
	case "regexp":
		return slices.ContainsFunc(matchers, func(m string) bool { return strings.HasPrefix(f.Name(), m) })
	}
	return false
}

// says reports whether a text has a sentence in it.
func (s sentenceReader) says(e ast.Expr) (is bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return s.says(x.X)
	case *ast.Ident:
		return s.holds[s.info.ObjectOf(x)]
	case *ast.BinaryExpr:
		return s.says(x.X) || s.says(x.Y)
	case *ast.CallExpr: // strings.ToLower, cmp.Or: a text of texts
		return s.says(x.Fun) || slices.ContainsFunc(x.Args, s.says)
	case *ast.IndexExpr:
		return s.says(x.X)
	case *ast.SelectorExpr:
		if sel := s.info.Selections[x]; sel != nil {
			_, ok := ownWords[fieldName(sel)]
			return ok
		}
	}
	return false
}

// fieldName is the name of a field or a method with its type's and its package's.
func fieldName(sel *types.Selection) string {
	t := sel.Recv()
	if f, ok := sel.Obj().(*types.Func); ok {
		t = f.Signature().Recv().Type()
	} else {
		for _, at := range sel.Index()[:len(sel.Index())-1] { // through what is embedded
			t = pointed(t).Underlying().(*types.Struct).Field(at).Type()
		}
	}
	named, ok := pointed(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	return strings.TrimPrefix(named.Obj().Pkg().Path(), module) + "." + named.Obj().Name() + "." + sel.Obj().Name()
}

func pointed(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.Unalias(t)
}
