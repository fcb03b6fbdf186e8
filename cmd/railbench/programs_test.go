package main

import (
	"context"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Each program begins with a line that names it, and is one text without agent.py.
func TestPrograms(t *testing.T) {
	all, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for variable, name := range map[string]string{
		"NIXL_VERSION_PY": "nixl-version", "NIXL_REGISTER_PY": "nixl-register", "NIXL_TRANSFER_PY": "nixl-transfer",
		"NIXL_LATENCY_PY": "nixl-latency", "GPU_STAGING_PY": "gpu-staging", "GPU_LOAD_PY": "gpu-load",
	} {
		text := all[variable]
		if !strings.HasPrefix(text, "# railbench: "+name+"\n") || strings.Contains(text, sharedMark) ||
			strings.Count(text, "class Cuda") != 1 {
			t.Errorf("%s: %.80q", variable, text)
		}
		if strings.Contains(text, "\nEND\n") {
			t.Errorf("%s holds the line that ends it", variable)
		}
		delete(all, variable)
	}
	for _, variable := range []string{"NCCL_LOOK_SH", "NCCL_RANK_SH"} {
		if text := all[variable]; !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: %.80q", variable, text)
		}
		delete(all, variable)
	}
	for variable := range all {
		t.Errorf("no test knows %s", variable)
	}
}

// A pythonBench runs the scripts of cells on this machine, with the interpreter
// that is here and a stub of NIXL.
type pythonBench struct {
	t        *testing.T
	node     *runner.Local
	tutorial steps.Tutorial
	vars     map[string]string
	env      map[string]string // of the interpreter
}

// pythonPorts are those that were handed out.
var pythonPorts atomic.Int32

// quietPort is a port that nothing listens at, below those that the kernel hands out: a test next to this one gets
// none of them before it is used.
func quietPort() string {
	for {
		port := strconv.Itoa(20000 + os.Getpid()%10000 + int(pythonPorts.Add(1)))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			l.Close()
			return port
		}
	}
}

// newPythonBench skips where there is no Python; how breaks the stub.
func newPythonBench(t *testing.T, how string) *pythonBench {
	t.Helper()
	python := testform.Tool(t, "python3")
	stub, err := filepath.Abs("testdata/nixl-stub")
	if err != nil {
		t.Fatal(err)
	}
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	b := &pythonBench{
		t: t, node: runner.NewLocal("here", nil), tutorial: tut, vars: texts,
		env: map[string]string{"PYTHONPATH": stub, "PYTHONDONTWRITEBYTECODE": "1", "NIXL_STUB": how},
	}
	t.Cleanup(func() { b.node.Close() })
	maps.Copy(b.vars, map[string]string{
		"NIXL_PYTHON": python, "NIXL_PORT": quietPort(), "NIXL_TLS": "tcp,self",
		"RAIL_DEV": "rail0", "RAIL1_DEV": "rail0", "RAIL2_DEV": "rail1", "RAIL_PORT": "1", "RAIL1_PORT": "1",
		"RAIL2_PORT":   "1",
		"PEER_RAIL_IP": "127.0.0.1", "PEER_RAIL1_IP": "127.0.0.1",
		"NIXL_REGISTER_BYTES": "4096", "NIXL_BYTES": "3145731", "NIXL_READS": "3", "NIXL_DUAL_BYTES": "1048576",
		"NIXL_DUAL_READS": "2",
		"NIXL_LAT_BYTES":  "4096", "NIXL_LAT_READS": "50", "STAGING_BYTES": "1048576",
	})
	return b
}

// script is a role's, as a session would run it.
func (b *pythonBench) script(c steps.Cell, role int) runner.Script {
	vars := maps.Clone(b.vars)
	vars["ROLE"] = c.Roles[role].Name
	body := ""
	for name, value := range b.env {
		body += "export " + name + "=" + runner.Quote(value) + "\n"
	}
	return runner.Script{Name: c.ID, Body: body + c.Roles[role].Text(), Vars: vars, Limit: time.Minute}
}

// run runs one role of a cell, and gives its exit and what it printed.
func (b *pythonBench) run(cell string, role int, seen func(string)) (runner.Exit, string) {
	b.t.Helper()
	c, ok := b.tutorial.Cell(cell)
	if !ok {
		b.t.Fatalf("there is no cell %s", cell)
	}
	var text strings.Builder
	exit, err := b.node.Run(b.t.Context(), b.script(c, role), func(l runner.Line) {
		text.WriteString(l.Text + "\n")
		if seen != nil {
			seen(l.Text)
		}
	})
	if err != nil {
		b.t.Errorf("%s: %v", cell, err)
	}
	return exit, text.String()
}

// both runs a target, and the initiator once it is ready.
func (b *pythonBench) both(cell string) (exits [2]runner.Exit, results [2]parse.NIXLResult) {
	b.t.Helper()
	ready := make(chan struct{})
	once := sync.OnceFunc(func() { close(ready) })
	var texts [2]string
	var target sync.WaitGroup
	target.Go(func() {
		defer once()
		exits[steps.Peer], texts[steps.Peer] = b.run(cell, 0, func(line string) {
			if strings.HasPrefix(line, "ready "+b.vars["NIXL_PORT"]) {
				once()
			}
		})
	})
	<-ready
	exits[steps.Here], texts[steps.Here] = b.run(cell, 1, nil)
	target.Wait()
	for e, text := range texts {
		v, err := parse.NIXLPythonOutput(text)
		if err != nil || len(v.Results) != 1 {
			b.t.Fatalf("%s: %v: %s", cell, err, text)
		}
		results[e] = v.Results[0]
	}
	return exits, results
}

