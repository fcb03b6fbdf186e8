package nodeset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// effort is how many names a list may make on the way, those that are taken away again among them.
const effort = 16 * Most

// A reader reads a list: "," and blanks join, and "!" takes away, from left to right.
type reader struct {
	slurm []string // what the word slurm means; nil where it is a name as any other
	// group gives the hosts of a group; nil where there are no groups.
	group func(name string) ([]string, error)
}

// read gives each name once, where it came first. An operator holds for what follows it, whatever blanks are
// between.
func (r reader) read(list string) ([]string, error) {
	switch {
	case len(list) > textLimit:
		return nil, fmt.Errorf("the list is longer than %d KiB", textLimit>>10)
	case strings.TrimSpace(list) == "":
		return nil, errors.New("the list is empty: it reads a,b,c or spark-[01-04] or @group")
	}
	p := picked{at: map[string]int{}}
	without, made := false, 0
	for list != "" {
		word, op, rest, err := cut(list)
		if err != nil {
			return nil, err
		}
		list = rest
		if word == "" {
			if op == '!' && without {
				return nil, errors.New(`"!" has nothing on one of its sides`)
			}
			without = without || op == '!'
			continue
		}
		names, err := r.word(word)
		if err != nil {
			return nil, err
		}
		if made += len(names); made > effort {
			return nil, errMany
		}
		p.put(names, without)
		if len(p.at) > Most {
			return nil, errMany
		}
		without = op == '!'
	}
	if without {
		return nil, errors.New(`"!" has nothing on its right`)
	}
	return slices.DeleteFunc(p.all, func(name string) bool { return name == "" }), nil
}

// What was picked of a list: each name once, with "" in place of what was taken away.
type picked struct {
	all []string
	at  map[string]int
}

func (p *picked) put(names []string, without bool) {
	for _, name := range names {
		i, there := p.at[name]
		switch {
		case without && there:
			p.all[i] = ""
			delete(p.at, name)
		case !without && !there:
			p.at[name], p.all = len(p.all), append(p.all, name)
		}
	}
}

// cut takes the first word off a list, and the operator behind it; 0 at the end. A blank is a
// comma.
func cut(list string) (word string, op byte, rest string, err error) {
	inside := false
	for i := range len(list) {
		switch c := list[i]; {
		case c == '[' && inside || c == ']' && !inside:
			return "", 0, "", fmt.Errorf("%q: brackets don't stand in brackets, and each has its other one", shown(list))
		case c == '[' || c == ']':
			inside = c == '['
		case inside:
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return list[:i], ',', list[i+1:], nil
		case c == ',' || c == '!':
			return list[:i], c, list[i+1:], nil
		case c == '&' || c == '^':
			return "", 0, "", fmt.Errorf("%q is ClusterShell's, which does not read this list: write names, and ! in front of "+
				"those to leave out", string(c))
		}
	}
	if inside {
		return "", 0, "", fmt.Errorf("%q: a bracket is open at the end", shown(list))
	}
	return list, 0, "", nil
}

// word reads one word: a folded name, or a group.
func (r reader) word(word string) (all []string, err error) {
	// Slurm's own list, which was read and bounded before.
	if word == Allocation && r.slurm != nil {
		return r.slurm, nil
	}
	groups, isGroup := strings.CutPrefix(word, "@")
	names, err := unfold(groups)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !isGroup {
			if err := checkDest(name); err != nil {
				return nil, err
			}
			continue
		}
		if r.group == nil {
			return nil, fmt.Errorf("@%s is a group, and this list can't have one", shown(name))
		}
		more, err := r.group(name)
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > effort {
			return nil, errMany
		}
	}
	if isGroup {
		return all, nil
	}
	return names, nil
}

