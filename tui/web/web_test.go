package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/sanitize"
)

var start = time.Unix(1000, 0)

func tutorial() steps.Tutorial {
	cells := []steps.Cell{
		{ID: "a", Part: "one", Title: "First", Prose: "Look. <!-- not this -->", Roles: []steps.Role{{Script: "echo a\n"}}},
		{ID: "b", Part: "one", Title: "Second", Roles: []steps.Role{{Script: "echo b\n"}}},
	}
	return steps.Tutorial{Title: "T", Parts: []steps.Part{{ID: "one", Title: "One", Prose: "Prose.", Cells: cells}}}
}

func newPage(o Options) *Page {
	o.Files = fstest.MapFS{
		"page.html": {Data: []byte("<html>")}, "page.css": {Data: []byte("a{}")}, "page.js": {Data: []byte("1")},
		"icon.svg": {Data: []byte("<svg/>")},
	}
	o.Now = func() time.Time { return start.Add(3 * time.Second) }
	return New(o)
}

func board(rate float64) meter.Board {
	return meter.Board{Gauges: []meter.Gauge{
		{Node: "spark-02", Dev: "rocep1s0f0", LinkGbps: 200, CeilingGbps: 110, Tx: meter.Flow{RDMA: rate, Peak: rate}},
		{Node: "spark-01", Dev: "rocep1s0f0", LinkGbps: 200, Stale: "no sample for 3s"},
	}}
}

// A viewer's fold of messages, as page.js has it.
type fold struct {
	Rig, Now any
	Fleet    any
	Places   []any
	Dials    []any
	Board    any
	Hosts    any
	History  []any
	Cells    map[string]any
	last     string // id
}

func (f *fold) take(t *testing.T, name, data string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatal(err)
	}
	switch name {
	case "snapshot":
		m := v.(map[string]any)
		f.Rig, f.Now, f.Board, f.Hosts, f.Cells = m["rig"], m["now"], m["board"], m["hosts"], map[string]any{}
		f.Fleet = m["fleet"]
		f.Places, _ = m["places"].([]any)
		f.Dials, _ = m["dials"].([]any)
		f.History, _ = m["history"].([]any)
		for _, c := range m["cells"].([]any) {
			f.Cells[c.(map[string]any)["id"].(string)] = c
		}
	case "rig":
		f.Rig = v
	case "fleet":
		f.Fleet = v
	case "places":
		f.Places = v.([]any)
	case "dials":
		rails := func(all []any) (of []any) {
			for _, d := range all {
				of = append(of, d.(map[string]any)["node"], d.(map[string]any)["dev"])
			}
			return of
		}
		if !slices.Equal(rails(f.Dials), rails(v.([]any))) {
			f.History = nil
		}
		f.Dials = v.([]any)
	case "board":
		f.Board = v
	case "hosts":
		f.Hosts = v
	case "point":
		f.History = append(slices.Clone(f.History), v)
		f.History = f.History[max(0, len(f.History)-historyLen):]
	case "cell":
		f.Cells[v.(map[string]any)["id"].(string)] = v
	case "cleared":
		delete(f.Cells, v.(string))
	case "now":
		f.Now = v
	default:
		t.Errorf("page.js knows no message %q", name)
	}
}

// joined is a person who reads the page's stream from id on, or from nothing.
type joined struct {
	fold
	t    *testing.T
	read *bufio.Scanner
	stop func()
}

func join(t *testing.T, server *httptest.Server, lastID string) *joined {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %v", answer.Status, answer.Header)
	}
	read := bufio.NewScanner(answer.Body)
	read.Buffer(nil, 4<<20)
	return &joined{t: t, read: read, stop: func() { cancel(); answer.Body.Close() }}
}

