package runbook

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// catalogue is what the runbooks of these tests may name.
func catalogue() Known {
	return Known{
		Catalog: steps.Catalog{
			Parsers: map[string]steps.Parser{"facts": nil},
			Judges:  map[string]steps.Judge{"": nil, "ping": nil, "mtu": nil},
			Plans:   map[string]steps.Planner{"mtu": nil},
			Own:     map[string]func(steps.History) steps.Verdict{"summary": nil},
		},
		Services: []string{"etcd"}, Faults: []string{"slow-rail"}, Tools: []string{"ping", "iperf3"},
		Params: []steps.Param{{Name: "PORT"}, {Name: "SIZE", Kind: steps.Size, Min: 1, Max: 1 << 30}},
		Reads:  map[string][]string{"ping": {"facts"}},
		Checks: []steps.Cell{{ID: "gid-index"}},
		Variables: func(c steps.Cell) []string {
			all := []string{"NODE", "PORT", "SIZE", "RAIL1_DEV", "PEER_RAIL1_DEV"}
			if c.EachRail {
				all = append(all, "RAIL_DEV")
			}
			if slices.Contains(c.With, "etcd") {
				all = append(all, "ETCD")
			}
			if c.Judge == "mtu" {
				all = append(all, "MTU_NETDEVS")
			}
			return all
		},
	}
}

// found is everything that is said of files, which are called a.md, b.md …
func found(files ...string) []string {
	var docs []Document
	for i, src := range files {
		docs = append(docs, Read(string(rune('a'+i))+".md", []byte(src)))
	}
	t, problems := Join(docs)
	t.Checklist = []steps.Part{{ID: "check-network", Cells: []steps.Cell{{ID: "end-it", Asks: true}}}}
	k := catalogue()
	problems = slices.Concat(problems, Names(docs, t, k), Scripts(docs, t, k))
	InOrder(docs, problems)
	var all []string
	for _, p := range problems {
		all = append(all, p.Error())
	}
	return all
}

func holds(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d problems, want %d:\n%s", name, len(got), len(want), strings.Join(got, "\n"))
		return
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s: %s, want %s", name, got[i], want[i])
		}
	}
}

// One mistake does not hide another, and what only follows from a mistake isn't reported.
func TestEveryProblemIsTold(t *testing.T) {
	holds(t, "many", found(`<!-- params: ROUNDS=3 small=1 -->

# P {#p}

## One {#one}

`+"```sh cell=one jugde=x on=pear judge=pnig"+`
x
`+"```"+`

## Two

`+"```sh cell=two bogus"+`
y
`+"```"+`

## One again {#one}

## Three {#three}

`+"```sh cell=three parse=fact"+`
echo "$ROUND"
if true; then
`+"```"+`

## Four {#four}
`),
		`a.md:1: the parameter "small": capital letters`,
		"a.md:1: warning: no script reads the parameter ROUNDS",
		`a.md:7: the attribute "jugde" is unknown; did you mean "judge"?`,
		`a.md:7: on=pear is unknown; did you mean "peer"?`,
		`a.md:7: unknown judge "pnig"; did you mean "ping"?`,
		`a.md:11: the cell "Two" has no id`,
		`a.md:17: the id "one" is taken already`,
		`a.md:21: unknown parser "fact"; did you mean "facts"?`,
		"a.md:23:10: no POSIX shell reads the script",
		`a.md:26: the cell "four" has no script`,
	)
}

