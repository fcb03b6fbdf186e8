package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// NotSaved answers what would leave a session that is not saved.
const NotSaved = "this session is not saved: ctrl+s names another file for it"

// SaveAs asks for a file for a session that could not be saved where sessions are.
type SaveAs struct {
	*screen.Shared
	screen.Inert
	line   screen.Line
	quits  bool   // once it is saved
	place  string // where it could be saved
	failed string // why the last file was no good
}

type (
	// PlaceMsg brings a file that the session could be saved in.
	PlaceMsg string
	// MovedMsg says that it was saved in another one, or why not.
	MovedMsg struct{ err error }
)

// maxPath bounds what a paste can bring.
const maxPath = 4096

// look asks where the session could be saved.
func (ub *SaveAs) look() tea.Cmd {
	elsewhere := ub.Opts.Saved.Elsewhere
	if elsewhere == nil {
		return nil
	}
	return func() tea.Msg { return PlaceMsg(elsewhere()) }
}

// Offered has a file that the session could be saved in.
func (ub *SaveAs) Offered(msg PlaceMsg) tea.Cmd {
	ub.Dirty = true
	if ub.place = string(msg); ub.Layers.Has(screen.SaveAs) && ub.line.Text() == "" {
		ub.line.Set(ub.place)
	}
	return nil
}

// Open asks for the file, and quits then where that was meant.
func (ub *SaveAs) Open(quits bool) tea.Cmd {
	ub.quits, ub.failed, ub.line = quits, "", screen.NewLine(maxPath)
	ub.line.Set(ub.place)
	ub.Layers.Push(screen.SaveAs)
	return ub.look()
}

// Key types at the file's name.
func (ub *SaveAs) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		ub.Layers.Drop(screen.SaveAs)
	case "enter":
		save, path := ub.Opts.Saved.In, strings.TrimSpace(ub.line.Text())
		if save == nil || path == "" {
			return nil
		}
		return func() tea.Msg { return MovedMsg{save(path)} }
	default:
		ub.line.Key(msg)
	}
	return nil
}

// Paste puts a path in at the cursor.
func (ub *SaveAs) Paste(text string) tea.Cmd {
	ub.line.Paste(screen.FirstLine(text))
	return nil
}

// Moved closes the box once the session is saved, or says why it is not.
func (ub *SaveAs) Moved(msg MovedMsg) tea.Cmd {
	ub.Dirty = true
	if msg.err != nil {
		ub.failed = msg.err.Error()
		return nil
	}
	ub.Layers.Drop(screen.SaveAs, screen.Quit)
	if ub.quits {
		return tea.Quit
	}
	return ub.Say("saved in " + strings.TrimSpace(ub.line.Text()))
}

// Draw is the file's name as it is typed.
func (ub *SaveAs) Draw(width, _ int) screen.Picture {
	width = min(screen.BoxWidth, width)
	k := ub.Styles
	why := ub.failed
	if why == "" {
		why = ub.Book.Saved.Why
	}
	lines := theme.Wrap(k.Warn.Render(theme.Clean(why)), width, "", "")
	lines = append(lines, "", k.Dim.Render("> ")+ub.line.View(k, theme.Style{}, width-2), "")
	lines = append(lines, theme.Wrap("The name ends in .ipynb, and no file has it yet.", width, "", "")...)
	lines = append(lines, "", k.Focus.Render("enter")+" save   "+k.Focus.Render("esc")+" back")
	return screen.Picture{Lines: lines, Title: "Save the session in", Columns: width}
}
