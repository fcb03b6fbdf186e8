package dialog

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// A secret goes to who asked, and nothing of it stays.
func TestSecretsAreWiped(t *testing.T) {
	sh := screen.New(nil, screen.Options{})
	sh.Width, sh.Height = 100, 40
	sh.ChooseStyles()
	qs := &Questions{Shared: sh}
	for _, end := range []tea.KeyPressMsg{{Code: tea.KeyEnter}, {Code: tea.KeyEscape}} {
		said := ""
		qs.Queue(steps.Question{
			Secret: &steps.SecretQuestion{What: "password"}, Answer: func(text string, _ bool) { said = text },
		})
		qs.Paste("hunter2\n")
		cmd := qs.Key(end)
		if left := string(qs.secret[:cap(qs.secret)]); strings.Trim(left, "\x00") != "" {
			t.Errorf("%s: it still holds %q", end, left)
		}
		cmd()
		if want := map[rune]string{tea.KeyEnter: "hunter2"}[end.Code]; said != want {
			t.Errorf("%s: %q, not %q", end, said, want)
		}
	}
}
