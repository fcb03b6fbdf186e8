# The supervisor of one script; runner/supervisor.go describes its protocol. It starts the script's shell and no
# other process: it waits for heartbeats, looks for what the script has left and ends that by itself.
# Its arguments are those of supervisor-boot.sh.
use strict;
use warnings;

my (undef, undef, undef, $silence, $spare, undef, $id) = @ARGV;
$SIG{PIPE} = "IGNORE";    # nobody may read its word any more: it cleans up all the same

# Perl has names for system calls only in modules that a small system lacks, so these are the numbers, by the machine
# of this Perl (e_machine of ELF): x86-64 and aarch64.
my %calls = (
    62  => { prctl => 157, setsid => 112, signalfd => 289, mask => 14 },
    183 => { prctl => 167, setsid => 157, signalfd => 74,  mask => 135 },
);
my ($self, $head);
open($self, "<", "/proc/self/exe") and sysread($self, $head, 20);
my $call = $calls{ unpack("x18 v", $head // "\0" x 20) };

# The parent of every process whose own has died (PR_SET_CHILD_SUBREAPER).
if (!$call or syscall($call->{prctl}, 36, 1, 0, 0, 0) != 0) {
    exec "sh", "-c", 'eval "$1"', "railbench-boot", @ARGV or exit 125;
}
$ENV{PATH} = ($ENV{PATH} // "/usr/bin:/bin") . ":/usr/local/sbin:/usr/sbin:/sbin";
delete @ENV{qw(RAILBENCH_PERL RAILBENCH_GROUP RAILBENCH_SCOPE)};
my $group = group();

# A control group below the one that this is in, where one may be made there: no process leaves it by itself.
sub group {
    my $at;
    open(my $f, "<", "/proc/self/cgroup") or return "";
    while (<$f>) { $at = $1 if m{^0::(.*?)/?$} }
    return "" if !defined $at;
    for my $m ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") {
        next if !-w "$m$at" or !-e "$m/cgroup.controllers";
        my $made = "$m$at/railbench-$$";

        # One of this name may be left of a process long gone; it goes where nobody is in it.
        return $made if mkdir($made) or rmdir($made) && mkdir($made);
    }
    return "";
}

sub leave {
    rmdir $group if $group ne "";
    exit shift;
}

# What was read of stdin and not used yet. more waits for more of it, at most so many seconds; it is false at the end
# of the input, or where nothing came in time.
my $in = "";
sub more {
    my ($most) = @_;
    vec(my $want = "", 0, 1) = 1;
    my $got = select($want, undef, undef, $most);
    return $got < 0 || $got > 0 && sysread(STDIN, $in, 65536, length $in);
}

# take waits for a script. A spare waits for as long as a "." comes now and then, and a line may be left of the end of
# a script before; what comes to one that has its id is a password that sudo did not ask for.
my ($beats, $free, $again, $text);
sub take {
    $beats = 0;
    until ($beats) {
        $in =~ s/^[.\n]+// if $id eq "-";
        while (!$beats and $in =~ s/^(.*)\n//) {
            my ($word, $run, $count, $how) = split " ", $1;
            next if ($word // "") ne "begin" or $id ne "-" and $run ne $id;
            ($id, $beats, $free, $again) = ($run, $count, ($how // "") eq "free", ($how // "") eq "again");
        }
        $beats or more($id eq "-" ? $spare : undef) or leave(125);
    }
    my $end;
    until (($end = index("\n$in", "\nend $id\n")) >= 0) {
        more(undef) or leave(125);
    }
    $text = substr($in, 0, $end, "");
    substr($in, 0, length("end $id\n"), "");
}

# Its own lines wait until the other side takes them: a pipe that select finds ready takes a short line at once, and
# one that is full must not keep it from ending the script.
my @lines;
sub flush {
    my ($most) = @_;
    while (@lines) {
        my ($to, $line) = @{ $lines[0] };
        vec(my $ready = "", fileno $to, 1) = 1;
        my $got = select(undef, $ready, undef, $most);
        next   if $got < 0;
        return if $got == 0;
        syswrite($to, $line);
        shift @lines;
    }
}

sub say {
    my ($line, $to) = @_;
    push @lines, [$to // *STDOUT, "\036$id $line\n"];
    flush(0);
}

# SIGCHLD (17) is something to read: one that came between a look and a wait would be lost otherwise.
my $chld = pack("L2", 1 << 16, 0);
syscall($call->{mask}, 0, $chld, 0, 8);
my $ends = syscall($call->{signalfd}, -1, $chld, 8, 02000000);
open(my $signals, "<&=", $ends) or leave(125);
my $told = 0;
$SIG{$_} = sub { $told = 1 } for qw(TERM HUP INT);

my $pid;
sub start {
    say("begun");
    $group = "" if $free and $group ne "" and rmdir $group;
    $pid = fork() // leave(125);
    return if $pid;
    syscall($call->{setsid});
    syscall($call->{mask}, 1, $chld, 0, 8);
    syscall($call->{prctl}, 1, 9, 0, 0, 0);    # without a supervisor it ends (PR_SET_PDEATHSIG)
    $SIG{PIPE} = "DEFAULT";
    open(STDIN, "<", "/dev/null");
    $ENV{RAILBENCH_CATCHES} = "parent";
    if ($group ne "" and open(my $f, ">", "$group/cgroup.procs")) {
        $ENV{RAILBENCH_CATCHES} = "group" if syswrite($f, "0");
    }
    @ENV{qw(LC_ALL RAILBENCH_RUN RAILBENCH_TEXT)} = ("C", $id, $text);

    # In the environment, which only its user can read: there may be a password among the values.
    exec "sh", "-c", 's=$RAILBENCH_TEXT; unset RAILBENCH_TEXT; eval "$s"', "railbench" or kill "KILL", $$;
}

# reap takes the status of what has ended, and tells the script's.
sub reap {
    while ((my $gone = waitpid(-1, 1)) > 0) {
        say("exit " . ($? & 127 ? 128 + ($? & 127) : $? >> 8)) if $gone == $pid;
    }
}

# watch takes the heartbeats, until one is missing, or something else comes, or there were so many that the limit is
# reached. It is true where the other side asked for the end by a byte: it is there.
sub watch {
    my ($seen, $left) = (0, $silence);
    while (!$told) {
        ($seen, $left) = ($seen + length $1, $silence) if $in =~ s/^(\.+)//;
        return 1 if $in ne "";
        if ($seen >= $beats) {
            say("limit");
            return 0;
        }
        my ($want, $ready) = ("", "");
        vec($want,  $_,                     1) = 1 for 0, $ends;
        vec($ready, fileno $lines[0]->[0], 1) = 1 if @lines;
        (my $got, $left) = select($want, @lines ? $ready : undef, undef, $left);
        next if $got < 0;
        if ($got == 0) {
            say("silent");
            return 0;
        }
        flush(0);
        if (vec($want, $ends, 1)) {
            sysread($signals, my $signal, 2048);
            reap();
        }
        return 0 if vec($want, 0, 1) and !sysread(STDIN, $in, 65536);
    }
    return 0;
}

# ours are the numbers of all processes of the script: by its group, its session, its mark, and their parent.
sub ours {
    my %ours;
    if ($group ne "" and open(my $f, "<", "$group/cgroup.procs")) {
        chomp(my @all = <$f>);
        @ours{@all} = ();
    }
    opendir(my $proc, "/proc") or return;
    for my $p (grep { /^\d+$/ && $_ != $$ } readdir $proc) {
        open(my $f, "<", "/proc/$p/stat") or next;
        my $stat = <$f> // next;
        my ($state, $parent, $leads, $session) = split " ", substr($stat, rindex($stat, ") ") + 2);
        if ($state =~ /[ZX]/) {
            delete $ours{$p};
        } elsif ($leads == $pid or $session == $pid or $parent == $$ and !$free) {
            $ours{$p} = undef;
        } elsif (!exists $ours{$p} and open(my $e, "<", "/proc/$p/environ")) {
            local $/;
            my $variables = <$e> // "";
            $ours{$p} = undef if index("\0$variables", "\0RAILBENCH_RUN=$id\0") >= 0;
        }
    }
    return sort { $a <=> $b } keys %ours;
}

sub send_all {
    my ($signal, @all) = @_;
    kill $signal, $_ for @all;
}

# clear ends what is left, and gives what it could not end. Each is sent one TERM: a second one could end what the
# first made it clean up. What is left after two seconds is killed, all at once: who forks faster than this looks would
# get away.
sub clear {
    my @all;
    for (my $look = 0; @all = ours() and $look < 60; $look++) {
        send_all("TERM", @all) if $look == 0;
        if ($look >= 20) {
            if ($group ne "" and open(my $f, ">", "$group/cgroup.kill")) { syswrite($f, "1") }
            send_all("KILL", @all);
        }
        select(undef, undef, undef, 0.1);
        reap();
        flush(0);
    }
    reap();
    return @all;
}

for (;;) {
    take();
    start();
    my $there = watch();
    my @held  = clear();
    if (@held) {
        my $names = "";
        for my $p (@held) {
            open(my $f, "<", "/proc/$p/comm") or next;
            chomp(my $name = <$f> // "");
            $names .= " $p ($name)";
        }
        say("held$names");
    }
    last if !$again or !$there or @held or $told;

    # Nothing else holds the streams, so they can be another script's.
    say("over again", *STDERR);
    say("over again");
    flush(undef);
    ($id, $in) = ("-", "");
}
say("over");
flush(undef);
leave(0);
