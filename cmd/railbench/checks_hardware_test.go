package main

// hardwareMay is mayFind's for the checks of the hardware.
var hardwareMay = map[string][]string{
	// A function that its driver has left has no sensor that could be read.
	"adapter-lost": {"adapter-temperature"},
	// A rail in a bond is not measured by itself.
	"bond-left-over": {"rail-speed"},
	// The client does not reach its server.
	"firewall": {"rail-speed"},
	// It is not started: it would disturb what runs there.
	"hog":          {"rail-speed"},
	"tool-missing": {"rail-speed"},
}
