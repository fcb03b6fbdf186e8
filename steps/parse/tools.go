package parse

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// MaxText is how many bytes of a saved text are read.
const MaxText = 16 << 20

// A Tool is one whose saved output can be read without a cell around it. A family
// registers those that it knows.
type Tool struct {
	Name string
	// Also are other names for it.
	Also []string
	// Shows says what its output looks like, for a user whose text is another tool's.
	Shows string
	// Reads makes an object with the keys "tool", "rows" and "errors" of a text. The
	// errors are the tool's own, and more can be added to them.
	Reads func(text string) (value any, errs *[]string, err error)
	// Marks are lines that identify its output.
	Marks []Mark
}

// Tools are all that the families registered, in their order. No name is there twice.
type Tools []Tool

// Named finds a tool by one of its names.
func (all Tools) Named(name string) (Tool, bool) {
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name || slices.Contains(t.Also, name) })
	if i < 0 {
		return Tool{}, false
	}
	return all[i], true
}

// Read reads a saved text: it may have colours in it, another system's line ends, or be something else
// altogether. The value is an object for encoding/json with the keys "tool", "rows", which is never null, and
// "errors": what the tool complained of. If there is no result, or only a part of it could be read, the error
// says why, and so does the last of "errors".
func (t Tool) Read(text string) (any, error) { return t.readUpTo(MaxText, text) }

// readUpTo reads whole lines of the beginning. If there was more, it returns an error with what was read.
func (t Tool) readUpTo(bytes int, text string) (any, error) {
	var part error
	if len(text) > bytes {
		part = fmt.Errorf("the text is longer than the %d MiB that are read of one: cut out the part that matters",
			MaxText>>20)
		text = text[:strings.LastIndexByte(text[:bytes], '\n')+1]
	}
	text = Plain(text)
	value, errs, err := t.Reads(text)
	if err != nil && len(*errs) == 0 {
		*errs = complaints(text)
	}
	switch {
	case err == nil:
		err = part
	case part != nil:
		err = fmt.Errorf("%w; %w", err, part)
	}
	if err != nil {
		*errs = append(*errs, cut(err.Error()))
	}
	return value, err
}

// Unread is the object for a text whose tool is not known.
func Unread(why string, candidates []string) any {
	if candidates == nil {
		candidates = []string{}
	}
	return struct {
		Tool       string   `json:"tool"`
		Candidates []string `json:"candidates"`
		Rows       []any    `json:"rows"`
		Errors     []string `json:"errors"`
	}{"", candidates, []any{}, []string{why}}
}

// A listing is what a tool prints that has rows and nothing else.
type listing[T any] struct {
	Tool   string   `json:"tool"`
	Rows   []T      `json:"rows"`
	Errors []string `json:"errors"`
}

// List is what a tool Reads that prints rows of one kind.
func List[T any](name string, read func(string) ([]T, error)) func(string) (any, *[]string, error) {
	return func(text string) (any, *[]string, error) {
		rows, err := read(text)
		v := listing[T]{Tool: name, Rows: rows, Errors: []string{}}
		if rows == nil {
			v.Rows = []T{}
		}
		if err == nil && len(rows) == 0 {
			// No rows is an answer, unless the tool says why there are none.
			if v.Errors = complaints(text); len(v.Errors) > 0 {
				err = fmt.Errorf("%w: %s", ErrNoResult, v.Errors[0])
			}
		}
		return &v, &v.Errors, atLimit(len(rows), err)
	}
}

// errMore is for a table that is longer than what is read of it.
var errMore = errors.New("the output has more rows than are read")

// atLimit is the error of a reading that may have ended at the limit.
func atLimit(rows int, err error) error {
	if err == nil && rows >= maxRows {
		return fmt.Errorf("%w: the first %d", errMore, maxRows)
	}
	return err
}

var complaint = lazyregexp.New(`command not found|: not found$|Permission denied|Operation not permitted|` +
	`No such (?:file|device)|does not exist|No IB devices found|Failed to get IB devices|does not support the kernel ABI|couldn't open config directory|RTNETLINK|^dmesg: |Cannot `)

// complaints are lines in which a shell or a tool says that there is nothing.
func complaints(text string) []string {
	errs := []string{}
	lines(text, func(line string) {
		line = cut(strings.TrimSpace(line))
		if len(errs) < maxErrors && complaint.Regexp().MatchString(line) && !slices.Contains(errs, line) {
			errs = append(errs, line)
		}
	})
	return errs
}

// readIP decides by the contents whether the text is of interfaces or of routes.
func readIP(text string) (any, *[]string, error) {
	v := struct {
		Tool   string   `json:"tool"`
		Object string   `json:"object"` // link, route or neighbour
		Rows   any      `json:"rows"`
		Errors []string `json:"errors"`
	}{Tool: "ip", Object: "link", Rows: []Link{}, Errors: []string{}}
	links, err := Links(text)
	if err == nil && len(links) == 0 && strings.TrimSpace(text) != "[]" {
		err = ErrNoResult // JSON, but of no interface
	}
	if err != nil {
		links, err = BriefLinks(text)
	}
	n := len(links)
	if n > 0 {
		v.Rows = links
	} else if err != nil {
		var routes []Route
		if found, none := Neighbours(text); none == nil {
			n, err, v.Object, v.Rows = len(found), nil, "neighbour", found
		} else if routes, err = Routes(text); err == nil {
			n, v.Object, v.Rows = len(routes), "route", routes
		}
	}
	return &v, &v.Errors, atLimit(n, err)
}

