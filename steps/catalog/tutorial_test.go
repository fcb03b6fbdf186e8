package catalog

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/family/host"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/probe"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/runbook"
)

func TestTutorialNamesWhatIsRegistered(t *testing.T) {
	tut := kindtest.Tutorial(t)
	if err := runbook.Check(tut, New()); err != nil {
		t.Error(err)
	}
	var ids []string
	for _, c := range tut.Cells() {
		ids = append(ids, c.Part+"/"+c.ID)
	}
	for _, c := range kindtest.Every(tut) {
		judged := c.Judge != "" || slices.ContainsFunc(c.Roles, func(r steps.Role) bool { return r.Values != nil })
		if c.Own == "" && (!judged || c.Limit == 0) || c.Prose == "" {
			t.Errorf("%s has no judge, limit or prose", c.ID)
		}
		for _, need := range c.Needs {
			i := slices.IndexFunc(New().Commands, func(x steps.Command) bool { return x.Name == need })
			if i < 0 || New().Commands[i].Package == "" {
				t.Errorf("%s needs %s, and no family knows its package", c.ID, need)
			}
		}
	}
	want := "set-up/hosts set-up/tools set-up/privileges device-discovery/interfaces device-discovery/devices " +
		"device-discovery/rail-map device-discovery/ping gid-check/gids rdma-baseline/ib-write-bw " +
		"rdma-baseline/ib-write-lat rdma-baseline/words-of-four rdma-baseline/ib-read-bw rdma-baseline/ib-send-bw " +
		"rdma-baseline/ib-bidirectional rdma-baseline/ib-reverse " +
		"bond-and-tcp/mtu bond-and-tcp/bond-check bond-and-tcp/bond-setup bond-and-tcp/bond-status bond-and-tcp/tcp-single " +
		"bond-and-tcp/tcp-parallel bond-and-tcp/bond-teardown bond-and-tcp/netplan bond-and-tcp/netplan-try " +
		"bond-and-tcp/rail-ips bond-and-tcp/dual-link " +
		"nixl/nixl-check nixl/nixl-register nixl/nixl-transfer nixl/nixl-transfer-dual nixl/nixl-transfer-gpu " +
		"nixl/nixl-latency " +
		"nixl-matrix/etcd nixl-matrix/nixl-single-dram nixl-matrix/nixl-dual-dram nixl-matrix/nixl-single-vram " +
		"nixl-matrix/nixl-dual-vram " +
		"nixl-matrix/ucx-perftest nixl-matrix/ucx-perftest-gpu nixl-matrix/nixl-mt nixl-matrix/nixl-halves-dram " +
		"host-staging-diagnostics/host-staging " +
		"throughput/stream-rail throughput/stream-half throughput/stream-halves throughput/rdma-host " +
		"throughput/rdma-host-gpu " +
		"throughput/rdma-gpu throughput/throughput-table pairs/pair-matrix " +
		"collectives/mpi-launch collectives/nccl-check collectives/nccl-allreduce collectives/nccl-allgather " +
		"results/summary results/cleanup"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("cells:\n%s, want\n%s", got, want)
	}
	if tut.Title == "" {
		t.Error("the tutorial has no title")
	}
}

// A drawing stays one on a terminal of 80 columns, next to the list of parts.
func TestDrawingsFit(t *testing.T) {
	const room = 46
	tut := kindtest.Tutorial(t)
	for _, p := range tut.Parts {
		texts := []string{p.Prose}
		for _, c := range p.Cells {
			texts = append(texts, c.Prose, c.Tail)
		}
		for line := range strings.Lines(strings.Join(texts, "\n")) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > room && strings.ContainsAny(line, "┌│└├") {
				t.Errorf("%s: a line of a drawing has %d columns, and room for %d: %s", p.ID, n, room, line)
			}
		}
	}
}

// Scripts run in whatever sh a node has, and in the simulator's.
func TestScriptsArePOSIX(t *testing.T) {
	scripts := map[string]string{"probe": probe.Script(New().Commands).Text()}
	for _, c := range kindtest.Every(kindtest.Tutorial(t)) {
		for _, r := range c.Roles {
			scripts[c.ID+" "+r.Name] = r.Text()
		}
	}
	foreign := regexp.MustCompile(`(?m)(^|[;|&(\s])(awk|sed|perl|local|declare|\[\[)\s`)
	for name, script := range scripts {
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m := foreign.FindString(script); m != "" {
			t.Errorf("%s uses %q", name, m)
		}
		if path, err := exec.LookPath("sh"); err == nil && testform.Full() {
			cmd := exec.Command(path, "-n")
			cmd.Stdin = strings.NewReader(script)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: sh -n: %s", name, out)
			}
		}
	}
}