// until reads messages up to one, and gives their names.
func (j *joined) until(id string) (names []string) {
	j.t.Helper()
	name := ""
	for j.last != id && j.read.Scan() {
		field, value, _ := strings.Cut(j.read.Text(), ": ")
		switch field {
		case "id":
			j.last = value
			value = ""
		case "event":
			name = value
		case "data":
			j.take(j.t, name, value)
			names = append(names, name)
		}
		if field == "id" && value == id {
			continue
		}
	}
	// The last message's own lines.
	for len(names) == 0 || j.last == id && j.read.Text() != "" {
		if !j.read.Scan() {
			break
		}
		field, value, _ := strings.Cut(j.read.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			j.take(j.t, name, value)
			names = append(names, name)
		}
	}
	return names
}

func (p *Page) lastID() string {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return fmt.Sprintf("%s-%d", p.feed.epoch, p.feed.seq)
}

// A viewer that was there from the beginning, joins late, or comes back, sees the same.
func TestEverybodySeesTheSame(t *testing.T) {
	t.Parallel()
	p := newPage(Options{RigName: "sim", Simulated: true})
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	book := steps.NewNotebook(tutorial())
	apply := func(events ...steps.Event) {
		for _, e := range events {
			book = book.Apply(e)
		}
		p.Book(book)
		p.look()
	}
	apply()
	early := join(t, server, "")
	defer early.stop()
	early.until(p.lastID())

	p.Board(board(10))
	p.look()
	rig := steps.NewRig("lab", true, 2)
	rig.Nodes[0].Name, rig.Nodes[1].Name = "spark-02", "spark-01"
	apply(steps.RigProbed{Rig: rig}, steps.CellStarted{Run: 1, Cell: "a", At: start})
	apply(steps.CellPrinted{Run: 1, Cell: "a", Lines: []steps.OutputLine{{Text: "hello"}}})
	for i := range historyLen + 7 {
		p.Board(board(float64(i)))
		p.look()
		p.point()
	}
	away := join(t, server, "")
	away.until(p.lastID())
	away.stop()
	verdict := steps.Verdict{
		Grade: steps.Warn, Reason: "Slow.",
		Evidence: []steps.Evidence{{Name: "rate", Value: 9.5, Unit: "Gb/s"}},
	}
	apply(steps.CellEnded{Run: 1, Cell: "a", Verdict: verdict, Elapsed: time.Second},
		steps.CellStarted{Run: 2, Cell: "b", At: start})
	b := board(3)
	b.Gauges[0].Stale = "no sample for 5s" // the rail is the same one
	p.Board(b)
	p.look()
	p.point()
	apply(steps.CellEnded{Run: 2, Cell: "b", Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Good."}})
	apply(steps.CellCleared{Cell: "b"})

	if names := early.until(p.lastID()); slices.Contains(names, "snapshot") {
		t.Error("who stays gets a snapshot")
	}
	late := join(t, server, "")
	defer late.stop()
	if names := late.until(p.lastID()); !slices.Equal(names, []string{"snapshot"}) {
		t.Errorf("who joins late gets %q", names)
	}
	back := join(t, server, away.last)
	defer back.stop()
	back.fold = away.fold
	if names := back.until(p.lastID()); slices.Contains(names, "snapshot") || len(names) < 5 {
		t.Errorf("who comes back gets %q", names)
	}
	if !reflect.DeepEqual(early.fold, late.fold) || !reflect.DeepEqual(early.fold, back.fold) {
		t.Errorf("early %+v\nlate %+v\nback %+v", early.fold, late.fold, back.fold)
	}
	if len(late.History) != historyLen || len(late.Cells) != 1 {
		t.Errorf("%d points, %d cells", len(late.History), len(late.Cells))
	}
	if last := late.History[historyLen-1].([]any); last[0] != nil || last[1] != nil {
		t.Errorf("a gauge that is stale has the point %v", last)
	}
	if cell := late.Cells["a"].(map[string]any); cell["grade"] != "WARN" || cell["reason"] != "Slow." {
		t.Errorf("%v", cell)
	}

	// Who was away too long, or comes from another railbench, begins again.
	for range keepFrames + 1 {
		p.point()
	}
	for _, id := range []string{
		away.last, "other-3", strings.TrimSuffix(p.lastID(), "3") + "999999", "x",
		p.feed.epoch + "--1",
	} {
		again := join(t, server, id)
		if names := again.until(p.lastID()); !slices.Equal(names, []string{"snapshot"}) {
			t.Errorf("after %s: %q", id, names)
		}
		again.stop()
	}
}

// What is kept for viewers that come back is bounded, whatever is sent.
func TestFeedIsBounded(t *testing.T) {
	t.Parallel()
	f := newFeed()
	for range 3 * keepFrames {
		f.publish("point", 1)
	}
	if len(f.frames) != keepFrames {
		t.Errorf("%d frames are kept", len(f.frames))
	}
	for range 20 {
		f.publish("cell", strings.Repeat("x", keepBytes/8))
	}
	if f.bytes > keepBytes || len(f.frames) < 2 {
		t.Errorf("%d frames of %d bytes are kept", len(f.frames), f.bytes)
	}
	f.publish("cell", strings.Repeat("x", 2*keepBytes))
	if len(f.frames) != 1 {
		t.Errorf("%d frames are kept beside one that is too long", len(f.frames))
	}
}

// A slow viewer keeps the messages that it was given, however many are sent meanwhile: if it missed a message
// it would show an earlier verdict.
func TestASlowViewerMissesNothing(t *testing.T) {
	t.Parallel()
	f := newFeed()
	for range 3 {
		f.publish("cell", "PASS")
	}
	given, _, ok := f.since(0)
	for range keepFrames {
		f.publish("point", 1)
	}
	for i, frame := range given {
		if !ok || frame.seq != i+1 || !strings.Contains(string(frame.text), "PASS") {
			t.Errorf("message %d of %d is %q", i+1, len(given), frame.text)
		}
	}
}

// Who asks, how, and by which name.
func TestGuard(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	open := newPage(Options{Names: []string{"Spark-02"}}).Handler()
	guarded := newPage(Options{})
	guarded.Guard(token)
	closed := guarded.Handler()
	for _, c := range []struct {
		what string
		h    http.Handler
		ask  string // method, path
		host string
		head map[string]string
		want int
	}{
		{"the page", open, "GET /", "127.0.0.1:7117", nil, 200},
		{"its head", open, "HEAD /", "localhost", nil, 200},
		{"by a tunnel's port", open, "GET /", "localhost:9000", nil, 200},
		{"by IPv6", open, "GET /page.js", "[::1]:7117", nil, 200},
		{"by a name that is allowed", open, "GET /notebook", "spark-02:7117", nil, 200},
		{"a name that leads here now", open, "GET /notebook", "evil.example:7117", nil, 421},
		{"a name that looks like an address", open, "GET /notebook", "127.0.0.1.evil.example", nil, 421},
		{"no name", open, "GET /notebook", "", nil, 421},
		{"something to send", open, "POST /events", "localhost", nil, 405},
		{"something to change", open, "PUT /", "localhost", nil, 405},
		{"something to remove", open, "DELETE /notebook", "localhost", nil, 405},
		{"a preflight", open, "OPTIONS /events", "localhost", nil, 405},
		{"another site's page", open, "GET /notebook", "localhost", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a link from another site", open, "GET /", "localhost", map[string]string{"Sec-Fetch-Site": "cross-site"}, 200},
		{"a path of nothing", open, "GET /nothing", "localhost", nil, 404},
		{"no token", closed, "GET /notebook", "localhost", nil, 401},
		{"no token for the stream", closed, "GET /events", "localhost", nil, 401},
		{"a wrong token", closed, "GET /notebook?token=0123456789abcdeF", "localhost", nil, 401},
		{"a token's beginning", closed, "GET /notebook?token=0123456789", "localhost", nil, 401},
		{"an empty token", closed, "GET /notebook?token=", "localhost", map[string]string{"Authorization": "Bearer "}, 401},
		{"the token", closed, "GET /notebook?token=" + token, "localhost", nil, 200},
		{
			"the token in a header", closed, "GET /notebook", "localhost",
			map[string]string{"Authorization": "Bearer " + token},
			200,
		},
		{"the page has nothing of the session", closed, "GET /", "localhost", nil, 200},
	} {
		method, path, _ := strings.Cut(c.ask, " ")
		r := httptest.NewRequest(method, path, nil)
		r.Host = c.host
		for k, v := range c.head {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.what, w.Code, c.want, w.Body.String())
		}
		h := w.Header()
		for _, must := range []string{"default-src 'none'", "frame-ancestors 'none'", "script-src 'self'"} {
			if !strings.Contains(h.Get("Content-Security-Policy"), must) {
				t.Errorf("%s: the policy is %q", c.what, h.Get("Content-Security-Policy"))
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("the policy is %q", policy)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Set-Cookie") != "" ||
			h.Get("Access-Control-Allow-Origin") != "" ||
			h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", c.what, h)
		}
		if strings.Contains(w.Body.String(), token) {
			t.Errorf("%s: the token is told", c.what)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader("body"))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	open.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || w.Header().Get("Connection") != "close" {
		t.Errorf("a body: %d, %v", w.Code, w.Header())
	}
}

// There is room for so many viewers, and again once one has left.
func TestViewersAreBounded(t *testing.T) {
	t.Parallel()
	p := newPage(Options{})
	viewers := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		p.serveEvents(w, r, viewers)
	}))
	defer server.Close()
	one := join(t, server, "")
	one.until(p.lastID())
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%s, %v", answer.Status, answer.Header)
	}
	one.stop()
	viewers <- struct{}{} // there is room once the stream has ended
	<-viewers
	join(t, server, "").stop()
}

