package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	sshconfig "github.com/kevinburke/ssh_config"

	"github.com/railbench/railbench/runner/safefile"
)

// A Target is a host as the user's ssh configuration describes it.
type Target struct {
	Alias string // the name that was given, which the configuration may turn into another Host
	// As they go on the wire.
	Host, User string
	Port       int
	Identities []string // private key files, ~ expanded
	// Next to those that stand by their keys' names.
	Certificates []string
	// IdentitiesOnly leaves out the agent's keys that no identity file names.
	IdentitiesOnly bool
	Agent          string // socket; empty for none
	// In the order of the way; the last is the one that reaches Host.
	ProxyJump []string
	// With ssh's tokens; where a ProxyJump is given as well, that wins.
	ProxyCommand string
	// Network is tcp4 or tcp6 where AddressFamily says so; empty for either.
	Network string
	// BindAddress and BindInterface are where a connection of this machine's own comes from; the first wins.
	BindAddress, BindInterface string

	KnownHosts []string // files, the user's first: new keys go into the first
	KeepsNone  bool     // UserKnownHostsFile none: the first is the system's
	// Whether there is a KnownHostsCommand. It is not run: a host that only it knows is not known.
	KnownByCommand bool
	// The name that known_hosts has it by, empty for its own.
	HostKeyAlias string
	AcceptNew    bool // StrictHostKeyChecking accept-new, or off
	// StrictHostKeyChecking yes: a host that isn't known is refused, and no one is asked.
	OnlyKnown      bool
	HashKnownHosts bool
	// Batch is BatchMode: no one is asked for a password, a passphrase or about a host.
	Batch bool
	// Ways to log in, in their order: ssh's names of those that it allows; all where nil.
	Ways []string
	// Prompts is how often a password may be asked for.
	Prompts         int
	RevokedHostKeys string // a file; empty for none
	Algorithms      Algorithms
	Timeout         time.Duration // of connecting, and of what a host says next until it has logged in
	// ServerAliveInterval times ServerAliveCountMax: how long an answer may take; 0 for railbench's own.
	Alive  time.Duration
	config string // the file it was looked up in; its jump hosts are too
}

func (t Target) address() string { return net.JoinHostPort(t.Host, strconv.Itoa(t.Port)) }

func (t Target) String() string {
	if t.Port == 22 {
		return t.User + "@" + t.Host
	}
	return t.User + "@" + t.address()
}

// ssh waits for as long as the kernel does, which is minutes.
const connectTimeout = 10 * time.Second

// Resolve looks dest ("host", "user@host", "user@host:port", or a name from the
// configuration) up in the user's ssh configuration, or in the file config
// where that is not empty. It asks ssh itself, and reads the files with a
// library where there is no ssh.
func Resolve(ctx context.Context, dest, config string) (Target, error) {
	user, host, port, err := splitDest(dest)
	if err != nil {
		return Target{}, err
	}
	var get configured
	if ssh, err := exec.LookPath("ssh"); err == nil {
		get, err = askSSH(ctx, ssh, config, user, host, port)
		if err != nil {
			return Target{}, err
		}
	} else if get, err = readConfig(config, host); err != nil {
		return Target{}, err
	}
	t, err := target(get, user, host, port)
	t.Alias, t.config = host, config
	return t, err
}

// resolvedAtOnce is how many nodes are looked up in the ssh configuration side by side: for each an ssh is started,
// which of a thousand one after the other takes seconds.
const resolvedAtOnce = 32

