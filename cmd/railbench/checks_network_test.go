package main

// networkMay is mayFind's for the checks of the network.
var networkMay = map[string][]string{
	"duplicate-ip":   {"reboot-safe"}, // the address that is there twice is in no configuration
	"rail-unmanaged": {"reboot-safe"},
	"profile-stray":  {"reboot-safe"},               // what was set beside its lease is in no configuration
	"manager-mute":   {"reboot-safe"},               // nobody tells whether a profile has the addresses
	"mtu-mismatch":   {"reboot-safe", "rail-speed"}, // nor is an MTU that was set by hand
	"link-down":      {"routes"},                    // what is down has no way
	// Its packets go to another function.
	"arp-flux": {"rail-speed", "nixl-rails", "nixl-threads"},
	"crossed":  {"rail-speed", "nixl-rails", "nixl-threads"},
	// What nothing reaches any more can't be looked at.
	"address-returned": {"reboot-safe", "path-loss", "duplicate-ip", "arp-flux", "mtu-equal", "rail-bond", "bond-health", "rail-speed", "ping", "link-up", "nixl-rails", "nixl-threads"},
	// It was made by hand, beside a manager that may take its links back.
	"bond-left-over": {"reboot-safe", "rail-managers"},
	// What a test per rail needs is not there.
	"roce-lag": {"reboot-safe", "rail-managers", "adapter-present", "rail-speed", "nixl-rails", "nixl-threads"},
}
