package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/trust"
)

// sshTrust is what an ssh configuration is trusted as: all that it says, and where.
func sshTrust(files []runner.SSHFile) string {
	var all []string
	for _, f := range files {
		all = append(all, strconv.Quote(f.Path), strconv.Quote(f.Text))
	}
	return strings.Join(all, "\n")
}

// showConfiguration writes an ssh configuration whole; what runs something comes first.
func showConfiguration(out io.Writer, files []runner.SSHFile) {
	for _, f := range files {
		for line := range strings.Lines(f.Text) {
			if runner.SSHRuns(line) {
				sanitize.Fprintf(out, "# --- run by ssh on this machine, in your name (%s)\n%s\n", f.Path,
					sanitize.Line(strings.TrimSpace(line)))
			}
		}
	}
	for _, f := range files {
		sanitize.Fprintf(out, "# --- ssh configuration %s\n%s\n", f.Path, sanitize.Several(strings.TrimRight(f.Text, "\n")))
	}
}

// trustRig refuses a rig file whose ssh configuration this user has not trusted, before ssh
// reads it, or trusts it where the user says so. The configuration that the user names
// himself, and his own, need none. What it gives is what was read, and is all that ssh may get.
func trustRig(book *trust.Book, path, config string, trusted bool) ([]runner.SSHFile, error) {
	files, err := runner.SSHConfiguration(config)
	if err != nil {
		return nil, usage(fmt.Errorf("rig file %s: %w", path, err))
	}
	text := sshTrust(files)
	switch {
	case book.TrustedProgram("ssh_config", text):
		return files, nil
	case trusted:
		if err := book.TrustProgram("ssh_config", text); err != nil {
			return nil, unwritten(err)
		}
		return files, nil
	}
	return nil, usage(fmt.Errorf("rig file %s brings an ssh configuration (%s), of which ssh runs commands on this "+
		"machine, and you have not trusted it as it is now: railbench trust %[1]s shows it and asks", path, config))
}

// trustsRig is railbench trust for a rig file.
func trustsRig(path string) (trusting, error) {
	file, err := readRig(path)
	if err != nil {
		return trusting{}, usage(err)
	}
	book := newTrust(steps.Tutorial{})
	if file.SSHConfig == "" {
		return trusting{}, nil
	}
	files, err := runner.SSHConfiguration(file.SSHConfig)
	if err != nil {
		return trusting{}, usage(errors.Join(fmt.Errorf("rig file %s", path), err))
	}
	text := sshTrust(files)
	if book.TrustedProgram("ssh_config", text) {
		return trusting{}, nil
	}
	return trusting{
		what: "its ssh configuration", where: "on this machine",
		show:  func(out io.Writer) { showConfiguration(out, files) },
		trust: func() error { return book.TrustProgram("ssh_config", text) },
	}, nil
}
