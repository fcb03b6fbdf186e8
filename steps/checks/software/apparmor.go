package software

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

var (
	auditField = lazyregexp.New(`\b(profile|name|comm|operation|info)="([^"]*)"`)
	// The number after the time grows with every line of a boot, whatever the clock does.
	auditStamp = lazyregexp.New(`^[0-9]+\.[0-9]+:([0-9]+)\): `)
)

// auditLine is what a line of the kernel's audit says, and its number in this boot; 0 where it has none.
type auditLine struct {
	number uint64
	fields map[string]string
}

func readAudit(line string) auditLine {
	l := auditLine{fields: map[string]string{}}
	if m := auditStamp.Regexp().FindStringSubmatch(line); m != nil {
		l.number, _ = strictnum.Counter(m[1]) // its pattern has digits alone
	}
	for _, m := range auditField.Regexp().FindAllStringSubmatch(line, 20) {
		l.fields[m[1]] = m[2]
	}
	return l
}

// loadedProfiles is when each profile was last replaced or removed in this boot. One that the kernel
// skipped because it was the same is as it was.
func loadedProfiles(f map[string]string) map[string]uint64 {
	loaded := map[string]uint64{}
	for n := 1; f[fmt.Sprintf("loaded %d", n)] != ""; n++ {
		l := readAudit(f[fmt.Sprintf("loaded %d", n)])
		if !strings.HasPrefix(l.fields["info"], "same as current profile") {
			loaded[l.fields["name"]] = max(loaded[l.fields["name"]], l.number)
		}
	}
	return loaded
}

// judgeAppArmor: the kernel's log has no denial of a test's tool. Where the profile was replaced or removed
// since, the effect is unknown before the next run: that is a WARN.
func judgeAppArmor(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var off, unread []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		rep.ShowAt(node, "AppArmor", registry.OrUnknown(f["AppArmor"]), "", nil)
		switch {
		case !slices.Contains([]string{"Y", "N", "no"}, f["AppArmor"]):
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the state of AppArmor on %s", node)
		case f["AppArmor"] != "Y":
			off = append(off, node)
		case f["kernel log"] == "refused":
			unread = append(unread, node)
		case f["kernel log"] != "read":
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the kernel log on %s", node)
		}
		said, loaded := map[string]bool{}, loadedProfiles(f)
		for n := 1; f[fmt.Sprintf("denied %d", n)] != ""; n++ {
			line := f[fmt.Sprintf("denied %d", n)]
			rep.ShowAt(node, fmt.Sprintf("denied, %d", n), line, "", nil)
			l := readAudit(line)
			d := l.fields
			if l.number > 0 && l.number < loaded[d["profile"]] {
				text := fmt.Sprintf("AppArmor on %s refused %s something (profile %s), but the profile has changed since. Run "+
					"the test again", node, registry.OrUnknown(d["comm"]), registry.OrUnknown(d["profile"]))
				if !said[text] {
					rep.At(r.Rig, e, steps.AppArmorChanged, steps.Warn, "%s", text)
				}
				said[text] = true
				continue
			}
			what := strings.TrimSpace(d["operation"] + " " + d["name"])
			text := fmt.Sprintf("AppArmor on %s refuses %s: %s (profile %s). Run: sudo aa-complain %s", node,
				registry.OrUnknown(d["comm"]), registry.OrUnknown(what), registry.OrUnknown(d["profile"]),
				registry.OrUnknown(d["profile"]))
			if !said[text] {
				rep.At(r.Rig, e, steps.AppArmorRefuses, steps.Fail, "%s", text)
				rep.Explain("aa-complain lets the tool work and logs what the profile would refuse")
				rep.Decide(fmt.Sprintf("%s denied, %d", node, n))
			}
			said[text] = true
		}
	}
	switch {
	case len(unread) > 0 && len(rep.Findings) == 0:
		return rep.Skipped(steps.Unreadable, "could not read the kernel log on %s (groups adm and systemd-journal may), so "+
			"refusals by AppArmor are unknown", registry.And(unread))
	case len(off) == len(steps.Ends):
		return rep.Verdict("AppArmor is off on both nodes")
	case len(off) > 0:
		return rep.Verdict(fmt.Sprintf("AppArmor refused no test tool since the boot, and is off on %s", registry.And(off)))
	}
	return rep.Verdict("AppArmor refused no test tool since the boot on either node")
}
