package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A question is a program of this machine that is asked for what it alone knows. It gets arguments and no shell, and
// its time and its output have bounds.
type question struct {
	argv  []string
	dir   string   // where it runs; empty for here
	env   []string // added to this process's environment
	limit time.Duration
	late  string // what is said where it has not answered within the limit
	most  int    // bytes of its answer; 0 for mostSaid
}

// ask runs the program and gives its answer. Whatever it has started ends with it.
func (q question) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.limit, errors.New(q.late))
	defer cancel()
	stdout, stderr := lockedBuffer{most: q.most}, lockedBuffer{}
	cmd := exec.CommandContext(ctx, q.argv[0], q.argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, q.dir
	if q.env != nil {
		cmd.Env = append(os.Environ(), q.env...)
	}
	// With a group of its own what it runs ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A process that it left behind may hold the pipes; that must not be waited for.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		said := strings.TrimSpace(stderr.text())
		return "", fmt.Errorf("%w: %s", err, said[:min(len(said), maxWhy)])
	}
	if stdout.full() {
		return "", errors.New("its answer is too long") // half of one is another
	}
	return stdout.text(), nil
}

// engineLimit is how long ClusterShell or Ansible may take: a plug-in may ask a network.
const engineLimit = 30 * time.Second

// engineBytes is how much they may answer: what an inventory of 4,096 hosts has, some KB each.
const engineBytes = 16 << 20

// AskClusterShell has ClusterShell's nodeset read a list, with the groups that the user's configuration has, and gives
// the names that it means, with blanks between them.
func AskClusterShell(ctx context.Context, list string) (string, error) {
	return askEngine(ctx, "nodeset", "clustershell", "write the names in place of groups", question{
		argv: []string{"-e", "--", list},
	})
}

// AskAnsible has ansible-inventory read an inventory, by its whole path, and gives its JSON. plugins says whether a
// program or a plug-in that the file names may run; without it only Ansible's INI and YAML readers do.
func AskAnsible(ctx context.Context, path string, plugins bool) (string, error) {
	env := []string{"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=1", "ANSIBLE_NOCOLOR=1"}
	if !plugins {
		env = append(env, "ANSIBLE_INVENTORY_ENABLED=ini,yaml")
	}
	return askEngine(ctx, "ansible-inventory", "ansible-core", "write the names as a list, --nodes a,b", question{
		argv: []string{"--list", "-i", path}, env: env,
		// An ansible.cfg of the current folder may name plug-ins, and may be anybody's.
		dir: "/",
	})
}

// askEngine looks for a program and asks it. pkg is the package that has it, and instead what to do without it.
func askEngine(ctx context.Context, name, pkg, instead string, q question) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed on this machine (apt install %s): install it, or %s", name, pkg, instead)
	}
	q.argv, q.limit, q.most = append([]string{path}, q.argv...), engineLimit, engineBytes
	q.late = fmt.Sprintf("it has not answered within %s", engineLimit)
	out, err := q.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}
