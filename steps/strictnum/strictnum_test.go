package strictnum

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What looks like a number in some language or other, and that no tool prints as one.
var strange = []string{
	"", " ", " 1", "1 ", "1 0", "+1", "-1", "-0", ".5", "5.", ".", "1.2.3", "1,5", "1.032,34", "1e5", "1E5", "1e+06",
	"0x10", "0x1p10", "0X1P-2", "0b1", "0o7", "1_000", "1_1032.34", "1'000", "inf", "Inf", "+Inf", "infinity", "nan",
	"NaN",
	"1f", "0x", "1\u00a0000", "\u0661", "\uff11", "1\x00", "1\n", "--", "1/2", "1%",
}

func TestDecimalAndNothingElse(t *testing.T) {
	for _, s := range strange {
		if v, ok := Number(s); ok {
			t.Errorf("Number takes %q for %g", s, v)
		}
		if v, ok := Count(s); ok {
			t.Errorf("Count takes %q for %d", s, v)
		}
		if v, ok := Counter(s); ok {
			t.Errorf("Counter takes %q for %d", s, v)
		}
	}
	for s, want := range map[string]float64{"0": 0, "007": 7, "11032.34": 11032.34, "0.000295": 0.000295} {
		if v, ok := Number(s); !ok || v != want {
			t.Errorf("Number(%q) = %g, %t", s, v, ok)
		}
	}
	if v, ok := Number(strings.Repeat("9", 400)); ok {
		t.Errorf("400 digits are %g", v)
	}
	if v, ok := Count("0042"); !ok || v != 42 {
		t.Errorf("0042 is %d, %t", v, ok)
	}
	if v, ok := Counter("18446744073709551615"); !ok || v != 1<<64-1 {
		t.Errorf("the largest counter is %d, %t", v, ok)
	}
	if v, ok := Counter("18446744073709551616"); ok {
		t.Errorf("more than the largest counter is %d", v)
	}
	if v, ok := Count("18446744073709551615"); ok {
		t.Errorf("more than the largest int is %d", v)
	}
}

func TestRelease(t *testing.T) {
	for s, want := range map[string][]int{
		"2.18.3": {2, 18, 3}, "255": {255}, "1.46.0-1": {1, 46, 0}, "2.7.8+cuda10.1": {2, 7, 8}, "1.x.2": {1},
		"v2": nil, "": nil,
		"1.99999999999999999999": {1},
	} {
		if got := Release(s); !slices.Equal(got, want) {
			t.Errorf("Release(%q) = %v", s, got)
		}
	}
}

func TestSigned(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "-3.5": -3.5, "1e5": 1e5, "9.4E+09": 9.4e9, "-1e-9": -1e-9} {
		if v, ok := Signed(s); !ok || v != want {
			t.Errorf("Signed(%q) = %g, %t", s, v, ok)
		}
	}
	for _, s := range []string{
		"", "-", "--1", "+1", "e5", "1e", "1e+", "1e5e5", "1e+-5", "1e--5", "0x10", "0x1p10", "1_000", "inf", "-nan", ".5",
		"5.", "1e999", "1,5", " 1",
	} {
		if v, ok := Signed(s); ok {
			t.Errorf("Signed takes %q for %g", s, v)
		}
	}
}

// A row whose figure is wrong must be seen as one.
func TestLooks(t *testing.T) {
	for _, s := range []string{"1", "1.5", "nan", "-nan", "inf", "+1", "-3.5", "0x1p10", "1_1032.34", "1e999", "1e5"} {
		if !Looks(s) {
			t.Errorf("%q is no word meant as a number", s)
		}
	}
	for _, s := range []string{"", "-----", "--", "name", "in", "1:2", "10.0.0.1", "2026-11-22", "[5]"} {
		if Looks(s) {
			t.Errorf("%q is taken for one meant as a number", s)
		}
	}
}

// lenient are the functions that read more than a tool prints.
var lenient = map[string]bool{
	"strconv.Atoi": true, "strconv.ParseInt": true, "strconv.ParseUint": true, "strconv.ParseFloat": true,
	"fmt.Sscan": true, "fmt.Sscanf": true, "fmt.Sscanln": true,
}

// notOfTools are the few that read what no tool printed, by file, each with what it reads.
var notOfTools = map[string]string{
	"checks/software/nccl.go":   "a variable of the environment, as NCCL reads it",
	"checks/software/ucx.go":    "a variable of the environment, as UCX reads it",
	"family/bond/changes.go":    "a parameter, which its kind has checked",
	"verify/output.go":          "a script, and a parameter's value",
	"family/summary/summary.go": "a parameter, a list of sizes",
}

// Whatever reads a tool's text reads its numbers here.
func TestOneReader(t *testing.T) {
	seen := 0
	for _, room := range []string{"parse", "probe", "meter", "family", "checks", "verify", "explain"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			seen++
			name, _ := filepath.Rel("..", path)
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && lenient[x.Name+"."+s.Sel.Name] && notOfTools[filepath.ToSlash(name)] == "" {
						t.Errorf("%s reads a number with %s.%s: a tool's are strictnum.Number's, Count's or Counter's", name, x.Name,
							s.Sel.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 20 {
		t.Errorf("only %d files were looked at", seen)
	}
}
