// Package calls finds out which command line of a tool a script comes to: a real shell reads it, with functions,
// arguments and all, but starts nothing and sees no file.
//
// What a script would learn from a program that it starts is empty here, and every program succeeds. A call may
// therefore be missing: it is for people to read, and no shell's.
package calls

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// mostCommands is how many commands are followed: a loop that waits for a program would not end.
const mostCommands = 2000

var errTooMany = errors.New("too many commands")

// Of gives a script's call of a tool, from the tool's name on; empty where it comes to none. Of several calls it is the
// one that stands last in the script, and of one that stands in a function or a loop the first time that it is called.
// A variable that values lack keeps its name.
func Of(script, tool string, values map[string]string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), "")
	if err != nil || tool == "" {
		return ""
	}
	// What runs side by side is followed in the order in which it stands there.
	syntax.Walk(file, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			s.Background = false
		}
		return true
	})
	f := follower{tool: tool}
	shell, err := interp.New(interp.Env(environ(values)), interp.Dir("/"), interp.StdIO(nil, io.Discard, io.Discard),
		interp.CallHandler(f.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return f.exec }),
		interp.OpenHandler(func(context.Context, string, int, fs.FileMode) (io.ReadWriteCloser, error) {
			return nothing{}, nil
		}),
		interp.ReadDirHandler2(func(context.Context, string) ([]fs.DirEntry, error) { return nil, nil }),
		interp.StatHandler(func(context.Context, string, bool) (fs.FileInfo, error) { return nil, fs.ErrNotExist }),
	)
	if err != nil {
		return ""
	}
	_ = shell.Run(context.Background(), file) // however it ends, what it called is known
	for i, word := range f.words {
		if word == "" || strings.ContainsFunc(word, unicode.IsSpace) {
			f.words[i] = "'" + word + "'"
		}
	}
	return strings.Join(f.words, " ")
}

// A follower notes the calls of a tool.
type follower struct {
	tool  string
	words []string
	at    syntax.Pos // where they stand
	seen  int
}

// call has the shell's own commands that ask the machine do nothing, and succeed.
func (f *follower) call(_ context.Context, args []string) ([]string, error) {
	if f.seen++; f.seen > mostCommands {
		return nil, errTooMany
	}
	switch args[0] {
	case "command", "cd", "umask", "ulimit", "wait", "kill", "type":
		if args[0] != "command" || len(args) > 1 && strings.HasPrefix(args[1], "-") {
			return []string{"true"}, nil
		}
	}
	return args, nil
}

func (f *follower) exec(ctx context.Context, args []string) error {
	at := interp.HandlerCtx(ctx).Pos
	for i, word := range args {
		if path.Base(word) == f.tool && (f.words == nil || at.After(f.at)) {
			f.words, f.at = slices.Clone(args[i:]), at
			f.words[0] = f.tool
			break
		}
	}
	return nil
}

// environ are the values of a script's variables; those that it lacks are their own names.
type environ map[string]string

func (e environ) Get(name string) expand.Variable {
	value, ok := e[name]
	if !ok {
		switch first := rune(name[0]); {
		case !unicode.IsUpper(first), strings.ContainsFunc(name, unicode.IsLower): // the script's own
			return expand.Variable{}
		case slices.Contains([]string{"IFS", "OPTIND", "HOME", "PATH", "PWD", "UID", "EUID", "GID"}, name): // the shell's
			return expand.Variable{}
		}
		value = "$" + name
	}
	return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}
}

func (e environ) Each(visit func(string, expand.Variable) bool) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if !visit(name, e.Get(name)) {
			return
		}
	}
}

// nothing is every file: what is written is gone, and nothing is read.
type nothing struct{}

func (nothing) Read([]byte) (int, error)    { return 0, io.EOF }
func (nothing) Write(b []byte) (int, error) { return len(b), nil }
func (nothing) Close() error                { return nil }
