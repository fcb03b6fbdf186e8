package parse

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// An Iperf3 is one test of iperf3, as one of its ends reports it. Rates are 10^9 bits of TCP payload a
// second.
type Iperf3 struct {
	Version string  `json:"version"`
	Streams int     `json:"streams"`
	Local   string  `json:"local"` // address of the first stream's end on this node
	Remote  string  `json:"remote"`
	Seconds float64 `json:"seconds"`
	// Sent is what the sender wrote, Received what arrived. The text of a server
	// has only what its own end did, and the other is 0.
	SentBytes     float64 `json:"sentBytes"`
	ReceivedBytes float64 `json:"receivedBytes"`
	SentGbps      float64 `json:"sentGbps"`
	ReceivedGbps  float64 `json:"receivedGbps"`
	// Retransmits are segments that the sender sent again; -1 where it doesn't say.
	Retransmits int `json:"retransmits"`
	// Reordered is how often packets came in another order than they were sent, as the
	// sender's kernel saw it; -1 where it doesn't say, as before 3.20.
	Reordered int `json:"reordered"`
	// CwndBytes is the largest congestion window that any stream had, MSSBytes the
	// largest segment; 0 where unknown.
	CwndBytes int `json:"cwndBytes"`
	MSSBytes  int `json:"mssBytes"`
	// Each is the rate of every stream, received where that is known.
	Each []float64 `json:"eachGbps"`
	// Protocol is "TCP", "UDP" or "SCTP"; empty if it isn't printed.
	Protocol string `json:"protocol,omitempty"`
	// UDP is what became of a UDP test's datagrams; nil where the test isn't one, or doesn't say.
	UDP *Datagrams `json:"udp,omitempty"`
	// ReceivedSeconds are those that the receiver's rate was worked out of, to all digits; 0 in a text.
	ReceivedSeconds float64 `json:"-"`
	// SentSeconds are those that the sender sent; 0 in a text.
	SentSeconds float64 `json:"-"`
	// Reverse says that the server sent, Bidir that both did, and LimitGbps is the rate limit that the sender
	// was given; 0 for none.
	Reverse   bool    `json:"reverse,omitempty"`
	Bidir     bool    `json:"bidir,omitempty"`
	LimitGbps float64 `json:"limitGbps,omitempty"`
	// Asked are the client's options that make it another test: seconds, bytes or blocks after which it ends,
	// seconds left out, and the size of its writes. Only JSON has them; 0 for none.
	Asked IperfAsked `json:"-"`
	// Stopped are the seconds of the intervals in which nothing at all was moved.
	Stopped float64 `json:"-"`
	// Error is iperf3's own word for what went wrong; empty where nothing did. With
	// -J it ends with status 0 all the same.
	Error string `json:"error"`
}

// IperfAsked are the options of a client of iperf3.
type IperfAsked struct {
	Streams, Seconds, Bytes, Blocks, Omit, WriteBytes int
	// Window is the size of the sockets' buffers that -w asked for.
	Window int
}

// Datagrams are those of a UDP test, of all streams. The sender goes on whether they arrive or not: a rate of
// UDP is the sender's only, unless the lost ones are counted.
type Datagrams struct {
	Sent     int     `json:"sent"`
	Lost     int     `json:"lost"`
	JitterMS float64 `json:"jitterMS"` // at the receiver, milliseconds
}

// Threaded reports whether each stream had a thread of its own, as from 3.16 on. ok is false if the version
// isn't printed.
func (v Iperf3) Threaded() (threaded, ok bool) {
	m := iperfVersion.Regexp().FindStringSubmatch(v.Version)
	if m == nil {
		return false, false
	}
	major, ok1 := strictnum.Count(m[1])
	minor, ok2 := strictnum.Count(m[2])
	return major > 3 || major == 3 && minor >= 16, ok1 && ok2
}

var iperfVersion = lazyregexp.New(`^iperf (\d{1,3})\.(\d{1,3})`)

// Iperf3Output reads what iperf3 prints, with -J, as --json-stream or as text, at either end.
func Iperf3Output(text string) (Iperf3, error) {
	// A text with a brace further on is the form for people with something behind it.
	if i := strings.IndexByte(text, '{'); i >= 0 && strings.TrimSpace(text[:i]) == "" {
		return iperf3JSON(text[i:])
	}
	return iperf3Text(text)
}

