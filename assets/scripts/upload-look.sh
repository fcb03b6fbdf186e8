# Finds out what a node has and is, after upload.sh. A program that another user could exchange before it runs is none:
# it is not even asked for its version.
uname -s
uname -m
found=$(command -v railbench) || exit 0
real=$(readlink -f "$found" 2>/dev/null) || real=$found
own "$real" || exit 0
printf '%s\n' "$real"
"$real" --version 2>/dev/null | head -n 1
sha256sum "$real" 2>/dev/null | cut -d ' ' -f 1
exit 0
