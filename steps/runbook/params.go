package runbook

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

var (
	paramsComment = lazyregexp.New(`(?s)\A\s*<!--\s*params:(.*?)-->`)
	paramForm     = lazyregexp.New(`^[A-Z][A-Z0-9_]*$`)
)

// shellNames are variables of the shell, or of every process: a runbook that gave
// them another value would change what runs, and not with what.
var shellNames = []string{
	"PATH", "HOME", "IFS", "ENV", "BASH_ENV", "CDPATH", "SHELL",
	"SHELLOPTS", "BASHOPTS", "PS1", "PS2", "PS4", "PWD", "OLDPWD",
	"PPID", "OPTIND", "OPTARG", "LINENO", "USER", "LOGNAME", "TERM", "TMPDIR", "LANG", "LANGUAGE", "TZ", "UID", "EUID",
	"HOSTNAME", "RANDOM", "SECONDS", "COLUMNS", "LINES", "MAIL", "EDITOR", "PAGER", "DISPLAY",
	"DBUS_SESSION_BUS_ADDRESS", "PROMPT_COMMAND", "FUNCNEST", "GLOBIGNORE", "EXECIGNORE", "POSIXLY_CORRECT", "INPUTRC",
	"TMP",
	"LESSOPEN", "LESSCLOSE", "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "TERMINFO",
	"NODE_OPTIONS", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "GREP_OPTIONS", "TAR_OPTIONS", "RSYNC_RSH",
}

// shellPrefixes begin more of them: the loader's, the locale's, the desktop's, those of
// interpreters, and the marks by which the supervisor finds what a script has left behind.
var shellPrefixes = []string{
	"LD_", "DYLD_", "LC_", "XDG_", "BASH_", "SUDO_", "SSH_", "SYSTEMD_", "GLIBC_", "MALLOC_", "PERL", "PYTHON", "GIT_",
	"RAILBENCH_",
}

// ofShell reports whether a variable is the shell's or the system's.
func ofShell(name string) bool {
	return slices.Contains(shellNames, name) ||
		slices.ContainsFunc(shellPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// comment reads the parameters that a comment declares; any other is prose.
func (r *reader) comment(b *ast.HTMLBlock) {
	if b.Lines().Len() == 0 {
		return
	}
	start := r.lineStart(b.Lines().At(0).Start)
	m := paramsComment.Regexp().FindSubmatchIndex(r.text[start:])
	if m == nil {
		return
	}
	if r.cell != nil || r.lost {
		r.wrong(start, "the parameters stand above the first cell")
		return
	}
	end := start + m[1]
	if rest := r.between(end, r.nextLine(end)); rest != "" {
		r.wrong(end, "%q stands behind the comment with the parameters, on its line", rest)
	}
	end = r.nextLine(end)
	if r.started {
		r.addProse(&r.doc.Part.Prose, start)
		r.prose = end
	}
	all, err := assignments(string(r.text[start+m[2] : start+m[3]]))
	if err != nil {
		r.wrong(start, "the parameters: %w", err)
		return
	}
	if len(all) == 0 {
		r.wrong(start, "the comment declares no parameter: <!-- params: NAME=VALUE -->")
	}
	for _, s := range all {
		// In a long comment each has a line of its own.
		at := start
		if i := bytes.Index(r.text[start:end], []byte(s.name)); i > 0 {
			at = start + i
		}
		if err := r.param(s); err != nil {
			r.wrong(at, "%w", err)
			continue
		}
		r.doc.params[s.name], _ = r.position(at)
	}
}

// param declares one. Its name is a variable of every script that reads it, so it must be
// none of the shell's own, such as PATH.
func (r *reader) param(s setting) error {
	switch {
	case s.bare:
		return fmt.Errorf("the parameter %s has no value: %s=VALUE, or %s= for none", s.name, s.name, s.name)
	case !paramForm.Regexp().MatchString(s.name):
		return fmt.Errorf("the parameter %q: capital letters, digits and _ only, a letter first", s.name)
	case ofShell(s.name):
		return fmt.Errorf("the parameter %s: the name is the shell's or the system's", s.name)
	case strings.ContainsFunc(s.value, unicode.IsControl):
		return fmt.Errorf("the parameter %s: a value is one line, without tabs", s.name)
	case slices.ContainsFunc(r.doc.Part.Params, func(p steps.Param) bool { return p.Name == s.name }):
		return fmt.Errorf("the parameter %s is there twice", s.name)
	}
	r.doc.Part.Params = append(r.doc.Part.Params, steps.Param{Name: s.name, Default: s.value})
	return nil
}
