package session

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// The table says the truth about itself: its defaults are allowed and stand as
// scripts read them, and each parameter is one of some cell.
func TestParamTable(t *testing.T) {
	tut := kindtest.Tutorial(t)
	seen := map[string]bool{}
	for _, p := range Params(catalog.New(), tut) {
		if seen[p.Name] {
			t.Errorf("%s is there twice", p.Name)
		}
		seen[p.Name] = true
		if got, err := p.Parse(p.Default); err != nil || got != p.Default {
			t.Errorf("the default of %s is read as %q, %v", p.Name, got, err)
		}
		if p.Does == "" || strings.HasSuffix(p.Does, ".") || (p.Default == "") != (p.Empty != "") {
			t.Errorf("%s lacks a fact: %+v", p.Name, p)
		}
		if p.Allowed() == "" || (p.Check == nil) != (p.May == "") {
			t.Errorf("%s does not say what is allowed", p.Name)
		}
		if len(tut.Reading(p)) == 0 {
			t.Errorf("no cell reads %s", p.Name)
		}
		for _, id := range slices.Concat(p.Cells, p.Worked) {
			if _, ok := tut.Cell(id); !ok {
				t.Errorf("%s names a cell %q", p.Name, id)
			}
		}
	}
}

func TestCheckParam(t *testing.T) {
	tut := kindtest.Tutorial(t)
	for _, c := range []struct{ cell, name, value, want, err string }{
		{"", "SIZE", "1M", "1048576", ""},
		{"ib-write-bw", "SIZE", "1M", "1048576", ""},
		{"ib-write-bw", "ITERATIONS", "", "", ""},
		{"fix-rail-address", "RAIL_ADDRESS", "192.168.101.11/24", "192.168.101.11/24", ""},
		{"summary", "KV_CACHE_GB", "40", "40", ""},
		{"", "RAIL_ADDRESS", "192.168.101", "", "give an IPv4 address"},
		{"", "RAIL_ADDRESS", "fe80::1/64", "", "not an IPv4 address with its prefix"},
		{"", "BOND", "a name that is too long", "", "at most 15 characters"},
		{"", "BOND", "-f", "", "no hyphen in front"},
		{"", "NIXL_TLS", "rc, tcp", "", "without blanks"},
		{"", "NIXL_START", "100K", "", "power of two"},
		{"", "SIZES", "1M", "", `unknown parameter "SIZES"; did you mean "SIZE"?`},
		{"ib-write-b", "SIZE", "1M", "", `unknown cell "ib-write-b"; did you mean "ib-write-bw"?`},
		{"ib-write-bw", "KV_CACHE_GB", "40", "", "ib-write-bw reads no KV_CACHE_GB; it reads SIZE, ITERATIONS, PORT"},
		{"bond-teardown", "BOND", "bond1", "", "bond-teardown reads no BOND, and no other parameter"},
	} {
		got, err := CheckParam(catalog.New(), tut, c.cell, c.name, c.value)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) ||
			got != c.want {
			t.Errorf("%s.%s=%s is %q, %v", c.cell, c.name, c.value, got, err)
		}
	}
}

