package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
)

// A script with the attribute inside goes to the container's shell as it is, with its values in
// the environment; where no container was named nothing of that is there.
func TestInContainer(t *testing.T) {
	cell := steps.Cell{ID: "x", Inside: true}
	role := steps.Role{Script: "echo \"$A\" \"$0\"\ncat <<'END_INSIDE'\nthe end\nEND_INSIDE\n"}
	const value = "it's $(reboot) `x`"
	plain := script(cell, role, time.Minute, map[string]string{"A": value}, nil, nil)
	if strings.Contains(plain.Text(), "docker") {
		t.Errorf("no container was named: %s", plain.Text())
	}
	s := script(cell, role, time.Minute, map[string]string{"A": value, steps.Container: "box"}, nil, nil)

	// A docker that shows one container, and whose exec is a shell with what -e names.
	bin := t.TempDir()
	docker := "#!/bin/sh\ncase $1 in\ninspect) [ \"$2\" = box ] ;;\nexec)\n\tshift\n\tset -- \"$@\"\n" +
		"\t[ \"$1 $2 $3 $4\" = '-i -e A box' ] || exit 9\n\tshift 4\n\texec \"$@\" ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(docker), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(text string) (string, int) {
		cmd := exec.Command("sh", "-s")
		cmd.Stdin = strings.NewReader(text)
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "LC_ALL=C"}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run(s.Text()); code != 0 || out != value+" sh\nthe end\n" {
		t.Errorf("exit %d: %q", code, out)
	}
	gone := script(cell, role, time.Minute, map[string]string{"A": value, steps.Container: "other"}, nil, nil)
	if out, code := run(gone.Text()); code != steps.NoContainer ||
		!strings.Contains(out, "there is no container other here") {
		t.Errorf("exit %d: %q", code, out)
	}
}

func TestPlaced(t *testing.T) {
	check := steps.Check{Finds: []string{"x"}}
	looks := steps.Cell{Check: check, Roles: []steps.Role{{Script: "echo \"$CONTAINER\""}}}
	for name, c := range map[string]struct {
		cell      steps.Cell
		container string
		want      string
	}{
		"inside":          {steps.Cell{Check: check, Inside: true}, "box", "Inside box: Well."},
		"outside":         {steps.Cell{Check: check}, "box", "Outside the container, on the nodes: Well."},
		"none named":      {steps.Cell{Check: check, Inside: true}, "", "Well."},
		"no check":        {steps.Cell{}, "box", "Well."},
		"the look itself": {looks, "box", "Well."},
	} {
		if got := placed(c.cell, c.container, steps.Verdict{Reason: "Well."}).Reason; got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
