package trust

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Request is what another user's file would have run: trusted, shown and kept as one. Without What nothing needs
type Request struct {
	What, Where string // as the question names it
	Show        func(io.Writer)
	Trust       func() error
}

// Cells request a file's scripts.
func (b *Book) Cells(foreign []steps.Cell) Request {
	if len(foreign) == 0 {
		return Request{}
	}
	return Request{
		What: Counted(foreign), Where: "on your nodes",
		Show:  func(out io.Writer) { Show(out, foreign) },
		Trust: func() error { return b.Trust(foreign...) },
	}
}

// Local requests a text of a kind that runs something on this machine. It is all that is trusted: what it says, and
// where.
func (b *Book) Local(what, kind, text string, show func(io.Writer)) Request {
	if b.TrustedProgram(kind, text) {
		return Request{}
	}
	return Request{
		What: what, Where: "on this machine", Show: show,
		Trust: func() error { return b.TrustProgram(kind, text) },
	}
}

// SSH requests an ssh configuration; what runs something is shown first.
func (b *Book) SSH(files []runner.SSHFile) Request {
	var all []string
	for _, f := range files {
		all = append(all, strconv.Quote(f.Path), strconv.Quote(f.Text))
	}
	return b.Local("its ssh configuration", "ssh_config", strings.Join(all, "\n"), func(out io.Writer) {
		for _, f := range files {
			for line := range strings.Lines(f.Text) {
				if runner.SSHRuns(line) {
					sanitize.Fprintf(out, "# --- run by ssh on this machine, in your name (%s)\n%s\n", f.Path,
						sanitize.Line(strings.TrimSpace(line)))
				}
			}
		}
		for _, f := range files {
			sanitize.Fprintf(out, "# --- ssh configuration %s\n%s\n", f.Path,
				sanitize.Several(strings.TrimRight(f.Text, "\n")))
		}
	})
}

// Show writes cells whole, with where they run and as whom.
func Show(out io.Writer, cells []steps.Cell) {
	for _, c := range cells {
		if name, value, ok := Parameter(c); ok {
			sanitize.Fprintf(out, "# --- the parameter %s, unless it is set\n%s=%s\n", name, name, runner.Quote(value))
			continue
		}
		if c.Change.Any() {
			sanitize.Fprintf(out, "# --- %s: changes the network, the interfaces in %s\n", c.ID,
				strings.Join(c.Change.Set, ", "))
		}
		if c.With != nil {
			sanitize.Fprintf(out, "# --- %s: has railbench run for it %s\n", c.ID, strings.Join(c.With, ", "))
		}
		if c.Own != "" {
			sanitize.Fprintf(out, "# --- %s: railbench's own %s\n", c.ID, c.Own)
		}
		for _, r := range c.Roles {
			what := []string{c.ID}
			if r.Name != "" {
				what = append(what, r.Name)
			}
			asRoot := ""
			if r.Root {
				asRoot = ", as root"
			}
			if r.Interpreter != "" {
				asRoot += ", in " + r.Interpreter
			}
			sanitize.Fprintf(out, "# --- %s, on %s%s\n%s\n", strings.Join(what, ", "),
				r.On, asRoot, sanitize.Several(strings.TrimRight(r.Text(), "\n")))
		}
	}
}

// Counted says how many cells and parameters need trust.
func Counted(foreign []steps.Cell) string {
	params := 0
	for _, c := range foreign {
		if _, _, ok := Parameter(c); ok {
			params++
		}
	}
	switch len(foreign) - params {
	case 0:
		return steps.Counted(params, "parameter")
	case len(foreign):
		return steps.Counted(len(foreign), "cell")
	}
	return steps.Counted(len(foreign)-params, "cell") + " and " + steps.Counted(params, "parameter")
}

// What was trusted was read once. A user who may write the file may change it a moment later. So ssh and
// Ansible get copies of what was read, in a folder that only this user can write.

// CopiesFolder is what the folder of such copies begins with.
const CopiesFolder = "railbench-trusted-"

// PrivateFolder makes a folder in which no one else can exchange a file: with this user's state, or, where there
// is none, with the temporary files.
func PrivateFolder(state string) (*safefile.Folder, error) {
	places := []string{os.TempDir()}
	if state != "" && os.MkdirAll(state, 0o700) == nil {
		places = []string{state, os.TempDir()}
	}
	var errs []error
	for _, place := range places {
		err := safefile.Keeps(place)
		if err == nil {
			var folder *safefile.Folder
			if folder, err = safefile.Hold(place, CopiesFolder); err == nil {
				return folder, nil
			}
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("copy what was trusted to a private folder: %w", errors.Join(errs...))
}

// CopySSH writes the files of an ssh configuration, with Includes that name the copies.
func CopySSH(state string, files []runner.SSHFile) (*safefile.Folder, error) {
	folder, err := PrivateFolder(state)
	if err != nil {
		return nil, err
	}
	if err := runner.CopySSHConfiguration(files, folder.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the ssh configuration: %w", err), folder.Remove())
	}
	return folder, nil
}
