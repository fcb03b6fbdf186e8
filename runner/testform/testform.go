// Package testform says which form of the tests runs.
//
// "go test ./..." is the hermetic form. It starts no service, makes no network namespace, calls no tool that a
// new machine may lack, and asserts nothing about elapsed time, so that it passes for every user on every machine,
// however busy. RAILBENCH_FULL=1 is the full form: it adds what needs root, installed tools or minutes.
package testform

import (
	"os"
	"os/exec"
	"testing"
)

// Full reports whether the full form runs.
func Full() bool { return os.Getenv("RAILBENCH_FULL") != "" }

// NeedsFull skips a test of the full form in the hermetic one. why says what the test needs.
func NeedsFull(t testing.TB, why string) {
	t.Helper()
	if !Full() {
		t.Skipf("%s: set RAILBENCH_FULL=1", why)
	}
}

// Root reports whether the full form runs as root.
func Root() bool { return Full() && os.Geteuid() == 0 }

// NeedsRoot skips a test unless the full form runs as root. In the hermetic form root runs what every user runs.
func NeedsRoot(t testing.TB) {
	t.Helper()
	NeedsFull(t, "needs root")
	if !Root() {
		t.Skip("needs root")
	}
}

// Tool finds a program that a test of the full form needs. Where it is missing the test is skipped; in CI it
// fails, because .ci/run installs all of them.
func Tool(t testing.TB, name string) string {
	t.Helper()
	NeedsFull(t, "needs "+name)
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	// Debian leaves sbin out of a user's PATH, but sshd and slurmd can be run by their full paths.
	if full := "/usr/sbin/" + name; exists(full) {
		return full
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed, and CI must run this test: add its package to .ci/run", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
