package runner

import (
	"strings"
	"testing"
	"unicode"
)

// What is not seen, or seen as something that the shell minds, is not a text of a script.
func TestDeceives(t *testing.T) {
	t.Parallel()
	for _, r := range "\u00a0\u1680\u2003\u2007\u202f\u205f\u3000\u2800\u3164\u115f\u1160\uffa0\u034f\u17b4\u180e\u200b\u200c" +
		"\u200d\u200e\u2028\u202e\u2060\u2064\u2066\u206f\ufe00\ufe0f\ufeff\ufff9\ufffc\ufdd0\uffff\r\x1b\x7f\u0085\u009b" +
		"\U0001d159\U0001d173\U0001bca0\U00013430\U00016fe4\ue000\uf8ff\U000f0000\U0010fffd\U000e0001\U000e0100\U0001fffe" +
		"\u037e\uff1b\ufe54\ufe14\uff03\ufe5f\uff06\uff5c\uff1c\uff1e\uff08\uff09\uff04\uff40\u1fef\uff3c\ufe68\uff02\uff07" +
		"\uff0a\ufe61\uff1f\uff3b\uff3d\uff5e\uff1d\uff05\uff5b\uff5d\uff01\ufe64\u207d\u208e\ufe35" {
		if at, char := Deceives("x" + string(r)); at != 1 || char != string(r) {
			t.Errorf("%U is let through", r)
		}
	}
	for _, r := range "\n\t azAZ09~;#$äßéжяλשم中文字한글กあ│┌─█·–—…’“”«»→×µ²³°€✓✗🙂\u0301，。" {
		if at, _ := Deceives("x" + string(r)); at >= 0 {
			t.Errorf("%U is refused", r)
		}
	}
	// A blank of any kind is one: White_Space of the tables that Go has.
	for _, table := range unicode.White_Space.R16 {
		if r := rune(table.Lo); r > '~' && !deceives(r) {
			t.Errorf("%U is let through", r)
		}
	}
	for _, script := range []string{
		"true \u0301# a comment", "\u0338# at the start", "a;\u20dd b", "'\u0323", "a\n\u0483b", "bytes \xff", "\xc3",
		"a\u093e |\u093e",
	} {
		if at, _ := Deceives(script); at < 0 {
			t.Errorf("%q is let through", script)
		}
	}
	for _, script := range []string{"", "e\u0301\u0323 n\u0303 1\u0302", "\u0915\u093f \u05d0\u05b8", "a\ufffd"} {
		if at, char := Deceives(script); at >= 0 {
			t.Errorf("%q is refused for %q", script, char)
		}
	}
	for _, c := range asciiOf {
		if !strings.ContainsRune(shellMinds, c) {
			t.Errorf("%c is nothing to a shell", c)
		}
	}
}
