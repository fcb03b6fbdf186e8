package nodeset

import (
	"errors"
	"fmt"
	"strings"
)

// readINI reads the older form: sections of hosts, of groups' children and of groups' variables.
func (v *Inventory) readINI(text string) error {
	section, kind := "", ""
	to := v.at("all")
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		var err error
		// [01:03].rack is a host, and begins with a bracket as well.
		if head, ok := strings.CutPrefix(line, "["); ok && strings.Contains(head, "]") && isSection(head) {
			head, _, _ = strings.Cut(head, "]")
			section, kind, _ = strings.Cut(head, ":")
			if to, err = v.newGroup(section); err == nil && kind != "" && kind != "children" && kind != "vars" &&
				kind != "hosts" {
				err = fmt.Errorf("a section is [group], [group:children] or [group:vars], and this is [%s]", shown(head))
			}
		} else {
			err = v.iniLine(to, kind, line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

// isSection tells [group] from a host whose name begins with a range.
func isSection(head string) bool {
	_, after, _ := strings.Cut(head, "]")
	after = strings.TrimSpace(after)
	return after == "" || after[0] == '#' || after[0] == ';'
}

// iniLine is a line of a section: a host with its variables, a child, or a variable of the group.
func (v *Inventory) iniLine(to *group, kind, line string) error {
	words, err := split(line)
	switch {
	case err != nil:
		return err
	case len(words) == 0:
		return nil
	// A child may be named before its own section, or have none.
	case kind == "children":
		if _, err := v.newGroup(words[0]); err != nil {
			return err
		}
		to.adopt(words[0])
		return nil
	// The whole line behind the first = is the value, blanks among it: here are no further words.
	case kind == "vars":
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("%q is no name=value", shown(line))
		}
		return v.keep(to.vars, strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`))
	}
	given := vars{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("%q is no name=value", shown(w))
		}
		if err := v.keep(given, name, value); err != nil {
			return err
		}
	}
	return v.add(to, words[0], given)
}

// split takes a line apart at its blanks, as a shell does with quotes; a # begins a comment.
// It is shlex with comments, by which Ansible reads a host's line.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != '\'' && c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			begun = true
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case c == ' ' || c == '\t':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case c == '#' && !begun:
			return words, nil
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is open at the end of the line")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
