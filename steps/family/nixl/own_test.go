package nixl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// The UCX that a process had loaded counts for GPU memory, whatever its suffix is, and not the one that ucx_info
// asks. Where it reports no modules, nothing is said.
func TestModulesOfGPUMemory(t *testing.T) {
	cell := kindtest.Cell(t, "nixl-transfer-gpu")
	judge := func(device, here, peer string) steps.Verdict {
		rig := kindtest.Spark()
		init := strings.Replace(kindtest.ReadBack(device, 64<<20, 16, 3.5, true), `{"test"`, `{`+here+`"test"`, 1)
		target := strings.Replace(kindtest.Served, `{"test"`, `{`+peer+`"test"`, 1)
		s := kindtest.Transferred(cell, rig, -1, init, target, kindtest.OnlyOne)
		return judgeNIXLTransfer(cell, steps.Result{Rig: rig, Stages: []steps.Stage{s}})
	}
	const with, without = `"uct":["libuct_ib-9fe1.so.0","libuct_cuda-3f1a.so.0.0.0"],`, `"uct":["libuct_ib-9fe1.so.0"],`
	kindtest.Want(t, "at both ends", judge("cuda", with, with), steps.Pass)
	kindtest.Want(t, "not told", judge("cuda", "", ""), steps.Pass)
	kindtest.Want(t, "without here", judge("cuda", without, with), steps.Warn, "loaded on spark-02 has no libuct_cuda",
		"--with-cuda")
	kindtest.Want(t, "without there", judge("cuda", with, without), steps.Warn, "loaded on spark-01 has no libuct_cuda")
	if v := judge("cpu", without, without); strings.Contains(v.Said(), "libuct_cuda") {
		t.Errorf("of the host's memory: %s", v.Reason)
	}
}

// What nixlbench prints of its device API, by its source: a line before the configuration, and a second
// option called --num_threads in it.
func TestDeviceAPI(t *testing.T) {
	cell := kindtest.Cell(t, "nixl-single-vram")
	judge := func(line, more string, asked ...string) steps.Verdict {
		c := cell
		c.Roles = slices.Clone(cell.Roles)
		for i := range c.Roles {
			if len(asked) > 0 {
				c.Roles[i].Script = strings.Replace(c.Roles[i].Script, "nixlbench ", "nixlbench "+strings.Join(asked, " ")+" ", 1)
			}
		}
		text := kindtest.Bench("VRAM", kindtest.VramMax, kindtest.SingleVRAM)
		form := regexp.MustCompile(`(?m)^Num threads \(.*$`)
		r := kindtest.Benched(c, kindtest.Spark(), line+form.ReplaceAllString(text, "$0"+more), kindtest.OnlyOne)
		return judgeNIXLBench(c, r)
	}
	const mode = "Device API mode: kernel block_threads=256, num_threads forced to 1\n"
	const told = "\nUse Device API (--use_device_api=[0,1])                     : 1" +
		"\nDevice API Kernel block threads (--num_threads=N)           : 256"
	kindtest.Want(t, "without", judge("", ""), steps.Pass)
	kindtest.Want(t, "off", judge("", strings.Replace(told[:strings.LastIndex(told, "\n")], ": 1", ": 0", 1)), steps.Pass)
	kindtest.Want(t, "nobody asked", judge(mode, told), steps.Inconclusive, "use_device_api 1")
	kindtest.Want(t, "asked", judge(mode, told, "--use_device_api", "1", "--num_threads", "256"), steps.Warn,
		"device API (kernel block_threads=256", "no measurement exists")
	kindtest.Want(t, "others than asked", judge(mode, told, "--use_device_api", "1", "--num_threads", "64"),
		steps.Inconclusive,
		"device_block_threads 256", "64")
	for _, c := range [][2]string{
		{"Invalid configuration for NIXL Device API: --enable_pt must be set", "--enable_pt must be set"},
		{
			"Invalid configuration for NIXL Device API: UCX GPU Device API support is not enabled in this build. x",
			"built without",
		},
		{"NIXL Device API support is not enabled in this build", "built without"},
		{"NIXL Device API: warmup failed: remote error counter is 3", "GPU's own transfers"},
	} {
		said, want := c[0], c[1]
		if v := judge(said+"\n", ""); v.Grade == steps.Pass || !strings.Contains(v.Said(), want) {
			t.Errorf("%s: %s: %s", said, v.Grade, v.Reason)
		}
	}
}

// nixlbench's UCX is the one that it reports itself: ucx_info may report another.
func TestUCXOfNIXLBench(t *testing.T) {
	cell := kindtest.Cell(t, "nixl-single-vram")
	says := func(path, version string) string {
		return "[1795221363.494806] [spark-02:1950 :0]     ucp_context.c:2339 UCX  INFO  Version " + version +
			" (loaded from " + path + ")\n"
	}
	const installed, own = "/usr/local/ucx/lib/libucp.so.0", "/opt/nixl.libs/libucp-9fe1.so.0"
	judge := func(here, peer string) steps.Verdict {
		r := kindtest.Benched(cell, kindtest.Spark(), here+kindtest.Bench("VRAM", kindtest.VramMax, kindtest.SingleVRAM),
			kindtest.OnlyOne)
		target := &r.Stages[0].Outputs[0]
		if target.End == steps.Here {
			target = &r.Stages[0].Outputs[1]
		}
		var err error
		if target.Value, err = parse.NIXLBenchOutput(peer + target.Text); err != nil {
			t.Fatal(err)
		}
		return judgeNIXLBench(cell, r)
	}
	kindtest.Want(t, "one release", judge(says(installed, "1.21.0"), says(own, "1.21.0")), steps.Pass)
	kindtest.Want(t, "not told", judge("", says(own, "1.16.0")), steps.Pass)
	kindtest.Want(t, "another release", judge(says(installed, "1.21.0"), says(own, "1.16.0")), steps.Warn,
		"1.21.0 on spark-02 but 1.16.0 on spark-01", "Install one version on both nodes")
	kindtest.Want(t, "two in one process", judge(says(installed, "1.21.0")+says(own, "1.21.0"), ""), steps.Warn,
		"the process on spark-02")
	v := judge(says(own, "1.21.0"), says(installed, "1.21.0"))
	if text := fmt.Sprint(v.Evidence); !strings.Contains(text, own) || !strings.Contains(text, installed) {
		t.Errorf("the paths are not told: %s", text)
	}
}
