package stream

import "math"

// A Result is what a stream came to, as --json prints it; scripts rely on its keys.
type Result struct {
	Railbench string `json:"railbench"`
	Moved
	Stalls int         `json:"stalls"`
	Ways   []WayResult `json:"ways"` // in the order in which they were named
}

// A WayResult is what went over one address: a rail's.
type WayResult struct {
	At string `json:"at"` // the receiver's address, at both ends
	Moved
	Stalls  int `json:"stalls"`
	Streams int `json:"streams,omitempty"` // as the sender knows
}

// Moved is what was moved in some time.
type Moved struct {
	Bytes   uint64  `json:"bytes"` // of payload
	Blocks  uint64  `json:"blocks"`
	Lost    uint64  `json:"lost"`
	Corrupt uint64  `json:"corrupt"`
	Cut     uint64  `json:"cut"`     // streams that ended within a block
	Seconds float64 `json:"seconds"` // from the first byte to the last, to the microsecond
	Gbps    float64 `json:"gbps"`    // of payload, six digits of it
}

func (m *Moved) add(t *Tally) {
	m.Bytes, m.Blocks = m.Bytes+t.Bytes.Load(), m.Blocks+t.Blocks.Load()
	m.Lost, m.Corrupt, m.Cut = m.Lost+t.Lost.Load(), m.Corrupt+t.Corrupt.Load(), m.Cut+t.Cut.Load()
}

func (m *Moved) took(seconds float64) {
	m.Seconds = math.Round(seconds*1e6) / 1e6
	if seconds > 0 {
		m.Gbps = digits(float64(m.Bytes)*8/seconds/1e9, 6)
	}
}

// digits rounds to so many significant ones: what no clock here can report is not printed.
func digits(v float64, n int) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow10(n - 1 - int(math.Floor(math.Log10(math.Abs(v)))))
	if math.IsInf(scale, 0) {
		return v
	}
	return math.Round(v*scale) / scale
}