func TestScripts(t *testing.T) {
	head := "<!-- params: ROUNDS=3 -->\n\n# P {#p}\n\n"
	cell := func(attrs, script string) string {
		return head + "## C {#c}\n\n```sh cell=c " + attrs + "\n: $ROUNDS\n" + script + "\n```\n"
	}
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"nothing": {cell("", "echo $NODE ${PORT} ${SIZE##*/} $? $1 $@ $# $$ $HOME $PATH $LC_ALL"), nil},
		"set in the script": {cell("",
			"A=1; for B in 1; do read -r C D; done; export E=1 F; : ${G:=x}\n"+
				"echo $A$B$C$D$E$F$G $((N = 1)) $((M += 1)) $N $M"), nil},
		"asked for":    {cell("", `[ -n "${MAYBE:-}" ] && echo "$MAYBE"; echo "${OTHER+set}"`), nil},
		"another file": {cell("", `. /etc/os-release; echo "$PRETTY_NAME"`), nil},
		"another file, but": {
			cell("", `. /etc/os-release; echo "$ROUNDZ"`),
			[]string{`a.md:9:26: warning: the script reads $ROUNDZ: it is never set; did you mean "ROUNDS"?`},
		},
		"in quotes, not read": {cell("", `sh -c 'echo $NOBODY'; cat <<'X'`+"\n$NOBODY\nX"), nil},
		"a text that is": {
			cell("", "cat <<X\n$NOBODY\nX"),
			[]string{"a.md:10:1: warning: the script reads $NOBODY: it is never set"},
		},
		"once for each name": {
			cell("", "echo $NOBODY $NOBODY"),
			[]string{"a.md:9:6: warning: the script reads $NOBODY: it is never set"},
		},
		"compared, not set": {cell("", "echo $((X == 1)) $X"), []string{"a.md:9:18: warning: the script reads $X"}},
		"near to one": {
			cell("", `echo "$ROUNDZ"`),
			[]string{`a.md:9:7: warning: the script reads $ROUNDZ: it is never set; did you mean "ROUNDS"?`},
		},
		"any rail": {cell("", "echo $RAIL3_DEV $PEER_RAIL12_DEV"), nil},
		"no such rail": {
			cell("", "echo $RAIL0_DEV"),
			[]string{"a.md:9:6: warning: the script reads $RAIL0_DEV: it is never set"},
		},
		"one rail's": {
			cell("", "echo $RAIL_DEV"),
			[]string{"a.md:9:6: warning: the script reads $RAIL_DEV: it is set in a cell with each=rail only"},
		},
		"one rail's, each": {cell("each=rail", "echo $RAIL_DEV"), nil},
		"a service's": {
			cell("", "echo $ETCD"),
			[]string{"a.md:9:6: warning: the script reads $ETCD: it is set in a cell with with=etcd only"},
		},
		"a service's, with": {cell("with=etcd", "echo $ETCD"), nil},
		"a plan's": {
			cell("", "echo $MTU_NETDEVS"),
			[]string{"a.md:9:6: warning: the script reads $MTU_NETDEVS: it is set in a cell with judge=mtu only"},
		},
		"a port's": {
			cell("ready=port:$PROT", "x"),
			[]string{`a.md:7: warning: ready=port:$PROT: it is never set; did you mean "PORT"?`},
		},
		"an interface's": {
			cell("on=both root change=NODE,NOBODY", "x"),
			[]string{"a.md:7: warning: change=NOBODY: it is never set"},
		},
		"bash's":   {cell("", "[[ a == b ]]"), []string{"a.md:9:1: warning: [[ is bash's"}},
		"an array": {cell("", "a=(1 2)"), []string{"a.md:9:3: no POSIX shell reads the script: arrays"}},
		"an open quote": {
			cell("", "echo 'x"),
			[]string{"a.md:9:6: no POSIX shell reads the script: reached EOF without closing quote"},
		},
		"an open if": {
			cell("", "if true; then\n  x"),
			[]string{"a.md:9:1: no POSIX shell reads the script: `if` statement must end with `fi`"},
		},
		"not after an error": {
			cell("", "echo $NOBODY\n)"),
			[]string{"a.md:10:1: no POSIX shell reads the script: `)` can only be used"},
		},
		"an indented fence": {
			head + "## C {#c}\n\n   ```sh cell=c\n   : $ROUNDS\n     echo $NOBODY\n   ```\n",
			[]string{"a.md:9:11: warning: the script reads $NOBODY"},
		},
		"Windows": {
			strings.ReplaceAll(cell("", "echo 1\necho $NOBODY"), "\n", "\r\n"),
			[]string{"a.md:10:6: warning: the script reads $NOBODY"},
		},
		"looked for by nobody": {cell("needs=ping,fio", "x"), nil},
		"read by eval": {
			cell("", "eval \"x=\\$RAIL${i}_DEV\""),
			[]string{"a.md:9:1: warning: what eval reads cannot be reviewed"},
		},
		"nearly looked for": {
			cell("needs=iperf", "x"),
			[]string{`a.md:7: warning: needs=iperf; did you mean "iperf3"?`},
		},
		"an entry of no list": {
			cell("explains=slow finds=slow-rail", "x"),
			[]string{
				"a.md:7: warning: finds is for railbench's own checklist",
				"a.md:7: warning: explains is for railbench's own checklist",
			},
		},
		"a parameter for none": {
			"<!-- params: SIZE=1 LEFT=2 -->\n# P {#p}\n## C {#c}\n```sh cell=c\necho $SIZE\n```\n",
			[]string{"a.md:1: warning: no script reads the parameter LEFT"},
		},
		"a parameter of a port": {
			"<!-- params: MINE=2 -->\n# P {#p}\n## C {#c}\n```sh cell=c ready=port:$MINE\nx\n```\n",
			nil,
		},
	} {
		holds(t, name, found(c.src), c.want...)
	}
}

