# What a node has of NCCL and is told of it, as facts: each NCCL that a program of this login would find, and each
# setting with the place that has it. $NIXL_PYTHON is the Python that is asked.
echo "looked at: the loader, nccl-tests, Python, the environment and the files with settings"
PATH=$PATH:/usr/sbin:/sbin:$HOME/nccl-tests/build:/usr/local/nccl-tests/build
release() { # WHO FILE: a library's file has its whole version in its name
	file=$(readlink -f "$2") || return
	case $file in
	*.so.*.*) echo "nccl $1: ${file##*.so.}" ;;
	*) echo "nccl $1: (no version) $file" ;;
	esac
}
command -v ldconfig >/dev/null || echo "not asked loader: there is no ldconfig"
ldconfig -p 2>/dev/null | while read -r line; do
	case $line in
	'libnccl.so.2 '*) release loader "${line##*=> }" ;;
	esac
done
if where=$(command -v all_reduce_perf); then
	ldd "$where" 2>/dev/null | while read -r name _ file rest; do
		case $name-$file in
		libnccl.so.2-/*) release nccl-tests "$file" ;;
		esac
	done
fi
# A shim of pyenv's starts some fifty processes to find the Python that it stands for.
python=$NIXL_PYTHON
case $(command -v "$NIXL_PYTHON") in
*/shims/"$NIXL_PYTHON")
	root=$(command -v "$NIXL_PYTHON")
	root=${root%/shims/*} version=${PYENV_VERSION-} words=$IFS IFS=:
	for file in ./.python-version "$root/version"; do
		[ -n "$version" ] || { read -r version <"$file"; } 2>/dev/null
	done
	for dir in "$root/versions/${version:-system}/bin" $PATH; do
		if [ "$python" = "$NIXL_PYTHON" ] && [ "${dir##*/}" != shims ] && [ -x "$dir/$NIXL_PYTHON" ]; then
			python=$dir/$NIXL_PYTHON
		fi
	done
	IFS=$words
	;;
esac
if command -v "$python" >/dev/null; then
	"$python" -c 'from importlib.metadata import distributions
for d in distributions():
    name = d.metadata["Name"] or ""
    if name.startswith("nvidia-nccl"):
        print("nccl", name + ":", d.version)'
else
	echo "not asked Python: there is no $NIXL_PYTHON"
fi
env | while IFS='=' read -r name value; do
	case $name in
	NCCL_?*) echo "environment $name: ${value:-(empty)}" ;;
	esac
done
for file in /etc/environment /etc/profile.d/*.sh ~/.bashrc ~/.profile \
	/etc/nccl.conf ~/.nccl.conf; do
	[ -r "$file" ] || continue
	# The last line may have no end, and read says then that there was none.
	while read -r line || [ -n "$line" ]; do
		line=${line#export }
		value=${line#*=}
		case $line in
		NCCL_?*=*) echo "$file ${line%%=*}: ${value:-(empty)}" ;;
		esac
	done <"$file"
done
if command -v ss >/dev/null; then
	ss -H -ltnp | while read -r _ _ _ address _ rest; do
		case $address in
		*:29500) echo "port 29500: $address $rest" ;;
		esac
	done
fi
exit 0
