package software

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/pattern"
)

var auditField = pattern.New(`\b(profile|name|comm|operation|requested_mask)="([^"]*)"`)

// judgeAppArmor: the kernel's log has no denial of a test's tool.
func judgeAppArmor(r steps.Result, facts [2]map[string]string, rep *kind.Report) steps.Verdict {
	var off, unread []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		rep.Show(node+" AppArmor", kind.OrUnknown(f["AppArmor"]), "", nil)
		switch {
		case f["AppArmor"] == "":
			rep.At(r.Rig, e, steps.Inconclusive, "%s does not tell whether AppArmor is on", node)
		case f["AppArmor"] != "Y":
			off = append(off, node)
		case f["kernel log"] == "refused":
			unread = append(unread, node)
		case f["kernel log"] != "read":
			rep.At(r.Rig, e, steps.Inconclusive, "the kernel's log was not read on %s", node)
		}
		said := map[string]bool{}
		for n := 1; f[fmt.Sprintf("denied %d", n)] != ""; n++ {
			line := f[fmt.Sprintf("denied %d", n)]
			rep.Show(fmt.Sprintf("%s denied, %d", node, n), line, "", nil)
			d := map[string]string{}
			for _, m := range auditField.FindAllStringSubmatch(line, 20) {
				d[m[1]] = m[2]
			}
			what := strings.TrimSpace(d["operation"] + " " + d["name"])
			text := fmt.Sprintf("AppArmor on %s refuses %s: %s (profile %s); sudo aa-complain %s lets it pass and "+
				"writes it down", node, kind.OrUnknown(d["comm"]), kind.OrUnknown(what), kind.OrUnknown(d["profile"]), kind.OrUnknown(d["profile"]))
			if !said[text] {
				rep.At(r.Rig, e, steps.Fail, "%s", text)
			}
			said[text] = true
		}
	}
	switch {
	case len(unread) > 0 && len(rep.Findings) == 0:
		return rep.Skipped("the kernel's log may not be read on %s, so nobody saw whether AppArmor refuses a tool "+
			"something: the groups adm and systemd-journal may read it", kind.And(unread))
	case len(off) == len(steps.Ends):
		return rep.Verdict("AppArmor is off on both nodes")
	case len(off) > 0:
		return rep.Verdict(fmt.Sprintf("AppArmor refused no tool of the tests anything since the boot, and is off on %s",
			kind.And(off)))
	}
	return rep.Verdict("AppArmor refused no tool of the tests anything since the boot, on either node")
}
