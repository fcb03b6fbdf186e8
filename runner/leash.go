package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The leash is a small shell wrapper around every script on every node. Signals
// over SSH do not reliably end a remote process, and a channel that closes does
// not either: the leash ends the script's processes when its stdin reaches its
// end, when no heartbeat came for LeashSilence (a cable pulled between here and
// there closes nothing), and at a hard limit. Then it looks for what has left
// the process group: the session, a mark in the environment and, where the leash can be made
// the parent of orphans (boot), their parent find it; where nothing catches them (boot), that they hold
// the script's output does. Each is sent one TERM, however many of these
// find it: a second one could end what the first made it clean up.
//
// Its protocol, all of it on the three standard streams:
//
//	stdin   "begin ID BEATS [free]", the script, "end ID", then a "." every LeashBeat
//	stdout  the script's, and lines that start with RS and the ID:
//	        "begun" (it has the script), "limit" (the node's own limit was reached), "silent" (no heartbeat
//	        came), "exit N", "held PID (NAME) …" (these could not be ended) and
//	        "over": the leash itself ends now, and the streams with it, unless
//	        something else holds them
//
// A leash that is given its ID on the command line skips what comes before
// "begin": a password that sudo did not ask for. One that is given none is a
// spare: it was started before there was anything to run, because a login shell
// can take longer to start than a script to run, and it waits, for as long as a
// "." comes now and then.
const (
	// LeashBeat is the time between two heartbeats.
	LeashBeat = 2 * time.Second
	// LeashSilence is how long a node waits for a heartbeat before it ends the script.
	LeashSilence = 6 * time.Second

	// A spare waits for spareSilence, and is told to wait on every spareBeat. Longer than a
	// run's, because each beat is a packet and two processes of the node; and not so long
	// that a spare would be there ten seconds after the connection is lost.
	spareSilence = 8 * time.Second
	spareBeat    = 3 * time.Second

	spareID   = "-"
	leashName = "railbench-leash"
	leashRS   = 0x1e // the record separator of ASCII, which begins the leash's own lines
	// One beat in flight when the limit is reached and one for a slow start: the
	// limit here ends the script first, the node's is the one that needs nobody.
	spareBeats = 2
)

// boot starts the leash with what catches a process that leaves its session and clears its
// environment, the first of these that the node gives:
//
//   - a control group below the one that it is in, where it may make one (root, and a group that was
//     delegated): no process leaves that without being told to;
//   - to be made the parent of every process whose own has died. sh can't ask the kernel for that
//     (prctl, PR_SET_CHILD_SUBREAPER); perl can, and is there wherever Debian or Ubuntu is;
//   - a scope of the user's systemd, which has a group that may be divided. It is the last because it
//     costs two calls of a bus for each script.
//
// Where there is none of them RAILBENCH_CATCHES says so, and so does the cell privileges.
const boot = `
group() {
  at=
  while IFS=: read -r n _ path; do [ "$n" != 0 ] || at=$path; done </proc/self/cgroup
  for m in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -w "$m${at%/}" ] && [ -e "$m/cgroup.controllers" ] || continue
    RAILBENCH_GROUP=$m${at%/}/railbench-$$ RAILBENCH_CATCHES=group
    # One of this name may be left of a process long gone; it goes where nobody is in it.
    mkdir "$RAILBENCH_GROUP" || { rmdir "$RAILBENCH_GROUP" && mkdir "$RAILBENCH_GROUP"; } || continue
    (echo 0 >"$RAILBENCH_GROUP/cgroup.procs") && return
    rmdir "$RAILBENCH_GROUP"
  done
  RAILBENCH_GROUP= RAILBENCH_CATCHES=nothing
  return 1
} 2>/dev/null
export RAILBENCH_GROUP RAILBENCH_CATCHES
group && exec sh -c "$@"
case $(uname -sm) in
"Linux x86_64") n=157 ;;
"Linux aarch64") n=167 ;;
*) n= ;;
esac
[ -z "$n" ] || ! command -v perl >/dev/null 2>&1 ||
  exec env PERL_BADLANG=0 perl -e '
    $ENV{RAILBENCH_CATCHES} = "parent" if syscall(shift, 36, 1, 0, 0, 0) == 0;
    exec @ARGV' "$n" sh -c "$@"
if [ -z "$RAILBENCH_SCOPE" ] && command -v systemd-run >/dev/null 2>&1; then
  scope='systemd-run --user --scope --quiet --collect -p Delegate=yes'
  $scope true </dev/null >/dev/null 2>&1 &&
    RAILBENCH_SCOPE=1 exec $scope sh -c 'boot=$1; shift; eval "$boot"' railbench-boot "$boot" "$@"
fi
exec sh -c "$@"
`