func TestNames(t *testing.T) {
	cell := func(attrs string) string { return "# P {#p}\n\n## C {#c}\n\n```sh cell=c " + attrs + "\nx\n```\n" }
	other := "\n## D {#d}\n\n```sh cell=d on=both root change=NODE\nx\n```\n"
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"all there": {cell("parse=facts judge=ping with=etcd"), nil},
		"not its parser": {
			cell("judge=ping"),
			[]string{"a.md:5: warning: judge=ping reads what parse=facts gives"},
		},
		"a parser": {
			cell("parse=fact"),
			[]string{`a.md:5: unknown parser "fact"; did you mean "facts"?`},
		},
		"a judge": {cell("judge=pnig"), []string{`a.md:5: unknown judge "pnig"; did you mean "ping"?`}},
		"a service": {
			cell("with=etdc"),
			[]string{`a.md:5: railbench runs no service "etdc" (etcd); did you mean "etcd"?`},
		},
		"a fault": {
			cell("finds=slow-rial"),
			[]string{
				`a.md:5: the simulated rig has no fault "slow-rial"; did you mean "slow-rail"?`,
				"a.md:5: warning",
			},
		},
		"a fix": {
			cell("finds=slow-rail fix=nothing"),
			[]string{"a.md:5: fix=nothing names no cell that changes anything", "a.md:5: warning", "a.md:5: warning"},
		},
		"a fix that changes": {cell("finds=slow-rail fix=d") + other, []string{"a.md:5: warning", "a.md:5: warning"}},
		"a fix of the list":  {cell("finds=slow-rail fix=end-it"), []string{"a.md:5: warning", "a.md:5: warning"}},
		"what is undone": {
			cell("on=both root change=NODE undoes=c2"),
			[]string{"a.md:5: undoes=c2 names no cell that changes anything"},
		},
		"railbench's own": {
			"# P {#p}\n## C {#c}\n```railbench cell=c\nsumarry\n```\n",
			[]string{`a.md:3: railbench does no "sumarry"; did you mean "summary"?`},
		},
		"a check's id": {
			"# P {#p}\n\n## C {#gid-index}\n\n```sh cell=gid-index\nx\n```\n",
			[]string{`a.md:3: warning: the id "gid-index" is that of a check`},
		},
	} {
		holds(t, name, found(c.src), c.want...)
	}
	holds(t, "two files", found(cell("judge=a"), "# Q {#q}\n\n## E {#c}\n\n```sh cell=c judge=b\nx\n```\n"),
		`a.md:5: unknown judge "a"`, `b.md:3: the cell "c" is in a.md already`, `b.md:5: unknown judge "b"`)
}

