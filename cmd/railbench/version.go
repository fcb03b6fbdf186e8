package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// stamp is "VERSION COMMIT DATE", written by the linker where a release is built
// (.goreleaser.yaml). Every other build says what the go command knows: go install has
// the module's version, and a build in a clone the revision.
var stamp string

// An edition is what this program was made of. Of a build outside a clone no one knows the commit and the date: those
// are empty then.
type edition struct {
	version, commit, date string
	goVersion, platform   string
}

func thisEdition() edition {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return editionOf(stamp, info)
}

// editionOf takes a release's stamp before what Go says. A build of a clone with changes that are in no commit
// says so.
func editionOf(stamp string, info *debug.BuildInfo) edition {
	b := edition{goVersion: cmp.Or(info.GoVersion, runtime.Version()), platform: runtime.GOOS + "/" + runtime.GOARCH}
	if v := info.Main.Version; v != "(devel)" {
		b.version = v
	}
	changes := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changes = "+changes"
			}
		}
	}
	if b.commit != "" {
		b.commit = short(b.commit)
		if b.version == "" {
			b.version = "devel-" + b.commit
		}
		b.commit += changes
	}
	if words := strings.Fields(stamp); len(words) == 3 {
		b.version, b.commit, b.date = words[0], short(words[1]), words[2]
	}
	b.version = cmp.Or(b.version, "devel")
	return b
}

// short is as much of a commit as no one has twice.
func short(commit string) string { return commit[:min(len(commit), 12)] }

// String is one line, for people and for a bug report.
func (b edition) String() string {
	known := []string{}
	for _, s := range []string{b.commit, b.date, b.goVersion, b.platform} {
		if s != "" {
			known = append(known, s)
		}
	}
	return fmt.Sprintf("%s (%s)", b.version, strings.Join(known, ", "))
}

// version is what stands in sessions, reports and pages: the one that made them.
func version() string { return thisEdition().version }
