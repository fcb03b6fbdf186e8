package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	run, read, err := openEditor("echo old\n")
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
	if run, read, err = openEditor("echo old\n"); err != nil || run.Run() == nil || read() != "echo old\n" {
		t.Errorf("%v, %q", err, read())
	}
	t.Setenv("VISUAL", "/no/such/editor")
	if _, _, err := openEditor(""); err == nil || !strings.Contains(err.Error(), "$VISUAL is /no/such/editor") {
		t.Error(err)
	}
}
