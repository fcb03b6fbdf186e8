package nodeset

import (
	"slices"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ list, want string }{
		{"a", "a"},
		{"b,a,b", "b a"},
		{"a b\tc\n", "a b c"},
		{"spark-[01-04]", "spark-01 spark-02 spark-03 spark-04"},
		{"spark-[01-03,07]", "spark-01 spark-02 spark-03 spark-07"},
		{"n[8-11]", "n8 n9 n10 n11"},
		{"n[08-11]", "n08 n09 n10 n11"},
		{"n[098-101]", "n098 n099 n100 n101"},
		{"n[0-8/4]", "n0 n4 n8"},
		{"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
		{"r[1-2]n[1-2].lan", "r1n1.lan r1n2.lan r2n1.lan r2n2.lan"},
		{"10.0.0.[1-2]", "10.0.0.1 10.0.0.2"},
		{"me@n[1-2]:2222", "me@n1:2222 me@n2:2222"},
		{"fd00::[1-2],me@fd00::a", "fd00::1 fd00::2 me@fd00::a"},
		{"n[1-4]!n3", "n1 n2 n4"},
		{"n[1-4]!n[2-3],n2", "n1 n4 n2"},
		{"n[1-4] !n1", "n2 n3 n4"},
		{"n[1-4]!n[2-3]!n4,n3", "n1 n3"},
		{"a!a", ""},
	} {
		got, err := Expand(c.list)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.list, got, err, c.want)
		}
	}
}

func TestListOfAnAllocation(t *testing.T) {
	t.Parallel()
	given := []string{"spark-01", "spark-02", "spark-03"}
	for list, want := range map[string]string{
		"slurm":                          "spark-01 spark-02 spark-03",
		"slurm!spark-02":                 "spark-01 spark-03",
		"slurm-01,me@slurm,n[1-2]-slurm": "slurm-01 slurm n1-slurm n2-slurm",
	} {
		nodes, err := Finder{Slurm: given}.Nodes(list)
		var names []string
		for _, n := range nodes {
			names = append(names, n.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", list, got, err, want)
		}
		if NamesAllocation(list) != !strings.HasPrefix(list, "slurm-") {
			t.Errorf("%q: %t", list, NamesAllocation(list))
		}
	}
}

func TestForClusterShell(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		"a,b": false, "spark-[01-04]!spark-03": false, "me@a": false, "a,me@b:22": false,
		"@rack1": true, "a,@rack1": true, "a!@rack1": true, "a b&c": true, "a^b": true,
	} {
		if got := ForClusterShell(list); got != want {
			t.Errorf("%s: %t", list, got)
		}
	}
}

// An address of IPv6 is a node's name, and the way to it.
func TestListOfAddresses(t *testing.T) {
	t.Parallel()
	nodes, err := Finder{}.Nodes("nvidia@fd00::1,fd00::2")
	if err != nil || len(nodes) != 2 || nodes[0].Name != "fd00::1" || nodes[0].SSH != "nvidia@fd00::1" ||
		nodes[1].SSH != "fd00::2" {
		t.Errorf("%+v, %v", nodes, err)
	}
}

func TestRefusedLists(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", nameLimit+1)
	for list, why := range map[string]string{
		"":                                     "empty",
		"  ":                                   "empty",
		"n[1-999999999]":                       "at most 4096",
		"n[1-9999999999]":                      "one to nine digits",
		"n[1-64]x[1-65]":                       "at most 4096",
		"a[1-99]b[1-99]c[1-99]d[1-9999]":       "at most 4096",
		"n[1-4096],m":                          "at most 4096",
		"n[3-1]":                               "goes down",
		"n[1-3/0]":                             "step",
		"n[]":                                  "is not a number",
		"n[a-c]":                               "is not a number",
		"n[-1]":                                "is not a number",
		"n[+1-2]":                              "is not a number",
		"n[1":                                  "open at the end",
		"n1]":                                  "brackets",
		"n[1-[2-3]]":                           "brackets",
		"-oProxyCommand=x":                     "begins with",
		"a,-v":                                 "begins with",
		"-l@host":                              "begins with",
		"me@-host":                             "begins with",
		"a@b@c":                                "can't be part",
		"a;b":                                  "can't be part",
		"$(x)":                                 "can't be part",
		"a/b":                                  "can't be part",
		"..":                                   "begins with",
		"a\x1b[1]":                             "can't be part",
		"a\x00":                                "can't be part",
		"ä":                                    "'ä' can't be part",
		"a:0":                                  "is not a port",
		"fe80::1%eth0":                         "is not a port",
		"a:+1":                                 "is not a port",
		"a:":                                   "is not a port",
		"me@":                                  "the host is missing",
		"a!":                                   "nothing on its right",
		"a!!b":                                 "nothing on one of its sides",
		"a&b":                                  "is ClusterShell's",
		"a^b":                                  "is ClusterShell's",
		"@rack1":                               "@rack1 is a group, and this list can't have one",
		long:                                   "longer than",
		strings.Repeat("a,", textLimit):        "longer than",
		strings.Repeat("n[1-4096]!n1,", 1<<12): "at most 4096",
	} {
		got, err := Expand(list)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %d names, %v, want %q", shown(list), len(got), err, why)
		}
	}
}

func TestMostNamesAreSoonRead(t *testing.T) {
	t.Parallel()
	all, err := Expand("n[1-4096]")
	if err != nil || len(all) != Most {
		t.Fatalf("%d, %v", len(all), err)
	}
	again, err := Expand(strings.Join(all, ","))
	if err != nil || !slices.Equal(all, again) {
		t.Errorf("%d, %v", len(again), err)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"":                        "",
		"a":                       "a",
		"a b":                     "a,b",
		"n1":                      "n1",
		"n1 n2 n3 n7":             "n[1-3,7]",
		"n9 n10 n11":              "n[9,10-11]",
		"n01 n02 n1":              "n[1,01-02]",
		"r1n1.lan r1n2.lan":       "r1n[1-2].lan",
		"spark-02 spark-01 x":     "spark-[01-02],x",
		"10.0.0.1 10.0.0.2":       "10.0.0.[1-2]",
		"a a1-":                   "a,a1-",
		"n1234567890 n1234567891": "n[1234567890-1234567891]",
	} {
		if want == "n[1234567890-1234567891]" {
			want = "n1[234567890-234567891]" // a range has nine digits
		}
		if got := Fold(strings.Fields(names)); got != want {
			t.Errorf("%s: got %s, want %s", names, got, want)
		}
	}
}

// Whatever is read is bounded, and nothing that ssh or a terminal would take for something else.
func FuzzExpand(f *testing.F) {
	for _, list := range []string{
		"a,b", "n[01-10/3]x[1-2]", "me@n[1-2]:22!me@n1:22", "n[1-999999999]", "@g", "a&b!c",
		"[1]", "n[0",
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := Expand(list)
		if err != nil {
			return
		}
		if len(names) > Most {
			t.Fatalf("%d names", len(names))
		}
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, " \t\n\x00\x1b/;$`'\"\\") || name[0] == '-' ||
				strings.Contains(name, "@-") {
				t.Fatalf("%q", name)
			}
		}
		again, err := Expand(Fold(names))
		if len(names) == 0 {
			return
		}
		slices.Sort(names)
		slices.Sort(again)
		if err != nil || !slices.Equal(names, again) {
			t.Fatalf("%q folds to %q, which is %q, %v", names, Fold(names), again, err)
		}
	})
}