// stuck is a viewer's connection that takes nothing: a write ends by its limit.
type stuck struct {
	http.ResponseWriter
	limits, writes int
	takes          int // so many writes
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	if at.IsZero() {
		return errors.New("no limit")
	}
	s.limits++
	return nil
}

func (s *stuck) Write(b []byte) (int, error) {
	if s.writes++; s.writes > s.takes {
		return 0, os.ErrDeadlineExceeded
	}
	return len(b), nil
}
func (s *stuck) FlushError() error { return nil }

// A viewer who reads too slowly is dropped: each write has a limit, and the first that fails
// is the last.
func TestSlowViewerIsDropped(t *testing.T) {
	t.Parallel()
	p := newPage(Options{})
	p.Board(board(1))
	p.look()
	for takes := range 3 {
		s := &stuck{ResponseWriter: httptest.NewRecorder(), takes: takes}
		p.serveEvents(s, httptest.NewRequest(http.MethodGet, "/events", nil), make(chan struct{}, 1))
		if takes < 2 && (s.writes != takes+1 || s.limits != s.writes) {
			t.Errorf("%d writes were taken, %d tried, %d limits", takes, s.writes, s.limits)
		}
		if takes == 1 {
			p.feed.close() // or the third would follow for ever
		}
	}
}

// The streams end with the page, and begin again with it.
func TestRunEndsStreams(t *testing.T) {
	t.Parallel()
	p := newPage(Options{})
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		j := join(t, server, "")
		for j.read.Scan() && !strings.HasPrefix(j.read.Text(), "event: snapshot") {
			continue
		}
		cancel()
		<-done
		for j.read.Scan() {
			continue
		}
		if err := j.read.Err(); err != nil {
			t.Error(err)
		}
		j.stop()
	}
}

