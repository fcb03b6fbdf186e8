package parse

import (
	"encoding/json"
	"slices"
)

// Staging is what the cell on host staging prints on one node.
type Staging struct {
	// Facts are driver, "nvidia_peermem loaded" and "nvidia_peermem module".
	Facts map[string]string `json:"facts"`
	GPU   *GPUStaging       `json:"gpu"` // nil where the program printed nothing
	UCX   UCX               `json:"ucx"`
}

// GPUStaging is the report of the program gpu-staging.
type GPUStaging struct {
	Test string `json:"test"`
	// GPU is its name; empty where there is none.
	GPU string `json:"gpu"`
	// Unified says that the GPU and the processor share one memory.
	Unified bool `json:"unified"`
	// GPUDirectRDMA and DMABuf are attributes of the device, 0 or 1; nil if the driver doesn't report them.
	GPUDirectRDMA *int            `json:"gpuDirectRDMA"`
	DMABuf        *int            `json:"dmaBuf"`
	Samples       []StagingSample `json:"samples"`
	Error         string          `json:"error"`
}

// A StagingSample is host memory during one step: the highest that was seen.
type StagingSample struct {
	Step    string  `json:"step"` // baseline, gpu buffer, gpu to host, host to gpu, freed
	UsedMB  int     `json:"usedMB"`
	Seconds float64 `json:"seconds"`
}

// StagingOutput reads it. The error is ErrNoResult where there is neither a fact
// nor a report.
func StagingOutput(text string) (Staging, error) {
	var s Staging
	var err error
	s.Facts, err = Facts(withoutHashes(text))
	s.UCX, _ = UCXInfo(text) // it may be missing
	jsonLines(text, "gpu-staging", func(line []byte) {
		var g GPUStaging
		if s.GPU == nil && json.Unmarshal(line, &g) == nil && g.sound() {
			g.Error = cut(g.Error)
			s.GPU, err = &g, nil
		}
	})
	return s, err
}

// sound reports whether the program's figures can be: it may have been cut off, or be
// another one.
func (g GPUStaging) sound() bool {
	return len(g.Samples) < maxRows &&
		!slices.ContainsFunc(g.Samples, func(s StagingSample) bool { return s.UsedMB < 0 || s.Seconds < 0 })
}
