package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/railbench/railbench/"

// What runs on nodes, as files: text that is linted as what it is.
const nodeScripts = module + "assets/scripts"

// The house: who may import whom, each rule with its reason. The same rules stand
// in .golangci.yml, where an editor shows them; this test sees every package, with
// build tags and all.
var house = []struct {
	from, mustNot, reason string
	except                string // a package below from that may
	but                   string // a package below mustNot that it may
}{
	{from: "runner", mustNot: module + "steps", reason: "runner knows no RDMA word"},
	{from: "runner", mustNot: module + "tui", reason: "the direction is cmd, tui, steps, runner"},
	{from: "runner", mustNot: module + "cmd", reason: "the direction is cmd, tui, steps, runner"},
	{
		from: "runner", mustNot: module + "assets", but: nodeScripts,
		reason: "only cmd imports the assets; who runs a script on a node has to have it",
	},
	{from: "runner", mustNot: module + "runner/sim", reason: "only cmd imports the simulated rig", except: "runner/sim"},
	{from: "runner/sim", mustNot: module + "runner/etcd", reason: "a simulated node knows an etcd by its protocol"},
	{from: "runner/sim", mustNot: module + "runner/undo", reason: "what is simulated is what a change is tried on"},
	{from: "runner/sim/clock", mustNot: module + "runner/sim", reason: "the time is below all that happens in it"},
	{
		from: "runner/sim/net", mustNot: module + "runner/sim/host",
		reason: "links and counters know no file and no process",
	},
	{from: "runner/sim/net", mustNot: module + "runner/sim/tool", reason: "links and counters know no program"},
	{
		from: "runner/sim/net", mustNot: module + "runner/sim/fault",
		reason: "a fault changes what a link is; the link doesn't ask for it",
	},
	{from: "runner/sim/host", mustNot: module + "runner/sim/tool", reason: "a node has programs, and knows none"},
	{
		from: "runner/sim/host", mustNot: module + "runner/sim/fault",
		reason: "a fault changes what a node is; the node doesn't ask for it",
	},
	{
		from: "runner/sim/tool", mustNot: module + "runner/sim/fault",
		reason: "a program minds what is wrong, by whatever that was done",
	},
	{
		from: "runner/sim/tool/linux", mustNot: module + "runner/sim/tool",
		reason: "every node has these, whatever else it has",
	},
	{
		from: "runner/sim/tool/network", mustNot: module + "runner/sim/tool/rdma",
		reason: "a network is without RDMA, too",
	},
	{
		from: "runner/sim/tool/network", mustNot: module + "runner/sim/tool/nixl",
		reason: "a network is without RDMA, too",
	},
	{
		from: "runner/sim/tool/network", mustNot: module + "runner/sim/tool/nccl",
		reason: "a network is without RDMA, too",
	},
	{
		from: "runner/sim/tool/rdma", mustNot: module + "runner/sim/tool/nixl",
		reason: "verbs know nothing of what runs on them",
	},
	{
		from: "runner/sim/tool/rdma", mustNot: module + "runner/sim/tool/nccl",
		reason: "verbs know nothing of what runs on them",
	},
	{
		from: "runner/sim/tool/nixl", mustNot: module + "runner/sim/tool/nccl",
		reason: "two libraries that share only ports",
	},
	{
		from: "runner/sim/tool/nccl", mustNot: module + "runner/sim/tool/nixl",
		reason: "two libraries that share only ports",
	},
	{from: "cmd", mustNot: "go.etcd.io", reason: "etcd's libraries are another module's"},
	{from: "runner", mustNot: "go.etcd.io", reason: "etcd's libraries are another module's"},
	{from: "steps", mustNot: "go.etcd.io", reason: "etcd's libraries are another module's"},
	{from: "tui", mustNot: "go.etcd.io", reason: "etcd's libraries are another module's"},
	{from: "steps", mustNot: module + "tui", reason: "the direction is cmd, tui, steps, runner"},
	{from: "steps", mustNot: module + "cmd", reason: "the direction is cmd, tui, steps, runner"},
	{
		from: "steps", mustNot: module + "assets", but: nodeScripts,
		reason: "cmd hands the files on; who reads what a script prints has to have it",
	},
	{
		from: "steps", mustNot: module + "runner/sim",
		reason: "a parser that shared code with the simulator would pass its own test",
	},
	{from: "steps", mustNot: "os/exec", reason: "processes are runner's"},
	{from: "steps", mustNot: "golang.org/x/crypto", reason: "SSH is runner's"},
	{from: "steps", mustNot: "net", reason: "sockets are runner's"},
	{
		from: "steps/limits", mustNot: module + "steps/probe",
		reason: "what hardware can do doesn't depend on how it is looked at",
	},
	{from: "steps/rate", mustNot: module, reason: "units know nothing of what has them"},
	{from: "steps/strictnum", mustNot: module, reason: "digits know nothing of what they count"},
	{from: "steps/verify", mustNot: module + "steps/probe", reason: "a stage gets the rig, and looks at no node"},
	{
		from: "steps/registry", mustNot: module + "steps/probe",
		reason: "a family registers its commands, and the probe looks for them",
	},
	{
		from: "steps/traffic", mustNot: module + "steps/probe",
		reason: "an account is of what was counted, however that was read",
	},
	{from: "steps/family", mustNot: module + "steps/probe", reason: "a judge gets the rig, and looks at no node"},
	{from: "steps/checks", mustNot: module + "steps/probe", reason: "a judge gets the rig, and looks at no node"},
	{from: "tui", mustNot: module + "runner", reason: "the screen asks the session, never a node"},
	{from: "tui", mustNot: module + "cmd", reason: "the direction is cmd, tui, steps, runner"},
	{from: "tui", mustNot: module + "assets", reason: "cmd hands the files on"},
	{from: "tui", mustNot: "os", reason: "whoever draws does nothing else"},
	{from: "tui", mustNot: "net", reason: "whoever draws does nothing else", except: "tui/web"},
	{from: "assets", mustNot: module, reason: "assets is data"},
}

