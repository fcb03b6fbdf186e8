package console

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lend is of a terminal that no screen has.
func lend(w io.Writer) (io.Writer, func()) { return w, func() {} }

// program puts a shell script into a folder of programs.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestPager(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", t.TempDir())
	all := filepath.Join(t.TempDir(), "logs")
	logs := filepath.Join(all, "20261122T200000Z-1")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	log, foreign := filepath.Join(logs, "001-hosts.log"), filepath.Join(t.TempDir(), "001-hosts.log")
	for _, path := range []string{log, foreign} {
		if err := os.WriteFile(path, []byte("from the log\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(logs, "002-hosts.log")
	if err := os.Symlink(foreign, link); err != nil {
		t.Fatal(err)
	}
	text := func() string { return "from the screen\n" }
	show := func(log string) (out string, err error) {
		t.Helper()
		cmd, err := Pager(all, log, text, lend)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		cmd.SetStdout(&b)
		cmd.SetStderr(&b)
		err = cmd.Run()
		return b.String(), err
	}
	prints := func(name string) {
		program(t, bin, name, `echo "`+name+
			` $# $1"; for last in "$@"; do :; done; while IFS= read -r line; do echo "$line"; done <"$last"`)
	}

	t.Setenv("PAGER", "")
	if _, err := show(log); err == nil || !strings.Contains(err.Error(), "neither less nor more") ||
		!strings.Contains(err.Error(), "$PAGER") {
		t.Errorf("without a pager: %v", err)
	}
	prints("more")
	if out, err := show(""); err != nil || !strings.HasPrefix(out, "more 1 ") ||
		!strings.HasSuffix(out, "\nfrom the screen\n") {
		t.Errorf("without less: %q, %v", out, err)
	}
	prints("less")
	if out, err := show(log); err != nil || out != "less 2 -R\nfrom the log\n" {
		t.Errorf("with less: %q, %v", out, err)
	}
	prints("mine")
	t.Setenv("PAGER", "mine --one two")
	if out, err := show(log); err != nil || out != "mine 3 --one\nfrom the log\n" {
		t.Errorf("with $PAGER: %q, %v", out, err)
	}
	if out, err := show(log + ".removed"); err != nil || out != "mine 3 --one\nfrom the screen\n" {
		t.Errorf("with a log that is gone: %q, %v", out, err)
	}
	// A session may name any file as its log: what railbench has not written is not shown as it is.
	for _, named := range []string{
		foreign, link, filepath.Join(logs, "..", "..", "..", filepath.Base(foreign)),
		logs + "/../../../" + "x", "+q",
	} {
		if out, err := show(named); err != nil || out != "mine 3 --one\nfrom the screen\n" {
			t.Errorf("with %s: %q, %v", named, out, err)
		}
	}
	t.Setenv("PAGER", "nonesuch -x")
	if _, err := show(log); err == nil || !strings.Contains(err.Error(), "$PAGER is nonesuch") {
		t.Errorf("with a pager that is missing: %v", err)
	}
	program(t, bin, "fails", "exit 3")
	t.Setenv("PAGER", "fails")
	if _, err := show(""); err == nil || !strings.Contains(err.Error(), "3") {
		t.Errorf("with a pager that fails: %v", err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEditor(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "ed")
	// It writes a new file in the old one's place, as some editors do.
	body := "#!/bin/sh\n[ \"$1\" = -w ] || exit 3\nsed 's/old/new/' \"$2\" >\"$2.tmp\" && mv \"$2.tmp\" \"$2\" && echo " +
		"\"$2\" >" + dir + "/file\n"
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", script+" -w")
	run, read, err := Editor("echo old\n", lend)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Run(); err != nil || read() != "echo new\n" {
		t.Errorf("%v, %q", err, read())
	}
	file, err := os.ReadFile(dir + "/file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(file))); err == nil {
		t.Error("its file is left")
	}
	// One that fails leaves the text alone.
	t.Setenv("EDITOR", script)
	if run, read, err = Editor("echo old\n", lend); err != nil || run.Run() == nil || read() != "echo old\n" {
		t.Errorf("%v, %q", err, read())
	}
	t.Setenv("VISUAL", "/no/such/editor")
	if _, _, err := Editor("", lend); err == nil || !strings.Contains(err.Error(), "$VISUAL is /no/such/editor") {
		t.Error(err)
	}
}