// leashScript runs on the node: $1 is the run's id, or - for a spare; BEATS
// heartbeats make the hard limit. It is POSIX sh. What reads stdin reads one byte
// at a time, or it would swallow what the next one waits for. Two things follow from how
// shells are: a background job's stdin is /dev/null, so fd 3 carries the beats; and a shell
// that SIGPIPE ends, because nobody reads its word any more, would not clean up. A silence is told
// from somebody's signal by how timeout ends: with 124, or as its alarm ended what it ran. What waits
// for a beat holds none of the streams to here: whoever kills only timeout leaves it behind, and a
// Slurm would wait for it.
const leashScript = `
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
id=$1 beats=0 free= s= got= reaps= group=$RAILBENCH_GROUP nl='
'
[ "$RAILBENCH_CATCHES" != parent ] || reaps=1
made=$group
[ -z "$made" ] || trap 'rmdir "$made" 2>/dev/null' EXIT
unset RAILBENCH_GROUP RAILBENCH_SCOPE PERL_BADLANG
if [ "$id" = - ]; then
  while c=$(timeout SPARE head -c 1 2>/dev/null) && [ "$c" = . ]; do :; done
  [ "$c" = b ] || exit 125
  IFS=' ' read -r l id beats free
else
  while IFS=' ' read -r l i beats free; do [ "$l $i" != "begin $id" ] || break; done
fi
while IFS= read -r l; do
  [ "$l" != "end $id" ] || { got=1; break; }
  s=$s$l$nl
done
[ "$got" ] || exit 125
trap : PIPE
printf '\036%s begun\n' "$id"
trap - PIPE
exec 3<&0 </dev/null
command -v setsid >/dev/null ||
  setsid() { exec perl -e 'use POSIX; POSIX::setsid(); exec @ARGV' "$@"; }
command -v timeout >/dev/null ||
  timeout() { shift 2; perl -e 'alarm shift; exec @ARGV' "$@"; }
[ -z "$free" ] || group=
LC_ALL=C RAILBENCH_RUN=$id RAILBENCH_TEXT=$s RAILBENCH_GROUP=$group setsid sh -c '
s=$RAILBENCH_TEXT
[ -z "$RAILBENCH_GROUP" ] || echo 0 >"$RAILBENCH_GROUP/cgroup.procs"
unset RAILBENCH_TEXT RAILBENCH_GROUP
eval "$s"' railbench 3<&- &
p=$!
trap '' PIPE
ours() {
  if [ -r /proc/self/stat ]; then
    all=${group:+$(sed 's|.*|/proc/&/stat|' "$group/cgroup.procs")}
    [ -z "$all" ] || grep -lsE "^[0-9]+ \(.*\) [^ZX] " $all
    grep -lsE "^[0-9]+ \(.*\) [^ZX] [0-9]+ ([0-9]+ $p|$p) " /proc/[0-9]*/stat
    grep -lszxF "RAILBENCH_RUN=$id" /proc/[0-9]*/environ
    [ -z "$reaps" ] || [ "$free" ] ||
      grep -lsE "^[0-9]+ \(.*\) [^ZX] $$ " /proc/[0-9]*/stat | grep -vxF "/proc/$me/stat"
  else
    kill -0 "-$p" && echo "/proc/-$p/"
  fi
} 2>/dev/null
of() {
  parent=0 session=
  IFS= read -r stat <"/proc/$1/stat" && set -- ${stat##*) } && parent=$2 session=$4
} 2>/dev/null
# Besides the leash and what started it, which may hold the same pipes.
holders() {
  ls -l /proc/[0-9]*/fd | while IFS= read -r l; do
    case $l in
    /proc/*) f=${l#/proc/} f=${f%%/*} ;;
    l?w*" -> $out" | l?w*" -> $err")
      case $up in *" $f "*) ;; *) of "$f"; [ "$session" = "$own" ] || echo "/proc/$f/" ;; esac ;;
    esac
  done
} 2>/dev/null
end() {
  told=' '
  for f in $2; do
    f=${f#/proc/}
    f=${f%%/*}
    case $told in *" $f "*) ;; *) kill "-$1" "$f"; told="$told$f " ;; esac
  done
} 2>/dev/null
(
  n=0 me=$(exec sh -c 'echo "$PPID"')
  while [ "$n" -lt "$beats" ]; do
    c=$(timeout -s ALRM SILENCE head -c 1 <&3) || {
      case $? in 124 | 142) printf '\036%s silent\n' "$id" ;; esac
      break
    }
    [ "$c" = . ] || break
    n=$((n + 1))
  done
  [ "$n" -lt "$beats" ] || printf '\036%s limit\n' "$id"
  i=0 step=1 hold=
  [ "$RAILBENCH_CATCHES$free" != nothing ] || {
    of $$
    own=$session up=" $$ "
    while [ "$parent" -gt 1 ]; do up="$up$parent "; of "$parent"; done
    out=$(readlink "/proc/$$/fd/1") err=$(readlink "/proc/$$/fd/2")
    case $out in pipe:* | socket:*) ;; *) out=none ;; esac
    case $err in pipe:* | socket:*) ;; *) err=none ;; esac
    hold=1 step=4 # a look takes longer
  }
  while left=$(ours); left=${left:-${hold:+$(holders)}}; [ "$left" ] && [ "$i" -lt 60 ]; do
    if [ "$i" -lt 20 ]; then
      [ "$i" != 0 ] || end TERM "$left"
    else
      # All of them at once: who forks faster than this looks would get away.
      [ -z "$group" ] || { echo 1 >"$group/cgroup.kill"; } 2>/dev/null
      end KILL "$left"
    fi
    sleep 0.$step
    i=$((i + step))
  done
  [ -z "$left" ] || printf '\036%s held%s\n' "$id" "$(end 0 "$left"
    for f in $told; do read -r n <"/proc/$f/comm" && printf ' %s (%s)' "$f" "$n"; done)"
) 2>/dev/null &
w=$!
wait "$p"
printf '\036%s exit %s\n' "$id" "$?"
wait "$w"
printf '\036%s over\n' "$id"
`

