package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// noMemory is how the driver refuses memory: CUDA_ERROR_OUT_OF_MEMORY is 2 (cuda.h).
var noMemory = lazyregexp.New(`^cuMem\w+ failed with CUDA error 2$`)

// A pathKind is how GPU memory gets to the adapter.
type pathKind uint8

const (
	cannotTell pathKind = iota
	hostStaged
	gpuDirect
	notLoaded // the GPU could, and no module or dma-buf lets the adapter
)

// stagingPath puts together what decides: what the driver says of the GPU, and
// which memory UCX registers with the rails. Host memory decides nothing where
// the GPU shares it (assets/docs/facts.md#host-staging).
func stagingPath(s parse.Staging) (kind pathKind, code steps.Code, why string) {
	g := s.GPU
	ib, cuda, code, why := railMemory(s.UCX)
	// Two ways lead to the GPU: nvidia-peermem, which the first attribute is about, and dma-buf.
	able := said(g.GPUDirectRDMA) == 1 || said(g.DMABuf) == 1
	// A driver that doesn't know the second attribute is older than dma-buf.
	unable := said(g.GPUDirectRDMA) == 0 && said(g.DMABuf) < 1
	switch {
	case unable && !cuda:
		return hostStaged, code, why
	case cuda && able:
		return gpuDirect, "", ""
	case cuda && unable: // one of the two is wrong, and nothing says which
		return cannotTell, steps.Unreadable, "UCX lists cuda for the rails, but the driver denies it"
	case able && ib:
		if s.Facts["nvidia_peermem loaded"] == "yes" {
			return cannotTell, steps.UCXNoCUDA, "GPU and nvidia_peermem allow it, but UCX lists no cuda for the rails. Check " +
				"that UCX was built with CUDA"
		}
		return notLoaded, steps.GPUDirectOff, ""
	}
	if why == "" {
		code, why = steps.Unreadable, "the driver does not report GPUDirect support"
	}
	return cannotTell, code, why
}

// railMemory reports whether UCX uses the rails at all, and whether it registers GPU memory with them. why says what
// no one saw.
func railMemory(u parse.UCX) (ib, cuda bool, code steps.Code, why string) {
	for _, d := range u.Domains {
		if d.Component == "ib" {
			ib = true
			cuda = cuda || d.Registers("cuda")
		}
	}
	switch {
	case !ib && len(u.Domains) == 0:
		code, why = steps.CommandMissing, "without ucx_info it is unknown which memory UCX registers"
	case !ib:
		code, why = steps.UCXNoVerbs, "UCX has no verbs and uses no rail"
	}
	return ib, cuda, code, why
}

// said is an attribute, or -1 where the driver doesn't report it.
func said(attribute *int) int {
	if attribute == nil {
		return -1
	}
	return *attribute
}

// judgeHostStaging says how GPU memory travels on each node. Through host memory is not a fault where the hardware
// has no other way.
func judgeHostStaging(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	outputs, _ := registry.OnBoth(r, &rep)
	table := steps.Table{Title: "host memory in use", Columns: []steps.Column{{Name: "step"}}}
	var columns [2][]parse.StagingSample
	w, loaded := ways{unified: true}, "nvidia_peermem is not loaded"
	for _, e := range steps.Ends {
		o, ran := outputs[e]
		if !ran {
			continue
		}
		s, ok := registry.Value[parse.Staging](r, o, &rep)
		if ok && w.judge(r, o, s, &rep) {
			columns[e] = s.GPU.Samples
		}
		if s.Facts["nvidia_peermem loaded"] == "yes" {
			loaded = "nvidia_peermem is loaded"
		}
	}
	if len(w.gpus) == 0 && len(w.without) == len(steps.Ends) {
		return steps.Verdict{
			Grade: steps.Skipped, Code: steps.CannotRun, Evidence: rep.Evidence,
			Reason: "Neither node has a GPU that CUDA can use, so no GPU memory is transferred. " + loaded + ".",
		}
	}
	lead, note := w.lead(&rep)
	v := rep.Verdict(lead, note)
	if chart := stagingChart(r, columns); len(chart.Series[0].Points) > 0 {
		v.Tables, v.Charts = append(v.Tables, stagingTable(r, table, columns)), []steps.Chart{chart}
	}
	return v
}

// ways are how GPU memory travels, by node.
type ways struct {
	gpus                    []string // what they are
	without, staged, direct []string // nodes
	unified                 bool     // processor and GPU share one memory, on each
}

// judge looks at one node; it reports whether there is a GPU, and copies to draw.
func (w *ways) judge(r steps.Result, o steps.Output, s parse.Staging, rep *registry.Report) bool {
	node := r.Rig.NameOf(o.End)
	for _, name := range []string{"driver", "nvidia_peermem loaded", "nvidia_peermem module"} {
		if s.Facts[name] != "" {
			rep.ShowAt(node, name, s.Facts[name], "", nil)
		}
	}
	if s.GPU == nil {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the GPU test on %s printed no result", node)
		return false
	}
	showDomains(node, s.UCX, rep)
	for _, warning := range s.UCX.Warnings {
		if strings.Contains(strings.ToLower(warning), "peermem") {
			rep.Show("UCX on "+node, warning, "", nil)
		}
	}
	if s.GPU.GPU == "" {
		w.without = append(w.without, node)
		if registry.Exited(r, o, rep) && s.GPU.Error != "" {
			rep.Show("message on "+node, s.GPU.Error, "", nil)
		}
		return false
	}
	w.gpus, w.unified = append(w.gpus, s.GPU.GPU), w.unified && s.GPU.Unified
	rep.ShowAt(node, "GPU", s.GPU.GPU, "", nil)
	rep.ShowAt(node, "GPU and processor share one memory", s.GPU.Unified, "", nil)
	rep.ShowAt(node, "GPU_DIRECT_RDMA_SUPPORTED", attribute(s.GPU.GPUDirectRDMA), "", nil)
	rep.ShowAt(node, "DMA_BUF_SUPPORTED", attribute(s.GPU.DMABuf), "", nil)
	if s.GPU.Error != "" {
		code, hint := steps.CUDAFailed, ""
		if noMemory.Regexp().MatchString(s.GPU.Error) {
			code, hint = steps.GPUMemoryShort, ". Lower STAGING_BYTES, or free memory"
		}
		rep.Add(code, steps.Inconclusive, "the copies failed on %s: %s%s", node, s.GPU.Error, hint)
	} else if !registry.Exited(r, o, rep) {
		w.way(node, s, rep)
	}
	return true
}