// What a node says stays text: nothing in a message controls anything, each message is one
// line, and none is without an end.
func TestForgedText(t *testing.T) {
	t.Parallel()
	text := "a\x1b]0;owned\x07\u009b31m\u202e\nevent: cell\ndata: {}\n\n</script><img src=x onerror=alert(1)>" +
		strings.Repeat("x", 100_000)
	p := newPage(Options{RigName: text, Railbench: text})
	tut := tutorial()
	tut.Parts[0].Cells[0].Title, tut.Title, tut.Parts[0].Prose = text, text, text
	book := steps.NewNotebook(tut)
	rig := steps.NewRig(text, true, 2)
	rig.Nodes[0].Name, rig.Nodes[0].Where = text, text
	many := make([]steps.Evidence, 1000)
	for i := range many {
		many[i] = steps.Evidence{Name: text, Value: text, Unit: text, Expected: &steps.Expected{From: text}}
	}
	lines := make([]steps.OutputLine, 1000)
	for i := range lines {
		lines[i].Text = text
	}
	for _, e := range []steps.Event{
		steps.RigProbed{Rig: rig},
		steps.CellStarted{Run: 1, Cell: "a", At: start},
		steps.CellPrinted{Run: 1, Cell: "a", Lines: lines},
		steps.CellEnded{Run: 1, Cell: "a", Verdict: steps.Verdict{
			Grade: steps.Fail, Reason: text, Node: text, Evidence: many,
			Tables: []steps.Table{{
				Title: text, Note: text, Columns: []steps.Column{{Name: text}},
				Rows: slices.Repeat([][]string{{text}}, 1000),
			}},
		}},
		steps.CellStarted{Run: 2, Cell: "b", At: start},
		steps.CellPrinted{Run: 2, Cell: "b", Lines: lines},
	} {
		book = book.Apply(e)
	}
	b := board(1)
	b.Gauges[0].Dev, b.Gauges[0].Stale = text, text
	p.Board(b)
	p.Book(book)
	p.look()
	p.point()
	for _, f := range append(slices.Clone(p.feed.frames), p.snapshot()) {
		// An id, an event and its data: no one's text has added a line.
		form := regexp.MustCompile(`\Aid: \w+-\d+\nevent: \w+\ndata: [^\n]+\n\n\z`)
		if !form.Match(f.text) {
			t.Errorf("a message is %.200q", f.text)
		}
		if len(f.text) > 200_000 {
			t.Errorf("a message has %d bytes", len(f.text))
		}
		holdsNothingHidden(t, f.text[strings.Index(string(f.text), "data: ")+6:])
	}
	w := httptest.NewRecorder()
	p.serveNotebook(w, nil)
	if w.Body.Len() > 1<<20 {
		t.Errorf("the notebook has %d bytes", w.Body.Len())
	}
	holdsNothingHidden(t, w.Body.Bytes())
}

