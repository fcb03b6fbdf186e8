package undo

// What a guarded change is made of on the node, all of it POSIX sh. Each change
// has a folder, $DIR, with these files:
//
//	armed, confirmed, fired, undoing   its state: one file, renamed, because only
//	                                   one of several can rename it; it says when the
//	                                   switch fires
//	waits                              the change has not begun: it removes that itself, see
//	                                   change.Begin
//	change, back                       the scripts
//	NAME.pid NAME.out NAME.exit        of those that ran apart
//	watch, go                          the two scripts below

// detach starts a script in a session of its own, without the mark by which the
// supervisor finds what a script left behind: it has to outlive the connection. Where
// systemd runs only a unit of it will do: it outlives even a login session whose
// processes are killed at its end, and is spared by the kernel when memory is short.
// $again says when it shall be started again. Without systemd it waits until the script
// is there.
const detach = `detach() { # UNIT PID-FILE SCRIPT ARG...
  unit=$1 pid=$2
  shift 2
  rm -f "$pid"
  if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null; then
    systemd-run --quiet --collect --unit="$unit" --property=OOMScoreAdjust=-1000 \
      --property=Restart="${again:-no}" --property=StartLimitIntervalSec=0 /bin/sh "$@"
    return
  fi
  env -i PATH="$PATH" LC_ALL=C setsid sh "$@" </dev/null >/dev/null 2>&1 &
  i=0
  while [ ! -s "$pid" ] && [ "$i" -lt 50 ]; do
    sleep 0.1
    i=$((i + 1))
  done
  [ -s "$pid" ] || { echo "could not start a process of its own" >&2; return 1; }
}
`

// uptime gives $now in hundredths of a second. It is CLOCK_BOOTTIME: it goes on while
// the node is suspended, and setting the clock doesn't move it. A timer of systemd stands
// still with the one or jumps with the other.
const uptime = `uptime() { read -r now _ </proc/uptime && now=${now%.*}${now#*.}; }
`

// owned looks at a folder and all above it. What is in it runs as root: no one but root may be able to put something
// there, or something else in its place.
const owned = `owned() {
  at=$1
  while :; do
    who=$(stat -c %u:%A "$at") || exit 1
    case $who in
    0:d????-??-?) ;;
    *)
      echo "$at ($who) is not root's alone: another user could put there what would then run as root." \
        "chown root $at and chmod go-w $at, if that is how it should be" >&2
      exit 1 ;;
    esac
    [ "$at" != / ] || return 0
    at=${at%/*} at=${at:-/}
  done
}
`

// armScript makes room for one change at a time: it ends with 3 where another one waits to be confirmed. A
// switch that should have fired a minute ago (6000 hundredths of a second) will not any more. What the switch
// needs is written before it starts, and the folder goes where anything fails: then nothing has been changed.
const armScript = owned + `umask 077
mkdir -p "$ROOT" || exit 1
(owned "$ROOT") || {
  rmdir "$ROOT" 2>/dev/null
  exit 1
}
uptime || { echo "cannot read /proc/uptime" >&2; exit 1; }
for other in "$ROOT"/*/armed; do
  [ -e "$other" ] || continue
  over=$now
  read -r over <"$other"
  if [ "$now" -gt $((over + 6000)) ]; then
    echo "the switch in ${other%/armed} should have fired and did not: railbench undo puts the node back" >&2
    exit 1
  fi
  echo "${other%/armed}" >&2
  exit 3
done
mkdir "$DIR" || exit 1
if printf '%s\n' "$BACK" >"$DIR/back" && printf '%s\n' "$WATCH" >"$DIR/watch" &&
  printf '%s\n' "$GO" >"$DIR/go" && echo $((now + AFTER * 100)) >"$DIR/armed" &&
  : >"$DIR/waits" && again=on-failure && detach "$UNIT" "$DIR/watch.pid" "$DIR/watch" "$DIR"; then
  exit 0
fi
rm -rf "$DIR"
exit 1
`

// watchScript is the dead-man's switch: $1 is the folder. It sleeps for a second at a
// time, because a longer sleep stands still while the node is suspended. One that was
// killed is started again, and goes on where it was. A rollback that fails is tried again.
const watchScript = uptime + `cd "$1" || exit 1
echo $$ >watch.pid
while read -r over 2>/dev/null <armed && uptime && [ "$now" -lt "$over" ]; do
  sleep 1
done
mv armed fired 2>/dev/null || [ -e fired ] || exit 0
[ ! -e back.exit ] || exit 0
if [ -s change.pid ] && [ ! -e change.exit ]; then
  read -r pid <change.pid
  kill -KILL "-$pid" 2>/dev/null
fi
# The user may be away, and a manager of networks that hangs or starts is over it soon.
for pause in 10 30 60 0; do
  sh ./back >back.out 2>&1
  code=$?
  [ "$code" != 0 ] || break
  sleep "$pause"
done
echo "$code" >back.new
mv back.new back.exit`

