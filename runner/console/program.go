// Package console is the user's end of the program: signals, the pager and the editor that a user wants, and reads of
// what is typed or piped in. It draws nothing, and prints nothing.
package console

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/railbench/railbench/runner/safefile"
)

// ShownFolder is what the folders begin with in which an editor or a pager is shown a text.
const ShownFolder = "railbench-shown-"

// editedLimit is how long a script may be when the editor has written it.
const editedLimit = 1 << 20

// Lend gives what stands behind a screen's writer, for as long as another program has the terminal.
type Lend = func(io.Writer) (out io.Writer, back func())

// A Program is a user's own that has the terminal while it runs, and the file for it.
type Program struct {
	cmd  *exec.Cmd
	lend Lend
	back func() // gives the terminal back; nil before it is lent
	file string // a log, or the name of a file for the text
	text func() string
	keep func(text string) // gets the text as it was left; nil where it is only read
}

// wanted is the program that one of the variables names, the first before the others, or one that is usual.
func wanted(what string, variables []string, usual ...[]string) (*exec.Cmd, error) {
	for _, name := range variables {
		if words := strings.Fields(os.Getenv(name)); len(words) > 0 {
			if _, err := exec.LookPath(words[0]); err != nil {
				return nil, fmt.Errorf("$%s is %s, which is not on this machine", name, words[0])
			}
			return exec.Command(words[0], words[1:]...), nil
		}
	}
	var names []string
	for _, words := range usual {
		if _, err := exec.LookPath(words[0]); err == nil {
			return exec.Command(words[0], words[1:]...), nil
		}
		names = append(names, words[0])
	}
	return nil, fmt.Errorf("neither %s is on this machine; $%s can name another %s", strings.Join(names, " nor "),
		variables[len(variables)-1], what)
}

// PagerCommand is the pager that the user wants, or one that is usual.
func PagerCommand() (*exec.Cmd, error) {
	return wanted("pager", []string{"PAGER"}, []string{"less", "-R"}, []string{"more"})
}

// Pager makes the pager ready for a log below a folder, or for a text that is asked for when it runs.
func Pager(logs, log string, text func() string, lend Lend) (*Program, error) {
	cmd, err := PagerCommand()
	if err != nil {
		return nil, err
	}
	p := &Program{cmd: cmd, lend: lend, file: "output.log", text: text}
	// It was removed, or there never was one. The name is from a file, and a pager takes
	// one that begins with + or - for what it is to do.
	if ownLog(logs, log) {
		p.file, p.text = log, nil
	}
	return p, nil
}

// ownLog reports whether a file is a log that railbench wrote, clean: a session may name any file.
func ownLog(logs, path string) bool {
	if logs == "" || !strings.HasPrefix(filepath.Clean(path), logs+string(filepath.Separator)) {
		return false
	}
	f, err := safefile.Open(path, os.O_RDONLY, 0)
	return err == nil && f.Close() == nil
}

// Editor finds the editor that the user wants, or one that is usual. read gives the text as it was left, once the
// editor has run; where it fails that is the text as it was.
func Editor(text string, lend Lend) (run *Program, read func() string, err error) {
	cmd, err := wanted("editor", []string{"VISUAL", "EDITOR"}, []string{"vi"}, []string{"nano"})
	if err != nil {
		return nil, nil, err
	}
	read = func() string { return text }
	return &Program{cmd: cmd, lend: lend, file: "cell.sh", text: read, keep: func(left string) { text = left }}, read, nil
}

// SetStdin gives the program what is typed.
func (p *Program) SetStdin(r io.Reader) { p.cmd.Stdin = r }

// SetStdout lends the program the terminal.
func (p *Program) SetStdout(w io.Writer) { p.cmd.Stdout, p.back = p.lend(w) }

// SetStderr gives the program where it complains.
func (p *Program) SetStderr(w io.Writer) { p.cmd.Stderr = w }

// Run runs it to its end.
func (p *Program) Run() error {
	if p.back != nil {
		defer p.back()
	}
	file := p.file
	if p.text != nil {
		folder, err := safefile.Hold(os.TempDir(), ShownFolder)
		if err != nil {
			return err
		}
		defer folder.Remove() //nolint:errcheck // the next one removes what stays
		file = filepath.Join(folder.Path, p.file)
		if err := os.WriteFile(file, []byte(p.text()), 0o600); err != nil {
			return err
		}
	}
	p.cmd.Args = append(p.cmd.Args, file)
	if err := p.cmd.Run(); err != nil || p.keep == nil {
		return err
	}
	// Some editors write a new file in the old one's place: it is read by its name.
	text, err := safefile.Read(file, editedLimit)
	if err != nil {
		return err
	}
	p.keep(string(text))
	return nil
}
