# Gives the command that stands after this the environment that it would have in a batch script on its node, for
# runner/slurm.go; the arguments are NAME=VALUE. That of its step says that there is this one node, this one task and no
# MPI, and an srun or mpirun that is started there takes it for what it was asked for. It begins as a login does: in the
# user's folder, where there is one.
cd "${HOME:-/}" 2>/dev/null || cd /
for v in $(env | sed -n -E 's/^((SLURM_|SRUN_|PMI)[A-Za-z0-9_]*)=.*/\1/p'); do
	case $v in
	SLURM_CONF | SLURM_CLUSTERS | SLURM_CLUSTER_NAME) ;;
	*) unset "$v" ;;
	esac
done
# shellcheck disable=SC2163
export "$@"