// leashCommand is the command line that puts a node's shell on the leash.
func leashCommand(id string) string {
	text := strings.NewReplacer(
		"SILENCE", strconv.Itoa(int(LeashSilence/time.Second)),
		"SPARE", strconv.Itoa(int(spareSilence/time.Second)),
	).Replace(leashScript)
	return "sh -c 'boot=$1; shift; eval \"$boot\"' railbench-boot " + Quote(boot) + " " + Quote(text) + " " + leashName +
		" " + id
}

// leashFrame is what the leash reads before the heartbeats.
func leashFrame(id string, s Script) string {
	// The node counts beats and no seconds: it needs no clock that agrees with ours.
	beats, free := int(s.limit()/LeashBeat)+spareBeats, ""
	if s.Detaches {
		free = " free"
	}
	return fmt.Sprintf("begin %s %d%s\n%send %s\n", id, beats, free, s.Text(), id)
}

// A LeashCall is a leash command taken apart, for a node that has no processes
// to put on one: the simulated rig's.
type LeashCall struct {
	id string
}

// ParseLeash recognises the command line that a Node sends.
func ParseLeash(command string) (LeashCall, bool) {
	i := strings.LastIndex(command, " "+leashName+" ")
	if i < 0 || !strings.HasPrefix(command, "sh -c ") {
		return LeashCall{}, false
	}
	return LeashCall{id: strings.TrimSpace(command[i+len(leashName)+2:])}, true
}

// Serve speaks the node's side of the protocol and calls run with the script's
// text. The context that run gets ends at the end of stdin, after a silence of
// LeashSilence and at the limit; run must end everything that it started before
// it returns the exit status. Heartbeats are real time, also where a simulated
// node's clock runs faster.
func (c LeashCall) Serve(stdin io.Reader, stdout io.Writer, run func(ctx context.Context, text string) int) error {
	in := bufio.NewReader(stdin)
	id, beats, text, err := c.readScript(in)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%c%s begun\n", leashRS, id); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	beat := make(chan error)
	// A read can't be interrupted: it ends with stdin, which the caller closes.
	go func() {
		for {
			_, err := in.ReadByte()
			select {
			case beat <- err:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	// Their texts are the leash's own words.
	errLimit, errSilent := errors.New("limit"), errors.New("silent")
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		// From the first moment: a client that sends the script and no beat is gone, too.
		silence := time.NewTimer(LeashSilence)
		defer silence.Stop()
		for range beats {
			select {
			case err := <-beat:
				if err != nil {
					cancel(err)
					return
				}
				silence.Reset(LeashSilence)
			case <-silence.C:
				cancel(errSilent)
				return
			case <-ctx.Done():
				return
			}
		}
		cancel(errLimit)
	}()
	// The mark goes out only now: the script's own lines come before it, on the same stream.
	code := run(ctx, text)
	if cause := context.Cause(ctx); errors.Is(cause, errLimit) || errors.Is(cause, errSilent) {
		fmt.Fprintf(stdout, "%c%s %s\n", leashRS, id, cause)
	}
	_, err = fmt.Fprintf(stdout, "%c%s exit %d\n", leashRS, id, code)
	// The goroutine that reads goes on until the caller closes stdin, and keeps nothing that
	// matters.
	cancel(nil)
	<-watched
	return err
}

// readScript reads the frame. Where the id is known, what comes before it is a password
// that sudo did not ask for.
func (c LeashCall) readScript(in *bufio.Reader) (id string, beats int, text string, err error) {
	// What comes first is beats, or the frame's "b": none of it is lost.
	if c.id == spareID {
		for {
			b, err := in.ReadByte()
			if err != nil {
				return "", 0, "", fmt.Errorf("wait for a script: %w", err)
			}
			if b != '.' {
				_ = in.UnreadByte() // always possible after a read
				break
			}
		}
	}
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", 0, "", fmt.Errorf("read script: %w", err)
		}
		switch {
		case id == "":
			var i string
			if n, _ := fmt.Sscanf(line, "begin %s %d\n", &i, &beats); n == 2 && (i == c.id || c.id == spareID) {
				id = i
			}
		case line == "end "+id+"\n":
			return id, beats, b.String(), nil
		default:
			b.WriteString(line)
		}
	}
}
