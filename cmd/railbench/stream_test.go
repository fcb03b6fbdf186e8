package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/stream"
	"github.com/railbench/railbench/steps/meter"
)

// started is a railbench that goes on until it ends or is ended: what it says on stderr, and
// how it came out.
type started struct {
	errs *bufio.Scanner
	out  *bytes.Buffer
	stop context.CancelFunc
	done chan error
}

func startRailbench(t *testing.T, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, errs := io.Pipe()
	s := &started{errs: bufio.NewScanner(said), out: &bytes.Buffer{}, stop: cancel, done: make(chan error, 1)}
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(s.out)
	cmd.SetErr(errs)
	go func() {
		s.done <- cmd.ExecuteContext(ctx)
		errs.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_, _ = io.Copy(io.Discard, said)
	})
	return s
}

var anAddress = regexp.MustCompile(`\S+:\d+`)

// address is where it says that it listens.
func (s *started) address(t *testing.T) string {
	t.Helper()
	for s.errs.Scan() {
		if at := anAddress.FindString(s.errs.Text()); at != "" {
			return at
		}
	}
	t.Fatalf("it did not say where it listens: %v", <-s.done)
	return ""
}

// drain reads what nothing asks for: the writer would wait for a reader.
func drain(lines *bufio.Scanner) {
	for lines.Scan() {
		continue
	}
}

// end waits for its end.
func (s *started) end() error {
	go drain(s.errs)
	return <-s.done
}

func streamedOf(t *testing.T, text string) (r stream.Result) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

// Both ends report the same of what went over two addresses at once, two streams each.
func TestStreamSendAndReceive(t *testing.T) {
	t.Parallel()
	for _, extra := range [][]string{nil, {"--zero-copy"}} {
		receive := startRailbench(t, "stream", "receive", "--listen", "127.0.0.1:0", "--once", "--json")
		at := receive.address(t)
		args := append([]string{
			"stream", "send", at, at, "--from", "127.0.0.1,127.0.0.2", "--streams", "2", "--bytes",
			"300K", "--blocks", "20", "--json",
		}, extra...)
		var out, errs bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errs); code != exitOK {
			t.Fatalf("exit status %d: %s", code, errs.String())
		}
		if err := receive.end(); err != nil {
			t.Fatal(err)
		}
		sent, got := streamedOf(t, out.String()), streamedOf(t, receive.out.String())
		const blocks = 2 * 2 * 20
		if sent.Blocks != blocks || got.Blocks != blocks || sent.Bytes != blocks*300<<10 || got.Bytes != sent.Bytes ||
			got.Lost+got.Corrupt+got.Cut != 0 {
			t.Errorf("sent %+v\ngot %+v", sent, got)
		}
		// Six digits of the rate, and the time to the microsecond: what is said is not more than is known.
		if exact := float64(got.Bytes) * 8 / got.Seconds / 1e9; got.Gbps <= 0 ||
			math.Abs(got.Gbps-exact) > exact*(1e-6/got.Seconds+1e-5) {
			t.Errorf("%+v", got)
		}
		if long := regexp.MustCompile(`"(?:gbps|seconds)": *[\d.]{12,}`).FindAllString(out.String()+receive.out.String(),
			-1); long != nil {
			t.Errorf("more digits than a clock tells: %q", long)
		}
	}
}

