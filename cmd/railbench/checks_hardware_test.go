package main

// hardwareMay is mayFind's for the checks of the hardware.
var hardwareMay = map[string][]string{}