// A cell that reports that every command is there has looked for each command that a cell or a check needs.
func TestEveryNeededCommandIsAskedFor(t *testing.T) {
	tut := kindtest.Tutorial(t)
	// The last of a cell's scripts is what is judged.
	script := func(id string) string {
		i := slices.IndexFunc(kindtest.Every(tut), func(c steps.Cell) bool { return c.ID == id })
		roles := kindtest.Every(tut)[i].Roles
		return roles[len(roles)-1].Text()
	}
	asks := func(id, command string) bool {
		words, _, _ := strings.Cut(strings.ReplaceAll(script(id), "\\\n", " "), "; do")
		return slices.Contains(strings.Fields(words), command)
	}
	// Where the session looks, before it skips a cell, there they look, too.
	folders := regexp.MustCompile(`(?m)^PATH=\$PATH:(.+)$`)
	var looked []string
	for _, m := range folders.FindAllStringSubmatch(probe.Script(New().Commands).Body, -1) {
		looked = append(looked, strings.Split(m[1], ":")...)
	}
	for _, folder := range looked {
		for _, id := range []string{"tools", "tools-present"} {
			found := slices.ContainsFunc(folders.FindAllStringSubmatch(script(id), -1), func(m []string) bool {
				return slices.Contains(strings.Split(m[1], ":"), folder)
			})
			if !found {
				t.Errorf("%s doesn't look into %s, and the session does", id, folder)
			}
		}
	}
	for _, c := range kindtest.Every(tut) {
		for _, need := range c.Needs {
			if !slices.Contains(host.Needed, need) && !slices.Contains(host.Called, need) {
				t.Errorf("%s needs %s, and the cell tools judges without it", c.ID, need)
			}
			for _, id := range []string{"tools", "tools-present"} {
				if !asks(id, need) {
					t.Errorf("%s needs %s, and %s doesn't ask for it", c.ID, need, id)
				}
			}
		}
	}
	for _, command := range slices.Concat(host.Needed, host.Called) {
		if !asks("tools", command) {
			t.Errorf("the cell tools judges whether %s is there, and doesn't ask for it", command)
		}
	}
}

// A script reads its values from variables that the session sets, and no other.
func TestScriptsReadKnownVariables(t *testing.T) {
	known := regexp.MustCompile(`^(NODE|ROLE|TMPDIR|HOME|PATH|PYENV_VERSION|CONTAINER|(LEAST|GOOD)(_BOTH)?_GBPS|(LEAST|MOST)_COUNTED|SSH_CONNECTION|PEER|RAILS|PORT|SPEED_PORT|SIZE|ITERATIONS|LAT_ITERATIONS|LOAD_(SECONDS|BLOCKS)|PINGS|UCXPERF_(PORT|BYTES|MESSAGES|GPU_MESSAGES)|TCP_(PORT|SECONDS|STREAMS|NETDEV|IP)|PEER_TCP_IP|STREAM_(PORT|SECONDS|BLOCK|GAUGE)|RAILBENCH|WRITES|LAUNCH(ER|_HOSTS)?|(OMPI_COMM_WORLD|SLURM)_[A-Z]+|NCCL_(BYTES|ITERATIONS|IB_HCA|ALGO)|` +
		`CHANGED|WAYS|OWN_IPS|LINK_NETDEVS|DEL_(IPS|NETDEVS)|JUMBO_MTU|MTU_(NETDEVS|PINGS)|BOND(_(MODE|HASH|MIIMON|SLAVES|ADDRS?|MTU|FIRST))?|PEER_BOND_IP|ADD_(IPS|NETDEVS|PINGS)|` +
		`(RAIL\d*|HALF)_(DEV|PORT|NETDEV|IP|GID|MTU)|PEER_(RAIL\d*|HALF)_(DEV|NETDEV|IP)|` +
		`RENDERER|RUN|ETCD|NIXL_RUNTIME|ASIO_(IP|PORT)|STAGING_BYTES|UCX_LOG_LEVEL|` + // services give the first five
		`NIXL_(PYTHON|TLS|PORT|BYTES|READS|DUAL_BYTES|DUAL_READS|GPU_READS|LAT_BYTES|LAT_READS|REGISTER_BYTES|` +
		`DRAM_BUFFER|VRAM_BUFFER|START|DRAM_MAX|VRAM_MAX|ITERATIONS|WARMUP|THREADS|PROGRESS)|` +
		`(NIXL_(VERSION|REGISTER|TRANSFER|LATENCY)|GPU_(STAGING|LOAD))_PY|NCCL_(LOOK|RANK)_SH)$`)
	for _, c := range kindtest.Every(kindtest.Tutorial(t)) {
		for _, r := range c.Roles {
			file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(r.Text()), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			set := map[string]bool{}
			syntax.Walk(file, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.Assign:
					set[n.Name.Value] = true
				case *syntax.WordIter:
					set[n.Name.Value] = true
				case *syntax.CallExpr:
					if len(n.Args) > 1 && n.Args[0].Lit() == "read" {
						for _, a := range n.Args[1:] {
							set[a.Lit()] = true
						}
					}
				}
				return true
			})
			syntax.Walk(file, func(n syntax.Node) bool {
				if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
					v := p.Param.Value
					if name := regexp.MustCompile(`^[A-Za-z_]\w*$`); name.MatchString(v) && !set[v] && !known.MatchString(v) {
						t.Errorf("%s reads $%s, which nobody sets", c.ID, v)
					}
					if strings.HasPrefix(v, "RAIL_") && !c.EachRail {
						t.Errorf("%s reads $%s and is not repeated per rail", c.ID, v)
					}
				}
				return true
			})
		}
	}
}

