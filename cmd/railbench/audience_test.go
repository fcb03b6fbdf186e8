package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// The stage is seen over SSH by who has the token, marked as what it is, by this machine's own
// key; the page's token is the same, and who is left gets his terminal back.
func TestServeOverSSH(t *testing.T) {
	config, token := t.TempDir(), filepath.Join(t.TempDir(), "token")
	t.Setenv("XDG_CONFIG_HOME", config)
	if err := os.WriteFile(token, []byte("a-token-of-somebody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	cmd := rootCommand()
	cmd.SetArgs([]string{
		"serve", "--rig", "sim", "--speed", "max", "--listen", "127.0.0.1:0", "--ssh", ":0", "--token-file", token,
		"rail-map",
	})
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	done := make(chan error, 1)
	go func() {
		done <- cmd.ExecuteContext(ctx)
		out.Close()
	}()
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "ssh ") {
		continue
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	told := regexp.MustCompile(`^ssh -p (\d+) audience@(127\.0\.0\.1)   password (\S+)   host key (SHA256:\S+)$`).FindStringSubmatch(lines.Text())
	if told == nil || told[3] != "a-token-of-somebody" {
		cancel()
		t.Fatalf("it said %q: %v", lines.Text(), <-done)
	}
	key := ""
	client, err := ssh.Dial("tcp", told[2]+":"+told[1], &ssh.ClientConfig{
		User: "audience", Auth: []ssh.AuthMethod{ssh.Password(told[3])},
		HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error {
			key = ssh.FingerprintSHA256(k)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if key != told[4] {
		t.Errorf("the key is %s, and it said %s", key, told[4])
	}
	if _, err := os.Stat(filepath.Join(config, "railbench", "audience_ed25519")); err != nil {
		t.Error(err)
	}
	s, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("xterm-256color", 40, 120, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	until := func(text string) {
		t.Helper()
		buffer := make([]byte, 4096)
		for !strings.Contains(seen.String(), text) {
			n, err := screen.Read(buffer)
			if seen.Write(buffer[:n]); err != nil && !strings.Contains(seen.String(), text) {
				t.Fatalf("no %q: %v: %q", text, err, seen.String())
			}
		}
	}
	until("SIMULATED")
	until("PASS") // of the cell that runs meanwhile
	if all := seen.String(); !strings.Contains(all, "you look on") || !strings.Contains(all, "all rails") ||
		strings.Contains(all, "38;2;") {
		t.Errorf("%q", all)
	}
	cancel()
	until("\x1b[?1049l")
	if err := <-done; err != nil {
		t.Error(err)
	}
}
