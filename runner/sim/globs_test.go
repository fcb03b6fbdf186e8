package sim

import "testing"

// A pattern that a command has as it stands is the node's to expand, one in a variable the interpreter's: both
// name the same.
func TestGlobs(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, p := range []string{
		"/sys/class/infiniband/*/ports/*/counters/*", "/sys/class/infiniband/*/ports/*/hw_counters/*",
		"/sys/class/net/*/statistics/?x_bytes", "/sys/class/net/*/mtu", "/sys/class/net/[!e]*",
		"/sys/class/net/en[op]*/carrier",
		"/sys/class/*/*", "/sys/*/net/lo", "/sys/class/net/*/nosuch", "/sys/class/net/lo/mtu/*", "/sys/nosuch/*/mtu",
		"/sys/class/net/*/device", "/sys/class/net/*/device/", "/sys/class//net/*", "/sys/class/net/../*", "/sys/class/net/[",
		"/sys/class/infiniband/*/device/net/*", "/sys/bus/pci/devices/*/current_link_*", "/sys/*",
	} {
		want := b.must("spark-01", "p='"+p+"'; set -- $p; echo \"$#\" $p")
		if got := b.must("spark-01", "set -- "+p+"; echo \"$#\" "+p); got != want {
			t.Errorf("%s\n got %swant %s", p, got, want)
		}
	}
	for command, want := range map[string]string{
		"bash -c 'echo /sys/class/net/{l?,x*}'":              "/sys/class/net/lo /sys/class/net/x*\n",
		"set -f; echo /sys/class/net/*":                      "/sys/class/net/*\n",
		"echo '/sys/class/net/*' \"/sys/class/net/*\"":       "/sys/class/net/* /sys/class/net/*\n",
		"eval 'command echo /sys/class/net/l?'":              "/sys/class/net/lo\n",
		"f() { echo $#; }; f x /sys/class/net/lo/mt*":        "2\n",
		"[ -e /sys/class/net/l* ] && echo /sys/class/net/l*": "/sys/class/net/lo\n",
	} {
		if got := b.must("spark-01", command); got != want {
			t.Errorf("%s\n got %swant %s", command, got, want)
		}
	}
}
