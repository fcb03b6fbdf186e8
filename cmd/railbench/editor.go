package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/tui/render"
)

// editedLimit is how long a script may be when the editor has written it.
const editedLimit = 1 << 20

// An editor is the program with which a user writes, and the text that it is given.
type editor struct {
	cmd  *exec.Cmd
	back func() // gives the terminal back; nil before it is lent
	text string
}

// openEditor finds the editor that the user wants, or one that is usual. read gives
// the text as it was left, once the editor has run.
func openEditor(text string) (run tea.ExecCommand, read func() string, err error) {
	words := strings.Fields(os.Getenv("VISUAL"))
	name := "$VISUAL"
	if len(words) == 0 {
		words, name = strings.Fields(os.Getenv("EDITOR")), "$EDITOR"
	}
	if len(words) > 0 {
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, nil, fmt.Errorf("%s is %s, which is not on this machine", name, words[0])
		}
	}
	for _, usual := range []string{"vi", "nano"} {
		if _, err := exec.LookPath(usual); len(words) == 0 && err == nil {
			words = []string{usual}
		}
	}
	if len(words) == 0 {
		return nil, nil, errors.New("neither vi nor nano is on this machine; $EDITOR can name another editor")
	}
	e := &editor{cmd: exec.Command(words[0], words[1:]...), text: text}
	return e, func() string { return e.text }, nil
}

func (e *editor) SetStdin(r io.Reader)  { e.cmd.Stdin = r }
func (e *editor) SetStdout(w io.Writer) { e.cmd.Stdout, e.back = render.Lend(w) }
func (e *editor) SetStderr(w io.Writer) { e.cmd.Stderr = w }

// Run runs it to its end. Where it fails the text is as it was.
func (e *editor) Run() error {
	if e.back != nil {
		defer e.back()
	}
	folder, err := safefile.Hold(os.TempDir(), shownFolder)
	if err != nil {
		return err
	}
	defer folder.Remove() //nolint:errcheck // the next one removes what stays
	file := filepath.Join(folder.Path, "cell.sh")
	if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
		return err
	}
	e.cmd.Args = append(e.cmd.Args, file)
	if err := e.cmd.Run(); err != nil {
		return err
	}
	// Some editors write a new file in the old one's place: it is read by its name.
	text, err := safefile.Read(file, editedLimit)
	if err != nil {
		return err
	}
	e.text = string(text)
	return nil
}
