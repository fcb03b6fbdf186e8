// Package expect reads what a runbook itself says of a script's output: a text that has to be
// in it, and values with the range in which each has to be. It knows no tool. Who says it, and
// what follows for the verdict, is known in runbook and in kind.
package expect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Value is a number of an output, with the range in which it has to be.
type Value struct {
	Name, Unit string
	// Text says what it means that it is out of its range; empty where nothing was said.
	Text string

	form         *regexp.Regexp // its first group is the number; nil for path
	path         []string       // keys and numbers, into JSON
	factor       float64
	must, should ends
}

// ends are the two ends of a range: numbers or $NAME, empty where the range is open.
type ends struct{ least, most string }

var (
	nameForm  = lazyregexp.New(`^[A-Za-z][\w-]*$`)
	rangeForm = lazyregexp.New(`^(-?[\d.]+|\$[A-Za-z_]\w*)?\.\.(-?[\d.]*\d|\$[A-Za-z_]\w*)?$`)
	pathForm  = lazyregexp.New(`^(\.[A-Za-z_][\w-]*|\[\d+\])+$`)
	stepForm  = lazyregexp.New(`[A-Za-z_][\w-]*|\d+`)
)

// ParseValue reads NAME SOURCE [*FACTOR] [UNIT] [LEAST..MOST] [warn LEAST..MOST] [: TEXT]. A source
// is /a regular expression/ with one group, of which the last match counts, or .a.path[0].into.json.
// What is out of the first range is bad, and what is out of the second is worth a warning.
func ParseValue(s string) (Value, error) {
	v := Value{factor: 1}
	name, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	if v.Name = name; !nameForm.Regexp().MatchString(name) {
		return v, fmt.Errorf("%q is not a name of a value: letters, digits, - and _", name)
	}
	rest, err := v.source(strings.TrimSpace(rest))
	if err != nil {
		return v, err
	}
	rest, v.Text, _ = strings.Cut(rest, ": ")
	into, warns := &v.must, false
	for word := range strings.FieldsSeq(rest) {
		switch m := rangeForm.Regexp().FindStringSubmatch(word); {
		case m != nil && word != "..":
			*into = ends{m[1], m[2]}
		case word == "warn" && !warns:
			into, warns = &v.should, true
		case strings.HasPrefix(word, "*"):
			var ok bool
			if v.factor, ok = strictnum.Signed(word[1:]); !ok || v.factor == 0 {
				return v, fmt.Errorf("%q is not a factor like *1e-9", word)
			}
		case v.Unit == "":
			v.Unit = word
		default:
			return v, fmt.Errorf("%q: a value has one unit and one range, such as 10..20, 10.. or ..20, and one after warn",
				word)
		}
	}
	if warns && v.should == (ends{}) {
		return v, errors.New("no range is behind warn: what is out of it is a warning, as in 10.. warn 12..20")
	}
	return v, nil
}

// source reads where the number stands, and gives what comes after it.
func (v *Value) source(s string) (rest string, err error) {
	if strings.HasPrefix(s, "/") {
		end := strings.Index(s[1:]+" ", "/ ")
		if end < 0 {
			return "", errors.New("the regular expression has no closing /")
		}
		if v.form, err = compile(s[1 : end+1]); err != nil {
			return "", err
		}
		if v.form.NumSubexp() != 1 {
			return "", fmt.Errorf("/%s/ has %d groups: the number is in the one group, (…)", v.form, v.form.NumSubexp())
		}
		return strings.TrimSpace(s[min(len(s), end+2):]), nil
	}
	path, rest, _ := strings.Cut(s, " ")
	if !pathForm.Regexp().MatchString(path) {
		return "", fmt.Errorf("%q is neither /a regular expression/ nor .a.path[0] into JSON", path)
	}
	v.path = stepForm.Regexp().FindAllString(path, -1)
	return rest, nil
}

func compile(form string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("(?m)" + form)
	if err != nil {
		return nil, fmt.Errorf("read /%s/: %w", form, err)
	}
	return re, nil
}

// Read finds the number in an output.
func (v Value) Read(output string) (float64, error) {
	if v.form == nil {
		return v.inJSON(output)
	}
	all := v.form.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		for line := range strings.Lines(output) {
			if why, ok := strings.CutPrefix(line, v.Name+" unknown: "); ok {
				return 0, Unknown(strings.TrimSpace(why))
			}
		}
		return 0, fmt.Errorf("nothing in the output is like /%s/", strings.TrimPrefix(v.form.String(), "(?m)"))
	}
	return v.number(all[len(all)-1][1])
}

