package session

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// aside is how many bytes of several nodes wait to be written one node after the other.
const aside = 256 << 10

// A logFile is the full output of a run. What several nodes print at once stands there in
// pieces of a node each, none of which ends in the middle of a line: between two lines of
// railbench's own, which stay where they were said, a reader follows one node at a time.
type logFile struct {
	file  *os.File
	to    *bufio.Writer
	apart bool        // lines begin with their node's name, and wait in its part
	parts []*nodePart // in the order in which the nodes first printed
	waits int         // bytes in the parts
	err   error       // the first one from writing

	room    int64 // bytes that may be written
	written int64
	left    int64 // lines that it had no room for
}

// A nodePart is what a node has printed and the file has not.
type nodePart struct {
	from string
	text bytes.Buffer
	open string // the stream whose line, the last one, goes on
}

// createLog begins the file of a run in a folder.
func createLog(dir string, r *run) (*logFile, error) {
	if !steps.IsID(r.cell.ID) {
		// The cell's id was checked when it was read; a path is made of nothing else.
		return nil, fmt.Errorf("the id %q can't be a file's name", r.cell.ID)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := safefile.Truncated(filepath.Join(dir, fmt.Sprintf("%03d-%s.log", r.id, r.cell.ID)), 0o600)
	if err != nil {
		return nil, err
	}
	apart := r.cell.OnSeveral() || r.cell.Pairs != nil || r.cell.Surveys() && len(r.s.o.Nodes) > len(steps.Ends)
	return &logFile{file: f, to: bufio.NewWriterSize(f, 64<<10), apart: apart, room: r.s.o.LogBytes}, nil
}

// add puts a line into the log. cut says that it goes on in the next one of its node.
func (l *logFile) add(line steps.OutputLine, cut bool) {
	// A tool that never stops printing must not fill the disk.
	if l.written >= l.room {
		l.left++
		return
	}
	text := sanitize.Line(line.Text)
	end := "\n"
	if cut {
		end = ""
	}
	switch {
	case line.Kind == steps.Note:
		l.settle(false)
		l.put("# " + text + end)
	case !l.apart || line.From == "":
		l.put(text + end)
	default:
		p := l.part(line.From)
		before := p.text.Len()
		stream := fmt.Sprintf("%s %d", line.Role, line.Kind)
		if p.open != "" && p.open != stream {
			p.text.WriteByte('\n')
			p.open = ""
		}
		if p.open == "" {
			p.text.WriteString(line.From + ": ")
		}
		p.text.WriteString(text + end)
		if p.open = ""; cut {
			p.open = stream
		}
		grown := p.text.Len() - before
		l.waits, l.written = l.waits+grown, l.written+int64(grown)
		if l.waits > aside {
			l.settle(true)
		}
	}
}

// part is what waits of a node.
func (l *logFile) part(from string) *nodePart {
	for _, p := range l.parts {
		if p.from == from {
			return p
		}
	}
	l.parts = append(l.parts, &nodePart{from: from})
	return l.parts[len(l.parts)-1]
}

// settle writes what waits of each node, up to its last whole line. Of all, a line that goes on
// is ended there: nothing waits any more.
func (l *logFile) settle(all bool) {
	l.waits = 0
	for _, p := range l.parts {
		whole := p.text.Next(bytes.LastIndexByte(p.text.Bytes(), '\n') + 1)
		l.write(whole)
		if all && p.text.Len() > 0 {
			l.write(append(bytes.Clone(p.text.Bytes()), '\n'))
			p.text.Reset()
			p.open = ""
		}
		l.waits += p.text.Len()
	}
}

// put writes text, and counts it.
func (l *logFile) put(text string) {
	l.written += int64(len(text))
	l.write([]byte(text))
}

func (l *logFile) write(text []byte) {
	if _, err := l.to.Write(text); err != nil && l.err == nil {
		l.err = err
	}
}

// close ends the file, which says what it had no room for. The error is the first of all.
func (l *logFile) close() error {
	l.settle(true)
	if l.left > 0 {
		// The line before may be a piece of one.
		l.write(fmt.Appendf(nil, "\n# the log ends here: %d more lines were printed\n", l.left))
	}
	for _, end := range []func() error{l.to.Flush, l.file.Close} {
		if err := end(); err != nil && l.err == nil {
			l.err = err
		}
	}
	return l.err
}