// way says how GPU memory travels on a node.
func (w *ways) way(node string, s parse.Staging, rep *registry.Report) {
	switch path, code, why := stagingPath(s); path {
	case hostStaged:
		w.staged = append(w.staged, node)
		if why != "" {
			rep.Add(code, steps.Warn, "the path of GPU memory on %s is unclear: %s. Run: railbench doctor gpu-path "+
				"ucx-build", node, why)
		}
	case gpuDirect:
		w.direct = append(w.direct, node)
	case notLoaded:
		rep.Add(code, steps.Warn, "the adapter on %s could read GPU memory, but nothing enables it. Run: "+
			"modprobe nvidia-peermem, or use dma-buf", node)
	default:
		rep.Add(code, steps.Inconclusive, "the path of GPU memory on %s is unknown: %s", node, why)
	}
}

// lead says it of both: one sentence for a PASS, and a note where the measured rise of memory
// would mislead.
func (w *ways) lead(rep *registry.Report) (lead, note string) {
	if len(w.gpus) > 0 && len(w.without) > 0 {
		rep.Add(steps.GPUOneSided, steps.Warn, "%s has no GPU that CUDA can use, so GPU memory cannot be transferred. "+
			"If it should have one, check nvidia-smi",
			registry.List(w.without))
	}
	switch {
	case len(w.staged) > 0 && len(w.direct) > 0:
		rep.Add(steps.GPUPathsDiffer, steps.Warn, "the nodes differ: GPUDirect on %s, host-staged on %s",
			registry.List(w.direct), registry.List(w.staged))
	case len(w.staged) > 0:
		lead = fmt.Sprintf("GPU memory is host-staged on %s, as this hardware requires (%s). Use "+
			"cudaHostAlloc for memory that adapters should reach",
			registry.And(w.staged), w.gpus[0])
		rep.Explain("The driver reports that the adapter cannot reach the memory of %s, and UCX registers no GPU memory "+
			"with the rails", w.gpus[0])
		if w.unified {
			note = "GPU and processor share one memory, so the rise of used memory after a GPU " +
				"buffer proves nothing"
		}
	case len(w.direct) > 0:
		lead = fmt.Sprintf("GPU memory uses GPUDirect on %s: the adapter reads and writes the memory of "+
			"%s directly",
			registry.And(w.direct), w.gpus[0])
	}
	return lead, note
}

func attribute(a *int) any {
	if a == nil {
		return "unknown"
	}
	return *a
}

func showDomains(node string, u parse.UCX, rep *registry.Report) {
	for _, d := range u.Domains {
		if d.Component != "ib" {
			continue
		}
		kinds := []string{}
		for kind := range d.Memory {
			if d.Registers(kind) {
				kinds = append(kinds, kind)
			}
		}
		if len(d.Memory) == 0 {
			kinds = append(kinds, "host")
		}
		slices.Sort(kinds)
		if d.DMABuf {
			kinds = append(kinds, "(dma-buf)")
		}
		rep.ShowAt(node, "UCX registers with "+d.Name, strings.Join(kinds, " "), "", nil)
	}
}

// stagingTable takes a step's name as its key: the nodes' programs are the same, but one may
// have stopped before the other. It has a row a step and a column a node, MiB in use; how far that
// is above the baseline is the chart's to say.
func stagingTable(r steps.Result, t steps.Table, columns [2][]parse.StagingSample) steps.Table {
	var names []string
	for _, e := range steps.Ends {
		if len(columns[e]) == 0 {
			continue
		}
		node := r.Rig.NameOf(e)
		t.Columns = append(t.Columns, steps.Column{Name: node + " MiB", Number: true})
		for _, s := range columns[e] {
			if !slices.Contains(names, s.Step) {
				names = append(names, s.Step)
			}
		}
	}
	for _, name := range names {
		row := []string{name}
		for _, e := range steps.Ends {
			if len(columns[e]) == 0 {
				continue
			}
			i := slices.IndexFunc(columns[e], func(s parse.StagingSample) bool { return s.Step == name })
			if i < 0 {
				row = append(row, "")
				continue
			}
			row = append(row, fmt.Sprint(columns[e][i].UsedMB))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = "MemTotal minus MemAvailable, highest value during each step."
	return t
}

// stagingChart has a bar a step and node, in MiB, for what comes after the baseline.
func stagingChart(r steps.Result, columns [2][]parse.StagingSample) steps.Chart {
	var points []steps.Point
	for _, e := range steps.Ends {
		for _, s := range columns[e] {
			if s.Step != columns[e][0].Step {
				rise := max(s.UsedMB-columns[e][0].UsedMB, 0) // less than before is other programs' doing
				points = append(points, steps.Point{Label: r.Rig.NameOf(e) + ", " + s.Step, Y: float64(rise)})
			}
		}
	}
	return steps.Chart{
		Title: "Host memory above baseline", Shape: steps.Bars, Unit: "MiB",
		Series: []steps.Series{{Points: points}},
	}
}
