package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// What a CI counts of a file of JUnit.
type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

func readJUnit(t *testing.T, path string) (counts junitCounts) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b, &counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

// takenBySchema has xmllint look at a file of JUnit.
func takenBySchema(t *testing.T, path string) {
	t.Helper()
	lint := testform.Tool(t, "xmllint")
	schema := "../../steps/notebook/testdata/junit.xsd"
	if out, err := exec.Command(lint, "--noout", "--schema", schema, path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The verbs write it whatever the exit status is, and say before a run what can't be written.
func TestJUnitOfVerbs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out.xml")
	for _, c := range []struct {
		args                    []string
		code                    int
		tests, failures, errors int
	}{
		{[]string{"run", "hosts", "ib-write-bw", "--fault", "slow-rail"}, exitFail, 2, 1, 0},
		{[]string{"run", "ib-write-bw", "--fault", "garbled-output"}, exitInconclusive, 1, 0, 1},
		{[]string{"run", "hosts", "--fault", "peer-dead"}, exitUnreachable, 1, 0, 1},
		{[]string{"doctor", "mtu-equal", "gid-index", "--fault", "mtu-mismatch"}, exitFail, 2, 1, 0},
	} {
		var out, errs bytes.Buffer
		args := append(c.args, "--rig", "sim", "--speed", "max", "--junit", path)
		if code := Main(args, strings.NewReader(""), &out, &errs); code != c.code {
			t.Errorf("%v: exit status %d: %s", args, code, errs.String())
			continue
		}
		takenBySchema(t, path)
		if got := readJUnit(t, path); got.Tests != c.tests || got.Failures != c.failures || got.Errors != c.errors {
			t.Errorf("%v: %d tests, %d failures, %d errors", args, got.Tests, got.Failures, got.Errors)
		}
	}
	link := filepath.Join(dir, "link.xml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "hosts", "--junit", dir},
		{"run", "hosts", "--junit", ""},
		{"run", "hosts", "--junit", filepath.Join(dir, "nowhere", "out.xml")},
		{"run", "hosts", "--junit", path, "--dry-run"},
		{"doctor", "--junit", filepath.Join(dir, "nowhere", "out.xml")},
		{"doctor", "--list", "--junit", path},
		{"run", "hosts", "--junit", link},
		{"doctor", "--junit", link},
	} {
		var out, errs bytes.Buffer
		if code := Main(append(args, "--rig", "sim"), strings.NewReader(""), &out, &errs); code != exitUsage ||
			!strings.Contains(errs.String(), "--junit") || strings.Contains(errs.String(), "▸") {
			t.Errorf("%v: exit status %d: %s", args, code, errs.String())
		}
	}
	// What shows only once it is written: a folder in which no one makes a file.
	const nowhere = "/proc/railbench.xml"
	if _, err := os.Stat(filepath.Dir(nowhere)); err != nil {
		t.Skip("there is no /proc")
	}
	var out, errs bytes.Buffer
	code := Main([]string{"run", "hosts", "--rig", "sim", "--speed", "max", "--junit", nowhere}, strings.NewReader(""),
		&out, &errs)
	if code != exitUnwritten || !strings.Contains(errs.String(), "write JUnit to") {
		t.Errorf("in /proc: exit status %d: %s", code, errs.String())
	}
}