// unfold gives the names of one folded name: rack[1-2]n[01-04,07].
func unfold(word string) ([]string, error) {
	names := []string{""}
	for word != "" {
		literal, rest, folded := strings.Cut(word, "[")
		for i := range names {
			names[i] += literal
		}
		if !folded {
			break
		}
		inner, after, _ := strings.Cut(rest, "]") // cut has counted them
		numbers, err := numbers(inner)
		if err != nil {
			return nil, err
		}
		// Before they are made: three brackets of a thousand are 10^9 names.
		if len(names)*len(numbers) > Most {
			return nil, errMany
		}
		product := make([]string, 0, len(names)*len(numbers))
		for _, name := range names {
			for _, n := range numbers {
				product = append(product, name+n)
			}
		}
		names, word = product, after
	}
	return names, nil
}

// numbers are the texts that a bracket holds, 01-08 or 0-8/2. They are padded as Slurm's: as wide as a range's
// first number where that begins with 0.
func numbers(inner string) (all []string, err error) {
	for part := range strings.SplitSeq(inner, ",") {
		span, step, stepped := strings.Cut(part, "/")
		first, last, several := strings.Cut(span, "-")
		if !several {
			last = first
		}
		if !stepped {
			step = "1"
		}
		var n [3]int
		for i, text := range []string{first, last, step} {
			if n[i], err = number(text); err != nil {
				return nil, err
			}
		}
		a, b, every := n[0], n[1], n[2]
		switch {
		case every == 0:
			return nil, fmt.Errorf("the step of the range %s is 0", shown(part))
		case b < a:
			return nil, fmt.Errorf("the range %s goes down", shown(part))
		// Before anything is made: a range of nine digits would fill the memory.
		case (b-a)/every >= Most-len(all):
			return nil, fmt.Errorf("[%s]: %w", shown(part), errMany)
		}
		width := 0
		if first[0] == '0' {
			width = len(first)
		}
		for ; a <= b; a += every {
			all = append(all, fmt.Sprintf("%0*d", width, a))
		}
	}
	return all, nil
}

// number reads what stands in a range: at most nine digits, and nothing else.
func number(text string) (int, error) {
	if text == "" || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of a range: it has one to nine digits", shown(text))
	}
	return strconv.Atoi(text)
}

// Fold writes names as a list that Expand reads, the shorter way: spark-[01-04,07]. Names that
// differ in the last number alone are folded.
func Fold(names []string) string {
	type family struct {
		before, after string
		digits        []string
	}
	var families []*family
	byFrame := map[[2]string]*family{}
	for _, name := range names {
		end := strings.LastIndexAny(name, "0123456789") + 1
		begin := end
		// Expand reads nine digits at most.
		for begin > 0 && name[begin-1] >= '0' && name[begin-1] <= '9' && end-begin < 9 {
			begin--
		}
		frame := [2]string{name[:begin], name[end:]}
		if end == 0 { // it has no number, and stands alone: no name has a bracket
			frame = [2]string{name, "["}
		}
		f := byFrame[frame]
		if f == nil {
			f = &family{before: name[:begin], after: name[end:]}
			byFrame[frame], families = f, append(families, f)
		}
		f.digits = append(f.digits, name[begin:end])
	}
	var all []string
	for _, f := range families {
		digits := folded(f.digits)
		if len(f.digits) > 1 {
			digits = "[" + digits + "]"
		}
		all = append(all, f.before+digits+f.after)
	}
	return strings.Join(all, ",")
}

// folded joins numbers of the same width that follow each other.
func folded(digits []string) string {
	slices.SortFunc(digits, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for i := 0; i < len(digits); {
		j := i
		for j+1 < len(digits) && follows(digits[j], digits[j+1]) {
			j++
		}
		part := digits[i]
		if j > i {
			part += "-" + digits[j]
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// follows also wants the same width: 9 and 10 would need a range without zeros, 09 and 10 have one.
func follows(a, b string) bool {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	return errA == nil && errB == nil && len(a) == len(b) && y == x+1
}

// mostNamed is how many nodes a message names one by one.
const mostNamed = 16

// Some are the names of nodes for a message: of many they are folded, spark-[03-99].
func Some(names []string) string {
	if len(names) > mostNamed {
		return Fold(names)
	}
	return strings.Join(names, ", ")
}