// A sum is one line of iperf3's accounts in JSON.
type sum struct {
	Socket      float64  `json:"socket"`
	Seconds     float64  `json:"seconds"`
	Bytes       float64  `json:"bytes"`
	Bits        float64  `json:"bits_per_second"`
	Retransmits *float64 `json:"retransmits"`
	Cwnd        float64  `json:"max_snd_cwnd"`
	Window      float64  `json:"snd_cwnd"`
	Reorder     *float64 `json:"reorder"`
	// Those of UDP; packets are datagrams.
	Packets *float64 `json:"packets"`
	Lost    *float64 `json:"lost_packets"`
	Jitter  float64  `json:"jitter_ms"`
	// Sends says of a stream that this end sent on it; nil if it isn't printed.
	Sends *bool `json:"sender"`
}

// An iperf3Report is what -J prints.
type iperf3Report struct {
	Start     iperf3Start      `json:"start"`
	Intervals []iperf3Interval `json:"intervals"`
	End       iperf3End        `json:"end"`
	Error     string           `json:"error"`
	// Event and Data are those of --json-stream, which prints the parts each on its line.
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// Told is the value of -M, instead of the default.
type iperf3Start struct {
	Connected []struct {
		Local  string `json:"local_host"`
		Remote string `json:"remote_host"`
	} `json:"connected"`
	Version string  `json:"version"`
	MSS     float64 `json:"tcp_mss_default"`
	Told    float64 `json:"tcp_mss"`
	Window  float64 `json:"sock_bufsize"`
	Test    struct {
		Streams  float64 `json:"num_streams"`
		Protocol string  `json:"protocol"`
		Reverse  float64 `json:"reverse"`
		Bidir    float64 `json:"bidir"`
		Bitrate  float64 `json:"target_bitrate"`
		Seconds  float64 `json:"duration"`
		Bytes    float64 `json:"bytes"`
		Blocks   float64 `json:"blocks"`
		Omit     float64 `json:"omit"`
		Write    float64 `json:"blksize"`
	} `json:"test_start"`
}

type iperf3Interval struct {
	Streams []sum `json:"streams"`
	Sum     *sum  `json:"sum"`
}

// An iperf3End has the accounts of the whole test. Which of the sums there are depends on the protocol and the
// release.
type iperf3End struct {
	Streams []struct {
		Sender   sum `json:"sender"`
		Receiver sum `json:"receiver"`
		UDP      sum `json:"udp"` // in place of both: what the sender sent, and of that what was lost
	} `json:"streams"`
	Sent     *sum `json:"sum_sent"`
	Received *sum `json:"sum_received"`
	Sum      *sum `json:"sum"` // of UDP, and before 3.7 of nothing else
}

// take reads an event of --json-stream. What newer releases add is left out.
func (r *iperf3Report) take(event string, data json.RawMessage) error {
	switch event {
	case "start":
		return json.Unmarshal(data, &r.Start)
	case "interval":
		var i iperf3Interval
		err := json.Unmarshal(data, &i)
		if len(r.Intervals) < maxRows {
			r.Intervals = append(r.Intervals, i)
		}
		return err
	case "end":
		return json.Unmarshal(data, &r.End)
	case "error":
		return json.Unmarshal(data, &r.Error)
	}
	return nil
}

// readIperf3Report reads one test. --json-stream-full-output prints the events and then the
// whole, which says the same.
func readIperf3Report(text string) (all iperf3Report, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&all); err != nil {
		return all, err
	}
	if all.Event == "" {
		rest := text[dec.InputOffset():]
		if m := iperfError.Regexp().FindStringSubmatch(strings.TrimSpace(rest)); m != nil && all.Error == "" {
			all.Error = m[1]
		} else if strings.Contains(rest, "{") {
			return all, errors.New("there are two reports of two tests")
		}
		return all, nil
	}
	ended := false
	for part := all; !ended; {
		if err := all.take(part.Event, part.Data); err != nil {
			return all, err
		}
		ended = part.Event == "end"
		part = iperf3Report{}
		if err := dec.Decode(&part); err != nil || part.Event == "" || part.Event == "start" {
			break // it was ended in the middle, or another test begins
		}
	}
	if !ended && all.Error == "" {
		return all, errors.New("the stream of events has no end")
	}
	return all, nil
}

