package main

// networkMay is mayFind's for the checks of the network.
var networkMay = map[string][]string{}
