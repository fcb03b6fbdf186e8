# inside runs a script, its standard input, in the container that CONTAINER names, of docker or of podman; steps/session
# writes the call. It ends with STATUS where there is no such container.
inside() { # STATUS OPTION-OF-EXEC...
	for engine in docker podman; do
		if command -v "$engine" >/dev/null && "$engine" inspect "$CONTAINER" </dev/null >/dev/null 2>&1; then
			shift
			"$engine" exec -i "$@" "$CONTAINER" sh -s
			return
		fi
	done
	echo "there is no container $CONTAINER here that docker or podman shows to this user" >&2
	exit "$1"
}