func TestARunbooksOwnParams(t *testing.T) {
	tut := steps.Tutorial{Parts: []steps.Part{{
		Params: []steps.Param{{Name: "SIZE", Default: "4K"}, {Name: "WORD", Default: "a b"}, {Name: "NONE"}},
		Cells:  []steps.Cell{one("c", `echo "$SIZE" "$WORD" "$NONE"`, "passes")},
	}, {Params: []steps.Param{{Name: "WORD", Default: "a b"}}}}}
	values := map[string]string{}
	words := 0
	for _, p := range Params(catalog.New(), tut) {
		values[p.Name] = p.Default
		if p.Name == "WORD" {
			words++
		}
		if p.Does == "" || p.Text(p.Default) == "" {
			t.Errorf("%s lacks a fact: %+v", p.Name, p)
		}
	}
	if values["SIZE"] != "4096" || values["WORD"] != "a b" || words != 1 {
		t.Errorf("%v, %d", values, words)
	}
	for name, want := range map[string]string{"SIZE": "4096", "WORD": "a b", "NONE": ""} {
		if got, ok := effective(Params(catalog.New(), tut), steps.Settings{}, "c")[name]; got != want || !ok {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
	if got, err := CheckParam(catalog.New(), tut, "c", "NONE", "x"); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := CheckParam(catalog.New(), tut, "c", "SIZE", "4KB"); err == nil {
		t.Error("a declared SIZE is not held to what a size can be")
	}
}

// What is set for a cell wins over what is set for all; both reach scripts, ports,
// planners and a dry run, and no other cell.
func TestCellParams(t *testing.T) {
	mine, other := one("mine", `echo "$SIZE $PINGS"`, "passes"), one("other", `echo "$SIZE $PINGS"`, "passes")
	planned := one("planned", `echo "$PLANNED"`, "passes")
	o := Options{
		Params:     map[string]string{"SIZE": "1"},
		CellParams: map[string]map[string]string{"mine": {"SIZE": "2"}, "planned": {"SIZE": "3"}},
	}
	o.Catalog.Plans = map[string]steps.Planner{"passes": func(_ steps.Rig, params map[string]string) (p steps.Plan) {
		p.Vars[0] = map[string]string{"PLANNED": "planned for " + params["SIZE"]}
		return p
	}}
	b := open(t, o, mine, other, planned)
	b.Run("mine", "other", "planned")
	b.until("planned")
	for id, want := range map[string]string{
		"mine": "spark-02:2 3", "other": "spark-02:1 3",
		"planned": "spark-02:planned for 3",
	} {
		if got := printed(b.book.Cells[id]); got != want {
			t.Errorf("%s printed %q, want %q", id, got, want)
		}
	}
	if b.book.Params.Cells["mine"]["SIZE"] != "2" || b.book.Params.All["SIZE"] != "1" {
		t.Errorf("told of %v", b.book.Params)
	}
	rig, _ := b.Rig()
	for i, want := range []map[string]string{
		{"SIZE": "2", "PINGS": "3"},
		{"SIZE": "1", "PINGS": "3"},
		{"PLANNED": "planned for 3"},
	} {
		p := Plan(b.o, rig, []steps.Cell{mine, other, planned})[i]
		for name, value := range want {
			if p.Script.Vars[name] != value {
				t.Errorf("%s is planned with %v", p.Cell.ID, p.Script.Vars)
			}
		}
	}
}

func TestSetParam(t *testing.T) {
	b := open(t, Options{Params: map[string]string{"SIZE": "4096"}}, one("c", `echo "$SIZE"`, "passes"),
		one("d", `echo "$SIZE $ITERATIONS"`, "passes"))
	for _, c := range []struct{ cell, name, value, c, d, err string }{
		{"c", "SIZE", "8K", "8192", "4096", ""},
		{"", "SIZE", "1M", "8192", "1048576", ""},
		{"c", "SIZE", "0", "8192", "1048576", `SIZE is "0"`},
		{"e", "SIZE", "1", "8192", "1048576", `unknown cell "e"`},
		{"c", "PORT", "1", "8192", "1048576", "c reads no PORT; it reads SIZE"},
		// What holds anyway takes back what was set.
		{"c", "SIZE", "1M", "1048576", "1048576", ""},
		{"", "SIZE", "64K", "65536", "65536", ""},
		{"d", "ITERATIONS", "7", "65536", "65536 7", ""},
		{"", "ITERATIONS", "9", "65536", "65536 7", ""},
		// For this cell it is chosen again.
		{"d", "ITERATIONS", "", "65536", "65536", ""},
	} {
		err := b.SetParam(c.cell, c.name, c.value)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s.%s=%s: %v", c.cell, c.name, c.value, err)
		}
		b.Run("c", "d")
		d := b.until("d")
		if got, want := printed(b.book.Cells["c"])+" "+strings.TrimSpace(printed(d)),
			"spark-02:"+c.c+" spark-02:"+c.d; got != want {
			t.Errorf("after %s.%s=%s they printed %q, want %q", c.cell, c.name, c.value, got, want)
		}
	}
	if want := (steps.Settings{}).With("d", "ITERATIONS", "").With("", "ITERATIONS",
		"9"); !reflect.DeepEqual(b.book.Params, want) {
		t.Errorf("told of %+v, want %+v", b.book.Params, want)
	}
}

// A run has the parameters that held when it began: its server and its client must
// not differ.
func TestARunKeepsItsParams(t *testing.T) {
	var b *bench
	o := Options{}
	o.Catalog.Plans = map[string]steps.Planner{"passes": func(steps.Rig, map[string]string) (p steps.Plan) {
		if err := b.SetParam("", "SIZE", "2"); err != nil { // while it runs
			p.Refuse = err.Error()
		}
		return p
	}}
	b = open(t, o, steps.Cell{ID: "c", Judge: "passes", Roles: []steps.Role{
		{Name: "server", On: steps.OnPeer, Script: `echo "ready $SIZE"; exec sleep 0.1`, Ready: steps.Ready{Line: "^ready"}},
		{Name: "client", Script: `echo "client $SIZE"`},
	}})
	for _, size := range []string{"65536", "2"} {
		b.Run("c")
		c := b.until("c")
		if got, want := printed(c), "spark-01:ready "+size+" spark-02:client "+size; got != want {
			t.Errorf("printed %q, want %q: %s", got, want, c.Verdict.Reason)
		}
	}
}

// A script that was edited reads what it reads now.
func TestSetParamOfAnEditedCell(t *testing.T) {
	b := open(t, Options{}, one("c", `echo "$SIZE"`, "passes"))
	b.Edit("part", []steps.Cell{one("c", `echo "$PINGS"`, "passes"), one("added", `echo "$PORT"`, "passes")})
	for param, want := range map[string]string{
		"c.PINGS": "", "added.PORT": "",
		"c.SIZE": "c reads no SIZE; it reads PINGS",
	} {
		cell, name, _ := strings.Cut(param, ".")
		if err := b.SetParam(cell, name, "7"); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v", param, err)
		}
	}
}

// A session that goes on says what is set now, in place of what was.
func TestASavedSessionsParams(t *testing.T) {
	b := open(t, Options{Runs: 3}, one("c", "true", "passes"))
	b.book = b.book.Apply(steps.ParamsSet{Params: steps.Settings{}.With("", "SIZE", "gone")})
	b.Run("c")
	if b.until("c"); b.book.Params.Any() {
		t.Errorf("still set: %v", b.book.Params)
	}
}
