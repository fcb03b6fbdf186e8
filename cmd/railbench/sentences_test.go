package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
	"steps/doctor.Check.Reason":    false,
	"steps/headless.Cell.Reason":   false,
	"steps/traffic.Cause.Text":     false,
	"steps/pairs.Cause.Text":       false,
	"steps/pairs.Judgement.Reason": false,
	"runner.Exit.String":           false,
	"runner.Error.Hint":            false,
}

// Functions that set a sentence in another way and decide nothing by it, each with what it looks for; empty once it was
// found.
var setsText = map[string]string{
	"steps/registry.sentences": "whether there is a full stop",
	"steps/registry.Capital":   "whether the first word is a name",
	"steps/notebook.eachPart":  "terminal sequences",
	"tui/theme.inAddresses":    "addresses of pages",
	"tui/theme.Style.Render":   "the ends of lines",
	"tui/theme.Wrap":           "the ends of lines",
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

// TestSentencesAreNotRead: the text of a verdict, a finding or an error is for people. Code that decides by
// the text decides otherwise once a user improves a sentence. So it looks at the code, the grade, the node or
// an enumerated reason.
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
	r := sentenceReader{holds: map[types.Object]bool{}, given: map[string]bool{}}
	for _, p := range slices.Backward(own) { // who gives a sentence to another package comes before that
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
		r.info = info
		for before := -1; before != r.known(); { // a variable may get it from one that is assigned further down
			before = r.known()
			for _, f := range parsed {
				r.follow(f)
			}
		}
		for _, f := range parsed {
			for _, d := range f.Decls {
				name := r.declared(d)
				for _, at := range r.read(d) {
					if _, allowed := setsText[name]; allowed {
						setsText[name] = ""
						continue
					}
					t.Errorf("%s: %s reads a sentence back", files.Position(at), name)
				}
			}
		}
		clear(r.holds)
	}
	for name, seen := range ownWords {
		if !seen {
			t.Errorf("no %s is used", name)
		}
	}
	for name, why := range setsText {
		if why != "" {
			t.Errorf("%s reads no sentence: take it out of the list", name)
		}
	}
}

// A sentenceReader finds where a declaration reads a sentence: a field of the list, or a variable, a parameter or a
// result that got one.
type sentenceReader struct {
	info  *types.Info
	holds map[types.Object]bool // variables
	given map[string]bool       // parameters, by function and number
}

func (s sentenceReader) known() int { return len(s.holds) + len(s.given) }

// declared is the name of a function.
func (s sentenceReader) declared(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		return strings.TrimPrefix(strings.NewReplacer("(", "", ")", "", "*", "", module, "").Replace(
			s.info.Defs[f.Name].(*types.Func).FullName()), "/")
	}
	return ""
}

// follow notes what gets a sentence: variables, parameters and results.
func (s sentenceReader) follow(f *ast.File) {
	var in *types.Func // the declaration that is looked at
	var inner ast.Node // the last function without a name
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, left := range x.Lhs {
				call, _ := x.Rhs[0].(*ast.CallExpr)
				switch {
				case len(x.Lhs) == len(x.Rhs):
					s.gets(left, s.says(x.Rhs[i]))
				case call != nil && s.callee(call.Fun) != nil:
					s.gets(left, s.given[result(s.callee(call.Fun), i)])
				}
			}
		case *ast.RangeStmt:
			if x.Value != nil {
				s.gets(x.Value, s.says(x.X))
			}
		case *ast.CallExpr:
			if f := s.callee(x.Fun); f != nil && strings.HasPrefix(f.Pkg().Path()+"/", module) {
				for i, arg := range x.Args {
					if i < f.Signature().Params().Len() && s.says(arg) {
						s.given[param(f, i)] = true
					}
				}
			}
		case *ast.FuncDecl:
			f := s.info.Defs[x.Name].(*types.Func)
			in = f
			for i := range f.Signature().Params().Len() {
				if p := f.Signature().Params().At(i); s.given[param(f, i)] && areTexts(p.Type()) {
					s.holds[p] = true
				}
			}
		case *ast.FuncLit:
			if inner == nil || x.Pos() > inner.End() {
				inner = x
			}
		case *ast.ReturnStmt:
			if inner != nil && x.Pos() > inner.Pos() && x.Pos() < inner.End() {
				return true
			}
			fields := sentenceReader{info: s.info} // what passes a text on gives no more than it takes
			for i, r := range x.Results {
				if fields.says(r) && i < in.Signature().Results().Len() && areTexts(in.Signature().Results().At(i).Type()) {
					s.given[result(in, i)] = true
				}
			}
		}
		return true
	})
}

// gets notes that what is assigned has a sentence.
func (s sentenceReader) gets(left ast.Expr, says bool) {
	var obj types.Object
	switch x := left.(type) {
	case *ast.Ident:
		obj = s.info.ObjectOf(x)
	case *ast.IndexExpr:
		s.gets(x.X, says)
	}
	if says && obj != nil && areTexts(obj.Type()) {
		s.holds[obj] = true
	}
}

func param(f *types.Func, i int) string { return fmt.Sprint(f.FullName(), " takes ", i) }

func result(f *types.Func, i int) string { return fmt.Sprint(f.FullName(), " gives ", i) }

// areTexts reports whether something is a text, or has texts.
func areTexts(t types.Type) bool {
	switch x := t.Underlying().(type) {
	case *types.Basic:
		return x.Info()&types.IsString != 0
	case *types.Slice:
		return areTexts(x.Elem())
	case *types.Map:
		return areTexts(x.Elem())
	}
	return false
}

// callee is the function that is called; nil where it is none that is declared.
func (s sentenceReader) callee(fun ast.Expr) *types.Func {
	switch x := fun.(type) {
	case *ast.SelectorExpr:
		f, _ := s.info.Uses[x.Sel].(*types.Func)
		if f == nil || f.Pkg() == nil {
			return nil
		}
		return f
	case *ast.Ident:
		f, _ := s.info.Uses[x].(*types.Func)
		if f == nil || f.Pkg() == nil {
			return nil
		}
		return f
	}
	return nil
}

func (s sentenceReader) read(d ast.Decl) (found []token.Pos) {
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
		f := s.callee(x.Fun)
		return s.says(x.Fun) || f != nil && s.given[result(f, 0)] || slices.ContainsFunc(x.Args, s.says)
	case *ast.CompositeLit:
		return slices.ContainsFunc(x.Elts, s.says) && areTexts(s.info.Types[x].Type)
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
