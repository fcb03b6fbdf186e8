package explain

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// MostSeen bounds what is printed of what was seen; --json has all.
const MostSeen = 25

// Heading stands over the causes. A guess is called one before it is read.
func (a Answer) Heading() string {
	if slices.ContainsFunc(a.Causes, Found.isSure) {
		return "What follows"
	}
	return "Possible causes; none is sure"
}

// Page is an answer as a page in Markdown: a chapter for each cause.
func Page(a Answer) string {
	var b strings.Builder
	// What stands in the text is code: it sets nothing.
	code := func(s string) string { return "`" + strings.ReplaceAll(sanitize.Line(s), "`", "'") + "`" }
	facts := func(title string, all []Fact) {
		if len(all) == 0 {
			return
		}
		sanitize.Fprintf(&b, "## %s\n\n", title)
		for _, f := range all[:min(len(all), MostSeen)] {
			sanitize.Fprintf(&b, "- line %d: %s\n", f.Line, code(f.Text))
		}
		sanitize.Fprintf(&b, "\n")
	}
	near := func() {
		if len(a.Near) == 0 {
			return
		}
		sanitize.Fprintf(&b, "%s\n\n", a.Nearest())
		for _, n := range a.Near {
			sanitize.Fprintf(&b, "- %s. Next: %s\n", n.Title, code(n.Next))
		}
		sanitize.Fprintf(&b, "\n")
	}
	sanitize.Fprintf(&b, "# What this text shows\n\n%s", steps.Counted(a.Lines, "line"))
	if len(a.Tools) > 0 {
		sanitize.Fprintf(&b, ", with output of %s", strings.Join(a.Tools, ", "))
	}
	sanitize.Fprintf(&b, ".\n\n")
	explained := a.Explained()
	if !explained {
		sanitize.Fprintf(&b, "No cause is known for it.\n\n")
		near()
		sanitize.Fprintf(&b, "Collect these outputs on both nodes, and paste them here:\n\n")
		for _, c := range a.Collect {
			sanitize.Fprintf(&b, "- %s\n", code(c))
		}
		sanitize.Fprintf(&b, "\n")
	}
	if explained && len(a.Causes) > 0 {
		sanitize.Fprintf(&b, "%s:\n\n", a.Heading())
	}
	for _, f := range slices.Concat(a.Causes, a.Healthy) {
		sanitize.Fprintf(&b, "## %s\n\n**%s**%s. %s\n\n**Fix:** %s\n\n**Next:** %s\n\n", f.Title, f.Sure, LinesOf(f), f.Why,
			f.Fix, f.Next)
		if len(f.Checks) > 0 {
			sanitize.Fprintf(&b, "**Check:** `railbench doctor %s`\n\n", strings.Join(f.Checks, " "))
		}
	}
	if explained {
		near()
	}
	var old []Fact
	for _, r := range a.Old {
		old = append(old, Fact{r.Line, r.String()})
	}
	facts(OldReleases, old)
	facts("Seen", a.Seen)
	facts("Not understood", a.Unknown)
	return sanitize.Markdown(b.String())
}

// LinesOf names the lines that a cause was found in.
func LinesOf(f Found) string {
	var all []string
	for _, l := range f.Lines {
		all = append(all, strconv.Itoa(l.Line))
	}
	all = slices.Compact(all)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return " (line " + all[0] + ")"
	}
	return " (lines " + strings.Join(all, ", ") + ")"
}

// Of a text that is longer, the beginning and the end are read.
const (
	PastedHead = 1 << 20
	PastedTail = 1 << 20
)

// A Pasted is the beginning and the end of a text, and what is left out between them.
type Pasted struct {
	Text    string
	Omitted Omitted
}

// HeadAndTail is the beginning and the end of a stream, in whole lines, and how many lines are between them.
func HeadAndTail(in io.Reader) (Pasted, error) {
	head, err := io.ReadAll(io.LimitReader(in, PastedHead))
	if err != nil || len(head) < PastedHead {
		return Pasted{Text: string(head)}, err
	}
	var tail []byte
	dropped := 0 // lines that ended in what is not kept
	piece := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(in, piece)
		tail = append(tail, piece[:n]...)
		if more := len(tail) - PastedTail; more > PastedTail {
			dropped += bytes.Count(tail[:more], []byte{'\n'})
			tail = append(tail[:0], tail[more:]...)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return Pasted{}, err
		}
	}
	more := len(tail) - PastedTail
	if more <= 0 && dropped == 0 {
		return Pasted{Text: string(head) + string(tail)}, nil
	}
	if more > 0 {
		dropped += bytes.Count(tail[:more], []byte{'\n'})
		tail = tail[more:]
	}
	// The head ends and the tail begins with a whole line: what is cut off belongs to what was left out.
	end := bytes.LastIndexByte(head, '\n') + 1
	if begin := bytes.IndexByte(tail, '\n') + 1; begin > 0 {
		tail, dropped = tail[begin:], dropped+1
	}
	after := bytes.Count(head[:end], []byte{'\n'})
	return Pasted{string(head[:end]) + string(tail), Omitted{After: after, Lines: dropped}}, nil
}
