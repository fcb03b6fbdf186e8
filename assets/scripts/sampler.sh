# Prints samples until it is ended; steps/meter reads it, and gives PERL and LOOP, the samplers, RAILS, INTERVAL
# and IDLE. A perl keeps its files open and reads one again by two system calls; a bash opens, reads and closes one by
# ten, and takes more of a core. Both read, ask the clock and wait in one process. Any other shell forks three times a
# sample.
export RAILS INTERVAL IDLE
if PERL_BADLANG=0 perl -MTime::HiRes -e 1 2>/dev/null; then
	PERL_BADLANG=0 exec perl -e "$PERL"
fi
if command -v bash >/dev/null; then
	exec bash -c "$LOOP"
fi
eval "$LOOP"
