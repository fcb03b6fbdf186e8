package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// mostLinks bounds the links on the way to a path, as the kernel does.
const mostLinks = 40

// way says why another user could exchange what a path leads to: one of the folders on the path, through
// every link, does not belong to one of owners, or others may write there. In a folder such as /tmp everybody
// may write, but only the owner of a file can remove it. Such a folder is accepted on the path, and last says
// whether it is also accepted as the folder that the path leads to. A path that does not exist yet belongs to
// no user.
func way(path string, owners []int, last bool) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, left := "/", split(whole)
	for links := 0; ; {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return &Refused{at, "its owner is unknown"}
		case !slices.Contains(owners, int(owner.Uid)) && !outside(owner.Uid):
			return &Refused{at, fmt.Sprintf("it belongs to another user (user id %d), who could put another thing in its "+
				"place: use one of your own", owner.Uid)}
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if links++; links > mostLinks {
				return &Refused{path, "there are too many links on the way to it"}
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at, left = "/", append(split(to), left...)
			continue
		}
		sticky := info.Mode()&os.ModeSticky != 0 && (len(left) > 0 || last)
		if others := writers(at, info, owner.Gid); others != "" && !sticky {
			return &Refused{at, others + " may write there, so nothing of it is used: chmod go-w takes that away"}
		}
		if len(left) == 0 {
			return nil
		}
		at, left = filepath.Join(at, left[0]), left[1:]
	}
}

func split(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.Clean(path), "/"), func(s string) bool { return s == "" })
}

// writers names who may write next to the owner; empty for no one.
func writers(path string, info fs.FileInfo, gid uint32) string {
	switch {
	case info.Mode().Perm()&0o002 != 0:
		return "everybody"
	case info.Mode().Perm()&0o020 == 0:
		return "" // an access list, too, gives no more than the group's bits
	case hasList(path):
		return "a user of its access list"
	case gid == 0 || alone(gid):
		return ""
	}
	return fmt.Sprintf("its group (group id %d)", gid)
}

// alone reports whether no one but this user and root is in a group, as this machine's files have it: a group of the
// user's own, or one that no one uses.
func alone(gid uint32) bool {
	passwd, err := Read("/etc/passwd", accountsLimit)
	if err != nil {
		return false
	}
	groups, err := Read("/etc/group", accountsLimit)
	if err != nil {
		return false
	}
	own := map[string]bool{"": true, "root": true}
	for line := range strings.Lines(string(passwd)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 {
			continue
		}
		if f[2] == strconv.Itoa(os.Geteuid()) || f[2] == "0" {
			own[f[0]] = true
		} else if f[3] == strconv.Itoa(int(gid)) {
			return false
		}
	}
	known := false
	for line := range strings.Lines(string(groups)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[2] != strconv.Itoa(int(gid)) {
			continue
		}
		known = true
		for member := range strings.SplitSeq(f[3], ",") {
			if !own[member] {
				return false
			}
		}
	}
	return known
}

const accountsLimit = 16 << 20

// outside reports whether a user id stands for all those that this process's user namespace doesn't have, as root is
// in a container that is not a root's.
func outside(uid uint32) bool {
	space, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	if f := strings.Fields(string(space)); len(f) == 3 && f[0] == "0" && f[1] == "0" && f[2] == "4294967295" {
		return false
	}
	none, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	return err == nil && strings.TrimSpace(string(none)) == strconv.Itoa(int(uid))
}