func holdsNothingHidden(t *testing.T, text []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var look func(any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			if i := strings.IndexFunc(v, func(r rune) bool {
				return sanitize.Controls(r) && r != '\n' && r != '\t' || unicode.IsControl(r) && r != '\n' && r != '\t'
			}); i >= 0 {
				t.Errorf("it has %q", v[i:min(len(v), i+20)])
			}
		case []any:
			for _, x := range v {
				look(x)
			}
		case map[string]any:
			for _, x := range v {
				look(x)
			}
		}
	}
	look(v)
}

// Payload and wire are distinguished, and payload only where a user knows it; next to the rails stand processors,
// heat and alarms, and nothing of what is not heard any more.
func TestBesideTheRails(t *testing.T) {
	t.Parallel()
	b := board(97.84)
	b.Gauges[0].RoCE, b.Gauges[0].Tx.IP = rate.Headers{Payload: 1024, Counted: 58, Cable: 82}, 0
	if got := needlesOf(b); got[0][0] != 97.8 || got[0][6] != 92.6 || got[0][7] != 0 {
		t.Errorf("%v", got)
	}
	b.Gauges[0].Tx.IP = 3 // of an interface whose MTU is unknown
	if got := needlesOf(b); got[0][6] != unknown {
		t.Errorf("%v", got)
	}
	b.Hosts = []meter.Host{
		{Node: "spark-02", Busy: 1.14, Cores: 20, Known: true},
		{Node: "spark-01", No: 1, Busy: 9, Cores: 20},
	}
	hot := health.Node{Node: "spark-02"}
	if err := hot.Take("heat rocep1s0f0: 117000 hwmon\nadapters: 1\n#nvidia-smi\nindex, name, temperature.gpu\n" +
		"0, NVIDIA GB10, 44\n"); err != nil {
		t.Fatal(err)
	}
	b.Health = []health.Node{hot, {Node: "spark-01", No: 1, Stale: "no connection", Heat: hot.Heat}}
	got := hostsOf(b)
	if one := got[0]; one.Busy != 1.1 || one.Cores != 20 || one.Adapter != 117 || one.GPU != 44 || len(one.Alarms) != 1 ||
		one.Alarms[0].Grade != "FAIL" || !strings.Contains(one.Alarms[0].Text, "117 °C") {
		t.Errorf("%+v", one)
	}
	if one := got[1]; one.Cores != 0 || one.Adapter != 0 || len(one.Alarms) != 0 {
		t.Errorf("nobody hears of it: %+v", one)
	}
}

