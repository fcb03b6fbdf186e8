package launch

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// built are the launchers that railbench has.
func built(t *testing.T) Launchers {
	t.Helper()
	all, err := Load(os.DirFS("../../assets/launchers"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWords(t *testing.T) {
	r := Request{Hosts: []string{"spark-01", "192.168.100.11", "a.b-c_d"}, PerNode: 1, Mark: "rb-abc"}
	for name, want := range map[string][]string{
		"openmpi": {
			"env", "RAILBENCH_LAUNCH=rb-abc", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun",
			"--host", "spark-01:1,192.168.100.11:1,a.b-c_d:1", "-np", "3", "--map-by", "ppr:1:node", "--bind-to", "none",
			"--mca", "orte_launch_agent", "env RAILBENCH_LAUNCH=rb-abc orted", "env", "RAILBENCH_LAUNCH=rb-abc",
		},
		"srun": {
			"env", "RAILBENCH_LAUNCH=rb-abc", "srun", "--overlap", "--nodelist=spark-01,192.168.100.11,a.b-c_d", "--nodes=3",
			"--ntasks=3", "--ntasks-per-node=1", "--kill-on-bad-exit=1", "env", "RAILBENCH_LAUNCH=rb-abc",
		},
	} {
		if got, err := built(t)[name].Words(r); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// What comes from a node or a rig file is one word of a list of hosts, or nothing.
func TestHostsAreHosts(t *testing.T) {
	l := built(t)["openmpi"]
	for _, host := range []string{
		"", "-oProxyCommand=x", "a b", "a,b", "a:2", "$(id)", "a;id", "a\nb", "`id`", "a/b", "a'b", "..", "é",
		strings.Repeat("a", 300),
	} {
		if words, err := l.Words(Request{Hosts: []string{"a", host}, PerNode: 1, Mark: "rb"}); err == nil {
			t.Errorf("%q became %q", host, words)
		}
	}
	for name, r := range map[string]Request{
		"nobody":       {PerNode: 1, Mark: "rb"},
		"no process":   {Hosts: []string{"a"}, Mark: "rb"},
		"no mark":      {Hosts: []string{"a"}, PerNode: 1},
		"a bad mark":   {Hosts: []string{"a"}, PerNode: 1, Mark: "rb x"},
		"a node twice": {Hosts: []string{"a", "a"}, PerNode: 1, Mark: "rb"},
	} {
		if words, err := l.Words(r); err == nil {
			t.Errorf("%s: %q", name, words)
		}
	}
}

// A file that can't mean what it says is not a launcher, and the error says why.
func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "program",
		"program = \"mpirun\"": "no argument has {hosts}",
		"program = \"m\"\narguments = [\"{host}\"]":                                 "no argument has {hosts}",
		"program = \"m\"\narguments = [\"{hosts} {shell}\"]":                        "{shell} is unknown in arguments",
		"program = \"m;id\"\narguments = [\"{hosts}\"]":                             "program is",
		"program = \"m\"\narguments = [\"{hosts}\\nid\"]":                           "invisible character",
		"program = \"m\"\nhost = \"x\"\narguments = [\"{hosts}\"]":                  "no {host}",
		"program = \"m\"\nhost = \"{host}{mark}\"\narguments = [\"{hosts}\"]":       "{mark} is unknown in host",
		"program = \"m\"\nnodes = \"both\"\narguments = [\"{hosts}\"]":              "address or name",
		"program = \"m\"\narguments = [\"{hosts}\"]\n[environment]\n\"A B\" = \"\"": "is not a variable",
		"program = \"m\"\nshell = \"sh\"\narguments = [\"{hosts}\"]":                "line 2: shell is not a field",
		"program = \"m\"\narguments = [\"{hosts}\"":                                 "line 2, column ",
		"program = 3\n":     "line 1, column 11: ",
		"program = [\"m\"]": "launcher x",
	} {
		if l, err := Read("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v: want %q", text, l, err, want)
		}
	}
	if _, err := Read("x", make([]byte, maxFile+1)); err == nil {
		t.Error("a file without end was read")
	}
	good := "program = \"m\"\narguments = [\"{hosts}\"]\n"
	if _, err := Read("A B", []byte(good)); err == nil {
		t.Error("a launcher is called A B")
	}
	all, err := Load(fstest.MapFS{"a.toml": {Data: []byte(good)}, "b.toml": {Data: []byte("x")}, "c.txt": {}})
	if len(all) != 1 || err == nil || !strings.Contains(err.Error(), "launcher b") {
		t.Errorf("%v, %v", all.Names(), err)
	}
}
