# The sampler of Perl: as sampler-loop.sh, with Perl's own words. It opens its files anew every ten seconds and where
# one can't be read: a device that went and came again under its name is another one.
use strict; use warnings;
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
}
