package explain

import (
	"bytes"
	"errors"
	"io"
)

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
