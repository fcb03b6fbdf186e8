package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
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

// claimScript locks a folder that every user can open and no user can replace: a file of railbench's own
// would have an owner and permissions, and would stay. The arguments of the process that holds the lock say
// who that is ($0 what it locks, $1 its token, $2 in words), and every user can read them. A railbench that
// finds its own token has reached the node under another name. Without flock no lock is taken.
const claimScript = `as() { exec sh -c "$1
while :; do sleep 3600; done" "railbench-claimed $AT" "$TOKEN" "$WHO"; }
command -v flock >/dev/null 2>&1 && [ -r "$AT" ] || as 'echo claimed'
exec 9<"$AT"
flock -n 9 && as 'echo claimed'
for f in $(grep -lszxF "railbench-claimed $AT" /proc/[0-9]*/cmdline); do
  who=$(tr '\0\n' '\n ' <"$f" 2>/dev/null | grep -xF -A 2 "railbench-claimed $AT" | sed -n '2,3p')
  case $who in
  "$TOKEN
"*) as 'echo claimed; flock 9' ;;
  *"
"*) printf 'busy %s\n' "${who#*
}" ;;
  esac
done
echo busy
`

// A LockOwner is a railbench that locks nodes.
type LockOwner struct {
	Token string // the same for all locks of one railbench, and of no other
	Who   string // what others are shown
	At    string // the folder that is locked; empty for the one that every user of a node opens
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
			Name: "claim the node", Body: claimScript, Limit: lockLimit,
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