// The cells' own scripts, between two real interpreters.
func TestProgramsTransfer(t *testing.T) {
	t.Parallel()
	b := newPythonBench(t, "")
	for cell, size := range map[string]int{"nixl-transfer": 3145731, "nixl-transfer-dual": 1048576, "nixl-latency": 4096} {
		exits, results := b.both(cell)
		here, peer := results[steps.Here], results[steps.Peer]
		if !exits[0].OK() || !exits[1].OK() || !peer.Served || !here.Verified || here.Bytes != size ||
			here.Error+peer.Error != "" {
			t.Errorf("%s: %v, %+v, %+v", cell, exits, here, peer)
		}
		if cell == "nixl-latency" {
			order := []float64{0, here.MinUS, here.P50US, here.P95US, here.P99US, here.MaxUS}
			for i := 1; i < len(order); i++ {
				if order[i] < order[i-1] || here.AvgUS <= 0 {
					t.Errorf("%+v", here)
				}
			}
		} else if here.Gbps <= 0 || here.Seconds <= 0 {
			t.Errorf("%s: %+v", cell, here)
		}
	}
}

func TestProgramsRegister(t *testing.T) {
	t.Parallel()
	b := newPythonBench(t, "")
	exit, text := b.run("nixl-register", 0, nil)
	v, err := parse.NIXLPythonOutput(text)
	_, gpu := exec.LookPath("nvidia-smi")
	if err != nil || !exit.OK() || len(v.Results) == 0 || !v.Results[0].Registered || v.Results[0].DescBytes == 0 ||
		strings.Contains(text, "no GPU here") == (gpu == nil) {
		t.Errorf("%v, %v: %s", err, exit, text)
	}
}

// A failure is reported in one line of JSON and by the exit status.
func TestProgramsFail(t *testing.T) {
	t.Parallel()
	for how, want := range map[string][2]string{
		"corrupt": {"", ""},
		"lost":    {"the transfer ended as ERR", ""},
	} {
		b := newPythonBench(t, how)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan parse.NIXLResult, 1)
		ready := make(chan struct{})
		go func() {
			defer close(results)
			c, _ := b.tutorial.Cell("nixl-transfer")
			_, _ = b.node.Run(ctx, b.script(c, 0), func(l runner.Line) {
				if strings.HasPrefix(l.Text, "ready ") {
					close(ready)
				}
			})
		}()
		<-ready
		exit, text := b.run("nixl-transfer", 1, nil)
		v, err := parse.NIXLPythonOutput(text)
		if err != nil || exit.Code != 1 || v.Results[0].Verified || v.Results[0].Error != want[0] {
			t.Errorf("%s: %v, %v: %s", how, err, exit, text)
		}
		cancel()
		<-results
	}
	b := newPythonBench(t, "backend")
	exit, text := b.run("nixl-register", 0, nil)
	if v, err := parse.NIXLPythonOutput(text); err != nil || exit.Code != 1 || v.Results[0].Registered ||
		!strings.Contains(v.Results[0].Error, "NIXL_ERR_BACKEND") {
		t.Errorf("%v, %v: %s", err, exit, text)
	}
	// The port is taken: no agent is made, and the words are the program's own.
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b.vars["NIXL_PORT"] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	exit, text = b.run("nixl-transfer", 0, nil)
	if v, err := parse.NIXLPythonOutput(text); err != nil || exit.Code != 1 ||
		!strings.Contains(v.Results[0].Error, "is in use") {
		t.Errorf("%v, %v: %s", err, exit, text)
	}
	// Without NIXL.
	b.env["PYTHONPATH"] = ""
	exit, text = b.run("nixl-transfer", 0, nil)
	if v, err := parse.NIXLPythonOutput(text); err != nil || exit.Code != 1 ||
		!strings.Contains(v.Results[0].Error, "No module named 'nixl'") {
		t.Errorf("%v, %v: %s", err, exit, text)
	}
}

// The programs that need no NIXL, on whatever machine this is.
func TestProgramsAlone(t *testing.T) {
	t.Parallel()
	b := newPythonBench(t, "")
	exit, text := b.run("host-staging", 1, nil)
	v, err := parse.StagingOutput(text)
	if err != nil || !exit.OK() || v.GPU == nil || v.GPU.Error != "" || (v.GPU.GPU == "") != (len(v.GPU.Samples) == 0) {
		t.Errorf("%v, %v: %s", err, exit, text)
	}
	exit, text = b.run("nixl-check", 1, nil)
	s, err := parse.NIXLSetupOutput(text)
	if err != nil || !exit.OK() || s.Python == nil || s.Python.Error != "" ||
		!strings.HasSuffix(s.Python.Path, "nixl/__init__.py") {
		t.Errorf("%v, %v: %s", err, exit, text)
	}
}

// The Python that a cell or the notes show is the program's: every line of it is one of the programs', in
// their order.
func TestShownPython(t *testing.T) {
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[name])
	}
	lines := strings.Split(strings.Join(all, "\n"), "\n")
	shown := 0
	sources := map[string]string{"notes": docFiles(t)[docPath("notes")]}
	for _, c := range tut.Cells() {
		sources[c.ID] = c.Prose + "\n" + c.Tail
	}
	for name, source := range sources {
		for _, block := range pythonBlock.FindAllStringSubmatch(source, -1) {
			shown++
			at := 0
			for line := range strings.Lines(block[1]) {
				i := slices.IndexFunc(lines[at:], func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(line) })
				if i < 0 {
					t.Errorf("%s shows %q, which is in no program after the line before it", name, line)
					break
				}
				at += i
			}
		}
	}
	if shown < 5 {
		t.Errorf("%d blocks of Python are shown", shown)
	}
}

var pythonBlock = regexp.MustCompile("(?s)```python\n(.*?)```")
