package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The program prints its URL, serves until its stdin ends, and leaves nothing, not even the folder
// that it was given: who started it may have been killed.
func TestServesUntilStdinEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "held")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stdin, starter := io.Pipe()
	out, stdout := io.Pipe()
	var stderr strings.Builder
	status := make(chan int, 1)
	go func() {
		status <- run([]string{"-dir", dir}, stdin, stdout, &stderr)
		stdout.Close()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	resp, err := http.Get(strings.TrimSpace(url) + "/version")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("while it runs its folder has %v, %v", left, err)
	}
	starter.Close()
	if got := <-status; got != 0 || stderr.Len() > 0 {
		t.Errorf("status %d: %s", got, stderr.String())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its folder is there: %v", err)
	}
}

// By hand it has a temporary folder of its own, and a folder with other things in it stays.
func TestFolders(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, args := range [][]string{nil, {"-dir", temp}} {
		if err := os.WriteFile(filepath.Join(temp, "mine"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		// Its stdin has ended before it could start.
		got := run(args, strings.NewReader(""), &stdout, &stderr)
		if got != 0 && !strings.Contains(stderr.String(), "canceled") {
			t.Errorf("%v: status %d: %s", args, got, stderr.String())
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) != 1 {
			t.Errorf("%v left %v, %v", args, left, err)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-h"}, 0, "usage: railbench-etcd [-dir FOLDER]"},
		{[]string{"-nonsense"}, usageStatus, "-nonsense"},
		{[]string{"here"}, usageStatus, `unknown argument "here"`},
	} {
		var stdout, stderr strings.Builder
		if got := run(c.args, strings.NewReader(""), &stdout, &stderr); got != c.status ||
			!strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%v: status %d: %s%s", c.args, got, stdout.String(), stderr.String())
		}
	}
}
