# The functions of upload-look.sh and upload-hold.sh, by which steps/upload gives a node railbench's own program.

# own reports whether no one but this user and root can put another thing in the place of a path without links: whose
# it is, and every folder above it, and who may write there. The group's bit is enough: a user's own group may have
# others in it, and what an access list gives is seen there. A folder such as /tmp lets no one take away what is in it.
# A path with a line's end or an escape would be read as another one here.
own() {
	at=$1
	case $at in *[[:cntrl:]]*) return 1 ;; esac
	# shellcheck disable=SC2046
	set -- $(ls -ldn / 2>/dev/null)
	top=$3 me=$(id -u)
	while :; do
		# shellcheck disable=SC2046
		set -- $(ls -ldn "$at" 2>/dev/null)
		case $3 in
		0 | "$me" | "$top") ;;
		*) return 1 ;;
		esac
		case $1 in
		d????????[tT]*) ;;
		?????w* | ????????w*) return 1 ;;
		[d-]*) ;;
		*) return 1 ;;
		esac
		case $at in
		/) return 0 ;;
		/*) ;;
		*) return 1 ;;
		esac
		at=${at%/*}
		at=${at:-/}
	done
}

# place makes $dir. Its path has no links: whose they are doesn't matter then.
place() {
	for base in "${TMPDIR:-/tmp}" /var/tmp "$HOME"; do
		base=$(cd -P -- "$base" 2>/dev/null && pwd -P) || continue
		own "$base" || continue
		dir=$(mktemp -d "${base%/}/railbench-run.XXXXXX" 2>/dev/null) || { dir=; continue; }
		printf '#!/bin/sh\nexit 0\n' >"$dir/try"
		chmod 700 "$dir/try"
		if own "$dir" && "$dir/try" 2>/dev/null; then
			rm "$dir/try"
			break
		fi
		rm -rf "$dir"
		dir=
	done
	if [ -z "$dir" ]; then
		echo 'no folder for temporary files is safe from others and lets programs run' >&2
		exit 1
	fi
}
