# Makes a folder from which programs can be run, after upload.sh, reports its name and waits. Where it is ended it
# clears the folder: the traps stand before there is one, and a second signal doesn't end the clearing that the first
# one began. A shell says of a job that was ended "Terminated", and where the connection is gone that ends the shell by
# SIGPIPE, unless it minds none.
umask 077
dir=
trap '[ -z "$dir" ] || rm -rf "$dir"' EXIT
trap 'trap "" HUP INT TERM; exit 0' HUP INT TERM
trap '' PIPE
place
printf '%s\n' "$dir"
while :; do
	sleep 3600 &
	wait "$!"
done
