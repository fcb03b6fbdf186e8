package runner

import "testing"

// What sudo 1.9.13 and pam_faillock said, as it came.
func TestBesideWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"\nSorry, try again.\n\nsudo: no password was provided\nsudo: 1 incorrect password attempt\n":         "",
		"\nThe account is locked due to 3 failed logins.\n(10 minutes left to unlock)\n\nSorry, try again.\n": "The account is locked due to 3 failed logins. (10 minutes left to unlock)",
		"engineer is not in the sudoers file.\n":                                                              "engineer is not in the sudoers file.",
		"sudo: account validation failure, is your account locked?\nsudo: a password is required\n":           "account validation failure, is your account locked?",
	} {
		if got := besideWrong(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
