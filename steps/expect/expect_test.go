package expect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps/expect"
)

func TestValue(t *testing.T) {
	const pings = "3 packets transmitted, 0 received, 100% packet loss\n2 packets transmitted, 2 received, " +
		"0% packet loss\n"
	const iperf = "warning: beside\n{\"end\": {\"streams\": [{\"bps\": 9.4e9}], \"note\": \"12.5\", \"empty\": {}}}\n" +
		"tail\n"
	for _, c := range []struct {
		value, output string
		want          float64
		unit, text    string
	}{
		{"loss /([\\d.]+)% packet loss/ % ..0", pings, 0, "%", ""}, // the last match
		{"rate .end.streams[0].bps *1e-9 Gb/s 9..: the link is slow", iperf, 9.4, "Gb/s", "the link is slow"},
		{"note .end.note", iperf, 12.5, "", ""},
		{"slash /a/b (\\d+)/ x", "a/b 7", 7, "x", ""},
	} {
		v, err := expect.ParseValue(c.value)
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		if got, err := v.Read(c.output); err != nil || got != c.want || v.Unit != c.unit || v.Text != c.text {
			t.Errorf("%s: %g %q %q, %v", c.value, got, v.Unit, v.Text, err)
		}
	}
	// What isn't there has no value, and is never 0.
	for value, output := range map[string]string{
		"a /(\\d+) x/": "7 y", "b .a.b": `{"a": {}}`, "c .a": "no JSON", "d .a[3]": `{"a": [1]}`, "e .a": `{"a": true}`,
		"f .a ": `{"a": 1`, "g /(\\S+) x/": "nan x", "i /(\\S+) x/": "0x1p10 x", "j /(\\S+) x/": "1_000 x",
		"h .a.b.c": `{"a": 1}`,
	} {
		v, err := expect.ParseValue(value)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if got, err := v.Read(output); err == nil {
			t.Errorf("%s reads %g from %q", value, got, output)
		}
	}
}

func TestValueMistakes(t *testing.T) {
	for value, want := range map[string]string{
		"": "is not a name", "a": "neither", "1a .x": "is not a name", "a /x": "no closing", "a /(x/": "missing closing )",
		"a /x/": "0 groups", "a /(x)(y)/": "2 groups", "a .x y z": "one unit", "a .x *b": "is not a factor",
		"a .x 1.. warn": "behind warn", "a .x warn Gb/s 1.. warn 2..": "one unit", "a x.y": "neither",
	} {
		if _, err := expect.ParseValue(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
}

func TestRange(t *testing.T) {
	for value, want := range map[string][2]any{
		"a .x 1..2": {1.0, 2.0}, "a .x ..2.5": {nil, 2.5}, "a .x -1..": {-1.0, nil}, "a .x $LEAST..": {3.0, nil},
		"a .x": {nil, nil},
	} {
		v, err := expect.ParseValue(value)
		if err != nil {
			t.Fatal(err)
		}
		least, most, err := v.Range(map[string]string{"LEAST": "3"})
		for i, got := range []*float64{least, most} {
			if err != nil || (got == nil) != (want[i] == nil) || got != nil && *got != want[i] {
				t.Errorf("%s: %v, %v", value, got, err)
			}
		}
	}
	v, _ := expect.ParseValue("a .x $NONE..")
	if _, _, err := v.Range(nil); err == nil {
		t.Error("a variable that nobody set is no end of a range")
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]bool{
		"two words": true, "/^two/": true, "!three": true, "three": false, "!two": false, "/^words/": false, "!/^two/": false,
	} {
		x, err := expect.ParseText(text)
		if err != nil || x.Holds("one\ntwo words\n") != want || x.Missing() == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "!", "/(/"} {
		if _, err := expect.ParseText(text); err == nil {
			t.Errorf("%q is a text", text)
		}
	}
}

// A factor is a decimal number, and a product that no number holds is not a figure: neither passes by being beyond
// all comparison.
func TestFactorsAreNumbers(t *testing.T) {
	for _, factor := range []string{"nan", "inf", "-inf", "0x1p0", "1_000", "+5", "0", "1e999"} {
		if v, err := expect.ParseValue("rate /rate ([0-9.]+)/ *" + factor + " Gb/s 90..100"); err == nil {
			t.Errorf("*%s is read as %+v", factor, v)
		}
	}
	for _, source := range []string{".a", `/"a": (\S+)}/`} {
		v, err := expect.ParseValue("rate " + source + " *1e9 Gb/s 90..")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := v.Read(`{"a": 1e308}`); err == nil {
			t.Errorf("%s: 1e308 times 1e9 is %g", source, n)
		}
	}
}

// A limit that is unknown is none that everything reaches.
func TestALimitThatNobodyKnows(t *testing.T) {
	v, err := expect.ParseValue("rate /rate ([0-9.]+)/ Gb/s $LEAST..")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Range(map[string]string{}); err == nil || !strings.Contains(err.Error(), "$LEAST is empty") {
		t.Error(err)
	}
}

// A script may say why it has no number.
func TestUnknown(t *testing.T) {
	v, err := expect.ParseValue(`bytes /^bytes: (\d+)/ B 1..`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"x\nbytes unknown: it was reset\n":             "it was reset",
		"bytes: 3\nbytes unknown: it was reset\n":      "",
		"other unknown: it was reset\nbytes unknown\n": "",
	} {
		_, err := v.Read(text)
		if why, ok := errors.AsType[expect.Unknown](err); ok != (want != "") || string(why) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
