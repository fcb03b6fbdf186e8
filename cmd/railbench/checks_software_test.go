package main

// nixlTests are the checks that run nixlbench: what keeps that from running, or what
// else moves bytes meanwhile, shows in them too.
var nixlTests = []string{"nixl-rails", "nixl-threads"}

// softwareMay is mayFind's for the checks of the software.
var softwareMay = map[string][]string{
	"bond-left-over":  nixlTests,
	"cable-unplugged": nixlTests,
	"container-bare":  {"rdma-ports", "memlock"}, // which look into it, too
	"counter-missing": {"nixl-rails"},
	"counter-reset":   {"nixl-rails"},
	"hog":             {"nixl-rails"},
	"library-missing": append([]string{"versions"}, nixlTests...), // it doesn't start, and so tells no version
	"link-down":       {"nixl-rails"},
	"memlock":         nixlTests,
	"nixl-missing":    nixlTests,
	"pauses":          {"nixl-rails"},
	"retransmits":     {"nixl-rails"},
	"ucx-mismatch":    nixlTests,
	"ucx-no-verbs":    nixlTests,
}
