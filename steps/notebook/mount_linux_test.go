package notebook

import "syscall"

// mountSmall makes a folder a file system of 512 KiB; only root can.
func mountSmall(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k")
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
