package main

import (
	"runtime/debug"
	"testing"
)

func TestEditionSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	settings := func(pairs ...string) (all []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		name, stamp   string
		main          string
		settings      []debug.BuildSetting
		version, line string
	}{
		{
			"a release", "v1.2.0 " + commit + " 2026-11-22T03:00:00Z", "(devel)", nil,
			"v1.2.0", "v1.2.0 (0123456789ab, 2026-11-22T03:00:00Z, go1.26.8, ",
		},
		{"go install", "", "v1.2.0", nil, "v1.2.0", "v1.2.0 (go1.26.8, "},
		{
			"a clone", "", "(devel)",
			settings("vcs.revision", commit, "vcs.time", "2026-11-22T03:00:00Z", "vcs.modified", "false"),
			"devel-0123456789ab", "devel-0123456789ab (0123456789ab, 2026-11-22T03:00:00Z, go1.26.8, ",
		},
		{
			"a clone with changes", "", "", settings("vcs.revision", commit, "vcs.modified", "true"),
			"devel-0123456789ab", "devel-0123456789ab (0123456789ab+changes, go1.26.8, ",
		},
		{"without a clone", "", "(devel)", nil, "devel", "devel (go1.26.8, "},
		{"a stamp that is cut short is none", "v1.2.0", "(devel)", nil, "devel", "devel (go1.26.8, "},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: c.main}, Settings: c.settings}
		b := editionOf(c.stamp, info)
		if b.version != c.version {
			t.Errorf("%s: version %q, want %q", c.name, b.version, c.version)
		}
		if want := c.line + b.platform + ")"; b.String() != want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), want)
		}
	}
}
