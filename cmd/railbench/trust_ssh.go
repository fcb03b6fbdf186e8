package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pattern"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/trust"
)

// An sshFile is a file of an ssh configuration. ssh runs what it says on this machine
// (Match exec, ProxyCommand), also to find out no more than a host's address.
//
// given is its text as ssh gets it, with the same lines: instead of an Include's files it names their copies. Of what
// stands in the files later ssh reads nothing.
type sshFile struct{ path, text, given string }

// How much an ssh configuration may include: ssh follows 16 levels.
const (
	sshLevels = 16
	sshFiles  = 100
)

// sshConfiguration reads an ssh configuration and what it includes, in ssh's order. What
// can't be found as ssh would find it is an error: it could say anything.
func sshConfiguration(path string) (all []sshFile, err error) {
	var read func(path string, level int) error
	read = func(path string, level int) error {
		if level > sshLevels || len(all) == sshFiles {
			return fmt.Errorf("ssh configuration %s: it includes too much: %d files, %d levels", path, sshFiles, sshLevels)
		}
		src, err := safefile.Read(path, rigLimit)
		if err != nil {
			return fmt.Errorf("read the ssh configuration: %w", err)
		}
		at := len(all)
		all = append(all, sshFile{path: path, text: string(src)})
		var given []string
		for line := range strings.Lines(string(src)) {
			included, err := sshIncludes(line)
			if err != nil {
				return fmt.Errorf("ssh configuration %s: %w", path, err)
			}
			var copies []string
			for _, p := range included {
				copies = append(copies, copyName(len(all)))
				if err := read(p, level+1); err != nil {
					return err
				}
			}
			given = append(given, includeCopies(line, copies))
		}
		all[at].given = strings.Join(given, "")
		return nil
	}
	return all, read(path, 0)
}

// plainInclude is an Include whose words are read here as ssh reads them: each is in quotes as a whole, or
// has none.
var plainInclude = pattern.New(`(?i)^[=" \t]*include"?(?:[ \t]*=[ \t]*|[ \t]+)((?:"[^"]*"[ \t]+|[^"\s]+[ \t]+)*)$`)

// sshIncludes are the files that a line of an ssh configuration includes. A folder is none,
// and neither is what isn't there, as ssh has it. ssh takes quotes out of the middle of a word, and
// ends a line at a NUL byte: of what only looks as if it were no Include nothing is guessed.
func sshIncludes(line string) (paths []string, err error) {
	line = strings.TrimRight(line, " \t\r\n\f") // a \v is the word's
	bare := strings.TrimLeft(strings.ToLower(strings.ReplaceAll(line, `"`, "")), " \t=\r\f\v")
	after, ok := strings.CutPrefix(bare, "include")
	if !ok && !strings.ContainsRune(line, 0) {
		return nil, nil
	}
	alone := func(what string) error {
		return fmt.Errorf("include %s: it is found by ssh alone, and railbench can't show it: write its whole path",
			sanitize.Line(what))
	}
	words := plainInclude.Regexp().FindStringSubmatch(line + " ")
	switch {
	case strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' }):
		return nil, alone(line)
	case strings.Trim(after, " \t=") == "":
		return nil, nil // ssh refuses it
	case words == nil && !strings.ContainsAny(after[:1], " \t=") && !strings.Contains(line, `"`):
		return nil, nil // another word, which begins as this one
	case words == nil:
		return nil, alone(line)
	}
	for rest := strings.TrimSpace(words[1]); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var one string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			one, rest, _ = strings.Cut(quoted, `"`)
		} else if one, rest = cutBlank(rest); strings.HasPrefix(one, "#") {
			break // a comment
		}
		// What [ means is not the same here and there.
		if strings.ContainsAny(one, "$%'\\[") || strings.HasPrefix(one, "~") && !strings.HasPrefix(one, "~/") {
			return nil, alone(one)
		}
		if rest, ok := strings.CutPrefix(one, "~/"); ok || !filepath.IsAbs(one) {
			home, err := sshHome()
			if err != nil {
				return nil, fmt.Errorf("include %s: %w", sanitize.Line(one), err)
			}
			if ok {
				one = filepath.Join(home, rest)
			} else {
				one = filepath.Join(home, ".ssh", one)
			}
		}
		found, err := filepath.Glob(one)
		if err != nil {
			return nil, fmt.Errorf("include %s: %w", sanitize.Line(one), err)
		}
		found = slices.DeleteFunc(found, isFolder)
		paths = append(paths, found...)
	}
	return paths, nil
}

// cutBlank cuts a text at its first blank.
func cutBlank(s string) (before, after string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// sshHome is this user's folder as ssh has it, which doesn't look at $HOME.
func sshHome() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err == nil && filepath.Clean(u.HomeDir) != filepath.Clean(home) {
		return "", fmt.Errorf("ssh takes %s for your folder, and $HOME is %s: write its whole path", u.HomeDir, home)
	}
	return home, nil // who is in no file of this machine has only $HOME
}

// sshTrust is what an ssh configuration is trusted as: all that it says, and where.
func sshTrust(files []sshFile) string {
	var all []string
	for _, f := range files {
		all = append(all, strconv.Quote(f.path), strconv.Quote(f.text))
	}
	return strings.Join(all, "\n")
}

// showConfiguration writes an ssh configuration whole; what runs something comes first.
func showConfiguration(out io.Writer, files []sshFile) {
	for _, f := range files {
		for line := range strings.Lines(f.text) {
			if sshRuns(line) {
				sanitize.Fprintf(out, "# --- run by ssh on this machine, in your name (%s)\n%s\n", f.path,
					sanitize.Line(strings.TrimSpace(line)))
			}
		}
	}
	for _, f := range files {
		sanitize.Fprintf(out, "# --- ssh configuration %s\n%s\n", f.path, sanitize.Several(strings.TrimRight(f.text, "\n")))
	}
}

// sshRuns reports whether a line looks as if ssh ran something for it: what is shown first.
// All of the file is trusted or nothing of it, so that a line that isn't found here runs no
// sooner than one that is.
func sshRuns(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	if strings.HasPrefix(line, "#") {
		return false
	}
	return strings.Contains(line, "command") || strings.Contains(line, "exec") || strings.Contains(line, "provider")
}

// trustRig refuses a rig file whose ssh configuration this user has not trusted, before ssh
// reads it, or trusts it where the user says so. The configuration that the user names
// himself, and his own, need none. What it gives is what was read, and is all that ssh may get.
func trustRig(book *trust.Book, path, config string, trusted bool) ([]sshFile, error) {
	files, err := sshConfiguration(config)
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
	files, err := sshConfiguration(file.SSHConfig)
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