// ResolveAll looks up several; an empty one stays empty. The error is of the first that has one; none is begun after
// it.
func ResolveAll(ctx context.Context, dests []string, config string) ([]Target, error) {
	targets, errs := make([]Target, len(dests)), make([]error, len(dests))
	var failed atomic.Bool
	var all sync.WaitGroup
	places := make(chan struct{}, resolvedAtOnce)
	for i, dest := range dests {
		if dest == "" {
			continue
		}
		if places <- struct{}{}; failed.Load() {
			break
		}
		all.Go(func() {
			defer func() { <-places }()
			if targets[i], errs[i] = Resolve(ctx, dest, config); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return targets, nil
}

// splitDest takes user@host:port apart; a bare IPv6 address has no port.
func splitDest(dest string) (user, host, port string, err error) {
	host = strings.TrimPrefix(dest, "ssh://")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i], host[i+1:]
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	} else {
		host = strings.Trim(host, "[]")
	}
	// A name that begins with a dash would be an option of ssh.
	if host == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(user, "-") ||
		strings.ContainsAny(dest, " \t\n\x00") {
		return "", "", "", fmt.Errorf("%q is not a host. Use host, user@host or user@host:port", dest)
	}
	// As OpenSSH 9.6 has it: an older one, and the library, put them into the shell of a ProxyCommand.
	if strings.ContainsAny(host, "'`\"$\\;&<>|(){}") || strings.ContainsAny(user, "'`\";&<>|(){}") ||
		strings.HasSuffix(user, `\`) ||
		strings.ContainsFunc(dest, unicode.IsControl) {
		return "", "", "", fmt.Errorf("%q is not a host: invalid character", dest)
	}
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", "", "", fmt.Errorf("%q is not a port in %q", port, dest)
		}
	}
	return user, host, port, nil
}

// configLimit is how long ssh may take to read its configuration: Match exec may ask a network.
const configLimit = 30 * time.Second

// configBytes is how long a configuration that a user names may be: ssh's own examples have a few KB.
const configBytes = 1 << 20

// askSSH has ssh itself read its configuration: it knows Match, Include and what the
// system adds.
func askSSH(ctx context.Context, ssh, config, user, host, port string) (configured, error) {
	args := []string{"-G"}
	if config != "" {
		// ssh would wait for the process that writes into a pipe, and hold a line of any length.
		if _, err := safefile.Read(config, configBytes); err != nil && config != os.DevNull {
			return nil, fmt.Errorf("read the ssh configuration for %s: %w", host, err)
		}
		args = append(args, "-F", config)
	}
	if user != "" {
		args = append(args, "-l", user)
	}
	if port != "" {
		args = append(args, "-p", port)
	}
	said, err := question{
		argv: append([]string{ssh}, append(args, "--", host)...), limit: configLimit,
		late: fmt.Sprintf("reading the configuration took longer than %s. Check Match exec and Include", configLimit),
	}.ask(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ssh configuration for %s: %w", host, err)
	}
	values := map[string][]string{}
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		values[key] = append(values[key], value)
	}
	return func(key string) []string { return values[strings.ToLower(key)] }, nil
}

// readConfig is for a machine without ssh: the library reads the same files, and knows less
// of them.
func readConfig(config, host string) (configured, error) {
	if config == "" {
		return func(key string) []string { return sshconfig.GetAll(host, key) }, nil
	}
	src, err := safefile.Read(config, configBytes)
	if err != nil {
		return nil, fmt.Errorf("read the ssh configuration: %w", err)
	}
	c, err := sshconfig.DecodeBytes(src)
	if err != nil {
		return nil, fmt.Errorf("read the ssh configuration %s: %w", config, err)
	}
	return func(key string) []string {
		values, _ := c.GetAll(host, key) // an error is a directive that does not match
		return values
	}, nil
}

// configured gives the values of one keyword of the user's ssh configuration, in the
// order of the files.
type configured func(keyword string) []string

// one is the first value that says anything: none is how a file takes back what another
// one, read later, would set.
func (get configured) one(keyword string) string {
	for _, v := range get(keyword) {
		if v != "" && v != "none" {
			return v
		}
	}
	return ""
}

// target is the host that the configuration describes. What was given with the name, a
// user or a port, wins over it.
func target(get configured, user, host, port string) (Target, error) {
	t := Target{
		Host:           cmp.Or(get.one("HostName"), host),
		User:           cmp.Or(user, get.one("User"), os.Getenv("USER"), "root"),
		Identities:     identities(get),
		Certificates:   certificates(get),
		IdentitiesOnly: isYes(get.one("IdentitiesOnly")),
		Agent:          agentSocket(get),
		ProxyCommand:   get.one("ProxyCommand"),
		Network:        map[string]string{"inet": "tcp4", "inet6": "tcp6"}[strings.ToLower(get.one("AddressFamily"))],
		BindAddress:    get.one("BindAddress"),
		BindInterface:  get.one("BindInterface"),
		KnownByCommand: get.one("KnownHostsCommand") != "",
		Batch:          isYes(get.one("BatchMode")),
		Ways:           loginWays(get),
		Prompts:        tries,
		HostKeyAlias:   get.one("HostKeyAlias"),
		HashKnownHosts: isYes(get.one("HashKnownHosts")),
		Timeout:        connectTimeout,
	}
	t.KnownHosts, t.KeepsNone = knownHostsFiles(get)
	if n, err := strconv.Atoi(get.one("NumberOfPasswordPrompts")); err == nil && n > 0 {
		t.Prompts = n
	}
	var err error
	// Of what is not a number nothing is guessed: port 22 of another host may be another user's.
	if t.Port, err = strconv.Atoi(cmp.Or(port, get.one("Port"), "22")); err != nil {
		return t, fmt.Errorf("the ssh configuration of %s has the port %q", host, get.one("Port"))
	}
	if seconds, err := strconv.Atoi(get.one("ConnectTimeout")); err == nil && seconds > 0 {
		t.Timeout = time.Duration(seconds) * time.Second
	}
	t.fill(host)
	if file := get.one("RevokedHostKeys"); file != "" {
		t.RevokedHostKeys = expand(t.tokens(host).Replace(file))
	}
	switch strings.ToLower(get.one("StrictHostKeyChecking")) {
	// "no" is taken for accept-new: a changed key is refused whatever is configured.
	case "accept-new", "no", "false", "off":
		t.AcceptNew = true
	case "yes", "true":
		t.OnlyKnown = true
	}
	if jump := get.one("ProxyJump"); jump != "" {
		t.ProxyJump = strings.Split(jump, ",")
	}
	t.Alive = alive(get)
	t.Algorithms, err = algorithms(get, host)
	return t, err
}

// alive is how long ssh would wait for a host that is silent. It reports 0 where the host is not to be asked at all.
func alive(get configured) time.Duration {
	seconds, err := strconv.Atoi(get.one("ServerAliveInterval"))
	count, countErr := strconv.Atoi(cmp.Or(get.one("ServerAliveCountMax"), "3"))
	if err != nil || countErr != nil || seconds <= 0 || count <= 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second * time.Duration(count)
}

// agentSocket is where the agent listens; empty where there is none, or where the first
// IdentityAgent is none, which here means just that.
func agentSocket(get configured) string {
	if all := get("IdentityAgent"); len(all) > 0 && all[0] == "none" {
		return ""
	}
	switch agent := get.one("IdentityAgent"); agent {
	case "", "SSH_AUTH_SOCK":
		return os.Getenv("SSH_AUTH_SOCK")
	default:
		return expand(os.ExpandEnv(agent))
	}
}

// identities are the files of private keys: ssh's own names where none is configured.
func identities(get configured) []string {
	files := get("IdentityFile")
	if len(files) == 0 {
		files = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}
	}
	return named(files)
}

func certificates(get configured) []string { return named(get("CertificateFile")) }

// named leaves out what stands for no file.
func named(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "" || f == "none" })
}

// knownHostsFiles are the user's, and then the system's: a key that is accepted goes into
// the first of the user's.
func knownHostsFiles(get configured) (all []string, none bool) {
	users := expanded(fileList(cmp.Or(strings.Join(get("UserKnownHostsFile"), " "), "~/.ssh/known_hosts")))
	system := expanded(fileList(cmp.Or(strings.Join(get("GlobalKnownHostsFile"), " "), "/etc/ssh/ssh_known_hosts")))
	return append(users, system...), len(users) == 0
}

// fileList takes a value apart that names several files. ssh -G leaves the quotes out that keep a
// name with blanks together: what begins as no path goes on with the one before it, unless it is a file.
func fileList(value string) (files []string) {
	if value == "none" {
		return nil
	}
	for word := range strings.SplitSeq(strings.ReplaceAll(value, `"`, ""), " ") {
		switch n := len(files) - 1; {
		case n < 0, strings.HasPrefix(word, "/"), strings.HasPrefix(word, "~/"), word != "" && isFile(word) &&
			!isFile(files[n]+" "+word):
			files = append(files, word)
		default:
			files[n] += " " + word
		}
	}
	return named(files)
}

func isFile(path string) bool {
	info, err := os.Stat(expand(path))
	return err == nil && info.Mode().IsRegular()
}

func isYes(value string) bool {
	return strings.EqualFold(value, "yes") || strings.EqualFold(value, "true")
}

// loginWays are the ways to log in that the configuration leaves, in its order.
func loginWays(get configured) []string {
	const key, keyboard, password = "publickey", "keyboard-interactive", "password"
	all := []string{key, keyboard, password}
	if list := get.one("PreferredAuthentications"); list != "" {
		all = slices.DeleteFunc(strings.Split(list, ","), func(way string) bool { return !slices.Contains(all, way) })
	}
	return slices.DeleteFunc(all, func(way string) bool {
		keywords := map[string][]string{
			key: {"PubkeyAuthentication"}, password: {"PasswordAuthentication"},
			// The second is its name before OpenSSH 8.7.
			keyboard: {"KbdInteractiveAuthentication", "ChallengeResponseAuthentication"},
		}[way]
		return slices.ContainsFunc(keywords, func(keyword string) bool {
			value := get.one(keyword)
			return strings.EqualFold(value, "no") || strings.EqualFold(value, "false")
		})
	})
}

// fill puts in what ssh -G leaves in the names of files.
func (t *Target) fill(host string) {
	tokens := t.tokens(host)
	for _, files := range [][]string{t.Identities, t.Certificates} {
		for i, f := range files {
			files[i] = expand(tokens.Replace(f))
		}
	}
}

// tokens are those of ssh_config(5) that need no more than the target, and ${VARIABLE}s.
func (t Target) tokens(host string) *strings.Replacer {
	home, _ := os.UserHomeDir() // without one nothing is found below it
	name, _ := os.Hostname()
	short, _, _ := strings.Cut(name, ".")
	own := os.Getenv("USER")
	if me, err := user.Current(); err == nil {
		own = me.Username
	}
	pairs := []string{
		"%%", "%", "%d", home, "%h", t.Host, "%i", strconv.Itoa(os.Getuid()), "%k", cmp.Or(t.HostKeyAlias, host),
		"%L", short, "%l", name, "%n", host, "%p", strconv.Itoa(t.Port), "%r", t.User, "%u", own,
	}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.NewReplacer(pairs...)
}

// Only a leading ~/ stands for anything here: ssh -G has put in the rest.
func expanded(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, expand(p))
	}
	return all
}

