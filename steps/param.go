package steps

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Param is a parameter of the scripts: what it is, and what it can be.
type Param struct {
	Name string
	Does string // one line
	Unit string // of its number: bytes, s, iterations; empty for words
	// Default is what the scripts read if it is not set. Empty says how the value is computed then.
	Default, Empty string

	Kind ParamKind
	// Min and Max bound a number and a size. The numbers of a list, of which there are
	// Most at most, are above Min.
	Min, Max   int64
	Most       int
	PowerOfTwo bool     // of a size
	Choices    []string // all that a choice can be
	// Refused says why something isn't among the choices that one could expect there.
	Refused map[string]string
	// May says what words can be, and Check why some are not; nil where any can.
	May   string
	Check func(string) error
	// Program says that the value is run. In another user's session it needs trust, as scripts do.
	Program bool

	// Cells are the ids of those that look at it without a script that names it;
	// Worked of those whose scripts name it and get a value that is worked out.
	Cells, Worked []string
}

// ParamKind says how a value is read.
type ParamKind uint8

// The kinds.
const (
	Words ParamKind = iota
	Number
	Size // in bytes; see ParseSize
	Choice
	NumberList // with commas between
)

func (k ParamKind) String() string {
	return [...]string{"words", "number", "size", "choice", "list"}[k]
}

// Parse reads a value as a user gives it and gives it as the scripts read it: a size
// as a plain number of bytes. The error names the parameter, the value and what is
// allowed.
func (p Param) Parse(value string) (string, error) {
	value = strings.TrimSpace(value)
	read, err := p.read(value)
	if err != nil {
		return "", fmt.Errorf("%s is %q: %w", p.Name, value, err)
	}
	return read, nil
}

// read gives a value in the form in which scripts read it. The error says what a value may be.
func (p Param) read(value string) (string, error) {
	allowed := errors.New("it is " + p.Allowed())
	switch {
	case strings.ContainsFunc(value, unicode.IsControl):
		return "", errors.New("a value is one line, without tabs")
	case value == "" && p.Default == "":
		return "", nil
	case value == "":
		return "", allowed
	}
	switch p.Kind {
	case Number:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < p.Min || n > p.Max {
			return "", allowed
		}
		return strconv.FormatInt(n, 10), nil
	case Size:
		return p.size(value, allowed)
	case Choice:
		return p.choice(value, allowed)
	case NumberList:
		return p.list(value, allowed)
	default:
		if p.Check != nil {
			return value, p.Check(value)
		}
		return value, nil
	}
}

// size reads a number of bytes.
func (p Param) size(value string, allowed error) (string, error) {
	n, err := ParseSize(value)
	switch {
	case err != nil:
		return "", err
	case n < p.Min || n > p.Max:
		return "", allowed
	case p.PowerOfTwo && bits.OnesCount64(uint64(n)) != 1:
		return "", fmt.Errorf("%w; %d is not a power of two", allowed, n)
	}
	return strconv.FormatInt(n, 10), nil
}

// choice reads one of several words.
func (p Param) choice(value string, allowed error) (string, error) {
	for _, c := range p.Choices {
		if strings.EqualFold(c, value) {
			return c, nil
		}
	}
	if why := p.Refused[value]; why != "" {
		return "", errors.New(why)
	}
	return "", fmt.Errorf("%w%s", allowed, DidYouMean(value, p.Choices))
}

// list reads numbers with commas or blanks between them.
func (p Param) list(value string, allowed error) (string, error) {
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	if len(words) == 0 || len(words) > p.Most {
		return "", allowed
	}
	for _, w := range words {
		if x, err := strconv.ParseFloat(w, 64); err != nil || !(x > float64(p.Min)) || x > float64(p.Max) {
			return "", fmt.Errorf("%w; %q is not", allowed, w)
		}
	}
	return strings.Join(words, ","), nil
}

// Allowed says what a value can be.
func (p Param) Allowed() string {
	switch p.Kind {
	case Number:
		return fmt.Sprintf("a number from %d to %d", p.Min, p.Max)
	case Size:
		what := "a size"
		if p.PowerOfTwo {
			what = "a power of two"
		}
		return fmt.Sprintf("%s from %s to %s; K, M, G and T are powers of 1024", what, SizeText(p.Min), SizeText(p.Max))
	case Choice:
		last := len(p.Choices) - 1
		if last == 0 {
			return p.Choices[0]
		}
		return strings.Join(p.Choices[:last], ", ") + " or " + p.Choices[last]
	case NumberList:
		return fmt.Sprintf("up to %d numbers above %d and up to %d, with commas between", p.Most, p.Min, p.Max)
	default:
		if p.May != "" {
			return p.May
		}
		return "one line of text"
	}
}

// Text is a value for people, with its unit: 64 KiB, 10 s.
func (p Param) Text(value string) string {
	switch {
	case value != "":
	case p.Empty != "":
		return p.Empty
	default:
		return "empty"
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && p.Kind == Size {
		return SizeText(n)
	}
	if p.Unit != "" {
		return value + " " + p.Unit
	}
	return value
}

// ParseSize reads a number of bytes: 65536, 64K, 64Ki and 64KiB are the same.
// K, M, G and T are powers of 1024, as perftest's MB is a MiB. KB and MB are refused:
// they mean 1000 to some and 1024 to others.
func ParseSize(s string) (int64, error) {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	digits, suffix := s[:end], strings.ToUpper(strings.TrimSpace(s[end:]))
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errors.New("a size is a number of bytes, or one with K, M, G or T, as in 64K")
	}
	if suffix == "" || suffix == "B" {
		return n, nil
	}
	power := 1 + strings.IndexByte("KMGT", suffix[0])
	switch rest := suffix[1:]; {
	case power > 0 && rest == "B":
		return 0, fmt.Errorf("%sB is 1000 to some and 1024 to others: write %s%[1]s or %[2]s%[1]siB for powers of 1024",
			suffix[:1], digits)
	case power == 0 || rest != "" && rest != "I" && rest != "IB":
		return 0, fmt.Errorf("unknown unit %q: K, M, G and T are powers of 1024", strings.TrimSpace(s[end:]))
	}
	if bits.Len64(uint64(n))+10*power > 63 {
		return 0, errors.New("it is more bytes than can be counted")
	}
	return n << (10 * power), nil
}

// SizeText is a number of bytes in the largest binary unit that it is whole in.
func SizeText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if n == 1 && i == 0 {
		return "1 byte"
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

// Reads reports whether a cell looks at a parameter.
func (c Cell) Reads(p Param) bool {
	if slices.Contains(p.Worked, c.ID) {
		return false
	}
	for _, r := range c.Roles {
		if r.Reads(p.Name) {
			return true
		}
	}
	return slices.Contains(p.Cells, c.ID)
}

// Reading are the ids of the cells that look at a parameter.
func (t Tutorial) Reading(p Param) []string {
	ids := []string{}
	for _, part := range t.all() {
		for _, c := range part.Cells {
			if c.Reads(p) {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

// Names reports whether a script names a variable, as "$NAME", "${NAME…" or in
// arithmetic. One too many does no harm.
func Names(script, variable string) bool {
	for at := 0; ; {
		i := strings.Index(script[at:], variable)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(variable)
		if (from == 0 || !partOfName(script[from-1])) && (to == len(script) || !partOfName(script[to])) {
			return true
		}
		at = to
	}
}

func partOfName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
