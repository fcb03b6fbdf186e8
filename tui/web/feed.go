package web

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A feed holds the last messages for all viewers. Each viewer remembers only how far it has read. So a
// hundred viewers take no more memory than one, and a slow one delays no other.
type feed struct {
	// epoch separates the messages of this railbench from those of an earlier one, whose viewers come back to
	// the same address.
	epoch string

	mu     sync.Mutex
	frames []frame
	bytes  int
	seq    int           // of the last frame
	news   chan struct{} // closed with the next frame
	closed bool
}

// A frame is a message as it goes over the wire.
type frame struct {
	seq  int
	text []byte
}

// What is kept for those who come back. Further behind, they get a snapshot.
const (
	keepFrames = 512
	keepBytes  = 1 << 20
)

func newFeed() *feed {
	return &feed{epoch: strings.ToLower(rand.Text()[:8]), news: make(chan struct{})}
}

// publish sends a message. The caller holds the page's lock, so that the messages and the page always agree.
func (f *feed) publish(name string, v any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.seq++
	fr := f.encode(name, v)
	f.frames, f.bytes = append(f.frames, fr), f.bytes+len(fr.text)
	for len(f.frames) > keepFrames || f.bytes > keepBytes && len(f.frames) > 1 {
		f.bytes -= len(f.frames[0].text)
		f.frames[0] = frame{}
		f.frames = f.frames[1:]
	}
	close(f.news)
	f.news = make(chan struct{})
}

// frame is a message that stands for all up to the last one.
func (f *feed) frame(name string, v any) frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.encode(name, v)
}

// encode writes a message with the number of the last frame; mu is held. JSON has no line's
// end in it, so data is one line.
func (f *feed) encode(name string, v any) frame {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte(`null`) // a rate that is not a number: the page keeps its value
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s-%d\nevent: %s\ndata: %s\n\n", f.epoch, f.seq, name, data)
	return frame{f.seq, b.Bytes()}
}

// since are the frames after one; ok is false where they are not all there any more. Without
// any, news is closed with the next one, or with the feed.
func (f *feed) since(seq int) (frames []frame, news <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	behind := f.seq - seq
	if behind < 0 || behind > len(f.frames) {
		return nil, f.news, false
	}
	// Of their own: who reads slowly is still at them when the feed has no room for them any more.
	return slices.Clone(f.frames[len(f.frames)-behind:]), f.news, true
}

// resume reads the Last-Event-ID of a viewer that comes back; ok is false if there is none, or it is from
// another railbench.
func (f *feed) resume(id string) (seq int, ok bool) {
	number, ok := strings.CutPrefix(id, f.epoch+"-")
	if !ok {
		return 0, false
	}
	seq, err := strconv.Atoi(number)
	return seq, err == nil && seq >= 0
}

// open lets viewers follow again after close.
func (f *feed) open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		f.closed, f.news = false, make(chan struct{})
	}
}

func (f *feed) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// close ends the viewers' streams.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.news)
	}
}