func TestHouse(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		own := strings.TrimPrefix(p.ImportPath, module)
		for _, rule := range house {
			if !within(own, rule.from) || rule.except != "" && within(own, rule.except) {
				continue
			}
			for _, i := range p.Imports {
				// netip is a type, not a socket.
				if i != "net/netip" && (rule.but == "" || i != rule.but) && within(i, strings.TrimSuffix(rule.mustNot, "/")) {
					t.Errorf("%s imports %s: %s", own, i, rule.reason)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

// What every start of railbench would pay for, in time and in size, has a program of
// its own or stays out.
func TestLightProgram(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"cmd/railbench").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, "charm.land/bubbletea/v2") {
		t.Fatalf("these are not its packages: %v", all)
	}
	for _, pkg := range all {
		for _, heavy := range []string{
			"go.etcd.io", "google.golang.org/grpc", "google.golang.org/protobuf", "github.com/prometheus", "go.uber.org/zap",
			"github.com/google/go-cmp", "html/template", "testing",
		} {
			if within(pkg, heavy) {
				t.Errorf("cmd/railbench is built with %s", pkg)
			}
		}
	}
}

// The product is built of few modules, and none of etcd's: those are of the module next to railbench's own program.
// The list is of this platform, and the bound leaves room for another one's.
func TestFewModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	const most = 40
	if len(modules) < 10 || len(modules) > most {
		t.Errorf("%d modules, at most %d are allowed: %q", len(modules), most, modules)
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, heavy := range []string{"go.etcd.io", "google.golang.org/grpc", "github.com/prometheus"} {
			if strings.Contains(string(text), heavy) {
				t.Errorf("%s names %s", file, heavy)
			}
		}
	}
}

// The rooms that run, count and draw cells know none of them by its name, and no tool: what they need to know of one
// stands on its fence or in its family. A part and a word of the house may be called alike.
func TestHouseNames(t *testing.T) {
	book, cat, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range book.Cells() {
		names[c.ID] = true
	}
	for _, p := range book.Checklist {
		for _, c := range p.Cells {
			names[c.ID] = true
		}
	}
	for _, command := range cat.Commands {
		names[command.Name] = true
	}
	for _, word := range []string{"nodes", "hosts", "mtu", "pairs", "container", "sh", "python3"} {
		delete(names, word) // words of the house, and what scripts are written in
	}
	if !names["bond-setup"] || !names["ib_write_bw"] {
		t.Fatalf("these are not the names: %v", names)
	}
	for _, room := range []string{
		"steps/session", "steps/runbook", "steps/meter", "steps/traffic", "tui/cells",
		"tui/gauges",
	} {
		files, err := filepath.Glob(filepath.Join("../..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", room, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && names[text] {
						t.Errorf("%s names %q", file, text)
					}
				}
				return true
			})
		}
	}
}

