package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// sudo knows how a node's user becomes root. It finds out at the first script
// that needs it and keeps a password in memory only: it goes over stdin, never
// into argv, an environment, a log or an error.
type sudo struct {
	node string
	ask  Asker

	mu     sync.Mutex
	known  bool
	prefix string
	secret string // with its line end
}

func newSudo(node string, ask Asker) *sudo { return &sudo{node: node, ask: ask} }

// runAs runs s on l, as root where it asks for that.
func runAs(ctx context.Context, l launcher, su *sudo, s Script, emit func(Line)) (Exit, error) {
	if !s.Root {
		return drive(ctx, l, "", "", s, emit)
	}
	prefix, secret, err := su.how(ctx, l)
	if err != nil {
		return Exit{}, err
	}
	return drive(ctx, l, prefix, secret, s, emit)
}

// how tells the words before a command and the line on stdin that make it run
// as root: nothing where the user is root.
func (su *sudo) how(ctx context.Context, l launcher) (prefix, secret string, err error) {
	su.mu.Lock()
	defer su.mu.Unlock()
	if su.known {
		return su.prefix, su.secret, nil
	}
	var out strings.Builder
	probe := Script{Name: "sudo", Body: `[ "$(id -u)" != 0 ] || { echo root; exit 0; }
command -v sudo >/dev/null || { echo missing; exit 0; }
sudo -n true 2>/dev/null && echo free || echo password`}
	exit, err := drive(ctx, l, "", "", probe, func(line Line) {
		if line.Stream == Stdout {
			out.WriteString(line.Text)
		}
	})
	if err != nil {
		return "", "", err
	}
	switch out.String() {
	case "root":
		su.known = true
	case "free":
		su.known, su.prefix = true, "sudo -n "
	case "password":
		if su.secret, err = su.password(ctx, l); err != nil {
			return "", "", err
		}
		su.known, su.prefix = true, "sudo -S -k -p '' "
	case "missing":
		return "", "", su.fail(errors.New("there is no sudo, and the user is not root"),
			"Log in as root, or install sudo")
	default:
		return "", "", su.fail(fmt.Errorf("could not tell how to become root: %s", exit),
			"Run sudo -n true there by hand")
	}
	return su.prefix, su.secret, nil
}

// tries is how often a password is asked for, as sudo itself does.
const tries = 3

// password is what sudo accepted, with its line end. A wrong one would only show when a
// script that needs it has begun.
func (su *sudo) password(ctx context.Context, l launcher) (string, error) {
	answer, err := AskSudo(ctx, su.ask, su.node,
		func(answer string) (bool, error) { return su.accepts(ctx, l, answer+"\n") })
	return answer + "\n", err
}

// AskSudo asks for a node's sudo password until accepts takes it, or often enough.
func AskSudo(ctx context.Context, ask Asker, node string, accepts func(string) (bool, error)) (string, error) {
	for try := range tries {
		answer, err := ask.Secret(ctx, SecretQuestion{Node: node, What: "sudo password", For: node, Again: try > 0})
		if err != nil {
			return "", sudoError(node, err, "Give the password when asked, or let sudo work without one for this user")
		}
		if strings.ContainsAny(answer, "\n\x00") {
			continue
		}
		if ok, err := accepts(answer); err != nil || ok {
			return answer, err
		}
	}
	return "", sudoError(node, errors.New("sudo did not accept the password"), "Check it with sudo -v on the node")
}

// accepts tries a password with a command that does nothing. Its stdin ends
// after the password, so that a wrong one is not asked for again.
func (su *sudo) accepts(ctx context.Context, l launcher, secret string) (bool, error) {
	p, err := l.launch("sudo -S -k -p '' true && echo accepted")
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, p.abandon)()
	_, _ = io.WriteString(p.stdin, secret) // a broken pipe shows as no answer below
	p.stdin.Close()
	go func() { _, _ = io.Copy(io.Discard, p.stderr) }()
	out, err := io.ReadAll(io.LimitReader(p.stdout, 4096))
	if waited := p.wait(); err == nil {
		err = waited
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && strings.TrimSpace(string(out)) == "accepted", nil
}

func (su *sudo) fail(err error, hint string) error { return sudoError(su.node, err, hint) }

func sudoError(node string, err error, hint string) error {
	return &Error{Kind: SudoPassword, Op: "become root on", Node: node, Err: err, Hint: hint}
}

// NoAsker declines every question: a run without a screen.
type NoAsker struct{}

var errNobody = errors.New("nobody is there to ask")

// HostKey declines.
func (NoAsker) HostKey(context.Context, HostKeyQuestion) (bool, error) { return false, nil }

// Secret declines.
func (NoAsker) Secret(context.Context, SecretQuestion) (string, error) { return "", errNobody }