// iperf3JSON takes what there is of a report: an error with no sums is a result of its own, and sums without an
// error are one. What neither has is none.
func iperf3JSON(text string) (Iperf3, error) {
	v := Iperf3{Retransmits: -1, Reordered: -1, Each: []float64{}}
	raw, err := readIperf3Report(text)
	if err != nil {
		return v, fmt.Errorf("%w: iperf3 -J: %w", ErrNoResult, err)
	}
	v.Version, v.Error = cut(raw.Start.Version), cut(raw.Error)
	v.Streams = whole(raw.Start.Test.Streams)
	told := raw.Start.Test
	v.Asked = IperfAsked{
		v.Streams, whole(told.Seconds), whole(told.Bytes), whole(told.Blocks), whole(told.Omit),
		whole(told.Write), whole(raw.Start.Window),
	}
	v.Protocol = cut(raw.Start.Test.Protocol)
	v.Reverse, v.Bidir, v.LimitGbps = raw.Start.Test.Reverse > 0, raw.Start.Test.Bidir > 0,
		least(raw.Start.Test.Bitrate)/1e9
	v.MSSBytes = whole(max(raw.Start.MSS, raw.Start.Told))
	if c := raw.Start.Connected; len(c) > 0 {
		v.Local, v.Remote = cut(c[0].Local), cut(c[0].Remote)
		if v.Streams == 0 {
			v.Streams = len(c)
		}
	}
	v.streams(raw)
	if s := raw.End.Sent; s != nil {
		v.SentBytes, v.SentGbps, v.Seconds = least(s.Bytes), least(s.Bits)/1e9, least(s.Seconds)
		v.SentSeconds = v.Seconds
		if s.Retransmits != nil {
			v.Retransmits = whole(*s.Retransmits)
		}
	}
	if s := raw.End.Received; s != nil {
		v.ReceivedBytes, v.ReceivedGbps = least(s.Bytes), least(s.Bits)/1e9
		v.Seconds, v.ReceivedSeconds = max(v.Seconds, least(s.Seconds)), least(s.Seconds)
	}
	if s := raw.End.Sum; s != nil {
		v.datagrams(raw.End)
		if raw.End.Sent == nil && raw.End.Received == nil {
			v.SentBytes, v.SentGbps, v.Seconds = least(s.Bytes), least(s.Bits)/1e9, least(s.Seconds)
			raw.End.Sent = s
		}
	}
	if !v.Bidir {
		v.oneWay(raw.End)
	}
	if v.Error == "" && raw.End.Sent == nil && raw.End.Received == nil {
		return v, fmt.Errorf("%w: iperf3 -J has no sums", ErrNoResult)
	}
	return v, nil
}

// streams takes what stands with each stream, at each interval and at the end.
func (v *Iperf3) streams(raw iperf3Report) {
	for _, i := range raw.Intervals {
		for _, s := range i.Streams {
			v.CwndBytes = max(v.CwndBytes, whole(s.Window))
		}
		// What is left behind the last whole one is a few milliseconds.
		if i.Sum != nil && i.Sum.Bytes <= 0 && i.Sum.Bits <= 0 && i.Sum.Seconds > 0.5 {
			v.Stopped += least(i.Sum.Seconds)
		}
	}
	for _, s := range raw.End.Streams {
		v.CwndBytes = max(v.CwndBytes, whole(s.Sender.Cwnd))
		if s.Sender.Reorder != nil {
			v.Reordered = max(v.Reordered, 0) + whole(*s.Sender.Reorder)
		}
		rate := s.Receiver.Bits
		if rate == 0 {
			rate = s.Sender.Bits
		}
		if rate == 0 {
			rate = s.UDP.arrived()
		}
		if len(v.Each) < maxRows {
			v.Each = append(v.Each, least(rate)/1e9)
		}
	}
}

