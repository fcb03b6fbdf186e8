# Says how a user becomes root, for runner/sudo.go. It asks with -k first, which looks at no time stamp of an earlier
# password.
[ "$(id -u)" != 0 ] || { echo root; exit 0; }
command -v sudo >/dev/null || { echo missing; exit 0; }
why=$(sudo -k -n true 2>&1) && { echo free; exit 0; }
sudo -n true 2>/dev/null && { echo stamp; exit 0; }
case $why in
	*"must have a tty"*) echo terminal ;;
	*) echo password ;;
esac