// Every port on which a cell's server listens is looked at before: a run that finds another user there measures that
// one, or nothing.
func TestPortsAreLookedAt(t *testing.T) {
	tut := kindtest.Tutorial(t)
	looked := ""
	for _, c := range tut.Checks() {
		if c.ID == "test-ports" {
			looked = c.Roles[0].Text()
		}
	}
	_, looked, _ = strings.Cut(looked, "ports=")
	looked, _, _ = strings.Cut(looked, "\n")
	used := regexp.MustCompile(`\$\{?(\w*_?PORT)\b|\$\(\((PORT \+ \d)\)\)`)
	for _, c := range kindtest.Every(tut) {
		for _, r := range c.Roles {
			for _, m := range used.FindAllStringSubmatch(r.Text(), -1) {
				name := m[1] + m[2]
				if strings.HasPrefix(name, "RAIL") || strings.HasPrefix(name, "HALF") || c.ID == "test-ports" {
					continue // of an adapter
				}
				if !strings.Contains(looked, "$"+name) && !strings.Contains(looked, "$(("+name+"))") {
					t.Errorf("%s uses %s, and test-ports doesn't look at it", c.ID, name)
				}
			}
		}
	}
}

// What a port counts during a test is reported, and so is what it doesn't or can't count.
func TestWordsOfFour(t *testing.T) {
	c := kindtest.Cell(t, "words-of-four")
	judge := func(text, most string) steps.Verdict {
		r := kindtest.Both(kindtest.Spark(), parse.Facts, text, "")
		r.Stages[0].Outputs[0].Role, r.Stages[0].Outputs[1].Role = "client", "server"
		r.Stages[0].Outputs[0].Asked = map[string]string{"LEAST_COUNTED": "98.0", "MOST_COUNTED": most}
		return New().Judges[c.Judge](c, r)
	}
	// 5 % more at a port were sent again; at an interface they may be ARP.
	again := "bytes: 72727200\npredicted: 69264000, at a RoCE MTU of 1024\ncounted: 105.0 % of it\n"
	kindtest.Want(t, "at a port", judge(again, "103.0"), steps.Fail, "counted is 105 %", "at most 103 %")
	kindtest.Want(t, "at an interface", judge(again, "108.0"), steps.Pass, "counted 105 % (98 to 108)")
	for text, want := range map[string]steps.Grade{
		"bytes: 69264000\npredicted: 69264000, at a RoCE MTU of 1024\ncounted: 100.0 % of it\n": steps.Pass,
		"bytes: 70300000\npredicted: 69264000, at a RoCE MTU of 1024\ncounted: 101.4 % of it\n": steps.Pass,
		"bytes: 95000000\npredicted: 69264000, at a RoCE MTU of 1024\ncounted: 137.1 % of it\n": steps.Fail,
		"bytes: 66600000\npredicted: 69264000, at a RoCE MTU of 1024\ncounted: 96.1 % of it\n":  steps.Fail,
		"bytes: 69264000\nperftest named no MTU: nobody can tell how many packets there were\n": steps.Inconclusive,
		"the counter is missing, or went backwards: nobody can tell\n":                          steps.Inconclusive,
		"bytes unknown: the counter was reset. Run it again\ncounted unknown: the bytes are\n":  steps.Inconclusive,
	} {
		if v := judge(text, "103.0"); v.Grade != want {
			t.Errorf("%q: %s, want %s: %s", text, v.Grade, want, v.Reason)
		}
	}
}

// The tests of the baseline that no judge of their own reads: from 0.95 of what a rail should carry, and no more than
// it can.
func TestBaselineValues(t *testing.T) {
	c := kindtest.Cell(t, "ib-read-bw")
	asked := map[string]string{"LEAST_GBPS": "74.0", "GOOD_GBPS": "87.9", "MOST_GBPS": "127.9"}
	for average, want := range map[string]steps.Grade{
		"92.43": steps.Pass, "80.00": steps.Warn, "60.00": steps.Fail,
		"143.00": steps.Fail, "-92.43": steps.Inconclusive,
	} {
		r := kindtest.Both(kindtest.Spark(), parse.Facts,
			" 65536      1000           0.00               "+average+"              0.176\n", "")
		r.Stages[0].Outputs[0].Role, r.Stages[0].Outputs[1].Role = "client", "server"
		r.Stages[0].Outputs[0].Asked = asked
		if v := New().Judges[c.Judge](c, r); v.Grade != want {
			t.Errorf("%s: %s, want %s: %s", average, v.Grade, want, v.Reason)
		} else if v.Grade == steps.Pass && !strings.Contains(v.Said(), "No counters were compared") {
			t.Errorf("it hides that nobody counted: %s", v.Reason)
		}
	}
}