// The comment of a function that returns a bool says "reports whether": it describes the case true.
func TestDocsReportWhether(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Type.Results.NumFields() != 1 {
				continue
			}
			if kind, ok := f.Type.Results.List[0].Type.(*ast.Ident); !ok || kind.Name != "bool" {
				continue
			}
			first, _, _ := strings.Cut(f.Doc.Text(), ".")
			if strings.Contains(first, " whether") && !strings.Contains(first, "reports whether") &&
				!strings.Contains(first, "asks whether") {
				t.Errorf("%s: %s: %q", path, f.Name.Name, first)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Lines end at 120 columns. What can't be broken is data: a raw string, and a word.
func TestHouseLines(t *testing.T) {
	const most = 120
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data := map[int]bool{} // lines with what can't be broken
		files := token.NewFileSet()
		file := files.AddFile(path, files.Base(), len(src))
		var s scanner.Scanner
		s.Init(file, src, nil, 0)
		for {
			pos, kind, text := s.Scan()
			if kind == token.EOF {
				break
			}
			raw := strings.HasPrefix(text, "`")
			if kind == token.STRING && (raw || len(text) > most/2 && !strings.Contains(text, " ")) {
				first := file.Line(pos)
				for n := range strings.Count(text, "\n") + 1 {
					data[first+n] = true
				}
			}
		}
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > most && !data[n] {
				t.Errorf("%s:%d has %d columns", path, n, width)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHermetic looks for what makes a test depend on its machine: a limit of seconds on elapsed time where the time is
// not a bubble's or the simulated rig's, a look at who the user is, a search for a tool past runner/testform.
func TestHermetic(t *testing.T) {
	limit := regexp.MustCompile(`(time\.Since\(|\btook )[^\n]*[<>] ?[0-9*]*time\.(Second|Millisecond)`)
	user := regexp.MustCompile(`os\.Gete?uid\(\) *[=!]=`)
	search := regexp.MustCompile(`exec\.LookPath\(`)
	seen := 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "house_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		text := string(src)
		bubble := strings.Contains(text, `"testing/synctest"`) || strings.Contains(text, "s.now.Sub(") ||
			strings.Contains(text, ".Clock().Now()")
		n := 0
		for line := range strings.Lines(text) {
			n++
			switch {
			case limit.MatchString(line) && !bubble:
				t.Errorf("%s:%d: a limit of seconds on elapsed time: %s", path, n, line)
			case user.MatchString(line):
				t.Errorf("%s:%d: ask testform.Root: %s", path, n, line)
			case search.MatchString(line) && !strings.Contains(line, `("railbench")`) &&
				!strings.Contains(text, "testform."):
				t.Errorf("%s:%d: ask testform.Tool: %s", path, n, line)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files of tests were read: %v", seen, err)
	}
}

func within(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }
