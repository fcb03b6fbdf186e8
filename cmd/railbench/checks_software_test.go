package main

// softwareMay is mayFind's for the checks of the software.
var softwareMay = map[string][]string{}