// datagrams takes those of a UDP test: where a release has sums of both ends, what the receiver says.
func (v *Iperf3) datagrams(end iperf3End) {
	for _, s := range []*sum{end.Received, end.Sum} {
		if s != nil && s.Packets != nil && s.Lost != nil {
			v.UDP = &Datagrams{Sent: whole(*s.Packets), Lost: whole(*s.Lost), JitterMS: least(s.Jitter)}
			return
		}
	}
}

// arrived is the rate of what came of a stream of UDP, bits a second.
func (s sum) arrived() float64 {
	if s.Packets == nil || s.Lost == nil || *s.Packets <= 0 {
		return s.Bits
	}
	return s.Bits * max(0, 1 - least(*s.Lost) / *s.Packets)
}

// oneWay takes the sums of what this end sent: with --bidir, releases before 3.7 wrote those of both
// directions under one name, so that the second hides the first (esnet/iperf#952).
func (v *Iperf3) oneWay(end iperf3End) {
	ways := map[bool]int{}
	for _, s := range end.Streams {
		if s.Sender.Sends != nil {
			ways[*s.Sender.Sends]++
		}
	}
	if len(ways) < 2 {
		return
	}
	v.Bidir, v.Streams, v.Each = true, ways[true], []float64{}
	v.SentBytes, v.SentGbps, v.ReceivedBytes, v.ReceivedGbps, v.Retransmits = 0, 0, 0, 0, -1
	for _, s := range end.Streams {
		if s.Sender.Sends == nil || !*s.Sender.Sends {
			continue
		}
		v.SentBytes, v.SentGbps = v.SentBytes+least(s.Sender.Bytes), v.SentGbps+least(s.Sender.Bits)/1e9
		v.ReceivedBytes, v.ReceivedGbps = v.ReceivedBytes+least(s.Receiver.Bytes), v.ReceivedGbps+least(s.Receiver.Bits)/1e9
		if s.Sender.Retransmits != nil {
			v.Retransmits = max(v.Retransmits, 0) + whole(*s.Sender.Retransmits)
		}
		if len(v.Each) < maxRows {
			v.Each = append(v.Each, least(s.Receiver.Bits)/1e9)
		}
	}
}

// least keeps a sum from being negative, as one is after a counter wrapped.
func least(f float64) float64 { return max(0, f) }

// whole makes a count of a JSON number, whatever its size. Its limit is above what any tool counts here, nccl-tests'
// wrong values of 16 GB among it, and so low that the sum of a text's counts is an int.
func whole(f float64) int { return int(min(max(0, f), 1<<40)) }

var (
	iperfError     = lazyregexp.New(`(?m)^iperf3: (?:error - |interrupt - )(.+)$`)
	iperfConnected = lazyregexp.New(`^\[ *\d{1,6}\] local (\S+) port \d+ connected to (\S+) port \d+`)
	// [SUM]   0.00-10.01  sec   610 MBytes   511 Mbits/sec    0   1.19 MBytes   sender
	iperfRow = lazyregexp.New(`^\[ *(SUM|\d{1,6})\] +[\d.]+-([\d.]+) +sec +([\d.]+) ([KMGT]?)Bytes +([\d.]+) ([KMGT]?)bits/sec(?: +(\d{1,9}))?(?: +([\d.]+) ([KMGT]?)Bytes)? *(?:\(omitted\))? *(sender|receiver)? *$`)
	// [  5]   0.00-1.00   sec  2.41 MBytes  20.1 Mbits/sec  0.357 ms  0/77 (0%)  receiver
	iperfDatagrams = lazyregexp.New(` +([\d.]+) ms +(-?\d{1,12})/(\d{1,12}) \([^)]{1,20}%\) *(sender|receiver)? *$`)
	iperfSent      = lazyregexp.New(`^\[ *\d{1,6}\] Sent \d{1,12} datagrams *$`) // before 3.7
)

