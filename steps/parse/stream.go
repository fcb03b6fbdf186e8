package parse

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Stream is what railbench stream send or receive prints with --json, of all its connections together.
type Stream struct {
	Railbench string `json:"railbench"` // its version
	StreamMoved
	Stalls int         `json:"stalls"`
	Ways   []StreamWay `json:"ways"` // in the order in which they were named
}

// A StreamWay is what went over one address: a rail's.
type StreamWay struct {
	At string `json:"at"` // the receiver's ADDRESS:PORT, at both ends
	StreamMoved
	Stalls  int `json:"stalls"`
	Streams int `json:"streams,omitempty"` // from the sender; 0 from the receiver
}

// StreamMoved is payload. A block is lost where its number was left out, and corrupt where its
// checksum is another.
type StreamMoved struct {
	Bytes   float64 `json:"bytes"`
	Blocks  float64 `json:"blocks"`
	Lost    float64 `json:"lost"`
	Corrupt float64 `json:"corrupt"`
	Cut     float64 `json:"cut"` // streams that ended within a block
	Seconds float64 `json:"seconds"`
	Gbps    float64 `json:"gbps"`
}

// StreamOutput reads it, among the lines on stderr. An object without a figure does not count, and of two it
// is unknown which is meant.
func StreamOutput(text string) (Stream, error) {
	at := streamBegins.Regexp().FindAllStringSubmatchIndex(text, 2)
	if len(at) != 1 {
		return Stream{}, ErrNoResult
	}
	var v struct {
		Railbench *string            `json:"railbench"`
		Ways      *[]json.RawMessage `json:"ways"`
		streamFigures
	}
	if err := json.NewDecoder(strings.NewReader(text[at[0][0]:])).Decode(&v); err != nil {
		return Stream{}, ErrNoResult
	}
	if v.Railbench == nil || v.Ways == nil || len(*v.Ways) == 0 {
		return Stream{}, ErrNoResult
	}
	s := Stream{Railbench: *v.Railbench}
	var err error
	if s.StreamMoved, s.Stalls, err = v.read(); err != nil {
		return Stream{}, err
	}
	for _, raw := range *v.Ways {
		var w struct {
			At      string `json:"at"`
			Streams int    `json:"streams"`
			streamFigures
		}
		if err := json.Unmarshal(raw, &w); err != nil || w.At == "" || w.Streams < 0 {
			return Stream{}, ErrNoResult
		}
		one := StreamWay{At: w.At, Streams: w.Streams}
		if one.StreamMoved, one.Stalls, err = w.read(); err != nil {
			return Stream{}, err
		}
		s.Ways = append(s.Ways, one)
	}
	return s, nil
}

// streamBegins is the line with which the object begins.
var streamBegins = lazyregexp.New(`(?m)^\{\s*$`)

// streamFigures are a StreamMoved of which each may be missing.
type streamFigures struct {
	Bytes   *float64 `json:"bytes"`
	Blocks  *float64 `json:"blocks"`
	Lost    *float64 `json:"lost"`
	Corrupt *float64 `json:"corrupt"`
	Cut     *float64 `json:"cut"`
	Stalls  *float64 `json:"stalls"`
	Seconds *float64 `json:"seconds"`
	Gbps    *float64 `json:"gbps"`
}

// read wants all figures, counts as whole numbers and nothing below zero: what a damaged report lacks must not
// be 0.
func (f streamFigures) read() (m StreamMoved, stalls int, err error) {
	var n float64
	for _, one := range []struct {
		from  *float64
		to    *float64
		whole bool
	}{
		{f.Bytes, &m.Bytes, true},
		{f.Blocks, &m.Blocks, true},
		{f.Lost, &m.Lost, true},
		{f.Corrupt, &m.Corrupt, true},
		{f.Cut, &m.Cut, true},
		{f.Stalls, &n, true},
		{f.Seconds, &m.Seconds, false},
		{f.Gbps, &m.Gbps, false},
	} {
		// Beyond 2^53 a float does not hold every whole number.
		if one.from == nil || *one.from < 0 || *one.from > 1<<53 || one.whole && *one.from != math.Trunc(*one.from) {
			return m, 0, ErrNoResult
		}
		*one.to = *one.from
	}
	return m, int(n), nil
}
