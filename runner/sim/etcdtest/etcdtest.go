// Package etcdtest is what the tests of an etcd, and of what uses one, share: a simulated one at a port of
// loopback, a program that serves such a one as railbench-etcd does, and railbench-etcd itself, which
// takes a build and so is of the full form of the tests. Nothing else imports it.
package etcdtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/railbench/railbench/runner/sim/tool/nixl"
	"github.com/railbench/railbench/runner/testform"
)

// Serve serves a simulated etcd at a port of loopback until the end of the test, and gives its URL.
func Serve(t *testing.T) (url string) {
	t.Helper()
	url, end, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return url
}

// serve serves one until end, which ends its connections, too.
func serve() (url string, end func(), err error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	e := nixl.NewEtcd()
	var all sync.WaitGroup
	all.Go(func() {
		var conns []net.Conn
		for {
			conn, err := ln.Accept()
			if err != nil { // it was closed
				break
			}
			conns = append(conns, conn)
			all.Go(func() { e.Serve(conn) })
		}
		for _, c := range conns {
			c.Close()
		}
	})
	return "http://" + ln.Addr().String(), func() {
		ln.Close()
		all.Wait()
	}, nil
}

// Main is a program that does what railbench-etcd does, with a simulated etcd in place of the real one: it
// prints its URL, serves until its stdin ends, and removes what it kept.
func Main() {
	dir := flag.String("dir", "", "the folder of the data")
	flag.Parse()
	if err := program(*dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func program(dir string) error {
	data, err := os.MkdirTemp(dir, "data-")
	if err != nil {
		return err
	}
	url, end, err := serve()
	if err != nil {
		return err
	}
	fmt.Println(url)
	_, _ = io.Copy(io.Discard, os.Stdin)
	end()
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	return os.Remove(dir)
}

// Build builds railbench-etcd of this checkout into a folder.
func Build(dir string) (path string, err error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	module := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "cmd", "railbench-etcd")
	path = filepath.Join(dir, "railbench-etcd")
	out, err := exec.Command("go", "build", "-C", module, "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build railbench-etcd: %w: %s", err, out)
	}
	return path, nil
}

// Built is railbench-etcd, for a test of the full form. In the hermetic form it skips the test.
func Built(t *testing.T) (path string) {
	t.Helper()
	testform.NeedsFull(t, "builds railbench-etcd")
	path, err := Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Real runs railbench-etcd until the end of the test, and gives its URL; see Built.
func Real(t *testing.T) (url string) {
	t.Helper()
	cmd := exec.Command(Built(t))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("railbench-etcd: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("railbench-etcd prints no URL: %v", err)
	}
	return strings.TrimSpace(line)
}

// Each runs a test with a simulated etcd, and in the full form with the real one, too.
func Each(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("simulated", func(t *testing.T) { test(t, Serve(t)) })
	t.Run("real", func(t *testing.T) { test(t, Real(t)) })
}

// Put puts some keys.
func Put(t *testing.T, url string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		Ask(t, url, "kv/put", map[string]any{"key": []byte(k), "value": []byte("1")})
	}
}

// Ask asks the JSON gateway something and gives its answer.
func Ask(t *testing.T, url, what string, question any) (answer map[string]any) {
	t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v3/"+what, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // nothing of it goes on after the test
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s of etcd at %s: %s: %s", what, url, resp.Status, text)
	}
	return answer
}
