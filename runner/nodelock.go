package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/assets/scripts"
)

// A NodeLock shows on a node that a railbench is at work there: two at once would measure each other's load,
// take each other's ports and undo each other's changes. It is a lock that the kernel keeps for a process on
// the supervisor, so nothing of it outlasts that process, however it ends, and no file stays behind. It works only
// among programs that ask for it.
type NodeLock struct {
	end  context.CancelFunc
	over chan struct{} // closed when nothing of it is left on the node
}

// Release gives the node back, and returns when it is free.
func (c *NodeLock) Release() {
	c.end()
	<-c.over
}

// Lost reports whether the lock is gone: the connection broke, or its process was ended.
func (c *NodeLock) Lost() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// lockLimit is longer than anybody stays at work without a pause.
const lockLimit = 24 * time.Hour

// lockWho bounds what is read of another's name, in bytes.
const lockWho = 200

// A LockOwner is a railbench that locks nodes.
type LockOwner struct {
	Token string // the same for all locks of one railbench, and of no other
	Who   string // what others are shown
	At    string // the folder that is locked; empty for the one that every user of a node opens
}

// ThisLockOwner is this railbench as others on the rig's nodes see it.
func ThisLockOwner() LockOwner {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return LockOwner{
		Token: rand.Text(),
		Who: fmt.Sprintf("railbench of %s on %s (process %d, since %s)", name, host, os.Getpid(),
			time.Now().Format("15:04")),
	}
}

// Lock locks a node. If another railbench holds the lock, c is nil, and by names the owner.
//
// The lock lasts until it is released, or the node is closed; ctx bounds the wait for it.
func (a LockOwner) Lock(ctx context.Context, n Node) (c *NodeLock, by string, err error) {
	waiting := ctx
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	c = &NodeLock{end: end, over: make(chan struct{})}
	claimed := make(chan struct{})
	is := sync.OnceFunc(func() { close(claimed) })
	var other []string
	var failed error
	go func() {
		defer close(c.over)
		exit, err := n.Run(ctx, Script{
			Name: "claim the node", Body: scripts.NodeLock, Limit: lockLimit,
			Vars: map[string]string{"TOKEN": a.Token, "WHO": oneLine(a.Who), "AT": cmp.Or(a.At, "/sys/class/net")},
		}, func(l Line) {
			switch word, rest, _ := strings.Cut(l.Text, " "); {
			case word == "claimed":
				is()
			case word == "busy" && rest != "" && len(other) < 3:
				// One that has the node under two names is found twice.
				if name := strings.ToValidUTF8(rest[:min(len(rest), lockWho)], ""); !slices.Contains(other, name) {
					other = append(other, name)
				}
			}
		})
		if failed = err; err == nil && !exit.OK() {
			failed = fmt.Errorf("claim %s: %s", n.Name(), exit)
		}
	}()
	select {
	case <-claimed:
		return c, "", nil
	case <-c.over:
		end()
	case <-waiting.Done():
		c.Release()
		return nil, "", waiting.Err()
	}
	if failed != nil {
		return nil, "", failed
	}
	return nil, cmp.Or(strings.Join(other, ", "), "another user"), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
