package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// Asked compares what an output says that it did with what its script asked a tool for by
// an option, in figures or by a variable. It gives what differs, as a clause; empty where
// nothing does, or where the option isn't there.
func Asked(c steps.Cell, o steps.Output, tool, option string, got int, of string) string {
	want, ok := Number(c, o, tool, option)
	if !ok || want == got {
		return ""
	}
	return fmt.Sprintf("it reports %d %s, but %s asked for %d", got, of, option, want)
}

// Number is what the script of an output's role gave a tool with an option. ok is false
// where the option isn't there, or where the shell would have to work the number out.
func Number(c steps.Cell, o steps.Output, tool, option string) (n int, ok bool) {
	for _, words := range calls(c, o, tool) {
		at := slices.Index(words, option) + 1
		if at == 0 || at == len(words) {
			continue
		}
		value := strings.Trim(words[at], `"`)
		if name, variable := strings.CutPrefix(value, "$"); variable {
			value = o.Asked[strings.Trim(name, "{}")]
		}
		n, err := strconv.Atoi(value)
		return n, err == nil
	}
	return 0, false
}

// Options are what the script of an output's role gave a tool, by the option with its dashes. Left
// out are those without a value, and those that the shell would have to work out.
func Options(c steps.Cell, o steps.Output, tool string) map[string]string {
	all := map[string]string{}
	for _, words := range calls(c, o, tool) {
		for i, w := range words[:max(0, len(words)-1)] {
			if !strings.HasPrefix(w, "-") || strings.HasPrefix(words[i+1], "-") {
				continue
			}
			value := strings.Trim(words[i+1], `"`)
			if name, variable := strings.CutPrefix(value, "$"); variable {
				value = o.Asked[strings.Trim(name, "{}")]
			}
			if value != "" && !strings.ContainsAny(value, "$`(){}") {
				all[w] = value
			}
		}
	}
	return all
}

// Calls reports whether the script of an output's role calls a tool, with one of some
// options where any are given.
func Calls(c steps.Cell, o steps.Output, tool string, options ...string) bool {
	return slices.ContainsFunc(calls(c, o, tool), func(words []string) bool {
		return len(options) == 0 || slices.ContainsFunc(options,
			func(option string) bool { return slices.Contains(words, option) })
	})
}

// calls are the words behind each call of a tool in the script of an output's role. Only those words belong
// to the tool: another command's -n, as in "head -n 5", asked the tool for nothing. A comment is not a call,
// though it may name a tool.
func calls(c steps.Cell, o steps.Output, tool string) (all [][]string) {
	i := slices.IndexFunc(c.Roles, func(r steps.Role) bool { return r.Name == o.Role })
	if i < 0 {
		return nil
	}
	script := strings.ReplaceAll(c.Roles[i].Text(), "\\\n", " ") // a call may go on in the next line
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		at := slices.IndexFunc(words, func(w string) bool { return w == tool || strings.HasSuffix(w, "/"+tool) })
		if at < 0 {
			continue
		}
		all = append(all, upToEnd(words[at+1:]))
	}
	return all
}

// upToEnd are the words of one command: what stands behind its end is another's.
func upToEnd(words []string) []string {
	for i, w := range words {
		switch {
		case slices.Contains([]string{";", "|", "||", "&", "&&"}, w):
			return words[:i]
		case strings.HasSuffix(w, ";"):
			return append(slices.Clone(words[:i]), strings.TrimSuffix(w, ";"))
		}
	}
	return words
}

// TooShort reports a program that ran for less time than the test that it reports takes; empty where its own time
// isn't known.
func TooShort(o steps.Output, seconds float64) string {
	slack := limits.RunsShorter.Value()
	ran := o.Exit.Elapsed.Seconds()
	if ran <= 0 || seconds <= ran*(1+slack)+slack {
		return ""
	}
	return fmt.Sprintf("the reported test takes %.3g s, but the %s ran for only %.3g s", seconds,
		cmp.Or(o.Role, "program"), ran)
}

// OfDevice compares the device that an output names with the one that its rail has.
func OfDevice(named, dev string) string {
	if named == "" || dev == "" || named == dev {
		return ""
	}
	return fmt.Sprintf("it is for device %s, but the rail uses %s", named, dev)
}

// OfTest compares the test that an output names with the words that it has to have: an
// RDMA_Read Latency Test is a latency test, too, and takes twice as long.
func OfTest(named string, words ...string) string {
	for _, word := range words {
		if named != "" && !strings.Contains(strings.ToLower(named), strings.ToLower(word)) {
			return fmt.Sprintf("it is the output of another test (%s)", named)
		}
	}
	return ""
}

// A Quantile is one figure of a distribution.
type Quantile struct {
	Name  string // "median", "99 %"
	Value float64
}

// Ascending checks whether the quantiles of a distribution, given from the least to the most, are in that
// order. Where they aren't, a column was misread or something was changed on the way. A quantile that is 0
// was not reported.
func Ascending(quantiles ...Quantile) string {
	var before Quantile
	for _, q := range quantiles {
		switch {
		case q.Value <= 0:
			continue
		case q.Value < before.Value:
			return fmt.Sprintf("its %s is %g us and its %s %g, which is less", before.Name, before.Value, q.Name, q.Value)
		}
		before = q
	}
	return ""
}

// Makes compares a rate that an output states with the rate from its own bytes and seconds. A tool rounds
// each of the three separately: room is the share that this may come to. Makes gives the difference as a
// clause; empty where one of the three wasn't reported.
func Makes(gbps, bytes, seconds, room float64) string {
	if gbps <= 0 || bytes <= 0 || seconds <= 0 {
		return ""
	}
	made := bytes * 8 / seconds / 1e9
	if math.Abs(made-gbps) <= room*made {
		return ""
	}
	return fmt.Sprintf("%s in %.3g s are %s, and it says %s", registry.Size(bytes), seconds, registry.Gbps(made),
		registry.Gbps(gbps))
}
