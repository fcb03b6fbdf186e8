package meter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps/decimal"
)

// A Place is one rail of one node, as the sampler and the gauges name it.
type Place struct {
	Dev    string
	Port   int
	Netdev string // empty where the port has none
}

// The time between two samples on a node, in seconds: while something moves, and
// once nothing has moved for a while.
const (
	Every     = 0.1
	EveryIdle = 0.5
)

// Script prints samples until it is ended. It reads $PERL, $LOOP, $RAILS, $INTERVAL and $IDLE. A
// perl keeps its files open and reads one again by two system calls; a bash opens, reads and closes one by ten, and
// takes more of a core. Both read, ask the clock and wait in one process. Any other shell forks
// three times a sample.
const Script = `export RAILS INTERVAL IDLE
if PERL_BADLANG=0 perl -MTime::HiRes -e 1 2>/dev/null; then
  PERL_BADLANG=0 exec perl -e "$PERL"
fi
if command -v bash >/dev/null; then
  exec bash -c "$LOOP"
fi
eval "$LOOP"`

// The files of one rail.
const fieldsPerRail = 5

// loop prints which of the files there are, "H" and a 1 or 0 for each: of every
// rail port_xmit_data, port_rcv_data, tx_bytes, rx_bytes and the port's state.
// Then a line a sample: "S", the node's clock in seconds before and after they were read, what the
// files hold, and after those of all rails the ports' states. With every fifth, "C", the clock and
// the first line of /proc/stat. A bash reads a file by some ten system calls, of four
// at once by some less each; it reads the states with every fifth sample, and with each while it rests.
const loop = `files() {
  files= states= have= turn=0 gone=0 many=0
  for r in $RAILS; do
    n=${r##*:} d=${r%:*}
    p=/sys/class/infiniband/${d%:*}/ports/${d##*:}
    s=/sys/class/net/$n/statistics
    for f in $p/counters/port_xmit_data $p/counters/port_rcv_data $s/tx_bytes $s/rx_bytes; do
      if [ -r "$f" ]; then files="$files $f" have="$have 1" many=$((many + 1)); else have="$have 0"; fi
    done
    if [ -r "$p/state" ]; then states="$states $p/state" have="$have 1" many=$((many + 2)); else have="$have 0"; fi
  done
  if [ "$have" != "$told" ]; then
    told=$have
    echo "H$have"
  fi
}
SHELL
host() {
  ask=5
  read -r _ busy </proc/stat && echo "C $t $busy"
} 2>/dev/null
told=
files
ask=0 last= same=0 every=$INTERVAL
while :; do
  case $have in
  *0*)
    gone=$((gone + 1))
    [ "$gone" -lt 10 ] || files ;;
  esac
  now
  from=$t
  values || { files; values; } || { pause; continue; }
  now
  echo "S $from:$t$line"
  [ "$ask" -gt 0 ] || host
  ask=$((ask - 1))
  if [ "$line" != "$last" ]; then
    last=$line same=0 every=$INTERVAL
  elif [ "$same" -lt 20 ]; then
    same=$((same + 1))
  else
    every=$IDLE
  fi
  pause
done`

const (
	// perlLoop does the same with Perl's own words. It opens its files anew every ten seconds and where one
	// can't be read: a device that went and came again under its name is another one.
	perlLoop = `use strict; use warnings;
use Time::HiRes qw(time sleep);
$| = 1;
my ($interval, $idle) = @ENV{qw(INTERVAL IDLE)};
my (@files, @states, %open, $up);
my ($have, $turn, $gone, $kept) = ("", 0, 0, 0);
sub value {
  my ($name) = @_;
  my ($f, $text) = $open{$name};
  if (!$f or !defined sysseek($f, 0, 0)) {
    open($f, "<", $name) or return;
    $open{$name} = $f;
  }
  if (!sysread($f, $text, 4096)) {
    delete $open{$name};
    return;
  }
  return $text =~ /^[ \t]*(.*?)[ \t]*$/m ? $1 : "";
}
sub files {
  my $now = "";
  @files = @states = ();
  %open = ();
  ($turn, $gone) = (0, 0);
  for (split " ", $ENV{RAILS}) {
    my ($d, $port, $n) = split /:/, $_, -1;
    my $p = "/sys/class/infiniband/$d/ports/$port";
    my $s = "/sys/class/net/$n/statistics";
    for ("$p/counters/port_xmit_data", "$p/counters/port_rcv_data", "$s/tx_bytes", "$s/rx_bytes") {
      push @files, $_ if -r $_;
      $now .= -r _ ? " 1" : " 0";
    }
    push @states, "$p/state" if -r "$p/state";
    $now .= -r _ ? " 1" : " 0";
  }
  print "H$now\n" if $now ne $have;
  $have = $now;
}
sub readings {
  my $line = "";
  for (@files) {
    defined(my $v = value($_)) or return;
    $line .= " $v";
  }
  if ($turn == 0 or $_[0] eq $idle) {
    ($turn, $up) = (5, "");
    for (@states) {
      defined(my $v = value($_)) or return;
      $up .= " $v";
    }
  }
  $turn--;
  return $line . $up;
}
files();
my ($ask, $last, $same, $every) = (0, "", 0, $interval);
for (;; sleep $every) {
  files() if $have =~ /0/ and ++$gone >= 10;
  %open = () if ++$kept % 100 == 0;
  my $from = time;
  my $line = readings($every) // do { files(); readings($every) } // next;
  my $to = time;
  printf "S %.6f:%.6f%s\n", $from, $to, $line;
  if ($ask-- <= 0) {
    $ask = 4;
    my $cpu = value("/proc/stat") // "";
    printf "C %.6f %s\n", $to, $1 if $cpu =~ /^\S+\s+(.*)/;
  }
  if ($line ne $last) {
    ($last, $same, $every) = ($line, 0, $interval);
  } elsif ($same < 20) {
    $same++;
  } else {
    $every = $idle;
  }
}`
	bashLoop = `exec {never}<> <(:)
now() { t=${EPOCHREALTIME/,/.}; }
pause() { read -r -t "$every" -u "$never"; }
values() {
  line=
  set -- $files
  while [ "$#" -ge 4 ]; do
    { read -r -u 4 a && read -r -u 5 b && read -r -u 6 c && read -r -u 7 d; } 4<"$1" 5<"$2" 6<"$3" 7<"$4" || return
    line="$line $a $b $c $d"
    shift 4
  done
  for f; do
    read -r v <"$f" || return
    line="$line $v"
  done
  if [ "$turn" = 0 ] || [ "$every" = "$IDLE" ]; then
    turn=5 up=
    for f in $states; do
      read -r v <"$f" || return
      up="$up $v"
    done
  fi
  turn=$((turn - 1)) line=$line$up
} 2>/dev/null`
	posixLoop = `now() {
  t=$(date +%s.%N)
  case $t in *N) read -r t _ </proc/uptime ;; esac
}
pause() { sleep "$every"; }
values() {
  set -- $(cat $files $states 2>/dev/null)
  [ "$#" = "$many" ] || return
  line=" $*"
}`
)