// A generator's blocks go through the queue to the receiver, and the gauge gets their rate.
func TestStreamEmulate(t *testing.T) {
	t.Parallel()
	gauge, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gauge.Close()
	receive := startRailbench(t, "stream", "receive", "--listen", "127.0.0.1:0", "--once", "--json", "--gauge",
		gauge.LocalAddr().String())
	send := startRailbench(t, "stream", "send", receive.address(t), "--input", "127.0.0.1:0", "--json")
	var out, errs bytes.Buffer
	code := Main([]string{
		"stream", "emulate", send.address(t), "--gbps", "0.8", "--bytes", "1M", "--blocks", "40",
		"--json",
	}, strings.NewReader(""), &out, &errs)
	if code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	if err := send.end(); err != nil {
		t.Error(err)
	}
	if err := receive.end(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{out.String(), send.out.String(), receive.out.String()} {
		if r := streamedOf(t, text); r.Blocks != 40 || r.Bytes != 40<<20 || r.Lost != 0 {
			t.Errorf("%+v", r)
		}
	}
	packet := make([]byte, 16)
	n, _, err := gauge.ReadFrom(packet)
	if _, why := stream.DecodeRate(binary.LittleEndian, packet[:n]); err != nil || why != "" {
		t.Errorf("the gauge was told % x: %v %s", packet[:n], err, why)
	}
}

// The exit status reports lost or changed blocks, and a sender that does not speak the protocol.
func TestStreamReceiveTells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent string
		code int
	}{
		// a checksum that is another
		{"RBS2\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00x", exitFail},
		{"RBS2\x00\x00\x00", exitFail}, // it ends in a header
		{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", exitUnreachable},
	} {
		receive := startRailbench(t, "stream", "receive", "--listen", "127.0.0.1:0", "--once")
		to, err := net.Dial("tcp", receive.address(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(to, c.sent); err != nil {
			t.Fatal(err)
		}
		to.Close()
		if got, ok := errors.AsType[status](receive.end()); !ok || got.code != c.code {
			t.Errorf("%q: %v", c.sent, got)
		}
	}
}

// However many connections send something else, a receiver keeps and says little.
func TestStreamReceiveForgets(t *testing.T) {
	t.Parallel()
	receive := startRailbench(t, "stream", "receive", "--listen", "127.0.0.1:0")
	at := receive.address(t)
	for range 2*20 + 1 {
		to, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(to, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, to) // until it is closed
		to.Close()
	}
	receive.stop()
	got, ok := errors.AsType[status](receive.end())
	if !ok || got.code != exitUnreachable || strings.Count(got.Error(), "\n") != 20 ||
		!strings.Contains(got.Error(), fmt.Sprint(20+1, " more streams failed")) {
		t.Errorf("%v", got)
	}
}

// A gauge shows what comes, here and on its page, and counts what it rejects.
func TestGauge(t *testing.T) {
	t.Parallel()
	g := startRailbench(t, "gauge", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0", "--unit", "MB/s", "--order", "big")
	at := g.address(t)
	g.errs.Scan()
	page := g.errs.Text()
	to, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for _, packet := range [][]byte{
		{1, 2, 3},
		stream.EncodeRate(binary.BigEndian, math.NaN()),
		stream.EncodeRate(binary.BigEndian, -5),
	} {
		if _, err := to.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := Main([]string{"gauge", "send", at, "1250", "--unit", "MB/s", "--order", "big"}, strings.NewReader(""), &out,
		&errs); code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	event(t, page+"events", `[[0,10,0,0,10,0,-1,-1]]`) // 1250 MB/s are 10 Gb/s, and the payload is unknown
	g.stop()
	var said []string
	for g.errs.Scan() {
		said = append(said, g.errs.Text())
	}
	if err := <-g.done; err != nil {
		t.Error(err)
	}
	if got := strings.Join(said,
		"\n"); got != "1 packets, 1 rejected: negative, 1 rejected: no number, 1 rejected: short" {
		t.Errorf("it said %q", got)
	}
}

// A receiver that has all of its blocks, and waits for those of the others, is not a stall.
func TestWhatWasSentIsNoStall(t *testing.T) {
	t.Parallel()
	slow, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	receive := startRailbench(t, "stream", "receive", "--listen", "127.0.0.1:0")
	send := startRailbench(t, "stream", "send", receive.address(t), slow.Addr().String(), "--blocks", "2", "--bytes",
		"32M", "--json")
	c, err := slow.Accept()
	if err != nil {
		t.Fatal(err)
	}
	// Else this end may take all that is left into its buffer, which the kernel lets grow to 32 MiB.
	if tcp, ok := c.(*net.TCPConn); !ok || tcp.SetReadBuffer(64<<10) != nil {
		t.Fatal("the buffer of this end can't be set")
	}
	_, _ = io.CopyN(io.Discard, c, 33<<20)
	told := false
	for !told && send.errs.Scan() {
		told = strings.Contains(send.errs.Text(), "nothing has moved over "+slow.Addr().String())
	}
	if !told {
		t.Error("that nothing moves is not told")
	}
	go drain(send.errs)
	_, _ = io.Copy(io.Discard, c)
	c.Close()
	if err := <-send.done; err != nil {
		t.Error(err)
	}
	r := streamedOf(t, send.out.String())
	if r.Ways[0].Stalls != 0 || r.Ways[1].Stalls == 0 {
		t.Errorf("the way that was done has %d stalls, the one that stood still %d", r.Ways[0].Stalls, r.Ways[1].Stalls)
	}
	receive.stop()
	if err := receive.end(); err != nil {
		t.Error(err)
	}
}

// A user who reads numbers in the wrong byte order may get any number. The bar does not grow beyond its end,
// and a value that is not a number of Gb/s isn't shown.
func TestGaugeOfAnyNumber(t *testing.T) {
	for _, rate := range []float64{0, 50, 100, 1e19, 1e300, math.MaxFloat64} {
		d := meter.NewDial(meter.Gauge{})
		d.Report(rate, "")
		line := gaugeFlags{full: 100}.drawn(d.Board(time.Now()).Gauges[0])
		full := strings.Count(line, "█")
		if want := int(min(1, rate/100) * bar); full != want || full+strings.Count(line, "░") != bar {
			t.Errorf("%g: %d of %d are full, not %d", rate, full, bar, want)
		}
		if d.Report(rate*rate, ""); math.IsInf(rate*rate, 0) != strings.Contains(d.Sums(), "1 rejected: infinite") {
			t.Errorf("%g: %s", rate*rate, d.Sums())
		}
	}
}

func TestStreamUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		args string
	}{
		{exitUsage, "stream send"},
		{exitUsage, "stream send 127.0.0.1:1 --bytes 0"},
		{exitUsage, "stream send 127.0.0.1:1 --bytes 2G"},
		{exitUsage, "stream send 127.0.0.1:1 --from 127.0.0.1,127.0.0.2"},
		{exitUsage, "stream send 127.0.0.1:1 --streams 0"},
		{exitUsage, "stream send 127.0.0.1:1 127.0.0.1:2 --input 127.0.0.1:0"},
		{exitUsage, "stream send 127.0.0.1:1 --for -1s"},
		{exitUsage, "stream emulate"},
		{exitUsage, "stream emulate 127.0.0.1:1 --gbps 0"},
		{exitUsage, "stream emulate 127.0.0.1:1 --gbps NaN"},
		{exitUsage, "stream receive --listen nowhere"},
		{exitUsage, "stream nonsense"},
		{exitUsage, "gauge --unit furlongs"},
		{exitUsage, "gauge --order middle"},
		{exitUsage, "gauge --full 0"},
		{exitUsage, "gauge send 127.0.0.1:1 fast"},
		{exitUsage, "gauge send 127.0.0.1:1 -- -1"},
		{exitUsage, "gauge send 127.0.0.1:1 NaN"},
		{exitUnreachable, "stream send 127.0.0.1:1"},
		{exitUnreachable, "stream send 127.0.0.1:1 --from 192.0.2.1"},
		{exitUnreachable, "stream emulate 127.0.0.1:1"},
	} {
		var out, errs bytes.Buffer
		if code := Main(strings.Fields(c.args), strings.NewReader(""), &out, &errs); code != c.code || errs.Len() == 0 {
			t.Errorf("%s: exit status %d: %s", c.args, code, errs.String())
		}
	}
}
