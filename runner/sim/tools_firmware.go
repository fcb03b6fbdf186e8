package sim

import (
	"context"
)

func runMokutil(_ context.Context, c *call) int {
	for _, a := range c.args[1:] {
		switch a {
		case "--sb-state":
			c.println("SecureBoot enabled")
			return 0
		case "--list-enrolled", "-l":
			c.println("[key 1]\nSHA1 Fingerprint: 76:a0:92:06:58:00:bf:37:69:01:c3:72:cd:55:a9:0e:1f:de:d2:e0\n" +
				"        Issuer: C=GB, ST=Isle of Man, L=Douglas, O=Canonical Ltd., " +
				"CN=Canonical Ltd. Master Certificate Authority")
			return 0
		}
	}
	return c.fail(255, "Usage:\n  mokutil OPTIONS [ARGS...]")
}

// runMgetTemp is of NVIDIA's firmware tools (mft), which are root's.
func runMgetTemp(_ context.Context, c *call) int {
	set, _, ok := c.flags("d")
	if !ok || !has(set, "d") {
		return c.fail(1, "-E- Missing device, use -d <device>")
	}
	if !c.root {
		return c.fail(1, "-E- Cannot open Device: %s. Permission denied", last(set, 'd', ""))
	}
	device, degrees := last(set, 'd', ""), 0
	c.locked(func() {
		for _, f := range c.node.Present() {
			if f.PCI == device || f.PCI == "0000:"+device || f.Dev == device {
				degrees = c.node.degrees(f)
			}
		}
	})
	if degrees == 0 {
		return c.fail(1, "-E- Cannot open Device: %s. No such file or directory", device)
	}
	c.printf("%-14d\n", degrees)
	return 0
}
