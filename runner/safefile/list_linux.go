package safefile

import "syscall"

// hasList reports whether a file has an access list next to its permissions.
func hasList(path string) bool {
	n, err := syscall.Getxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}
