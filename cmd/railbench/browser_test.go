package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// A tab is a page of a headless Chromium, which is spoken to over two pipes.
type tab struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	session string
	id      int
}

// newTab starts a browser, which ends with the test: when its pipe does.
func newTab(t *testing.T, browser string) *tab {
	t.Helper()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, speaks, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Of the test's own folder the browser's last processes may have a file open yet.
	dir, err := os.MkdirTemp("", "railbench-browser-") //nolint:usetesting // for the reason above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := exec.CommandContext(t.Context(), browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+dir, "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, speaks}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	speaks.Close()
	b := &tab{t: t, to: ours, from: bufio.NewReader(answers)}
	t.Cleanup(func() {
		_, _ = io.WriteString(ours, `{"id":0,"method":"Browser.close"}`+"\x00") // if it isn't gone
		ours.Close()
		_, _ = io.Copy(io.Discard, b.from)
		answers.Close()
		_ = cmd.Wait() // it was asked to end, and its exit status does not matter
	})
	target := b.ask("Target.createTarget", map[string]any{"url": "about:blank"})
	b.session, _ = b.ask("Target.attachToTarget",
		map[string]any{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
	if b.session == "" {
		t.Fatal("the browser has no tab")
	}
	b.ask("Page.enable", nil)
	return b
}

// ask calls a method of the DevTools protocol.
func (b *tab) ask(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.id++
	call := map[string]any{"id": b.id, "method": method}
	if params != nil {
		call["params"] = params
	}
	if b.session != "" {
		call["sessionId"] = b.session
	}
	text, err := json.Marshal(call)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		line, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Errorf("%s: the browser is gone: %v", method, err)
			return nil
		}
		var answer struct {
			ID     int            `json:"id"`
			Result map[string]any `json:"result"`
			Error  any            `json:"error"`
		}
		if err := json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.ID != b.id {
			continue // an event
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %v", method, answer.Error)
		}
		return answer.Result
	}
}

// run evaluates an expression, and waits for the promise that it gives.
func (b *tab) run(script string) any {
	b.t.Helper()
	answer := b.ask("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true})
	if answer["exceptionDetails"] != nil {
		b.t.Fatalf("%s: %v", script, answer["exceptionDetails"])
	}
	result, _ := answer["result"].(map[string]any)
	return result["value"]
}

// shown opens a page and gives its document once a text is in it.
func (b *tab) shown(address, text string) string {
	b.t.Helper()
	b.ask("Page.navigate", map[string]any{"url": address})
	dom, _ := b.run(fmt.Sprintf(`new Promise((done) => {
		const look = () => document.body && document.body.innerText.includes(%q)
			? done(document.documentElement.outerHTML) : setTimeout(look, 20);
		look();
	})`, text)).(string)
	return dom
}

// picture is a PNG of the page on a screen of a size.
func (b *tab) picture(width, height int, dark bool) []byte {
	b.t.Helper()
	b.ask("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.ask("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	b.run(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	data, _ := b.ask("Page.captureScreenshot", map[string]any{"format": "png"})["data"].(string)
	image, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		b.t.Fatal(err)
	}
	return image
}
