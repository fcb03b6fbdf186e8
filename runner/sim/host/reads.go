package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter reads a file that is a command's input through a pipe of the host's, a byte at a time, and most of
// what scripts read so is one line of sysfs. So
//
//	read -r speed rest <"$pci/current_link_speed"
//
// is turned into
//
//	@read "$pci/current_link_speed" -r speed rest
//
// which takes the line from the node itself. A file whose name is worked out by more than quoted variables, and a
// read with other options, stay with the interpreter.

// quickRead turns a statement that reads a line of a file, where it is one.
func quickRead(st *syntax.Stmt) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "read" {
		return
	}
	plain := func(w *syntax.Word) bool {
		text := w.Lit()
		return text == "-r" || syntax.ValidName(text)
	}
	at := slices.IndexFunc(st.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn && r.N == nil })
	if at < 0 || at != len(st.Redirs)-1 || len(call.Args) < 2 ||
		slices.ContainsFunc(call.Args[1:], func(w *syntax.Word) bool { return !plain(w) }) {
		return
	}
	file := quotedWord(st.Redirs[at].Word)
	if file == nil {
		return
	}
	call.Args = slices.Concat([]*syntax.Word{word(lit("@read")), file}, call.Args[1:])
	st.Redirs = st.Redirs[:at]
}

// readFrom is @read.
func (sh *Shell) readFrom(life context.Context, hc interp.HandlerContext, args []string) []string {
	text, err := sh.text(absolute(hc.Dir, args[1]))
	var in io.Reader = strings.NewReader(text)
	switch {
	case errors.Is(err, syscall.EINVAL):
		in = failing{err}
	case err != nil:
		fmt.Fprintln(hc.Stderr, sh.cannotOpen(args[1], false, err))
		return status(1)
	}
	return sh.readLine(life, hc, in, args[1:])
}

// text is what is in a file at the moment of its opening, as a short read of sysfs is. Where the file opens and the
// read of it fails, the error is EINVAL.
func (sh *Shell) text(name string) (string, error) {
	if name == os.DevNull {
		return "", nil
	}
	sh.node.Rack.Lock()
	defer sh.node.Rack.Unlock()
	return sh.node.ReadFile(name, sh.root)
}
