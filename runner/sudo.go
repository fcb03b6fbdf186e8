package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/railbench/railbench/assets/scripts"
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
	complaint := ""
	exit, err := drive(ctx, l, prefix, secret, s, func(line Line) {
		if line.Stream == Stderr {
			complaint = line.Text
		}
		emit(line)
	})
	if prefix != "" && errors.Is(err, errNoAnswer) {
		err = cmp.Or(su.lost(ctx, l, prefix, secret, complaint), err)
	}
	return exit, err
}

// lost is the error of a script that sudo did not start: it let the user run others before, and lets him run nothing
// now. It is nil where he may still, and something else ended the script. The next script finds out again.
func (su *sudo) lost(ctx context.Context, l launcher, prefix, secret, complaint string) error {
	may := false
	if secret == "" {
		exit, err := drive(ctx, l, "", "", Script{Name: "sudo", Body: prefix + "true"}, func(Line) {})
		may = err != nil || exit.OK()
	} else {
		ok, said, err := su.accepts(ctx, l, secret)
		may, complaint = err != nil || ok, cmp.Or(said, complaint)
	}
	if may {
		return nil
	}
	su.mu.Lock()
	defer su.mu.Unlock()
	su.known, su.prefix, su.secret = false, "", ""
	return su.fail(fmt.Errorf("sudo allowed this user to run scripts before, but not now: %s",
		cmp.Or(strings.TrimPrefix(complaint, "sudo: "), "it says nothing")), "See sudo -l there")
}

// how reports the words before a command and the line on stdin that make it run as root: nothing where the user is
// root.
func (su *sudo) how(ctx context.Context, l launcher) (prefix, secret string, err error) {
	su.mu.Lock()
	defer su.mu.Unlock()
	if su.known {
		return su.prefix, su.secret, nil
	}
	var out strings.Builder
	exit, err := drive(ctx, l, "", "", Script{Name: "sudo", Body: scripts.Sudo}, func(line Line) {
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
		su.known, su.prefix = true, freely
	case "stamp":
		// It runs out: the next script has to ask again.
		return freely, "", nil
	case "password":
		if su.secret, err = su.password(ctx, l); err != nil {
			return "", "", err
		}
		su.known, su.prefix = true, "sudo -S -k -p '' "
	case "missing":
		return "", "", su.fail(errors.New("sudo is missing, and the user is not root"),
			"Log in as root, or install sudo")
	case "terminal":
		return "", "", su.fail(errors.New("sudo there needs a terminal (requiretty), which scripts do not have"),
			"Add Defaults:USER !requiretty to a file of /etc/sudoers.d (visudo -f)")
	default:
		return "", "", su.fail(fmt.Errorf("cannot find out how to become root: %s", exit),
			"Run sudo -n true there by hand")
	}
	return su.prefix, su.secret, nil
}

const freely = "sudo -n "

// tries is how often a password is asked for, as sudo itself does.
const tries = 3

// password is what sudo accepted, with its line end. A wrong one would only show when a
// script that needs it has begun.
func (su *sudo) password(ctx context.Context, l launcher) (string, error) {
	answer, err := AskSudo(ctx, su.ask, su.node,
		func(answer string) (bool, string, error) { return su.accepts(ctx, l, answer+"\n") })
	return answer + "\n", err
}

// AskSudo asks for a node's sudo password until accepts takes it, or often enough. accepts gives what sudo says next
// to that a password is wrong, too: above all that it is right, and that the user may not use sudo all the same.
func AskSudo(
	ctx context.Context, ask Asker, node string, accepts func(string) (ok bool, said string, err error),
) (string, error) {
	said := ""
	for try := range tries {
		answer, err := ask.Secret(ctx, SecretQuestion{Node: node, What: "sudo password", For: node, Again: try > 0})
		if err != nil {
			return "", sudoError(node, err, "Enter the password when asked, or allow sudo without a password for this user")
		}
		if strings.ContainsAny(answer, "\n\x00") {
			continue
		}
		var ok bool
		if ok, said, err = accepts(answer); err != nil || ok {
			return answer, err
		}
		if strings.Contains(said, "sudoers file") || strings.Contains(said, "not allowed") {
			return "", sudoError(node, fmt.Errorf("sudo accepted the password but refused: %s", said),
				"Ask an administrator to add the user to the group sudo")
		}
	}
	err := errors.New("sudo rejected the password")
	if said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return "", sudoError(node, err, "Check it with sudo -v on the node")
}

// accepts tries a password with a command that does nothing. Its stdin ends after the
// password, so that a wrong one is not asked for again.
func (su *sudo) accepts(ctx context.Context, l launcher, secret string) (ok bool, said string, err error) {
	p, err := l.launch(ctx, "env LC_ALL=C sudo -S -k -p '' true && echo accepted")
	if err != nil {
		return false, "", err
	}
	defer context.AfterFunc(ctx, p.abandon)()
	_, _ = io.WriteString(p.stdin, secret) // a broken pipe shows as no answer below
	p.stdin.Close()
	complaints := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(p.stderr, 4096))
		_, _ = io.Copy(io.Discard, p.stderr)
		complaints <- besideWrong(string(text))
	}()
	out, err := io.ReadAll(io.LimitReader(p.stdout, 4096))
	said = <-complaints
	if waited := p.wait(); err == nil {
		err = waited
	}
	if ctx.Err() != nil {
		return false, "", ctx.Err()
	}
	return err == nil && strings.TrimSpace(string(out)) == "accepted", said, nil
}

// besideWrong is what sudo says more than that a password is wrong.
func besideWrong(text string) string {
	var said []string
	for line := range strings.Lines(text) {
		switch line = strings.TrimPrefix(strings.TrimSpace(line), "sudo: "); {
		case line == "", line == "Sorry, try again.", line == "no password was provided",
			line == "a password is required", strings.Contains(line, "incorrect password attempt"):
		default:
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}

func (su *sudo) fail(err error, hint string) error { return sudoError(su.node, err, hint) }

func sudoError(node string, err error, hint string) error {
	return &Error{Kind: SudoPassword, Op: "become root on", Node: node, Err: err, Hint: hint}
}

// NoAsker declines every question: a run without a screen.
type NoAsker struct{}

var errNobody = errors.New("the password cannot be asked for: no terminal")

// HostKey declines.
func (NoAsker) HostKey(context.Context, HostKeyQuestion) (bool, error) { return false, nil }

// Secret declines.
func (NoAsker) Secret(context.Context, SecretQuestion) (string, error) { return "", errNobody }
