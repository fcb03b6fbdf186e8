package safefile

import "syscall"

func setList(path string, list []byte) error {
	return syscall.Setxattr(path, "system.posix_acl_access", list, 0)
}
