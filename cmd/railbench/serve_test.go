package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/crowd"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/tui/web"
)

// served is railbench serve with some arguments, its page's address and what ends it.
func served(t *testing.T, args ...string) (address string, end func() (string, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	var errs bytes.Buffer
	cmd := rootCommand()
	cmd.SetArgs(append([]string{"serve", "--rig", "sim", "--speed", "max"}, args...))
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(out)
	cmd.SetErr(&errs)
	done := make(chan error, 1)
	go func() {
		done <- cmd.ExecuteContext(ctx)
		out.Close()
	}()
	end = func() (string, error) {
		cancel()
		err := <-done
		return errs.String(), err
	}
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		text, err := end()
		t.Fatalf("it did not say where it is: %v %s", err, text)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return lines.Text(), end
}

// event waits for a message of a page's stream that has a text in it.
func event(t *testing.T, address, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return lines.Text()
		}
	}
	t.Fatalf("%s: %s: no %q came: %v", address, answer.Status, text, lines.Err())
	return ""
}

// A cell that runs is seen by who looks; the exit status is the run's.
func TestServe(t *testing.T) {
	t.Parallel()
	address, end := served(t, "--listen", "127.0.0.1:0", "ib-write-bw", "--fault", "slow-rail")
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/$`).MatchString(address) {
		t.Errorf("the address is %q", address)
	}
	got := event(t, address+"events", `"grade":"FAIL"`)
	if !strings.Contains(got, "ib-write-bw") ||
		!strings.Contains(event(t, address+"events", `"simulated":true`), "spark-01") {
		t.Errorf("%s", got)
	}
	said, err := end()
	if s, ok := errors.AsType[status](err); !ok || s.code != exitFail {
		t.Errorf("%v, %s", err, said)
	}
	if _, err := http.Get(address); err == nil {
		t.Error("the page is there yet")
	}
}

func TestOnLoopback(t *testing.T) {
	t.Parallel()
	if !crowd.OnLoopback(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}) || crowd.OnLoopback(&net.TCPAddr{IP: net.IPv4zero}) {
		t.Error("the wrong addresses are loopback")
	}
}

// Another address than loopback asks for a token, which is in no message and no log.
func TestServeAsksForToken(t *testing.T) {
	t.Parallel()
	address, end := served(t, "--listen", "0.0.0.0:0")
	page, token, ok := strings.Cut(address, "#")
	port := regexp.MustCompile(`:(\d+)/$`).FindStringSubmatch(page)
	if !ok || len(token) < shortestToken || port == nil {
		t.Fatalf("the address is %q", address)
	}
	at := "http://127.0.0.1:" + port[1] + "/"
	answer, err := http.Get(at + "events")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", answer.Status)
	}
	event(t, at+"events?token="+token, `"simulated":true`)
	if said, err := end(); err != nil || strings.Contains(said, token) {
		t.Errorf("%v, %s", err, said)
	}
}

func TestServeTokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	address, end := served(t, "--listen", "127.0.0.1:0", "--token-file", file("good", "0123456789abcdef\n"))
	if !strings.HasSuffix(address, "/#0123456789abcdef") {
		t.Errorf("the address is %q", address)
	}
	if said, err := end(); err != nil {
		t.Error(err, said)
	}
	for name, path := range map[string]string{
		"short": file("short", "0123456789"), "blank": file("blank", "01234567 89abcdef"),
		"missing": filepath.Join(dir, "missing"),
	} {
		var out, errs bytes.Buffer
		code := Main([]string{"serve", "--rig", "sim", "--listen", "127.0.0.1:0", "--token-file", path},
			strings.NewReader(""), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), "token") || strings.Contains(errs.String(), "0123456789") {
			t.Errorf("%s: exit status %d: %s", name, code, errs.String())
		}
	}
}

// The page asks no one else for anything, has no script and no style in its lines, and sets texts as texts.
func TestPageIsItsOwn(t *testing.T) {
	t.Parallel()
	forbidden := map[string]string{
		"page.html": `(?i)<script>|<style|\sstyle=|\son\w+=|https?:|//|<form|<iframe`,
		"page.css":  `(?i)@import|url\(|https?:`,
		"page.js":   `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|import\(|https?://[^w]|XMLHttpRequest|sendBeacon|WebSocket|localStorage|sessionStorage|document\.cookie|method:`,
		"icon.svg":  `(?i)<script|href|<foreignObject`,
	}
	for name, pattern := range forbidden {
		b, err := fs.ReadFile(assets.Web, "web/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(pattern).FindAllString(string(b), -1); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// openPage serves a page of a simulated rig in which one cell has failed.
func openPage(t *testing.T, reason string) (address string) {
	t.Helper()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{options: web.Options{Simulated: true, RigName: "sim"}, listen: "127.0.0.1:0"}
	if address, err = s.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	book := steps.NewNotebook(tut)
	for _, e := range []steps.Event{
		steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: time.Now()},
		steps.CellEnded{Run: 1, Cell: "ib-write-bw", Verdict: steps.Verdict{
			Grade: steps.Fail, Reason: reason,
			Tables: []steps.Table{{
				Title: "wide", Columns: make([]steps.Column, 30),
				Rows: [][]string{slices.Repeat([]string{"value"}, 30)},
			}},
		}},
	} {
		book = book.Apply(e)
	}
	s.page.Book(book)
	s.page.Board(meter.Board{
		Gauges: []meter.Gauge{
			{
				Node: "spark-02", Dev: "rocep1s0f0", LinkGbps: 200, CeilingGbps: 110, Tx: meter.Flow{RDMA: 92.5, Peak: 93},
				RoCE: rate.Headers{Payload: 1024, Counted: 58, Cable: 82},
			},
			{Node: "spark-02", Dev: "mlx5_7", LinkGbps: 400, Down: true},
			{Node: "spark-01", Dev: strings.Repeat("long", 10), Stale: "no sample for 3s"},
		}, Hosts: []meter.Host{{Node: "spark-02", Busy: 1.1, Cores: 20, Known: true}, {Node: "spark-01", No: 1}},
		Health: []health.Node{{
			Node: "spark-01", No: 1, Heat: []health.Heat{{Dev: "rocep1s0f0", Celsius: 117}},
		}},
	})
	return address
}

// In a real browser, with the policy in force: what nodes say is text, and what is simulated
// says so.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	browser := testform.Tool(t, "chromium")
	tab := newTab(t, browser)
	dom := tab.shown(openPage(t, `Slow </li><img src=x onerror="document.title='owned'"><b>`), "1 FAIL")
	for _, want := range []string{
		`<p id="simulated">SIMULATED</p>`, "Slow &lt;/li&gt;&lt;img src=x",
		`aria-valuetext="sent 92.5 on the wire, 87.5 payload; received 0.0 on the wire, 0.0 payload"`,
		"<title>SIMULATED sim railbench</title>", "mlx5_7", "CPU 1.1 of 20 cores", "117 °C; a ConnectX-7 switches off at 110", `>87.5</text>`,
		`aria-live="polite"`, "no sample for 3s",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page has no %q: %s", want, dom)
		}
	}
	if strings.Contains(dom, "<img") {
		t.Error("a node's text became an element")
	}
	// The first node's dial and history stay alike where a board comes that fills more, and no point with it.
	scales,
		_ := tab.run(`fold.board(state.board.map((v) => v && v.map((x) => 10 * x))); [...document.querySelectorAll(".node")].map((n) => [".dial", ".history"].map((q) =>
		n.querySelector(q).textContent.match(/0 to \d+ Gb\/s/)[0])).map(([dial, history]) => dial === history ? dial : dial + " beside " + history).join()`).(string)
	if !strings.HasPrefix(scales, "0 to ") || strings.Contains(scales, "beside") {
		t.Errorf("the first dial and the history have the scales %s", scales)
	}
}

