package parse

import (
	"encoding/json"
	"math"
	"strings"
)

// NIXLPython is what the Python programs of the NIXL cells report, a line of JSON
// each; a script may run several.
type NIXLPython struct {
	Results []NIXLResult `json:"results"`
}

// A NIXLResult is one of them. Test says which: nixl-version, nixl-register, nixl-transfer or nixl-latency.
// Fields that a test doesn't have are zero.
type NIXLResult struct {
	Test  string `json:"test"`
	Error string `json:"error"`

	NIXL   string `json:"nixl,omitempty"` // version; empty where there is none
	Python string `json:"python,omitempty"`
	Path   string `json:"path,omitempty"`
	// UCX are the UCX libraries that the process had loaded, each "PATH VERSION": a wheel may bring one of
	// its own, which ucx_info does not know.
	UCX []string `json:"ucx,omitempty"`
	// UCT are the names of that UCX's modules which the process had loaded: libuct_cuda is the one for GPU
	// memory. nil if they weren't printed.
	UCT []string `json:"uct,omitempty"`

	Device string `json:"device,omitempty"` // "cpu" or "cuda"
	Bytes  int    `json:"bytes,omitempty"`

	Registered bool `json:"registered,omitempty"`
	DescBytes  int  `json:"descBytes,omitempty"`

	Role       string  `json:"role,omitempty"` // "target" or "initiator"
	Op         string  `json:"op,omitempty"`
	Iterations int     `json:"iterations,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	Gbps       float64 `json:"gbps,omitempty"`
	Verified   bool    `json:"verified,omitempty"`
	Served     bool    `json:"served,omitempty"`

	AvgUS float64 `json:"avgUS,omitempty"`
	MinUS float64 `json:"minUS,omitempty"`
	P50US float64 `json:"p50US,omitempty"`
	P95US float64 `json:"p95US,omitempty"`
	P99US float64 `json:"p99US,omitempty"`
	MaxUS float64 `json:"maxUS,omitempty"`
}

// NIXLPythonOutput reads them. NIXL and UCX print lines of their own between. The
// error is ErrNoResult where no line is one.
func NIXLPythonOutput(text string) (NIXLPython, error) {
	p := NIXLPython{Results: []NIXLResult{}}
	jsonLines(text, "nixl-", func(line []byte) {
		var r NIXLResult
		if json.Unmarshal(line, &r) == nil && r.sound() && len(p.Results) < maxRows {
			r.Error = cut(r.Error)
			r.UCX = r.UCX[:min(len(r.UCX), maxErrors)]
			for i := range r.UCX {
				r.UCX[i] = cut(r.UCX[i])
			}
			p.Results = append(p.Results, r)
		}
	})
	if len(p.Results) == 0 {
		return p, ErrNoResult
	}
	return p, nil
}

// sound reports whether no figure is below zero.
func (r NIXLResult) sound() bool {
	for _, v := range []float64{
		r.Seconds, r.Gbps, r.AvgUS, r.MinUS, r.P50US, r.P95US,
		r.P99US, r.MaxUS, float64(r.Bytes), float64(r.Iterations), float64(r.DescBytes),
	} {
		if v < 0 || math.IsNaN(v) {
			return false
		}
	}
	return true
}

// jsonLines visits each line that is an object whose "test" begins with a prefix.
func jsonLines(text, prefix string, visit func(line []byte)) {
	lines(text, func(line string) {
		line = strings.TrimSpace(line)
		var head struct {
			Test string `json:"test"`
		}
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &head) != nil ||
			!strings.HasPrefix(head.Test, prefix) {
			return
		}
		visit([]byte(line))
	})
}

// NIXLSetup is what nixl-check's script prints on one node.
type NIXLSetup struct {
	Facts map[string]string `json:"facts"` // "tool nixlbench", "nixlbench --asio_address"
	// Python is nil where no interpreter was asked.
	Python *NIXLResult `json:"python"`
	UCX    UCX         `json:"ucx"`
}

// NIXLSetupOutput reads a NIXLSetup. The error is ErrNoResult if there is no fact.
func NIXLSetupOutput(text string) (NIXLSetup, error) {
	var s NIXLSetup
	var err error
	s.Facts, err = Facts(withoutHashes(text))
	s.UCX, _ = UCXInfo(text) // it may be missing
	// The script runs one program: its version.
	if p, err := NIXLPythonOutput(text); err == nil {
		s.Python = &p.Results[0]
	}
	return s, err
}

// withoutHashes leaves out ucx_info's lines, which look like facts, and JSON.
func withoutHashes(text string) string {
	var b strings.Builder
	lines(text, func(line string) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "{") {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	})
	return b.String()
}