// readPing is about the whole text: errors are gathered from all runs, each once.
func readPing(text string) (any, *[]string, error) {
	rows, err := Pings(text)
	v := listing[Ping]{Tool: "ping", Rows: rows, Errors: []string{}}
	sent := 0
	for _, p := range rows {
		sent += p.Sent
		for _, e := range p.Errors {
			if len(v.Errors) < maxErrors && !slices.Contains(v.Errors, e) {
				v.Errors = append(v.Errors, e)
			}
		}
	}
	if err == nil && sent == 0 {
		err = fmt.Errorf("%w: ping sent nothing", ErrNoResult)
	}
	return &v, &v.Errors, atLimit(len(rows), err)
}

// readPerftest decides by the names of the columns whether it is a bandwidth or a latency test.
func readPerftest(text string) (any, *[]string, error) {
	if local, remote, ok := sides(text); ok {
		b, err := PerftestBandwidth(local)
		other, _ := PerftestBandwidth(remote)
		for i := range b.Rows {
			b.Rows[i].Side = "local"
		}
		for _, row := range other.Rows {
			row.Side = "remote"
			b.Rows = append(b.Rows, row)
		}
		return &b, &b.Errors, atLimit(len(b.Rows), err)
	}
	b, err := PerftestBandwidth(text)
	l, errLatency := PerftestLatency(text)
	switch {
	case len(b.Rows) > 0 && len(l.Rows) > 0:
		err = errors.New("a bandwidth test and a latency test are in one text:" +
			" the rows are the former's, give each alone")
	case len(l.Rows) > 0, len(b.Rows) == 0 && strings.Contains(l.Test, "Lat"):
		return &l, &l.Errors, atLimit(len(l.Rows), errLatency)
	}
	return &b, &b.Errors, atLimit(len(b.Rows), err)
}

// readIperf3 takes an iperf3 that could not connect for one without a result, though its
// JSON is whole.
func readIperf3(text string) (any, *[]string, error) {
	v := listing[Iperf3]{Tool: "iperf3", Rows: []Iperf3{}, Errors: []string{}}
	if both := ways(text); both != nil {
		for _, way := range []string{"TX", "RX"} {
			if test, err := Iperf3Output(both[way]); err == nil {
				test.Bidir, test.Reverse = true, way == "RX"
				v.Rows = append(v.Rows, test)
			}
		}
		if len(v.Rows) > 0 {
			return &v, &v.Errors, nil
		}
	}
	test, err := Iperf3Output(text)
	if test.Error != "" {
		v.Errors = append(v.Errors, test.Error)
	}
	switch {
	case err != nil:
	case test.SentGbps == 0 && test.ReceivedGbps == 0 && test.Error != "":
		err = fmt.Errorf("%w: iperf3 measured nothing", ErrNoResult)
	default:
		v.Rows = append(v.Rows, test)
	}
	return &v, &v.Errors, err
}

func readUCX(text string) (any, *[]string, error) {
	u, err := UCXInfo(text)
	v := struct {
		Tool       string      `json:"tool"`
		Version    string      `json:"version"`
		Library    string      `json:"library"`
		Configured string      `json:"configured"`
		Rows       []UCXDomain `json:"rows"`
		Warnings   []string    `json:"warnings"`
		Errors     []string    `json:"errors"`
	}{"ucx_info", u.Version, u.Library, u.Configured, u.Domains, u.Warnings, []string{}}
	if v.Warnings == nil {
		v.Warnings = []string{}
	}
	return &v, &v.Errors, atLimit(len(v.Rows), err)
}

// readNIXLBench knows what a cell learns from its other end: only rank 0, the
// initiator, prints a configuration and rows (etcd_rt.cpp), and a target prints
// nothing after its rank.
func readNIXLBench(text string) (any, *[]string, error) {
	b, err := NIXLBenchOutput(text)
	if b.Rank < 0 && (len(b.Rows) > 0 || len(b.Config) > 0) {
		b.Rank = 0
	}
	if b.Role == "" && b.Rank == 0 {
		b.Role = "initiator"
	}
	if err == nil && len(b.Rows) == 0 && b.Role != "target" {
		err = fmt.Errorf("%w: the initiator printed no row", ErrNoResult)
		if b.Role == "" {
			err = fmt.Errorf("%w: rank %d printed no row, and it is unknown whether it was a target",
				ErrNoResult, b.Rank)
		}
	}
	return &b, &b.Errors, atLimit(len(b.Rows), err)
}

// readBonding reads one file of the driver's, several in a row, or those that a
// cell prints with their names.
func readBonding(text string) (any, *[]string, error) {
	v := listing[NamedBond]{Tool: "bonding", Rows: []NamedBond{}, Errors: []string{}}
	rows, err := Bonds(text)
	if err != nil && len(rows) == 0 {
		const begin = "Ethernet Channel Bonding Driver"
		bodies := strings.SplitAfterN(text, begin, maxRows+1)
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
		err = nil
		for _, body := range bodies {
			bond, why := Bonding(body)
			if why != nil {
				err = why
			}
			if bond.Mode == "" {
				continue
			}
			rows = append(rows, NamedBond{Bond: bond})
		}
	}
	if rows != nil {
		v.Rows = rows
	}
	return &v, &v.Errors, err
}

func readNvidiaSMI(text string) (any, *[]string, error) {
	n, err := NvidiaSMIOutput(text)
	v := struct {
		Tool string `json:"tool"`
		NvidiaSMI
	}{"nvidia-smi", n}
	return &v, &v.Errors, atLimit(len(n.Rows), err)
}

func readFree(text string) (any, *[]string, error) {
	f, err := FreeOutput(text)
	v := struct {
		Tool string `json:"tool"`
		Free
		Errors []string `json:"errors"`
	}{"free", f, []string{}}
	return &v, &v.Errors, err
}
