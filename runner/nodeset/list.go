package nodeset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A named is one name of a list, and where it was read.
type named struct{ name, from string }

// A book is who knows groups.
type book interface {
	// group gives a group's list, where it stands, and who knows the groups that the list names.
	group(name string) (list, where string, within book, err error)
}

// deepest is how many groups may lead into each other.
const deepest = 16

// effort is how many names a list may make on the way, those that are taken away again and those
// of groups in groups among them: a small file of groups can name each other very often.
const effort = 16 * Most

// mostOperators is how many of ! & ^ a list may have: each looks at all names on its left.
const mostOperators = 256

// A reader reads lists as ClusterShell does: "," and blanks join, "!" takes away, "&" keeps what
// is in both and "^" what is in one of them, from left to right.
type reader struct {
	groups book
	slurm  []string // what the word slurm means; nil where it is a name as any other
	open   []string // groups on the way
	where  string   // of the list; empty for that of the user
	spent  *int     // of the effort
	others *int     // operators that are no comma, of all lists on the way
}

// read gives each name once, where it came first. An operator holds for what follows it, whatever blanks are
// between.
func (r *reader) read(list string) ([]named, error) {
	switch {
	case len(list) > textLimit:
		return nil, fmt.Errorf("the list is longer than %d KiB", textLimit>>10)
	case strings.TrimSpace(list) == "":
		return nil, errors.New("the list is empty: it reads a,b,c or spark-[01-04] or @group")
	}
	// A list's own; those of its groups count on the same.
	if r.spent == nil {
		r.spent, r.others = new(int), new(int)
	}
	var all set
	op := byte(',')
	for list != "" {
		word, next, rest, err := cut(list)
		if err != nil {
			return nil, err
		}
		list = rest
		switch {
		case word != "":
			more, err := r.word(word)
			if err != nil {
				return nil, err
			}
			if op != ',' {
				if *r.others++; *r.others > mostOperators {
					return nil, errOperators
				}
			}
			if all.combine(op, more); len(all.list) > Most {
				return nil, errMany
			}
			op = next
		case next == 0: // blanks at the end
		case next != ',' && op != ',':
			return nil, fmt.Errorf("%q has nothing on one of its sides", string(next))
		case next != ',':
			op = next
		}
	}
	if op != ',' && op != 0 {
		return nil, fmt.Errorf("%q has nothing on its right", string(op))
	}
	return all.list, nil
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
		case strings.IndexByte(",!&^", c) >= 0:
			return list[:i], c, list[i+1:], nil
		}
	}
	if inside {
		return "", 0, "", fmt.Errorf("%q: a bracket is open at the end", shown(list))
	}
	return list, 0, "", nil
}

// A set keeps the order in which its names came.
type set struct {
	list []named
	has  map[string]bool
}

// combine joins what is there with more of it.
func (s *set) combine(op byte, more []named) {
	right := make(map[string]bool, len(more))
	for _, n := range more {
		right[n.name] = true
	}
	if s.has == nil {
		s.has = map[string]bool{}
	}
	left := s.has
	if op != ',' {
		left = maps.Clone(left)
		s.list = slices.DeleteFunc(s.list, func(n named) bool {
			gone := right[n.name] != (op == '&')
			if gone {
				delete(s.has, n.name)
			}
			return gone
		})
	}
	if op != ',' && op != '^' {
		return
	}
	// left is what was there before: of ^ a name that both sides have doesn't come back.
	for _, n := range more {
		if !left[n.name] && !s.has[n.name] {
			s.has[n.name] = true
			s.list = append(s.list, n)
		}
	}
}

// word reads one word: a folded name, or a group.
func (r *reader) word(word string) ([]named, error) {
	room := min(Most, effort-*r.spent)
	// Slurm's own list, which was read and bounded before.
	if word == Allocation && r.slurm != nil {
		var all []named
		for _, name := range r.slurm {
			all = append(all, named{name, r.where})
		}
		return all, nil
	}
	if !strings.HasPrefix(word, "@") {
		names, err := slurmStyle.unfold(word, room)
		if err != nil {
			return nil, err
		}
		*r.spent += len(names)
		all := make([]named, 0, len(names))
		for _, name := range names {
			if err := checkDest(name); err != nil {
				return nil, err
			}
			all = append(all, named{name, r.where})
		}
		return all, nil
	}
	groups, err := slurmStyle.unfold(word[1:], room)
	if err != nil {
		return nil, err
	}
	var all set
	for _, group := range groups {
		more, err := r.group(group)
		if err != nil {
			return nil, err
		}
		all.combine(',', more)
	}
	return all.list, nil
}

