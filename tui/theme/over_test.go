package theme

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// TestOver holds it against Lip Gloss's compositor, cell by cell.
func TestOver(t *testing.T) {
	red := lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
	bold := lipgloss.NewStyle().Bold(true).Background(lipgloss.Color("4"))
	plain := strings.Join([]string{"0123456789abcdef", "ghijklmnopqrstuv", "wxyzWXYZ01234567"}, "\n")
	styled := strings.Join([]string{
		red.Render("0123") + "4567" + bold.Render("89abcdef"), bold.Render("ghijklmnopqrstuv"),
		"wx" + red.Render("yzWXYZ012345") + "67",
	}, "\n")
	wide := strings.Join([]string{"日本語日本語日本", "a日本語日本語日b", "👨‍👩‍👧 family e\u0301 ok  "}, "\n")
	for name, screen := range map[string]string{
		"plain": plain, "styled": styled, "wide": wide,
		"short": "ab\n\nabcdefghijkl",
	} {
		for name2, box := range map[string]string{
			"plain":  "###\n###",
			"styled": red.Render("#") + "##\n" + bold.Render("###"), "wide": "#日\n日#",
		} {
			for x := range 14 {
				for y := range 3 {
					if x+3 > 16 || y+2 > 3 {
						continue
					}
					want := lipgloss.NewCompositor(lipgloss.NewLayer(screen), lipgloss.NewLayer(box).X(x).Y(y).Z(1)).Render()
					got := Over(screen, box, x, y)
					for i, line := range strings.Split(got, "\n") {
						w := strings.Split(want, "\n")[i]
						if a, b := strings.TrimRight(ansi.Strip(line), " "), strings.TrimRight(ansi.Strip(w), " "); a != b {
							t.Errorf("%s on %s at %d, %d: line %d is %q, want %q", name2, name, x, y, i, a, b)
						}
					}
					if a, b := painted(got), painted(want); a != b {
						t.Errorf("%s on %s at %d, %d: it is painted as\n%s\nwant\n%s", name2, name, x, y, a, b)
					}
				}
			}
		}
	}
	for _, y := range []int{-1, 2, 5} {
		if n := strings.Count(Over(plain, "#\n#", 0, y), "\n"); n != 2 {
			t.Errorf("at line %d the screen has %d line ends", y, n)
		}
	}
}

// painted is a screen as a terminal of its size has it, each cell with its looks.
func painted(screen string) string {
	canvas := lipgloss.NewCanvas(20, 3)
	canvas.Compose(lipgloss.NewLayer(screen))
	var b strings.Builder
	for y := range 3 {
		for x := range 20 {
			cell := canvas.CellAt(x, y)
			if cell == nil || cell.Content == "" || cell.Content == " " && cell.Style.IsZero() {
				b.WriteByte(' ')
				continue
			}
			b.WriteString(cell.Style.String() + cell.Content + ansi.ResetStyle)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func BenchmarkOver(b *testing.B) {
	line := lipgloss.NewStyle().Foreground(lipgloss.Color("2")).Render(strings.Repeat("word ", 24))
	screen := strings.TrimSuffix(strings.Repeat(line+"\n", 40), "\n")
	box := strings.TrimSuffix(strings.Repeat(strings.Repeat("#", 70)+"\n", 30), "\n")
	b.Run("lines", func(b *testing.B) {
		for b.Loop() {
			Over(screen, box, 20, 5)
		}
	})
	b.Run("compositor", func(b *testing.B) {
		for b.Loop() {
			lipgloss.NewCompositor(lipgloss.NewLayer(screen), lipgloss.NewLayer(box).X(20).Y(5).Z(1)).Render()
		}
	})
}
