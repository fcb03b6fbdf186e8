package change_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
)

// Managers as two machines showed them, of rail0 alone. networkd takes along what is on a link that it
// lets go, unless its file has KeepConfiguration ($KEEPS); NetworkManager leaves it there. Both set
// what they know of once they have it again: the address, and the MTU that their file has.
var daemons = map[string]string{
	"networkctl": `#!/bin/sh
busy
case $* in
reload)
  if [ ! -e /run/systemd/network/00-railbench-rail0.network ]; then
    rm -f /run/let
    has-again
  elif [ ! -e /run/let ]; then
    : >/run/let
    [ "$KEEPS" ] || ip addr flush dev rail0 scope global
  fi
  ;;
*list*) [ ! -e /run/let ] && echo "  3 rail0 ether routable configured" || echo "  3 rail0 ether routable unmanaged" ;;
*) exit 1 ;;
esac
`,
	"nmcli": `#!/bin/sh
busy
case $* in
"device set rail0 managed no") : >/run/let ;;
"device set rail0 managed yes")
  if [ -e /run/let ]; then
    rm /run/let
    has-again
  fi
  ;;
*DEVICE*device) [ ! -e /run/let ] && echo rail0:connected:u || echo rail0:unmanaged: ;;
*) exit 1 ;;
esac
`,
	// It answers no request for a while after a test makes it busy.
	"busy": `#!/bin/sh
if [ -s /run/busy ]; then
  read -r times </run/busy
  [ "$times" = 1 ] && rm /run/busy || echo $((times - 1)) >/run/busy
  sleep 60
fi
`,
	"has-again": `#!/bin/sh
ip addr flush dev rail0 scope global
ip addr add 192.168.100.10/24 brd + dev rail0
# It sets what its file says of IPv6, too.
[ -z "$SETS_IPV6" ] || echo "$SETS_IPV6" >/proc/sys/net/ipv6/conf/rail0/disable_ipv6
[ -z "$PROFILE_MTU" ] || ip link set rail0 mtu "$PROFILE_MTU"
`,
}

// What is on a rail is there while a change has it and after it, whatever its manager takes along or
// sets by its own file: addresses set by hand and announced by a router, routes, and an MTU that is
// another than the file's.
func TestHandsKeepWhatIsThere(t *testing.T) {
	testform.NeedsFull(t, "starts thousands of processes")
	bin := t.TempDir()
	for name, script := range daemons {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const announced = "; ip addr add 2001:db8:7::5/64 dev rail0 valid_lft 3000 preferred_lft 2000 nodad"
	for name, c := range map[string]struct{ by, settings, also string }{
		"networkd":                        {"networkd", "", ""},
		"networkd keeps addresses":        {"networkd", "export KEEPS=yes", ""},
		"networkd sets an MTU":            {"networkd", "export PROFILE_MTU=4000", "; ip link set rail0 mtu 5000"},
		"networkd sets an MTU, and it is": {"networkd", "export PROFILE_MTU=4000", "; ip link set rail0 mtu 4000"},
		"networkd and a router":           {"networkd", "", announced},
		"networkd keeps, and a router":    {"networkd", "export KEEPS=yes", announced},
		"NetworkManager":                  {"NetworkManager", "", ""},
		"NetworkManager sets an MTU":      {"NetworkManager", "export PROFILE_MTU=4000", "; ip link set rail0 mtu 5000"},
		"NetworkManager and a router":     {"NetworkManager", "", announced},
		"NetworkManager, IPv6 off": {
			"NetworkManager", "export SETS_IPV6=0",
			"; echo 1 >/proc/sys/net/ipv6/conf/rail0/disable_ipv6",
		},
		"NetworkManager takes IPv6": {"NetworkManager", "export SETS_IPV6=1", ""},
		"networkd, IPv6 off": {
			"networkd", "export SETS_IPV6=0",
			"; echo 1 >/proc/sys/net/ipv6/conf/rail0/disable_ipv6",
		},
		"NetworkManager is busy":            {"NetworkManager", "echo 2 >/run/busy", ""},
		"networkd is busy":                  {"networkd", "echo 2 >/run/busy", ""},
		"NetworkManager sets it, and it is": {"NetworkManager", "export PROFILE_MTU=9000", "; ip link set rail0 mtu 9000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node(t)
			n.Sh("true" + c.also)
			before := look(t, n)
			const addresses = "ip -br addr show dev rail0 | tr ' ' '\\n' | sort\n"
			had := n.Sh(addresses)
			held := before
			held.Managers = change.Managers{Links: map[string][]steps.Manager{
				"rail0": {{
					By: c.by, State: map[string]string{"networkd": "configured", "NetworkManager": "connected"}[c.by],
					ID: "u",
				}},
			}}
			set := []string{"rail0"}
			// ip netns has a script's mounts to itself.
			run := "mount -t tmpfs tmpfs /run; PATH=" + bin + ":$PATH; " + c.settings + "\n" + change.Take(held.Managers, set) +
				addresses + c.settings + "\nip link set rail0 mtu 9100\nip addr flush dev rail0 scope global\n" +
				change.Back(held, set)
			out, err := n.Try(run)
			if err != nil || out != had {
				t.Errorf("%v: taken, it has %q, and had %q", err, out, had)
			}
			if diff := change.Differences(before, look(t, n), all); diff != nil {
				t.Errorf("it is not back: %q", diff)
			}
		})
	}
}