func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// copyID is the command that puts the user's key on the host.
func (t Target) copyID() string {
	if t.Port == 22 {
		return "ssh-copy-id " + t.String()
	}
	return "ssh-copy-id -p " + strconv.Itoa(t.Port) + " " + t.User + "@" + t.Host
}

// said is an error in words of our own, which stays what it was.
type said struct {
	words string
	error
}

func (s said) Error() string { return s.words }
func (s said) Unwrap() error { return s.error }

// offered takes the ways to log in from what the ssh library says.
func offered(message string) string {
	_, list, _ := strings.Cut(message, "attempted methods [")
	list, _, _ = strings.Cut(list, "]")
	ways := slices.DeleteFunc(strings.Fields(list), func(s string) bool { return s == "none" })
	if len(ways) == 0 {
		return "nothing, the key is missing"
	}
	return strings.ReplaceAll(strings.Join(ways, ", "), "publickey", "the public keys")
}

// Explain turns what kept a node from being connected to into an error that says what
// to do about it.
func Explain(err error, t Target, node string) error { return explain(err, t, node) }

// explain turns what dialling or the handshake said into one of the kinds that
// ask different things of the user.
func explain(err error, t Target, node string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return at(e, node) // what wraps it, a failed handshake, says less
	}
	e := &Error{Op: "connect to", Node: node + " (" + t.String() + ")", Err: err}
	var dns *net.DNSError
	var netErr net.Error
	message := err.Error()
	switch {
	case errors.As(err, &dns):
		e.Kind = Unresolved
		e.Err = said{"the name " + dns.Name + " does not resolve (" + dns.Err + ")", err}
		e.Hint = "Check the spelling, /etc/hosts and ~/.ssh/config, or use an address"
	// By the text: what comes over a jump host is the other sshd's words, and no errno.
	case strings.Contains(message, "connection refused"):
		e.Kind = Refused
		e.Err = said{"connection refused", err}
		e.Hint = "The host answers and nothing listens on port " + strconv.Itoa(t.Port) +
			": is sshd running there (systemctl status ssh), and is the port right?"
	case errors.As(err, new(*noBannerError)):
		e.Kind = Unreachable
		e.Hint = "The network reaches the host, but it does not respond: it may be hung or " +
			"still booting, or no sshd listens there"
	case errors.As(err, &netErr) && netErr.Timeout(), errors.Is(err, context.DeadlineExceeded),
		strings.Contains(message, "no route to host"), strings.Contains(message, "network is unreachable"),
		strings.Contains(message, "host is down"):
		e.Kind = Unreachable
		e.Hint = "No answer: is the node on, the cable in, and the address in a subnet that this machine has" +
			" (ip route get " + t.Host + ")?"
	case strings.Contains(message, "unable to authenticate"):
		e.Kind = NotPermitted
		e.Err = said{"no key or password was accepted (offered: " + offered(message) + ")", err}
		e.Hint = "Install a key there with " + t.copyID() +
			", or name the right one with IdentityFile in ~/.ssh/config"
	case strings.Contains(message, "Too many authentication failures"):
		// sshd's own words. Trying again would only lock a user out.
		e.Kind = NotPermitted
		e.Err = said{"the host rejected too many keys or passwords", err}
		e.Hint = "Name the right key with IdentityFile and IdentitiesOnly yes in ~/.ssh/config"
	case strings.Contains(message, "no common algorithm"):
		e.Kind = Refused
		e.Hint = "Both ends need a common algorithm. For an old host, allow it in ~/.ssh/config " +
			"(KexAlgorithms, HostKeyAlgorithms, Ciphers, MACs with +)"
	case strings.Contains(message, "handshake failed: EOF"), strings.Contains(message, "connection reset"):
		e.Kind = Refused
		e.Hint = "The port closed the connection. Check that sshd listens there and allows this " +
			"host and user"
	}
	return e
}