// Viewers are shown a hot adapter and a slow slot, with the processors.
func TestServeTellsHeat(t *testing.T) {
	t.Parallel()
	address, end := served(t, "--listen", "127.0.0.1:0", "--fault", "hot-adapter", "--fault", "pcie-x2")
	got := event(t, address+"events", `adapter is at 10`)
	for _, want := range []string{`"grade":"FAIL"`, `the PCIe link came up as PCIe Gen5 x2`, `"gpu":44`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s: %s", want, got)
		}
	}
	if got := event(t, address+"events", `"cores":20`); !strings.Contains(got, "104") && !strings.Contains(got, "105") {
		t.Errorf("the processors without the heat: %s", got)
	}
	if text, err := end(); err != nil {
		t.Error(err, text)
	}
}

// Nothing stands next to the screen, of a phone, a laptop or a projector; the keyboard comes to every control; and
// what is read stands out from its ground, by day and by night.
func TestPageFits(t *testing.T) {
	t.Parallel()
	tab := newTab(t, testform.Tool(t, "chromium"))
	tab.shown(openPage(t, strings.Repeat("verylongword", 30)), "1 FAIL")
	for _, view := range []string{"live", "big", "notebook"} {
		switch view {
		case "big":
			tab.run(`document.getElementById("big").click()`)
		case "notebook":
			tab.run(`document.getElementById("read").click();
				new Promise((done) => { const look = () => document.querySelector("#notebook h2") ? done() : setTimeout(look, 20); look(); })`)
			// Tables are tables, drawings and commands are whole, and no sign of Markdown is left.
			if n := tab.run(`document.querySelectorAll("#notebook th").length`); n == 0.0 {
				t.Error("the notebook has no table")
			}
			if raw,
				_ := tab.run(`[...document.querySelectorAll("#notebook > p, #notebook pre, #notebook section > p, #notebook li")].
				find((e) => (e.tagName === "PRE" ? /^(\||\x60\x60\x60)/ : /^(\||#+ |>|.*\x60\x60\x60)/).test(e.textContent))?.textContent || ""`).(string); raw != "" {
				t.Errorf("the notebook shows Markdown as it is written: %.200s", raw)
			}
		}
		for _, size := range [][2]int{{320, 640}, {1280, 800}, {1920, 1080}} {
			for _, dark := range []bool{false, true} {
				if len(tab.picture(size[0], size[1], dark)) == 0 {
					t.Error("there is no picture")
				}
				if wide := tab.run(`document.documentElement.scrollWidth`); wide != float64(size[0]) {
					t.Errorf("%s is %v wide on a screen of %d", view, wide, size[0])
				}
				if low, _ := tab.run(lowContrast).(string); low != "" {
					t.Errorf("%s, dark %v: %s", view, dark, low)
				}
			}
		}
	}
	if n := tab.run(`[...document.querySelectorAll("button, a, summary, pre")].filter((e) => e.tabIndex < 0).length`); n != 0.0 {
		t.Errorf("the keyboard doesn't come to %v controls", n)
	}
}

