package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/railbench/railbench/runner"
)

// terminalAsker puts questions on the terminal of a run without a screen.
type terminalAsker struct {
	mu  sync.Mutex // both nodes may ask at once
	in  *os.File
	out io.Writer
}

// newTerminalAsker asks where stdin is a terminal, and declines elsewhere.
func newTerminalAsker(in io.Reader, out io.Writer) runner.Asker {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return runner.NoAsker{}
	}
	return &terminalAsker{in: f, out: out}
}

// HostKey asks yes or no.
func (a *terminalAsker) HostKey(_ context.Context, q runner.HostKeyQuestion) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.out, "%s (%s) is not known yet.\n%s key fingerprint: %s\nTrust it, and keep it in %s? (yes/no) ", q.Node, q.Address, q.KeyType, q.Fingerprint, q.File)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	return strings.TrimSpace(line) == "yes", err
}

// Secret reads without an echo.
func (a *terminalAsker) Secret(_ context.Context, q runner.SecretQuestion) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.Again {
		fmt.Fprintln(a.out, "That was not it.")
	}
	fmt.Fprintf(a.out, "%s for %s: ", q.What, q.For)
	b, err := term.ReadPassword(int(a.in.Fd()))
	fmt.Fprintln(a.out)
	if err == nil && len(b) == 0 {
		err = errors.New("no answer")
	}
	return string(b), err
}
