package runbook

import (
	"bytes"
	"sort"
)

// A source is a file as it is, and the text that is read of it: without a byte order
// mark, and without the carriage returns of Windows' line ends, which would become a
// part of the shell's words. Offsets are into text.
type source struct {
	raw, text []byte
	mark      int   // how long the byte order mark is
	returns   []int // the line ends in text that have a carriage return in raw
	lines     []int // where each line begins
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// newSource takes the byte order mark and the carriage returns out, and remembers where
// they were: an edit writes them back.
func newSource(raw []byte) source {
	s := source{raw: raw, lines: []int{0}}
	rest := raw
	if bytes.HasPrefix(rest, byteOrderMark) {
		s.mark = len(byteOrderMark)
		rest = rest[s.mark:]
	}
	s.text = make([]byte, 0, len(rest))
	for line := range bytes.Lines(rest) {
		if body, ok := bytes.CutSuffix(line, []byte("\r\n")); ok {
			s.returns = append(s.returns, len(s.text)+len(body))
			s.text = append(append(s.text, body...), '\n')
		} else {
			s.text = append(s.text, line...)
		}
		if line[len(line)-1] == '\n' {
			s.lines = append(s.lines, len(s.text))
		}
	}
	return s
}

// rawOffset is where in the file an offset is.
func (s source) rawOffset(offset int) int {
	return s.mark + offset + sort.SearchInts(s.returns, offset)
}

// position is the line and the column of an offset, from 1.
func (s source) position(offset int) (line, column int) {
	line = sort.SearchInts(s.lines, offset+1)
	return line, offset - s.lines[line-1] + 1
}

// lineStart is the offset of the first byte of the line that offset is on.
func (s source) lineStart(offset int) int {
	return bytes.LastIndexByte(s.text[:offset], '\n') + 1
}

// nextLine is the offset of the first byte of the line after it.
func (s source) nextLine(offset int) int {
	if i := bytes.IndexByte(s.text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(s.text)
}

// lineEnd is how the line that offset is on ends in the file.
func (s source) lineEnd(offset int) string {
	end := s.nextLine(offset) - 1
	if i := sort.SearchInts(s.returns, end); i < len(s.returns) && s.returns[i] == end {
		return "\r\n"
	}
	return "\n"
}

// between is the text between two offsets, without blank lines around it.
func (s source) between(from, to int) string {
	if from >= to {
		return ""
	}
	return string(bytes.Trim(s.text[from:to], "\r\n\t "))
}
