package runner

import "testing"

// What sudo 1.9.13 says, as it came.
func TestBesideWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"\nSorry, try again.\n\nsudo: no password was provided\nsudo: 1 incorrect password attempt\n": "",
		"Sorry, user guest is not allowed to execute '/usr/bin/true' as root on spark-01.\n":          "Sorry, user guest is not allowed to execute '/usr/bin/true' as root on spark-01.",
		"engineer is not in the sudoers file.\n":                                                      "engineer is not in the sudoers file.",
	} {
		if got := besideWrong(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
