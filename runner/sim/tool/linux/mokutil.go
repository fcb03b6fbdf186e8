package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

func runMokutil(_ context.Context, c *host.Call) int {
	for _, a := range c.Args[1:] {
		switch a {
		case "--sb-state":
			c.Println("SecureBoot enabled")
			return 0
		// Ubuntu's own key and none of the user's, with which he could sign a module.
		case "--list-enrolled", "-l":
			c.Println("[key 1]\nSHA1 Fingerprint: 76:a0:92:06:58:00:bf:37:69:01:c3:72:cd:55:a9:0e:1f:de:d2:e0\n" +
				"        Issuer: C=GB, ST=Isle of Man, L=Douglas, O=Canonical Ltd., " +
				"CN=Canonical Ltd. Master Certificate Authority")
			return 0
		}
	}
	return c.Fail(255, "Usage:\n  mokutil OPTIONS [ARGS...]")
}