func TestParams(t *testing.T) {
	body := "\n# P {#p}\n\nProse.\n\n## C {#c}\n\n```sh cell=c\necho $ONE $TWO $SIZE $A $B $C\n```\n"
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"above":    {"<!-- tutorial: T -->\n<!-- params: ONE=1 TWO=\"a b\" A='c d' B= C=\"\" -->" + body, nil},
		"on lines": {"<!-- params:\nONE=1\n\n  TWO=2 A=1 B=2\nC=3\n-->" + body, nil},
		"below the heading": {"# P {#p}\n\nBefore.\n\n<!-- params: ONE=1 -->\n\nAfter.\n\n## C {#c}\n\n```sh cell=c\n" +
			"echo $ONE\n```\n", nil},
		"another default": {"<!-- params: SIZE=1 ONE=1 TWO=2 A=1 B=1 C=1 -->" + body, nil},
		"no default for it": {
			"<!-- params: SIZE=big ONE=1 TWO=2 A=1 B=1 C=1 -->" + body,
			[]string{`a.md:1: the parameter SIZE is "big": a size is a number of bytes`},
		},
		"a bare name": {
			"<!-- params: ONE TWO=1 A= B= C= -->" + body,
			[]string{"a.md:1: the parameter ONE has no value: ONE=VALUE", "a.md:9:6: warning: the script reads $ONE"},
		},
		"on its line": {"<!-- params:\nTWO=1 A= B= C=\nONE=1 TWO=2 -->" +
			body, []string{"a.md:2: the parameter TWO is there twice"}},
		"a small name": {"<!-- params: ONE=1 TWO=2 A=1 B=1 C=1 one=1 -->" +
			body, []string{`a.md:1: the parameter "one": capital letters`}},
		"a shell's name": {"<!-- params: ONE=1 TWO=2 A=1 B=1 C=1 LD_PRELOAD=x -->" +
			body, []string{"a.md:1: the parameter LD_PRELOAD: the name is the shell's"}},
		"a rig's name": {
			"<!-- params: ONE=1 TWO=2 A=1 B=1 C=1 RAIL_DEV=x -->" + body,
			[]string{"a.md:1: the parameter RAIL_DEV: railbench sets it", "a.md:1: warning: no script reads"},
		},
		"two lines": {
			"<!-- params: ONE=1 TWO=2 A=1 B=1 C='a\nb' -->" + body,
			[]string{"a.md:1: the parameter C: a value is one line", "a.md:10:"},
		},
		"no closing quote": {
			"<!-- params: ONE='1 -->\n# P {#p}\n## C {#c}\n```sh cell=c\nx\n```\n",
			[]string{"a.md:1: the parameters: the value of ONE= has no closing quote"},
		},
		"none": {
			"<!-- params: -->\n# P {#p}\n## C {#c}\n```sh cell=c\nx\n```\n",
			[]string{"a.md:1: the comment declares no parameter"},
		},
		"too late": {
			"# P {#p}\n## C {#c}\n```sh cell=c\nx\n```\n\n<!-- params: ONE=1 -->\n",
			[]string{"a.md:7: the parameters stand above the first cell"},
		},
		"behind it": {
			"<!-- params: ONE=1 --> text\n# P {#p}\n## C {#c}\n```sh cell=c\necho $ONE\n```\n",
			[]string{`a.md:1: "text" stands behind the comment`},
		},
	} {
		holds(t, name, found(c.src), c.want...)
	}
	p, err := Parse("x.md",
		[]byte("<!-- params: ONE=1\r\nTWO=\"a b\" A='$(x)' B= -->\r\n# P {#p}\r\n"+
			"\r\nBefore.\r\n\r\n<!-- params: C=3 -->\r\n\r\nAfter.\r\n"))
	want := []steps.Param{
		{Name: "ONE", Default: "1"},
		{Name: "TWO", Default: "a b"},
		{Name: "A", Default: "$(x)"},
		{Name: "B"},
		{Name: "C", Default: "3"},
	}
	if err != nil || !reflect.DeepEqual(p.Params, want) || p.Prose != "Before.\n\nAfter." {
		t.Errorf("%+v, %v", p, err)
	}
	holds(t, "two files", found("<!-- params: ONE=1 -->"+body,
		"<!-- params: ONE=2 TWO=1 A= B= C= -->\n# Q {#q}\n## E {#e}\n```sh cell=e\n:\n```\n"),
		"b.md:1: the parameter ONE is \"2\" here, and \"1\" in a file before")
}

// What a terminal would obey is not handed on.
func TestProblemsArePlain(t *testing.T) {
	for _, p := range found("# P {#p}\n## C {#c}\n```sh cell=c on=\x1b[31m ready=prt\a:1 judge=\x1b]0;x\a\nx\n```\n") {
		if strings.ContainsAny(p, "\x1b\a") {
			t.Errorf("%q", p)
		}
	}
}

func TestAttributes(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Attributes() {
		value := a.Name
		switch {
		case a.Name == "cell":
			value = "cell=c"
		case a.Value != "":
			value += "=" + map[string]string{
				"on": "both", "ready": "port:1",
				"each": "rail", "limit": "2m", "stall": "9s", "rails": "2",
			}[a.Name]
			if strings.HasSuffix(value, "=") {
				value += "x"
			}
		}
		if seen[a.Name] || a.Doc == "" {
			t.Errorf("%+v", a)
		}
		seen[a.Name] = true
		for _, p := range Read("x.md",
			[]byte("# P {#p}\n## C {#c}\n```sh cell=c "+strings.TrimPrefix(value, "cell=c")+"\nx\n```\n")).Problems {
			if strings.Contains(p.Text, "attribute") {
				t.Errorf("%s: %s", a.Name, p)
			}
		}
	}
}

func TestUnreadable(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"Latin-1":      {"# P {#p}\n\ncaf\xe9\n", "x.md:3:4: it is not text in UTF-8"},
		"UTF-16":       {"\xff\xfe#\x00", "x.md:1:1: it is not text in UTF-8"},
		"a zero":       {"# P\x00", "x.md:1:4: it is not text in UTF-8"},
		"too long":     {strings.Repeat("x\n", MaxBytes), "x.md: it is longer than 256 KiB"},
		"front matter": {"---\ntitle: x\n---\n# P {#p}\n", "x.md:1: front matter"},
		"deep quotes":  {"# P {#p}\n\n" + strings.Repeat("> ", 60) + "x\n", "x.md:3: more than 50 quotes"},
		"deep lists":   {"# P {#p}\n\n" + strings.Repeat("-\t1. ", 60) + "x\n", "x.md:3: more than 50 quotes"},
		"nothing":      {"", "x.md: the heading of the part is missing"},
	} {
		d := Read("x.md", []byte(c.src))
		if len(d.Problems) != 1 || !strings.HasPrefix(d.Problems[0].Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, d.Problems, c.want)
		}
	}
}