// iperf3Text reads the form for people. The tutorial's own pattern, "sender …
// Gbits/sec", takes the receiver's number, because "sender" ends its line; and it
// finds nothing below one Gbit/s (assets/docs/facts.md#rows-of-iperf3).
func iperf3Text(text string) (Iperf3, error) {
	r := iperf3Reader{v: Iperf3{Retransmits: -1, Reordered: -1, Each: []float64{}}}
	lines(text, r.line)
	v := r.v
	if len(v.Each) > max(1, v.Streams) {
		v.Each = v.Each[len(v.Each)-max(1, v.Streams):] // the sender's rate stood in for the first
	}
	switch {
	case r.second:
		return v, fmt.Errorf("%w: iperf3: there are two tests, one after the other: give one of them", ErrNoResult)
	case !r.found && v.Error == "":
		return v, ErrNoResult
	}
	return v, nil
}

var (
	iperfBytes = lazyregexp.New(`([\d.]+) ([KMGT]?)Bytes/sec`)
	// [  5][TX-C]   0.00-10.00  sec …, of --bidir
	iperfWay = lazyregexp.New(`^\[ *(SUM|\d{1,6})\]\[(TX|RX)-[CS]\]`)
)

// inBits writes the rate of a line that -f K, M or G gave in bytes as it stands in other lines: in bits.
func inBits(line string) string {
	m := iperfBytes.Regexp().FindStringSubmatch(line)
	if m == nil {
		return line
	}
	bytes, ok := scaled(m[1], m[2], 1024)
	if !ok {
		return line
	}
	return strings.Replace(line, m[0], strconv.FormatFloat(bytes*8/1e9, 'f', 6, 64)+" Gbits/sec", 1)
}

// ways are the two directions of a test with --bidir, as texts of one direction each; nil for another test.
func ways(text string) map[string]string {
	if !strings.Contains(text, "][TX-") && !strings.Contains(text, "][RX-") {
		return nil
	}
	all := map[string]*strings.Builder{"TX": {}, "RX": {}}
	lines(text, func(line string) {
		m := iperfWay.Regexp().FindStringSubmatch(line)
		for way, b := range all {
			switch {
			case m == nil && !iperfConnected.Regexp().MatchString(line):
				b.WriteString(line + "\n")
			case m != nil && m[2] == way:
				b.WriteString(strings.Replace(line, m[0], "["+m[1]+"]", 1) + "\n")
			}
		}
	})
	return map[string]string{"TX": all["TX"].String(), "RX": all["RX"].String()}
}

// An iperf3Reader reads the form for people, a line at a time.
type iperf3Reader struct {
	v      Iperf3
	second bool     // a connection began behind the figures of a test
	found  bool     // a row of a whole test
	summed bool     // a row of all streams: those of one stream say nothing more
	last   []string // the last row of datagrams that names no side: an interval, or the whole before 3.7
}

func (r *iperf3Reader) line(line string) {
	line = inBits(strings.ReplaceAll(line, "\t", " "))
	if m := iperfError.Regexp().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
		if r.v.Error == "" {
			r.v.Error = cut(m[1])
		}
		return
	}
	if m := iperfConnected.Regexp().FindStringSubmatch(line); m != nil {
		if r.v.Streams == 0 {
			r.v.Local, r.v.Remote = cut(m[1]), cut(m[2])
		}
		r.v.Streams++
		r.second = r.second || r.found
		return
	}
	if m := iperfDatagrams.Regexp().FindStringSubmatch(line); m != nil {
		r.datagrams(strings.TrimSuffix(line, m[0]), m)
		return
	}
	// Before 3.7 the row of the whole names no side, and what follows it says so. Of several streams nothing says
	// which row is whose.
	if r.last != nil && r.v.Streams == 1 && iperfSent.Regexp().MatchString(strings.TrimSpace(line)) {
		columns := append(r.last[1:4:4], "sender")
		r.datagrams(r.last[0], append([]string{""}, columns...))
		r.v.UDP = datagramsOf(r.last)
		return
	}
	if m := iperfRow.Regexp().FindStringSubmatch(line); m != nil {
		r.row(m)
	}
}

