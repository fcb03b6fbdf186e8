package runner

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/railbench/railbench/runner/safefile"
)

// An SSHFile is a file of an ssh configuration. ssh runs what it says on this machine
// (Match exec, ProxyCommand), also to find out no more than a host's address.
//
// given is its text as ssh gets it, with the same lines: instead of an Include's files it names their copies. Of what
// stands in the files later ssh reads nothing.
type SSHFile struct{ Path, Text, given string }

// How much an ssh configuration may include: ssh follows 16 levels.
const (
	sshLevels = 16
	sshFiles  = 100
	sshLength = 1 << 20 // of one file
)

// SSHConfiguration reads an ssh configuration and what it includes, in ssh's order. What
// can't be found as ssh would find it is an error: it could say anything.
func SSHConfiguration(path string) (all []SSHFile, err error) {
	var read func(path string, level int) error
	read = func(path string, level int) error {
		if level > sshLevels || len(all) == sshFiles {
			return fmt.Errorf("ssh configuration %s: it includes too much: %d files, %d levels", path, sshFiles, sshLevels)
		}
		src, err := safefile.Read(path, sshLength)
		if err != nil {
			return fmt.Errorf("read the ssh configuration: %w", err)
		}
		at := len(all)
		all = append(all, SSHFile{Path: path, Text: string(src)})
		var given []string
		for line := range strings.Lines(string(src)) {
			included, err := sshIncludes(line)
			if err != nil {
				return fmt.Errorf("ssh configuration %s: %w", path, err)
			}
			var copies []string
			for _, p := range included {
				copies = append(copies, SSHCopyName(len(all)))
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
var plainInclude = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[=" \t]*include"?(?:[ \t]*=[ \t]*|[ \t]+)((?:"[^"]*"[ \t]+|[^"\s]+[ \t]+)*)$`)
})

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
		return fmt.Errorf("include %s: it is found by ssh alone, and railbench can't show it: write its whole path", what)
	}
	words := plainInclude().FindStringSubmatch(line + " ")
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
		found, err := included(one)
		if err != nil {
			return nil, fmt.Errorf("include %s: %w", one, err)
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// included are the files that one word of an Include names.
func included(word string) ([]string, error) {
	if rest, ok := strings.CutPrefix(word, "~/"); ok || !filepath.IsAbs(word) {
		home, err := sshHome()
		if err != nil {
			return nil, err
		}
		if ok {
			word = filepath.Join(home, rest)
		} else {
			word = filepath.Join(home, ".ssh", word)
		}
	}
	found, err := filepath.Glob(word)
	return slices.DeleteFunc(found, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.IsDir()
	}), err
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

// SSHRuns reports whether a line looks as if ssh ran something for it: what is shown first.
// All of the file is trusted or nothing of it, so that a line that isn't found here runs no
// sooner than one that is.
func SSHRuns(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	if strings.HasPrefix(line, "#") {
		return false
	}
	return strings.Contains(line, "command") || strings.Contains(line, "exec") || strings.Contains(line, "provider")
}

// SSHCopyName is the name of the copy of an ssh configuration's file. Files are counted from 0 on in the order of
// reading.
func SSHCopyName(i int) string { return "ssh_config." + strconv.Itoa(i) }

// includeCopies is a line of an ssh configuration that is not trusted to find its files again: an Include names their
// copies, or, where it found none, is empty. All other lines stay as they are.
func includeCopies(line string, copies []string) string {
	bare := strings.TrimRight(line, " \t\r\n\f")
	if !plainInclude().MatchString(bare + " ") {
		return line
	}
	if len(copies) == 0 {
		return "\n"
	}
	return "Include \"" + copiesPlace + strings.Join(copies, "\" \""+copiesPlace) + "\"\n"
}

// copiesPlace stands for the folder of the copies until it is made. No line has it: of a NUL byte is refused.
const copiesPlace = "\x00/"

// CopySSHConfiguration writes the files of an ssh configuration into a folder, with Includes that name the copies.
func CopySSHConfiguration(files []SSHFile, folder string) error {
	if strings.ContainsAny(folder, "\"'\\$%*?[~\n") {
		return fmt.Errorf("the folder %q has a character that ssh takes for another", folder)
	}
	for i, f := range files {
		text := strings.ReplaceAll(f.given, copiesPlace, folder+"/")
		if err := os.WriteFile(filepath.Join(folder, SSHCopyName(i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
