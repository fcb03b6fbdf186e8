package runbook

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Edit gives a runbook with another script in one place: that of the role with this
// number, from 0, of a cell. All other bytes stay what they are. The script's lines
// end as those around it do, and are indented as its fence is.
func Edit(src []byte, cellID string, role int, script string) ([]byte, error) {
	d := Read("the runbook", src)
	if len(d.Problems) > 0 {
		return nil, fmt.Errorf("edit the script of %q: %w", cellID, d.Problems[0])
	}
	out, err := d.edit(cellID, role, script)
	if err != nil {
		return nil, fmt.Errorf("edit the script of %q: %w", cellID, err)
	}
	return out, nil
}

var errFence = errors.New("a line of it would end its block in the file: ``` or ~~~ alone on a line")

// edit replaces one script. Whether the file says then what it has to is found out by
// reading it.
func (d Document) edit(id string, role int, script string) ([]byte, error) {
	at := slices.IndexFunc(d.Part.Cells, func(c steps.Cell) bool { return c.ID == id })
	switch {
	case at < 0:
		return nil, errors.New("the file has no such cell")
	case role < 0 || role >= len(d.Part.Cells[at].Roles):
		return nil, fmt.Errorf("the cell has %d scripts, and none with the number %d",
			len(d.Part.Cells[at].Roles), role)
	}
	script = strings.ReplaceAll(script, "\r\n", "\n")
	if !strings.HasSuffix(script, "\n") {
		script += "\n"
	}
	switch {
	case strings.TrimSpace(script) == "":
		return nil, errors.New("a script can't be empty")
	case invalid([]byte(script)) >= 0:
		return nil, errors.New("it is not text in UTF-8")
	}
	b := d.scripts[id][role]
	end := d.lineEnd(b.info)
	var lines strings.Builder
	for line := range strings.Lines(script) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			lines.WriteString(b.indent)
		}
		lines.WriteString(line + end)
	}
	from, to := d.rawOffset(b.from), d.rawOffset(b.to)
	out := slices.Concat(d.raw[:from], []byte(lines.String()), d.raw[to:])
	if len(out) > MaxBytes {
		return nil, fmt.Errorf("the runbook would be longer than %d KiB", MaxBytes>>10)
	}
	want := d.Part
	want.Cells = slices.Clone(want.Cells)
	want.Cells[at] = want.Cells[at].WithScript(role, script)
	got := Read(d.Name, out)
	if len(got.Problems) > 0 || !reflect.DeepEqual(got.Part, want) {
		return nil, errFence
	}
	return out, nil
}