// A rig of two nodes with four rails is seen without scrolling, with the legend of its colours; so it is for a
// projector, whose figures are larger.
func TestPageShowsBothNodes(t *testing.T) {
	t.Parallel()
	address, end := served(t, "--listen", "127.0.0.1:0", "rail-map", "load-halves")
	tab := newTab(t, testform.Tool(t, "chromium"))
	tab.shown(address, "2 PASS")
	figure := 0.0
	for _, c := range []struct {
		big           bool
		width, height int
	}{{false, 1280, 800}, {true, 1280, 800}, {true, 1920, 1080}} {
		if pressed := tab.run(`document.getElementById("big").getAttribute("aria-pressed")`); (pressed == "true") != c.big {
			tab.run(`document.getElementById("big").click()`)
		}
		tab.picture(c.width, c.height, false)
		if n := tab.run(`document.querySelectorAll(".node .dial").length`); n != 10.0 {
			t.Fatalf("%v dials, not two nodes with four rails and their sum", n)
		}
		below, _ := tab.run(`[...document.querySelectorAll("#legend, #legend .key, .node, .node .dial, .node .history")].filter((e) => {
			const r = e.getBoundingClientRect();
			return r.height < 1 || r.top < 0 || r.bottom > innerHeight || r.right > innerWidth;
		}).map((e) => e.className || e.id).join()`).(string)
		if below != "" {
			t.Errorf("%+v: out of sight: %s", c, below)
		}
		high, _ := tab.run(`Math.min(...[...document.querySelectorAll(".dial text:not(.small)")].map(
			(e) => e.getBoundingClientRect().height))`).(float64)
		if high < 1.2*figure {
			t.Errorf("%+v: figures %.0f high, not larger than %.0f", c, high, figure)
		}
		figure = high
	}
	if text, err := end(); err != nil {
		t.Error(err, text)
	}
}

// lowContrast names a text whose contrast with the page is below WCAG's 4.5 to 1.
const lowContrast = `(() => {
	const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map(Number).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
	for (const e of document.querySelectorAll("h1, h1 span, h2, h3, p, li, small, button, .grade, summary, figcaption, .why, code, td, th, pre")) {
		if (!e.textContent.trim() || !e.offsetParent) continue;
		const a = light(getComputedStyle(e).color), b = light(ground(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) return e.tagName + "." + e.className + " " + e.textContent.slice(0, 30) + ": " + ratio.toFixed(1);
	}
	return "";
})()`
