package main

// networkMay is mayFind's for the checks of the network.
var networkMay = map[string][]string{
	"duplicate-ip":   {"reboot-safe"}, // the address that is there twice is in no configuration
	"rail-unmanaged": {"reboot-safe"},
	"bond-left-over": {"reboot-safe"}, // it was made by hand
	// What a test per rail needs is not there.
	"roce-lag": {"reboot-safe", "adapter-present", "rail-speed", "nixl-rails", "nixl-threads"},
}
