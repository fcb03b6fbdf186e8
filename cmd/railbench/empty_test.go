package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
)

// emptyValue is how a line reads where a script printed a variable that it was not
// given: "rail 1:    (peer  )".
var emptyValue = regexp.MustCompile(`(:|\w=)\s*$|(^|\s)\([ ,]*\)|[:=] *,|[\s,],|\( |\s\)|""|''`)

// emptyAllowed are the lines that look so and are meant: by cell, * for any, with the
// reason.
var emptyAllowed = []struct{ cell, line, reason string }{
	{"*", `^GIDs of each RDMA port belong to:$`, "the heading of a list"},
	{"netplan", `^ *[a-z]+\w*:$`, "netplan's YAML: what belongs to a key stands below it"},
	{"*", `^# +capabilities:$`, "a heading of ucx_info"},
	{"*", `^# Git branch '', revision \w+$`, "ucx_info of a release: it was built from no branch"},
	{"test-ports", `^listens: $`, "nothing listens on the ports of the tests"},
	{"etcd-service", `^listens: $`, "no etcd listens there"},
	{"*", `^(Settings|FEC parameters) for \S+:$`, "ethtool begins an interface so"},
}

func mayBeEmpty(cell, line string) bool {
	for _, a := range emptyAllowed {
		if (a.cell == "*" || a.cell == cell) && regexp.MustCompile(a.line).MatchString(line) {
			return true
		}
	}
	return false
}

func TestEmptyValueIsSeen(t *testing.T) {
	for line, empty := range map[string]bool{
		"rail 1:    (peer  )": true, "MTU , port 1": true, "MTU: , connector p0": true, "size=": true, "a ()": true,
		"connect() instead": false, "a ''": true,
		"rail 1: rocep1s0f0 (peer rocep1s0f1)": false, "speed 200, MTU 1500": false,
	} {
		if emptyValue.MatchString(line) != empty {
			t.Errorf("%q: empty is %v", line, !empty)
		}
	}
}

// TestNoEmptyValues looks in what every cell of the tutorial and every check print on the simulated rig for values
// that are not there.
func TestNoEmptyValues(t *testing.T) {
	t.Parallel()
	tp := recordedWhole(t)
	want, printed := 0, map[string]bool{}
	for _, c := range slices.Concat(tp.options.Tutorial.Cells(), tp.options.Tutorial.Checks()) {
		if c.Own == "" {
			want++
		}
		for _, e := range tp.runs[c.ID] {
			e, ok := e.(steps.CellPrinted)
			if !ok {
				continue
			}
			for _, l := range e.Lines {
				if l.Kind == steps.Note {
					continue
				}
				printed[c.ID] = true
				if emptyValue.MatchString(l.Text) && !mayBeEmpty(c.ID, l.Text) {
					t.Errorf("%s prints %q: a value is empty", c.ID, l.Text)
				}
			}
		}
	}
	if len(printed) < want*9/10 { // a cell that had nothing to do printed nothing
		t.Errorf("of %d cells only %d printed something", want, len(printed))
	}
}