// goScript runs the script $2 of the folder $1. The moment that it waits lets the
// answer of the script that started it through: it may cut the connection.
const goScript = `cd "$1" || exit 1
echo $$ >"$2.pid"
sleep 0.5
sh "./$2" >"$2.out" 2>&1
echo $? >"$2.new"
mv "$2.new" "$2.exit"`

// startScript ends with 4 where the switch has fired: a change that began now would have no rollback.
const startScript = owned + `[ -e "$DIR/armed" ] || exit 4
owned "$DIR"
printf '%s\n' "$CHANGE" >"$DIR/change" || exit 1
detach "$UNIT-change" "$DIR/change.pid" "$DIR/go" "$DIR" change
`

// A look ends after five seconds, by the clock: on a busy node a process that sleeps for a tenth
// of one takes several.
const waitScript = `read -r up rest </proc/uptime
end=$((${up%%.*} + 5))
while [ ! -e "$DIR/$WHAT.exit" ] && [ "${up%%.*}" -lt "$end" ]; do
  if [ "$WHAT" = change ] && [ ! -e "$DIR/armed" ]; then
    exit 4
  fi
  sleep 0.1
  read -r up rest </proc/uptime
done
if [ -e "$DIR/$WHAT.exit" ]; then
  read -r code <"$DIR/$WHAT.exit"
  echo "exit $code"
  # What is longer than an answer may be would be none, and the change or the rollback without an end.
  head -c 1000000 "$DIR/$WHAT.out"
else
  echo running
fi
`

// The switch's process is ended by its group, and only where it still is what it was: a number can be another user's
// by now.
const unwatch = `if [ -d /run/systemd/system ] && command -v systemctl >/dev/null; then
  systemctl stop "$UNIT.service" 2>/dev/null
fi
if [ -s "$DIR/watch.pid" ]; then
  read -r pid <"$DIR/watch.pid"
  if grep -qsF "$DIR/watch" "/proc/$pid/cmdline"; then
    kill -TERM "-$pid" 2>/dev/null
  fi
fi
`

const confirmScript = `[ -e "$DIR/confirmed" ] || mv "$DIR/armed" "$DIR/confirmed" 2>/dev/null || exit 4
` + unwatch + `exit 0
`

// A rollback timer that has fired runs to its end, and so does a rollback that already runs, however long
// they take: the caller waits for their end. This may be a second attempt, because the connection was cut. A
// node that lost the folder without a reboot gets it again.
const backScript = owned + `umask 077
[ -d "$DIR" ] || { mkdir -p "$ROOT" && owned "$ROOT" && mkdir "$DIR"; } || exit 1
owned "$DIR"
printf '%s\n' "$GO" >"$DIR/go" || exit 1
[ -s "$DIR/back" ] || printf '%s\n' "$BACK" >"$DIR/back" || exit 1
for state in armed confirmed; do
  mv "$DIR/$state" "$DIR/undoing" 2>/dev/null
done
if [ -e "$DIR/fired" ]; then
  if [ -e "$DIR/back.exit" ]; then
    read -r code <"$DIR/back.exit"
    [ "$code" != 0 ] || exit 0
  elif [ -s "$DIR/watch.pid" ]; then
    read -r pid <"$DIR/watch.pid"
    if grep -qsF "$DIR/watch" "/proc/$pid/cmdline"; then
      exit 0
    fi
  fi
fi
if [ -s "$DIR/back.pid" ] && [ ! -e "$DIR/back.exit" ]; then
  read -r pid <"$DIR/back.pid"
  if grep -qsF "$DIR/go" "/proc/$pid/cmdline"; then
    exit 0
  fi
fi
` + unwatch + `if [ -s "$DIR/change.pid" ] && [ ! -e "$DIR/change.exit" ]; then
  read -r pid <"$DIR/change.pid"
  if grep -qsF "$DIR/go" "/proc/$pid/cmdline"; then
    kill -KILL "-$pid" 2>/dev/null
  fi
fi
rm -f "$DIR/back.exit"
detach "$UNIT-back-$$" "$DIR/back.pid" "$DIR/go" "$DIR" back
`

const forgetScript = owned + `[ ! -e "$ROOT" ] || owned "$ROOT"
` + unwatch + `rm -rf "$DIR"
rmdir "$ROOT" 2>/dev/null
exit 0
`
