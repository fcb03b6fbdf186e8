package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/railbench/railbench/runner/safefile"
)

// Unlocked are the keys whose passphrases were typed, by their files. All nodes of a rig share it: a
// passphrase is asked for once.
type Unlocked struct {
	mu   sync.Mutex
	keys map[string]ssh.Signer
}

// keyring is what can be offered to a host, in ssh's order: certificates and
// keys that the agent holds, key files, then a password.
type keyring struct {
	node     string
	target   Target
	ask      Asker
	unlocked *Unlocked

	mu sync.Mutex
	// It is kept for the next connection: that is made automatically, without a user at the keyboard.
	password string
}

// methods are the ways to log in, in the order in which they are tried. done ends the
// connection to the agent, when the host has decided.
func (k *keyring) methods(ctx context.Context, p *loginTimer) (methods []ssh.AuthMethod, done func()) {
	done = func() {}
	var fromAgent agent.ExtendedAgent
	if k.target.Agent != "" {
		// An agent that isn't there is none: ssh says nothing either.
		if conn, err := net.Dial("unix", k.target.Agent); err == nil {
			bounded := &agentConn{Conn: conn, timer: p}
			fromAgent = boundedAgent{agent.NewClient(bounded), bounded}
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			done = func() {
				stop()
				conn.Close()
			}
		}
	}
	// Over both ways that ask for it: a second question, of either, says that the last answer was
	// wrong.
	asked := 0
	password := func(again bool) (string, error) {
		defer p.hold()()
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.password != "" && !again {
			return k.password, nil
		}
		answer, err := k.ask.Secret(ctx,
			SecretQuestion{Node: k.node, What: "password", For: k.target.String(), Again: again})
		if err != nil {
			return "", &Error{
				Kind: NotPermitted, Op: "log in to", Node: k.node + " (" + k.target.String() + ")",
				Err:  fmt.Errorf("no key was accepted, the host wants a password: %w", err),
				Hint: "Put a key there with " + k.target.copyID() + ", or load it into the agent with ssh-add",
			}
		}
		k.password = answer
		return answer, nil
	}
	next := func() (string, error) {
		asked++
		return password(asked > 1)
	}
	// What is asked without an echo is the password, whatever the host calls it (PAM).
	answer := func(_, _ string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i := range questions {
			if changes(questions[i]) {
				return nil, &Error{
					Kind: NotPermitted, Op: "log in to", Node: k.node + " (" + k.target.String() + ")",
					Err:  errors.New("the password has expired, and the host wants a new one"),
					Hint: "Log in with ssh once, and set one",
				}
			}
			if echos[i] {
				return nil, errors.New("the host asks a question that railbench does not know: " + questions[i])
			}
			var err error
			if answers[i], err = next(); err != nil {
				return nil, err
			}
		}
		return answers, nil
	}
	prompts := cmp.Or(k.target.Prompts, tries)
	all := map[string]ssh.AuthMethod{
		"publickey": ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			return k.signers(ctx, p, fromAgent),
				nil
		}),
		"keyboard-interactive": ssh.RetryableAuthMethod(ssh.KeyboardInteractive(answer), prompts),
		"password":             ssh.RetryableAuthMethod(ssh.PasswordCallback(next), prompts),
	}
	ways := k.target.Ways
	if ways == nil {
		ways = []string{"publickey", "keyboard-interactive", "password"}
	}
	for _, way := range ways {
		if way == "publickey" || !k.target.Batch {
			methods = append(methods, all[way])
		}
	}
	return methods, done
}

// An agent lists its keys at once. Before it signs with one, the user may have to type or touch something.
const (
	agentLists = 5 * time.Second
	agentSigns = time.Minute
)

// agentConn is a connection to an agent, which may be stuck as any other server may. The host is
// not blamed for what the agent takes.
type agentConn struct {
	net.Conn
	timer  *loginTimer
	listed atomic.Bool // the first answer is the list; two logins may ask one agent
}

type boundedAgent struct {
	agent.ExtendedAgent
	conn *agentConn
}

func (a boundedAgent) Signers() ([]ssh.Signer, error) {
	defer a.conn.listed.Store(true)
	return a.ExtendedAgent.Signers()
}

func (c *agentConn) Read(b []byte) (int, error) {
	defer c.timer.hold()()
	limit := agentSigns
	if !c.listed.Load() {
		limit = agentLists
	}
	_ = c.SetReadDeadline(time.Now().Add(limit)) // a connection that takes none is closed
	n, err := c.Conn.Read(b)
	return n, err
}

// changes reports whether a host's question belongs to the change of a password, as PAM asks it:
// what answers it would become the password.
func changes(question string) bool {
	q := strings.ToLower(question)
	return strings.Contains(q, "password") &&
		(strings.Contains(q, "current") || strings.Contains(q, "new ") || strings.Contains(q, "retype") ||
			strings.Contains(q, "old "))
}

