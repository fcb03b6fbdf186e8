# shellcheck shell=bash
# What the scripts of .ci share. They source it from the repository's root.

began=$SECONDS
say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - began)); }

# A scratch folder, which end removes with everything that was started.
work=$(mktemp -d)
chmod 755 "$work"
bin=$work/railbench
end() {
	local job state
	for job in $(jobs -p); do kill -- "-$job" 2>/dev/null || true; done # what a failure has left
	for state in "$work"/rig*; do
		[ ! -d "$state" ] || RIG_STATE=$state "$bin" rig down >/dev/null 2>&1 || true
	done
	rm -rf "$work"
}
trap end EXIT

join() { # join PID LOG: wait for a background job, and show its output where it failed
	wait "$1" || { tail -200 "$2"; exit 1; }
}

root() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# install PACKAGE...: container images delete apt's own cache after every dpkg run, so another one is used.
install() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q
	mkdir -p "$work/apt/partial"
	apt-get -q -o Dir::Cache::archives="$work/apt" install -y --no-install-recommends "$@"
	rm -rf "$work/apt"
}

# What the full form of the tests calls.
# shellcheck disable=SC2034
tools=(openssh-server openssh-client iproute2 iputils-ping iperf3 perftest ibverbs-utils tmux
	dash busybox-static sudo curl acl strace
	python3 python3-nbformat chromium
	bash-completion zsh fish mandoc libxml2-utils
	slurm-wlm munge openmpi-bin clustershell ansible-core)
# What builds and boots virtual machines, and tries a release for arm64.
# shellcheck disable=SC2034
machines=(qemu-system-x86 qemu-user mmdebstrap e2fsprogs cpio)

# where PATTERN lists the folders of the Go files that have it.
where() { git grep -lE "$1" -- 'cmd/*.go' 'runner/*.go' 'steps/*.go' 'tui/*.go' | xargs -n1 dirname | sort -u | sed 's|^|./|'; }
