package runbook

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
)

const good = "<!-- tutorial: A *title* -->\n\n# First part {#first}\n\nSome prose.\n\n" +
	"```sh\nnot a cell\n```\n\n## A cell {#one}\n\nWhat it does.\n\n- a list\n  ```sh cell=no\n  also prose\n  ```\n\n" +
	"```sh cell=one role=server on=peer ready=port:$PORT each=rail parse=p judge=j counters needs=a,b limit=90s\n" +
	"server \"$PORT\"\n\tindented\n```\n\nBetween the two.\n\n" +
	"``` sh cell=one role=client root\nclient\n```\n\nAfter it.\n\n### A heading of the tail\n\nMore.\n\n" +
	"## Another {#two}\n```sh cell=two on=both ready='line:is ready: \\d+'\nx\n```\n"

func TestParse(t *testing.T) {
	p, err := Parse("good.md", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := steps.Part{
		ID: "first", Title: "First part", Prose: "Some prose.\n\n```sh\nnot a cell\n```",
		Cells: []steps.Cell{{
			ID: "one", Part: "first", Title: "A cell",
			Prose: "What it does.\n\n- a list\n  ```sh cell=no\n  also prose\n  ```\n\nBetween the two.",
			Roles: []steps.Role{
				{
					Name: "server", On: steps.OnPeer, Script: "server \"$PORT\"\n\tindented\n",
					Ready: steps.Ready{Port: "$PORT"},
				},
				{Name: "client", On: steps.OnHere, Script: "client\n", Root: true},
			},
			EachRail: true, Parser: "p", Judge: "j", Limit: 90 * time.Second, Needs: []string{"a", "b"}, Counters: true,
			Tail: "After it.\n\n### A heading of the tail\n\nMore.",
		}, {
			ID: "two", Part: "first", Title: "Another",
			Roles: []steps.Role{{On: steps.OnBoth, Script: "x\n", Ready: steps.Ready{Line: `is ready: \d+`}}},
		}},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if got := Title([]byte(good)); got != "A *title*" {
		t.Errorf("title %q", got)
	}
	// A file from Windows reads the same.
	crlf, err := Parse("good.md", []byte(strings.ReplaceAll(good, "\n", "\r\n")))
	if err != nil || len(crlf.Cells) != 2 || crlf.Cells[0].Roles[1].Script != "client\n" {
		t.Errorf("with CRLF: %v, %+v", err, crlf.Cells)
	}
}

func TestParseErrors(t *testing.T) {
	head := "# P {#p}\n\n## C {#c}\n\n"
	fence := func(attrs string) string { return head + "```sh " + attrs + "\nx\n```\n" }
	for name, c := range map[string]struct{ src, want string }{
		"nothing":              {"only prose\n", "x.md: the heading of the part is missing"},
		"part without id":      {"# P\n", `x.md:1: the part "P" has no id`},
		"cell without id":      {"# P {#p}\n\n## C\n", `x.md:3: the cell "C" has no id`},
		"an id with a space":   {"# P {#p q}\n", "x.md:1: "},
		"an id with capitals":  {"# P {#P}\n", `x.md:1: the id "P" of a part`},
		"another attribute":    {"# P {#p .big}\n", "x.md:1: a heading has an id and no other attribute"},
		"two parts":            {"# P {#p}\n\n# Q {#q}\n", `x.md:3: a file is one part, and "Q" is the second`},
		"cell before the part": {"## C {#c}\n", `x.md:1: the cell "C" stands before the part's heading`},
		"an id twice":          {fence("cell=c") + "\n## D {#c}\n", `x.md:9: the id "c" is taken already`},
		"the part's id":        {"# P {#p}\n\n## C {#p}\n", `x.md:3: the id "p" is taken already`},
		"no script":            {head, `x.md:3: the cell "c" has no script`},
		"unknown attribute": {
			fence("cell=c jugde=x"),
			`x.md:5: the attribute "jugde" is unknown; did you mean "judge"?`,
		},
		"unknown flag": {
			fence("cell=c counter"),
			`x.md:5: the attribute "counter" is unknown; did you mean "counters"?`,
		},
		"unknown place": {fence("cell=c on=pear"), `x.md:5: on=pear is unknown; did you mean "peer"?`},
		"unknown ready": {
			fence("cell=c ready=prt:1"),
			`x.md:5: ready=prt:1 is unknown; did you mean "port"?`,
		},
		"a port that is none": {
			fence("cell=c ready=port:abc"),
			"x.md:5: ready=port:abc: a port is a number or a variable",
		},
		"a broken expression":     {fence(`cell=c ready="line:("`), "x.md:5: ready=line:(: error parsing regexp"},
		"unknown each":            {fence("cell=c each=rails"), `x.md:5: each=rails is unknown; did you mean "rail"?`},
		"no duration":             {fence("cell=c limit=2"), "x.md:5: limit=2 is not a duration"},
		"negative duration":       {fence("cell=c limit=-2s"), "x.md:5: limit=-2s is not a duration"},
		"empty need":              {fence("cell=c needs=a,,b"), `x.md:5: needs=a,,b: "" is not the name of a command`},
		"no value":                {fence("cell=c judge="), "x.md:5: judge= has no value"},
		"a flag for a value":      {fence("cell=c judge"), "x.md:5: judge needs a value"},
		"a value for a flag":      {fence("cell=c root=yes"), "x.md:5: root has no value"},
		"an open quote":           {fence(`cell=c ready="line:x`), "x.md:5: the value of ready= has no closing quote"},
		"an attribute twice":      {fence("cell=c on=here on=peer"), "x.md:5: on is there twice"},
		"the wrong cell":          {fence("cell=cc"), `x.md:5: cell=cc under the heading of "c"; did you mean "c"?`},
		"cell without id's value": {fence("cell"), "x.md:5: cell needs a value"},
		"outside a cell": {
			"# P {#p}\n\n```sh cell=c\nx\n```\n",
			"x.md:3: a script before the first cell's heading",
		},
		"another language": {
			head + "```perl cell=c\nx\n```\n",
			`x.md:5: a cell's script is sh, bash, python, railbench, not "perl"`,
		},
		"roles without places": {fence("cell=c role=a,b on=here"), "x.md:5: role=a,b on=here: as many places as roles"},
		"no such preamble":     {fence("cell=c uses=tols"), `no preamble "tols" stands before it in this file`},
		"a preamble twice": {
			head + "```sh preamble=a\nx\n```\n\n```sh preamble=a\ny\n```\n\n```sh cell=c uses=a\nx\n```\n",
			`the preamble "a" is there already`,
		},
		"a preamble that is more": {
			head + "```sh preamble=a root\nx\n```\n\n```sh cell=c uses=a\nx\n```\n",
			"a preamble has no other attribute",
		},
		"another interpreter": {
			fence("cell=c interpreter=pyhton3"),
			`interpreter=pyhton3 is unknown: bash or python3; did you mean "python3"?`,
		},
		"a probe that is waited for": {
			fence("cell=c") + "\n```sh cell=c probe ready=port:1\nx\n```\n",
			`the probe "probe" has a ready=`,
		},
		"a value without a source":   {fence("cell=c value=rate"), `x.md:5: value=: "" is neither /a regular expression/`},
		"an expression that is none": {fence(`cell=c expect="/(/"`), "x.md:5: expect=: read /(/"},
		"a value beside a judge":     {fence(`cell=c judge=ping value="a .x"`), "it has value= or expect=, and judge="},
		"a command that is a script": {fence(`cell=c needs="a;b"`), `needs=a;b: "a;b" is not the name of a command`},
		"a probe that counts":        {fence("cell=c probe counters"), "it counts bytes and has a probe"},
		"no closing fence":           {head + "```sh cell=c\nx\n", "x.md:5: the script has no closing ```"},
		"empty script":               {head + "```sh cell=c\n\n```\n", "x.md:5: the script is empty"},
		"server without ready": {
			fence("cell=c role=server on=peer"),
			`x.md:3: the cell "c": the role "server" is waited for and has no ready=`,
		},
		"first of two, not ready": {fence("cell=c role=a") +
			"\n```sh cell=c role=b\nx\n```\n", `the role "a" is waited for and has no ready=`},
		"two without names": {fence("cell=c ready=port:1") +
			"\n```sh cell=c role=b\nx\n```\n", "one of them has no role="},
		"a name twice": {fence("cell=c role=a ready=port:1") +
			"\n```sh cell=c role=a\nx\n```\n", `it has the role "a" twice`},
		"both beside another": {fence("cell=c role=a on=both ready=port:1") +
			"\n```sh cell=c role=b\nx\n```\n", `the role "a" is on=both beside another role`},
		"ready for nobody": {fence("cell=c role=a ready=port:1") +
			"\n```sh cell=c role=b ready=port:1\nx\n```\n", `nothing waits for the role "b"`},
		"undoes without change": {fence("cell=c undoes=d"), "it has undoes= and no change="},
		"asks for a change": {
			fence("cell=c on=both root change=BOND asks"),
			"it has asks and change=: a change asks anyway",
		},
		"a fix of no check":        {fence("cell=c fix=d"), "is not a check: finds= is missing"},
		"what explains is a check": {fence("cell=c explains=d"), "is not a check: finds= is missing"},
		"what measures is a check": {fence("cell=c measures"), "is not a check: finds= is missing"},
		"a change on one node":     {fence("cell=c root change=BOND"), "a change is on=both or on=all, and root"},
		"a change without root":    {fence("cell=c on=both change=BOND"), "a change is on=both or on=all, and root"},
		"a change that is waited for": {
			fence("cell=c role=a on=both root change=BOND ready=port:1"),
			`the role "a" of a change has a ready=`,
		},
		"a change with a nameless look": {
			fence("cell=c role=a on=both root change=BOND") + "\n```sh cell=c\nx\n```\n",
			"one of them has no role=",
		},
		"a change of all, looked at on two": {
			fence("cell=c role=a on=all root change=BOND") + "\n```sh cell=c role=b on=both\nx\n```\n",
			`the role "b" of a change is on=both, and the first one on=all`,
		},
		"a look at all": {
			fence("cell=c role=a on=all") + "\n```sh cell=c role=b\nx\n```\n",
			"it is on=all, has several scripts and is not a change",
		},
		"a change twice": {
			fence("cell=c role=a on=both root change=BOND") + "\n```sh cell=c role=a on=both\nx\n```\n",
			`it has the role "a" twice`,
		},
		"own beside a script": {
			head + "```railbench cell=c\nsummary\n```\n\n```sh cell=c\nx\n```\n",
			"what railbench does itself is the only script of its cell",
		},
		"a cell's attribute twice": {fence("cell=c role=a ready=port:1 judge=x") +
			"\n```sh cell=c role=b judge=x\nx\n```\n", "x.md:9: judge is given on another script of the cell already"},
	} {
		_, err := Parse("x.md", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What two roles run, what several cells have in common, and what only railbench reads.
func TestShared(t *testing.T) {
	const src = `# P {#p}

## C {#c}

Prose.

` + "```sh preamble=hello\nhello() { echo \"$1\"; }\n```" + `

More prose.

` + "```sh cell=c role=server,client on=peer,here ready=port:1 uses=hello limit=1m expect=a expect=b value=\"x .y\"\nhello \"$ROLE\"\n```" + `

` + "```python cell=c probe on=both\nprint(1)\n```\n"
	p, err := Parse("x.md", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Cells[0]
	want := []steps.Role{
		{
			Name: "server", On: steps.OnPeer, Ready: steps.Ready{Port: "1"}, Script: "hello \"$ROLE\"\n",
			Before: "hello() { echo \"$1\"; }\n",
		},
		{
			Name: "client", On: steps.OnHere, Script: "hello \"$ROLE\"\n", Before: "hello() { echo \"$1\"; }\n", Shared: true,
			Expects: []string{"a", "b"}, Values: []string{"x .y"},
		},
		{Name: "probe", On: steps.OnBoth, Script: "print(1)\n", Probe: true, Interpreter: "python3"},
	}
	if !reflect.DeepEqual(c.Roles, want) {
		t.Errorf("%+v", c.Roles)
	}
	if c.Prose != "Prose.\n\nMore prose." {
		t.Errorf("prose %q", c.Prose)
	}
	shown, probes := c.Lessons()
	if len(shown) != 1 || len(probes) != 1 || strings.Join(shown[0].Names, " ") != "server client" {
		t.Errorf("%+v, %+v", shown, probes)
	}
	// An edit is of all that share it, and of one place in the file.
	for role := range 2 {
		out, err := Edit([]byte(src), "c", role, "exit\n")
		if want := strings.Replace(src, "hello \"$ROLE\"", "exit", 1); err != nil || string(out) != want {
			t.Errorf("role %d: %v\n%s", role, err, out)
		}
	}
}

func TestLoad(t *testing.T) {
	part := func(id, cell string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("# " + id + " {#" + id + "}\n\n## " +
			cell + " {#" + cell + "}\n\n```sh cell=" + cell + "\nx\n```\n")}
	}
	fsys := fstest.MapFS{
		"t/2-b.md": part("b", "y"), "t/1-a.md": part("a", "x"),
		"t/notes.txt": {Data: []byte("no part")}, "t/sub/c.md": part("c", "z"),
	}
	tut, err := Load(fsys, "t")
	if err != nil || len(tut.Parts) != 2 || tut.Parts[0].ID != "a" || tut.Parts[1].Cells[0].ID != "y" {
		t.Errorf("%v, %+v", err, tut)
	}
	for name, c := range map[string]struct {
		more fstest.MapFS
		want string
	}{
		"a part twice":      {fstest.MapFS{"t/3.md": part("a", "w")}, `t/3.md:1: the part "a" is in t/1-a.md already`},
		"a cell twice":      {fstest.MapFS{"t/3.md": part("c", "x")}, `t/3.md:3: the cell "x" is in t/1-a.md already`},
		"a cell and a part": {fstest.MapFS{"t/3.md": part("c", "a")}, `t/3.md:3: the cell "a" has the id of the part`},
		"a broken file":     {fstest.MapFS{"t/3.md": {Data: []byte("# no id\n")}}, "t/3.md:1: "},
	} {
		all := fstest.MapFS{}
		for _, m := range []fstest.MapFS{fsys, c.more} {
			maps.Copy(all, m)
		}
		if _, err := Load(all, "t"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Load(fsys, "nowhere"); err == nil {
		t.Error("a folder that isn't there was read")
	}
	if _, err := Load(fstest.MapFS{"t/x.txt": {}}, "t"); err == nil {
		t.Error("a folder without a part was read")
	}
}

func TestCheck(t *testing.T) {
	c := steps.Catalog{
		Parsers: map[string]steps.Parser{"ping": nil},
		Judges:  map[string]steps.Judge{"": nil, "ping": nil},
	}
	check := func(parser, judge string) error {
		return Check(steps.Tutorial{Parts: []steps.Part{{Cells: []steps.Cell{{
			ID:     "c",
			Parser: parser, Judge: judge,
		}}}}}, c)
	}
	for _, names := range [][2]string{{"ping", "ping"}, {"", ""}} {
		if err := check(names[0], names[1]); err != nil {
			t.Error(err)
		}
	}
	if err := check("pnig", ""); err == nil ||
		!strings.Contains(err.Error(), `unknown parser "pnig"; did you mean "ping"?`) {
		t.Error(err)
	}
	if err := check("", "pings"); err == nil ||
		!strings.Contains(err.Error(), `unknown judge "pings"; did you mean "ping"?`) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("# P {#p}\n## C {#c}\n```sh cell=c ready=\"line:a b\"\n")
	f.Add("P {#p}\n===\nC {#c}\n---\n~~~sh cell=c\nx\n~~~\n")
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse("x.md", []byte(src))
		if err != nil {
			return
		}
		for _, c := range p.Cells {
			if c.ID == "" || len(c.Roles) == 0 || strings.TrimSpace(c.Roles[0].Script) == "" {
				t.Fatalf("%+v", c)
			}
		}
	})
}
