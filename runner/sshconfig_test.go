package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// Files are found in a line as ssh finds them.
func TestIncludes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"a", "a b", "c=d"}
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
		if err := os.WriteFile(names[i], nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string][]string{
		"Include DIR/a": {names[0]}, "include\tDIR/a DIR/c=d\r\n": {names[0], names[2]},
		"Include \"DIR/a b\" DIR/a": {names[1], names[0]},
		"\"Include\"=\"DIR/a b\"":   {names[1]}, "=include = DIR/a": {names[0]}, "INCLUDE DIR/a*": {names[0], names[1]},
		"Include DIR/none": nil, "#Include DIR/a": nil, "IncludeX DIR/a": nil, "": nil, "Include": nil, "Include DIR/": nil,
		"Host Include DIR/a": nil,
	} {
		if got, err := sshIncludes(strings.ReplaceAll(line, "DIR", dir)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

// TestIncludesAsSSH: whatever ssh itself includes is found, or the configuration is refused.
func TestIncludesAsSSH(t *testing.T) {
	ssh := testform.Tool(t, "ssh")
	dir := t.TempDir()
	for _, name := range []string{"evil", "evil\v", "e v"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("User evil\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	included := 0
	for _, line := range []string{
		`include DIR/evil`, `inc"lude" DIR/evil`, `"in"clude DIR/evil`, `""include DIR/evil`, `"" include DIR/evil`,
		`=include DIR/evil`,
		`= "include" DIR/evil`, "\rinclude DIR/evil", "\finclude DIR/evil", `include"DIR/evil"`, `include == DIR/evil`,
		`include="DIR/evil"`,
		"include DIR/evil\x00x", "include DIR/evil\v", "include\x00 DIR/evil", "\x00include DIR/evil", "User x\x00",
		"include DIR/evil\f",
		`include "DIR/ev"il`, `include DIR/ev"il"`, `include "DIR/"evil`, `include x"y" DIR/evil`, `include 'DIR/evil'`,
		`include DIR/e\vil`,
		`include DIR/[!z]vil`, `include DIR/[[:alpha:]]vil`, `include DIR/[^z]vil`, `include DIR/ev?l`, `include DIR/e*`,
		`include DIR//evil`,
		`include "DIR/e v"`, `include DIR/e\ v`, `include nothing "" DIR/evil`, `include DIR/evil # "`, `include DIR/evil#`,
		`Include DIR/evil "`,
		`include %d/../DIR/evil`, `include ${NOTHING}DIR/evil`, `include ~/../DIR/evil`, `include ~root/../DIR/evil`,
		`include ../../DIR/evil`,
	} {
		line = strings.ReplaceAll(line, "DIR", dir)
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), ssh, "-G", "-F", config, "--", "host").Output()
		if err != nil || !strings.Contains(string(out), "\nuser evil\n") && !strings.HasPrefix(string(out), "user evil\n") {
			continue
		}
		included++
		files, err := SSHConfiguration(config)
		if err == nil && !slices.ContainsFunc(files, func(f SSHFile) bool { return f.Text == "User evil\n" }) {
			t.Errorf("ssh includes a file for %q, and it is not shown", line)
		}
	}
	if included < 10 {
		t.Errorf("ssh has included a file for %d lines only", included)
	}
}