// The notebook to read has what ran and what didn't, but nothing of a comment.
func TestNotebookToRead(t *testing.T) {
	t.Parallel()
	p := newPage(Options{})
	book := steps.NewNotebook(tutorial())
	for _, e := range []steps.Event{
		steps.CellStarted{Run: 1, Cell: "a", At: start},
		steps.CellPrinted{Run: 1, Cell: "a", Lines: []steps.OutputLine{{Text: "out"}}},
		steps.CellEnded{Run: 1, Cell: "a", Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Good."}},
	} {
		book = book.Apply(e)
	}
	p.Book(book)
	w := httptest.NewRecorder()
	p.serveNotebook(w, nil)
	var got notebookView
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	cells := got.Parts[0].Cells
	if len(cells) != 2 || cells[0].Prose != "Look." || cells[0].Scripts[0] != "echo a\n" || cells[0].Output[0] != "out" ||
		cells[0].Grade != "PASS" || cells[1].Run != 0 || got.Parts[0].Prose != "Prose." {
		t.Errorf("%+v", got)
	}
}

// What two nodes printed stands under their names, a script of two roles once, and what only railbench
// needs not at all.
func TestNotebookKeepsNodesApart(t *testing.T) {
	t.Parallel()
	rig := steps.NewRig("lab", false, 2)
	rig.Nodes[steps.Here].Name, rig.Nodes[steps.Peer].Name = "b", "a"
	c := steps.Cell{ID: "a", Roles: []steps.Role{
		{Name: "server", On: steps.OnPeer, Script: "serve\n"},
		{Name: "client", Script: "ask\n", Before: "plumbing\n"},
		{Probe: true, Script: "facts\n"},
	}}
	s := steps.CellState{Rig: rig, Output: steps.Scroll{}.Append([]steps.OutputLine{
		{From: "b", Role: "client", Text: "c1"},
		{From: "a", Role: "server", Text: "s1"},
		{From: "b", Role: "client", Text: "c2"},
	})}
	if got := strings.Join(printed(c, s), "|"); got != "── a|s1|── b|c1|c2" {
		t.Errorf("%s", got)
	}
	book := steps.NewNotebook(steps.Tutorial{Parts: []steps.Part{{ID: "p", Cells: []steps.Cell{c}}}})
	if got := strings.Join(partOf(book, book.Tutorial.Parts[0], true).Cells[0].Scripts,
		"|"); got != "# server\nserve\n|# client\nask\n" {
		t.Errorf("%q", got)
	}
}

// Eight adapters of one port each have eight cables, and InfiniBand's interfaces report no speed; what soft-RoCE
// declares is nothing.
func TestCables(t *testing.T) {
	for _, c := range []struct {
		name  string
		rails int
		make  func(i int) steps.Rail
		want  float64
	}{
		{"a Spark", 4, func(i int) steps.Rail {
			return steps.Rail{PhysPort: i % 2, RateGbps: 200, Netdev: steps.Netdev{SpeedGbps: 200}}
		}, 400},
		{"eight of InfiniBand", 8, func(i int) steps.Rail {
			return steps.Rail{Dev: fmt.Sprintf("mlx5_%d", i), PhysPort: -1, RateGbps: 400, Layer: "InfiniBand"}
		}, 3200},
		{"soft-RoCE", 2, func(i int) steps.Rail {
			return steps.Rail{Dev: fmt.Sprintf("rxe%d", i), PhysPort: -1, RateGbps: 2.5, Layer: "Ethernet"}
		}, 0},
	} {
		var n steps.Node
		for i := range c.rails {
			n.Rails = append(n.Rails, c.make(i))
		}
		if got := cables(n); got != c.want {
			t.Errorf("%s: %g, not %g", c.name, got, c.want)
		}
	}
}