// group reads the list of a group with the eyes of who has it: names in it are those of its own source.
func (r *reader) group(name string) ([]named, error) {
	*r.spent++ // empty groups cost as well
	switch {
	case *r.spent > effort:
		return nil, errMany
	case r.groups == nil:
		return nil, fmt.Errorf("@%s is a group, and nobody here knows groups", shown(name))
	}
	list, where, within, err := r.groups.group(name)
	if err != nil {
		return nil, err
	}
	place := "@" + name + " of " + where
	switch {
	case slices.Contains(r.open, place):
		return nil, fmt.Errorf("the groups go in a circle: %s", strings.Join(append(r.open, place), ", then "))
	case len(r.open) >= deepest:
		return nil, fmt.Errorf("more than %d groups lead into each other, down to %s", deepest, place)
	case strings.TrimSpace(list) == "":
		return nil, fmt.Errorf("%s is empty", place)
	}
	sub := reader{
		groups: within, open: append(slices.Clone(r.open), place), where: place, spent: r.spent,
		others: r.others,
	}
	all, err := sub.read(list)
	// The place is said once, by the outermost group; what is too much is so of the whole list.
	if err != nil && len(r.open) == 0 && !errors.Is(err, errMany) && !errors.Is(err, errOperators) {
		err = fmt.Errorf("%s: %w", place, err)
	}
	return all, err
}

// A style is how a bracket writes its ranges.
type style struct {
	to, by  string
	letters string // that a range may go over, in their order
}

var (
	// 01-08/2, ClusterShell's too.
	slurmStyle = style{to: "-", by: "/"}
	// 01:08:2 and a:f.
	ansibleStyle = style{to: ":", by: ":", letters: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}
)

// unfold gives the names of one folded name, at most room of them: rack[1-2]n[01-04,07].
func (y style) unfold(word string, room int) ([]string, error) {
	names := []string{""}
	for word != "" {
		literal, rest, folded := strings.Cut(word, "[")
		if strings.ContainsRune(literal, ']') {
			return nil, fmt.Errorf("%q: a bracket ends and none has begun", shown(word))
		}
		for i := range names {
			names[i] += literal
		}
		if !folded {
			break
		}
		inner, after, closed := strings.Cut(rest, "]")
		if !closed {
			return nil, fmt.Errorf("%q: a bracket is open at the end", shown(word))
		}
		numbers, err := y.numbers(inner, room)
		if err != nil {
			return nil, err
		}
		// Before they are made: three brackets of a thousand are 10^9 names.
		if len(names)*len(numbers) > room {
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
	if len(names) > room {
		return nil, errMany
	}
	return names, nil
}

// numbers are the texts that a bracket holds. They are padded as Slurm's: as wide as a range's
// first number where that begins with 0.
func (y style) numbers(inner string, room int) ([]string, error) {
	var all []string
	for part := range strings.SplitSeq(inner, ",") {
		first, a, b, every, err := y.span(part)
		if err != nil {
			return nil, err
		}
		// Before anything is made: a range of nine digits would fill the memory.
		if (b-a)/every >= room-len(all) {
			return nil, fmt.Errorf("[%s]: %w", shown(part), errMany)
		}
		width := 0
		if first[0] == '0' {
			width = len(first)
		}
		spelt := y.letter(first) >= 0
		for n := a; n <= b; n += every {
			if spelt {
				all = append(all, y.letters[n:n+1])
			} else {
				all = append(all, fmt.Sprintf("%0*d", width, n))
			}
		}
	}
	return all, nil
}

// span reads one range: its first number as it was written, both ends and the step.
func (y style) span(part string) (first string, a, b, every int, err error) {
	first, last, several := strings.Cut(part, y.to)
	step := "1"
	if l, s, ok := strings.Cut(last, y.by); ok {
		last, step = l, s
	}
	if !several {
		last = first
	}
	// Letters only where both ends are: a:9 is neither.
	if a, b = y.letter(first), y.letter(last); a < 0 || b < 0 {
		if a, err = number(first); err != nil {
			return first, 0, 0, 0, err
		}
		if b, err = number(last); err != nil {
			return first, 0, 0, 0, err
		}
	}
	if every, err = number(step); err != nil {
		return first, 0, 0, 0, err
	}
	switch {
	case every == 0:
		err = fmt.Errorf("the step of the range %s is 0", shown(part))
	case b < a:
		err = fmt.Errorf("the range %s goes down", shown(part))
	}
	return first, a, b, every, err
}

// letter is the place of one letter among those of a range; -1 where it is none.
func (y style) letter(text string) int {
	if len(text) != 1 {
		return -1
	}
	return strings.Index(y.letters, text)
}

// number reads what stands in a range: at most nine digits, and nothing else.
func number(text string) (int, error) {
	if text == "" || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is no number of a range: it has one to nine digits", shown(text))
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
