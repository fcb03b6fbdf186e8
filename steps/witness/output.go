package witness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Asked compares what an output says that it did with what its script asked for by an
// option, in figures or by a variable. It gives what differs, as a clause; empty where
// nothing does, or where the option isn't there.
func Asked(c steps.Cell, o steps.Output, option string, got int, of string) string {
	i := slices.IndexFunc(c.Roles, func(r steps.Role) bool { return r.Name == o.Role })
	if i < 0 {
		return ""
	}
	words := strings.Fields(c.Roles[i].Script)
	at := slices.Index(words, option) + 1
	if at == 0 || at == len(words) {
		return ""
	}
	value := strings.Trim(words[at], `"`)
	if name, variable := strings.CutPrefix(value, "$"); variable {
		value = o.Asked[strings.Trim(name, "{}")]
	}
	want, err := strconv.Atoi(value)
	if err != nil || want == got { // a calculation of the shell's is none of ours
		return ""
	}
	return fmt.Sprintf("it reports %d %s, and %s asked for %d", got, of, option, want)
}

// OfDevice compares the device that an output names with the one that its rail has.
func OfDevice(named, dev string) string {
	if named == "" || dev == "" || named == dev {
		return ""
	}
	return fmt.Sprintf("it is of the device %s, and the rail's is %s", named, dev)
}

// OfTest compares the test that an output names with a word that it has to have.
func OfTest(named, word string) string {
	if named == "" || strings.Contains(strings.ToLower(named), strings.ToLower(word)) {
		return ""
	}
	return fmt.Sprintf("it is the output of another test (%s)", named)
}
