package main

import (
	"bufio"
	"bytes"
	"regexp"
	"strings"
	"testing"
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
		"rail 1:    (peer  )": true, "MTU , port 1": true, "MTU: , connector p0": true, "size=": true, "a ()": true, "connect() instead": false, "a ''": true,
		"rail 1: rocep1s0f0 (peer rocep1s0f1)": false, "speed 200, MTU 1500": false,
	} {
		if emptyValue.MatchString(line) != empty {
			t.Errorf("%q: empty is %v", line, !empty)
		}
	}
}

// TestNoEmptyValues runs every cell of the tutorial and every check on the simulated rig,
// and looks in what they print for values that are not there.
func TestNoEmptyValues(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--rig", "sim", "--speed", "100", "--yes", "-v"}
	want := 0
	for _, c := range append(tut.Cells(), tut.Checks()...) {
		args = append(args, c.ID)
		if c.Own == "" {
			want++
		}
	}
	var stdout, stderr bytes.Buffer
	if code := Main(args, strings.NewReader(""), &stdout, &stderr); code == exitUsage || code == exitUnreachable {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	cell, printed := "", map[string]bool{}
	for in := bufio.NewScanner(&stderr); in.Scan(); {
		if id, ok := strings.CutPrefix(in.Text(), "▸ "); ok {
			cell, _, _ = strings.Cut(id, "  ")
			continue
		}
		line, ok := strings.CutPrefix(in.Text(), "    spark-0")
		if !ok {
			continue
		}
		_, line, _ = strings.Cut(line, "  ") // the node's number
		printed[cell] = true
		if emptyValue.MatchString(line) && !mayBeEmpty(cell, line) {
			t.Errorf("%s prints %q: a value is empty", cell, line)
		}
	}
	if len(printed) < want*9/10 { // a cell that had nothing to do printed nothing
		t.Errorf("of %d cells only %d printed something", want, len(printed))
	}
}
