package witness

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Asked compares what an output says that it did with what its script was asked for, by
// the variable that asked. It gives what differs, as a clause; empty where nothing does,
// or where the script had no such variable.
func Asked(o steps.Output, variable string, got int, of string) string {
	text, ok := o.Asked[variable]
	if !ok || text == "" {
		return ""
	}
	want, err := strconv.Atoi(text)
	if err != nil || want == got {
		return ""
	}
	return fmt.Sprintf("it reports %d %s where %s=%d asked for %d", got, of, variable, want, want)
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