// signers collects what can sign. A file that is missing or no key is passed
// over, as ssh does.
func (k *keyring) signers(ctx context.Context, p *loginTimer, fromAgent agent.ExtendedAgent) []ssh.Signer {
	algorithms := k.target.Algorithms.orDefaults()
	var agentSigners, files []ssh.Signer
	if fromAgent != nil {
		agentSigners, _ = fromAgent.Signers() // an agent that fails has no keys
	}
	held := map[string]ssh.Signer{}
	for _, s := range agentSigners {
		held[string(s.PublicKey().Marshal())] = s
	}
	named := map[string]bool{}
	var all []ssh.Signer
	for _, file := range k.target.Identities {
		s := k.identity(ctx, p, file)
		// Keys of ssh's default names, of which most users have one.
		if s == nil {
			continue
		}
		blob := string(s.PublicKey().Marshal())
		named[blob] = true
		if a, ok := held[blob]; ok {
			s = a // the agent signs without a passphrase
		}
		if s = algorithms.signs(s); s == nil {
			continue
		}
		// ssh looks for this name next to each key.
		for _, c := range append([]string{file + "-cert.pub"}, k.target.Certificates...) {
			if cert := certificate(c, s); cert != nil {
				all = append(all, cert)
			}
		}
		files = append(files, s)
	}
	for _, s := range agentSigners {
		if named[string(s.PublicKey().Marshal())] || k.target.IdentitiesOnly {
			continue
		}
		if s = algorithms.signs(s); s != nil {
			all = append(all, s)
		}
	}
	return append(all, files...)
}

// certificate is a key's certificate in a file; nil where the file has none, or another
// key's.
func certificate(file string, s ssh.Signer) ssh.Signer {
	b, err := safefile.Read(file, keyFileLimit)
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(b)
	if err != nil {
		return nil
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok || !bytes.Equal(cert.Key.Marshal(), s.PublicKey().Marshal()) {
		return nil
	}
	signer, err := ssh.NewCertSigner(cert, s)
	if err != nil {
		return nil
	}
	return signer
}

// identity reads a key file. An encrypted one is offered by its public half, and its
// passphrase asked for only once the host wants it.
func (k *keyring) identity(ctx context.Context, p *loginTimer, file string) ssh.Signer {
	b, err := safefile.Read(file, keyFileLimit)
	if err != nil {
		// Only the public half may be here, and the private one in the agent.
		// The way of an agent that is forwarded, and of keys on a token.
		if b, err = safefile.Read(file+".pub", keyFileLimit); err != nil {
			return nil
		}
		public, _, _, _, err := ssh.ParseAuthorizedKey(b)
		if err != nil {
			return nil
		}
		return &lockedKey{public: public, unlock: func() (ssh.Signer, error) {
			return nil, fmt.Errorf("%s is not here and the agent does not hold it", file)
		}}
	}
	signer, err := ssh.ParsePrivateKey(b)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return signer
	case errors.As(err, &locked):
		public := locked.PublicKey
		// A PEM key of the old kind says nothing of its public half without its passphrase.
		if public == nil {
			if pub, err := safefile.Read(file+".pub", keyFileLimit); err == nil {
				public, _, _, _, _ = ssh.ParseAuthorizedKey(pub)
			}
		}
		if public == nil {
			return nil
		}
		return &lockedKey{public: public, unlock: func() (ssh.Signer, error) { return k.decrypt(ctx, p, file, b) }}
	default:
		return nil
	}
}

// decrypt asks for a passphrase, once for every host that the key is offered to.
func (k *keyring) decrypt(ctx context.Context, p *loginTimer, file string, b []byte) (ssh.Signer, error) {
	defer p.hold()() // a wait for another node's question is a wait for a person, too
	u := k.unlocked
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.keys[file]; s != nil {
		return s, nil
	}
	if k.target.Batch {
		return nil, fmt.Errorf("%s has a passphrase, and the ssh configuration says BatchMode yes", file)
	}
	// The lock is held while a person types: another host that the same key is offered to waits,
	// and then needs no answer.
	for try := range tries {
		answer, err := k.ask.Secret(ctx, SecretQuestion{Node: k.node, What: "passphrase", For: file, Again: try > 0})
		if err != nil {
			return nil, &Error{
				Kind: NotPermitted, Op: "unlock " + file + " for", Node: k.node, Err: err,
				Hint: "Load it into the agent with ssh-add " + file,
			}
		}
		if s, err := ssh.ParsePrivateKeyWithPassphrase(b, []byte(answer)); err == nil {
			if u.keys == nil {
				u.keys = map[string]ssh.Signer{}
			}
			u.keys[file] = s
			return s, nil
		}
	}
	return nil, fmt.Errorf("the passphrase of %s is wrong", file)
}

// A lockedKey asks for its passphrase only when the host has accepted its
// public half.
type lockedKey struct {
	public ssh.PublicKey
	unlock func() (ssh.Signer, error)
}

func (l *lockedKey) PublicKey() ssh.PublicKey { return l.public }

func (l *lockedKey) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return l.SignWithAlgorithm(rand, data, "")
}

func (l *lockedKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	s, err := l.unlock()
	if err != nil {
		return nil, err
	}
	if with, ok := s.(ssh.AlgorithmSigner); ok {
		return with.SignWithAlgorithm(rand, data, algorithm)
	}
	return s.Sign(rand, data)
}