// datagrams takes a row of UDP: the figures of any row, and m, what became of the datagrams. Only the
// receiver knows that: behind what was sent stand zeros.
func (r *iperf3Reader) datagrams(figures string, m []string) {
	side := m[4]
	if r.v.Protocol = "UDP"; side == "" {
		r.last = append([]string{figures}, m[1:]...)
		return
	}
	row := iperfRow.Regexp().FindStringSubmatch(figures + " " + side)
	if row == nil {
		return
	}
	if side == "receiver" && (row[1] == "SUM" || !r.summed) {
		r.v.UDP = datagramsOf(m)
	}
	r.row(row)
}

// datagramsOf are those of a row's columns; nil if they are not numbers.
func datagramsOf(m []string) *Datagrams {
	jitter, ok := strictnum.Number(m[1])
	sent, also := strictnum.Count(m[3])
	if !ok || !also {
		return nil
	}
	lost, _ := strictnum.Count(m[2]) // below 0 where some came late: none is lost
	return &Datagrams{Sent: sent, Lost: lost, JitterMS: jitter}
}

// row takes a line of figures. Those of an interval name no side; of them only the
// congestion window is kept, which the last rows don't have.
func (r *iperf3Reader) row(m []string) {
	seconds, _ := strictnum.Number(m[2])
	// Bytes in powers of 1024, bits in powers of 1000.
	bytes, ok := scaled(m[3], m[4], 1024)
	bits, also := scaled(m[5], m[6], 1000)
	if !ok || !also {
		return
	}
	if w, ok := scaled(m[8], m[9], 1024); ok && m[8] != "" {
		r.v.CwndBytes = max(r.v.CwndBytes, whole(w))
	}
	if all := m[1] == "SUM"; m[10] != "" && (all || !r.summed) {
		r.v.Seconds = max(r.v.Seconds, seconds)
		r.end(m[10], all, bytes, bits/1e9, m[7])
	}
}

// end takes what one side said at the end, of one stream or of all.
func (r *iperf3Reader) end(side string, all bool, bytes, rate float64, retransmits string) {
	if all && !r.summed {
		r.summed = true
		r.v.Retransmits = -1 // those of one stream
	}
	r.found = true
	if side == "receiver" {
		r.v.ReceivedBytes, r.v.ReceivedGbps = bytes, rate
	} else {
		r.v.SentBytes, r.v.SentGbps = bytes, rate
		if n, ok := strictnum.Count(retransmits); ok {
			r.v.Retransmits = n
		}
	}
	if !all && len(r.v.Each) < maxRows && (side == "receiver" || len(r.v.Each) == 0) {
		r.v.Each = append(r.v.Each, rate)
	}
}

// scaled reads "610" with "M" to a base.
func scaled(figure, unit string, base float64) (float64, bool) {
	v, ok := strictnum.Number(figure)
	if unit != "" {
		v *= math.Pow(base, float64(strings.Index("KMGTP", unit)+1))
	}
	return v, ok && !math.IsInf(v, 0)
}

// A NamedBond is a bond and its name.
type NamedBond struct {
	Name string `json:"name"`
	Bond
}

// Bonds reads /proc/net/bonding of every bond of a node, each after a line
// "bond NAME". A line "no bond" says that there is none.
func Bonds(text string) ([]NamedBond, error) {
	bonds := []NamedBond{}
	none, full := false, false
	var body strings.Builder
	var err error
	end := func() {
		if n := len(bonds); n > 0 && !full {
			var why error
			if bonds[n-1].Bond, why = Bonding(body.String()); why != nil && err == nil {
				err = fmt.Errorf("%w: %s", why, bonds[n-1].Name)
			}
		}
		body.Reset()
	}
	lines(text, func(line string) {
		if line == "no bond" {
			none = true
			return
		}
		// One word, and nothing else: the cell's own line, and none of the driver's.
		if name, ok := strings.CutPrefix(line, "bond "); ok && name != "" && !strings.ContainsAny(name, " :\t") {
			end()
			if full = len(bonds) >= maxRows; !full {
				bonds = append(bonds, NamedBond{Name: cut(name)})
			}
			return
		}
		if !full { // a bond without room: its slaves must not count for another
			body.WriteString(line)
			body.WriteByte('\n')
		}
	})
	end()
	if len(bonds) == 0 && !none {
		return bonds, ErrNoResult
	}
	return bonds, err
}
