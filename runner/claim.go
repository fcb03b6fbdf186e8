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

// A Claim says on a node that one railbench is at work there: two at once would measure each
// other's load, take each other's ports and undo each other's changes. It is a lock that the
// kernel keeps for a process on the leash, so that nothing of it outlasts whoever made it,
// however that ended, and no file stays behind. It binds only those who ask.
type Claim struct {
	end  context.CancelFunc
	over chan struct{} // closed when nothing of it is left on the node
}

// Release gives the node back, and returns when it is free.
func (c *Claim) Release() {
	c.end()
	<-c.over
}

// Lost reports whether it holds no more: the connection died, or somebody ended its process.
func (c *Claim) Lost() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// claimLimit is longer than anybody stays at work without a pause.
const claimLimit = 24 * time.Hour

// claimWho bounds what is read of another's name, in bytes.
const claimWho = 200

// claimScript locks a folder that every user can open and nobody can replace: a file of railbench's
// own would be somebody's, with permissions, and stay. Who holds it stands among the arguments of the
// process that does ($0 what it locks, $1 its token, $2 in words), which anybody can read. Whoever finds
// their own token has the node under another name, too. Where there is no flock, nobody is kept out.
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

// A Claimant is who claims.
type Claimant struct {
	Token string // the same wherever one railbench claims, and nobody else's
	Who   string // what others are told
	At    string // the folder that is locked; empty for the one that every user of a node opens
}

// Take claims a node. Where another has it there is no claim, and by says who that is.
//
// It lasts until it is released, or the node is closed; ctx is that of waiting for it.
func (a Claimant) Take(ctx context.Context, n Node) (c *Claim, by string, err error) {
	waiting := ctx
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	c = &Claim{end: end, over: make(chan struct{})}
	claimed := make(chan struct{})
	is := sync.OnceFunc(func() { close(claimed) })
	var other []string
	var failed error
	go func() {
		defer close(c.over)
		exit, err := n.Run(ctx, Script{
			Name: "claim the node", Body: claimScript, Limit: claimLimit,
			Vars: map[string]string{"TOKEN": a.Token, "WHO": oneLine(a.Who), "AT": cmp.Or(a.At, "/sys/class/net")},
		}, func(l Line) {
			switch word, rest, _ := strings.Cut(l.Text, " "); {
			case word == "claimed":
				is()
			case word == "busy" && rest != "" && len(other) < 3:
				// One that has the node under two names is found twice.
				if name := strings.ToValidUTF8(rest[:min(len(rest), claimWho)], ""); !slices.Contains(other, name) {
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
	return nil, cmp.Or(strings.Join(other, ", "), "a user whose processes this user can't see"), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