// Unknown is why a script has no number, in its own words: a line "NAME unknown: WHY" in the number's place.
type Unknown string

func (u Unknown) Error() string { return string(u) }

func (v Value) number(s string) (float64, error) {
	n, ok := strictnum.Signed(s)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v.times(n)
}

// times is a number of an output in the value's own unit. A product that no number holds is not a figure.
func (v Value) times(n float64) (float64, error) {
	if n *= v.factor; math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, fmt.Errorf("with its factor %g it is not a number any more", v.factor)
	}
	return n, nil
}

// inJSON reads the first object or list that a line of the output begins with.
func (v Value) inJSON(output string) (float64, error) {
	at := jsonStart.Regexp().FindStringIndex(output)
	if at == nil {
		return 0, errors.New("no JSON is in the output")
	}
	var node any
	if err := json.NewDecoder(strings.NewReader(output[at[0]:])).Decode(&node); err != nil {
		return 0, fmt.Errorf("the output's JSON can't be read: %w", err)
	}
	for i, step := range v.path {
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			no, err := strconv.Atoi(step)
			if err != nil || no >= len(n) {
				return 0, fmt.Errorf("the output's JSON has no %s", strings.Join(v.path[:i+1], "."))
			}
			node = n[no]
		default:
			node = nil
		}
		if node == nil {
			return 0, fmt.Errorf("the output's JSON has no %s", strings.Join(v.path[:i+1], "."))
		}
	}
	switch n := node.(type) {
	case float64:
		return v.times(n)
	case string:
		return v.number(n)
	}
	return 0, fmt.Errorf("%s in the output's JSON is not a number", strings.Join(v.path, "."))
}

var jsonStart = lazyregexp.New(`(?m)^\s*[{\[]`)

// Range is where the value has to be; an end is nil where the range is open. asked are the variables that the
// script was given.
func (v Value) Range(asked map[string]string) (least, most *float64, err error) {
	return v.numbers(v.must, asked)
}

// Warns is where the value should be, as Range.
func (v Value) Warns(asked map[string]string) (least, most *float64, err error) {
	return v.numbers(v.should, asked)
}

func (v Value) numbers(of ends, asked map[string]string) (least, most *float64, err error) {
	end := func(s string) (*float64, error) {
		name, variable := strings.CutPrefix(s, "$")
		if variable {
			s = asked[name]
		}
		if s == "" && !variable {
			return nil, nil
		}
		n, ok := strictnum.Signed(s)
		if !ok && s == "" {
			return nil, fmt.Errorf("$%s is empty, so the range of %s is unknown", name, v.Name)
		}
		if !ok {
			return nil, fmt.Errorf("the range of %s: $%s is %q, and no number", v.Name, name, s)
		}
		return &n, nil
	}
	if least, err = end(of.least); err == nil {
		most, err = end(of.most)
	}
	return least, most, err
}

// A Text has to be in an output, or must not be.
type Text struct {
	form    *regexp.Regexp // nil where words are the text itself
	words   string
	without bool
}

// ParseText reads words, or /a regular expression/; a ! before either is what must not be there.
func ParseText(s string) (t Text, err error) {
	s, t.without = strings.CutPrefix(strings.TrimSpace(s), "!")
	if s == "" {
		return t, errors.New("nothing is expected")
	}
	if len(s) > 2 && strings.HasPrefix(s, "/") && strings.HasSuffix(s, "/") {
		t.form, err = compile(s[1 : len(s)-1])
		return t, err
	}
	t.words = s
	return t, nil
}

// Holds reports whether the output is as it has to be.
func (t Text) Holds(output string) bool {
	in := t.form == nil && strings.Contains(output, t.words) || t.form != nil && t.form.MatchString(output)
	return in != t.without
}

// Missing says what is wrong with an output of which it doesn't hold.
func (t Text) Missing() string {
	what := fmt.Sprintf("%q", t.words)
	if t.form != nil {
		what = "a line like /" + strings.TrimPrefix(t.form.String(), "(?m)") + "/"
	}
	if t.without {
		return what + " is in the output"
	}
	return what + " isn't in the output"
}