// Vars are what Script reads. speed is how much faster the node's clock runs than
// real time, 1 for a real node.
func Vars(places []Place, speed float64) map[string]string {
	var rails []string
	for _, p := range places {
		rails = append(rails, fmt.Sprintf("%s:%d:%s", p.Dev, p.Port, p.Netdev))
	}
	return map[string]string{
		"RAILS":    strings.Join(rails, " "),
		"INTERVAL": strconv.FormatFloat(Every*speed, 'g', -1, 64),
		"IDLE":     strconv.FormatFloat(EveryIdle*speed, 'g', -1, 64),
		"PERL":     perlLoop,
		// What only bash can parse must not be parsed by another shell.
		"LOOP": `if [ "${BASH_VERSION:+${EPOCHREALTIME-}}" ]; then eval ` +
			quote(strings.Replace(loop, "SHELL", bashLoop, 1)) + "; else\n" +
			strings.Replace(loop, "SHELL", posixLoop, 1) + "\nfi",
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

// A Sample is what the sampler printed at one moment.
type Sample struct {
	Clock float64 // seconds on the node, in the middle of the reading
	Took  float64 // seconds that the reading took: anything in it was read some time between
	Rails []Reading
}

// A Reading is one rail's counters. A counter that could not be read is not Known.
type Reading struct {
	Xmit, Rcv Count // RDMA, bytes on the wire
	Tx, Rx    Count // the netdev's, bytes
	Active    bool
}

// A Count is a counter's value.
type Count struct {
	Bytes uint64
	Known bool
}

// A Layout says which fields a sample has: those whose files exist.
type Layout []bool

// ParseLayout reads the sampler's line about its files, for n rails.
func ParseLayout(line string, n int) (Layout, error) {
	fields := strings.Fields(line)
	if len(fields) != 1+n*fieldsPerRail || fields[0] != "H" {
		return nil, fmt.Errorf("%q does not have the files of %d rails", line, n)
	}
	l := make(Layout, n*fieldsPerRail)
	for i, f := range fields[1:] {
		l[i] = f == "1"
	}
	return l, nil
}

// Parse reads one sample.
func (l Layout) Parse(line string) (Sample, error) {
	// A state reads "4: ACTIVE" and is one field.
	fields := strings.Fields(strings.ReplaceAll(line, ": ", ":"))
	want := 2
	for _, have := range l {
		if have {
			want++
		}
	}
	if len(l) == 0 || len(fields) != want || fields[0] != "S" {
		return Sample{}, fmt.Errorf("%q is not a sample of %d files", line, want-2)
	}
	before, after, _ := strings.Cut(fields[1], ":")
	from, ok := decimal.Number(before)
	to, and := decimal.Number(after)
	if !ok || !and {
		return Sample{}, fmt.Errorf("%q has no clock", line)
	}
	// A clock that was set back in between says nothing of the time.
	s := Sample{Clock: (from + to) / 2, Took: max(0, to-from), Rails: make([]Reading, len(l)/fieldsPerRail)}
	values := fields[2:]
	next := func(i int) (v string) {
		if l[i] {
			v, values = values[0], values[1:]
		}
		return v
	}
	for i := range s.Rails {
		at := i * fieldsPerRail
		s.Rails[i] = Reading{
			Xmit: count(next(at), wordBytes), Rcv: count(next(at+1), wordBytes),
			Tx: count(next(at+2), 1), Rx: count(next(at+3), 1),
		}
	}
	for i := range s.Rails {
		s.Rails[i].Active = strings.HasSuffix(next(i*fieldsPerRail+4), "ACTIVE")
	}
	return s, nil
}

// wordBytes is the unit of port_xmit_data: 32-bit words (InfiniBand
// specification, PortXmitData; kernel Documentation/ABI/stable/sysfs-class-infiniband).
const wordBytes = 4

// count reads a counter in its unit. One that could not be read is unknown, not 0: the
// difference of the next two would be a spike.
func count(s string, unit uint64) Count {
	v, ok := decimal.Counter(s)
	return Count{Bytes: v * unit, Known: ok}
}
