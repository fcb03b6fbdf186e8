package nodetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// A PAMUser is a user whom only a test's sshd knows, and of whom PAM asks a password.
type PAMUser struct {
	Name, Hash string // the latter as /etc/shadow has it
	// Changed is the day of the last change of the password, days since 1970; 0 says that it has
	// to be changed now.
	Changed int
	// Says is what PAM reports before it asks.
	Says string
}

// pamUID is of no user that a distribution makes.
const pamUID = 61183

// StartPAM starts a real sshd that asks PAM, in a mount namespace of its own: there /etc/passwd, /etc/shadow and
// PAM's rules for sshd are others. The machine's own stay as they are. A machine on which no one may make such a
// namespace skips the test.
func StartPAM(t testing.TB, u PAMUser, extra ...string) *Sshd {
	t.Helper()
	testform.NeedsRoot(t)
	unshare := testform.Tool(t, "unshare")
	// In a container root may not be allowed to make one.
	if exec.Command(unshare, "-m", "true").Run() != nil {
		t.Skip("PAM is asked by an sshd of root's, in a mount namespace of its own")
	}
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	// sshd looks for its user's folder as that user.
	for at := home; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(home, pamUID, pamUID); err != nil {
		t.Fatal(err)
	}
	instead := map[string]string{
		"/etc/passwd": file(t, "/etc/passwd") + fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", u.Name, pamUID, pamUID, home),
		"/etc/shadow": file(t, "/etc/shadow") + fmt.Sprintf("%s:%s:%d:0:99999:7:::\n", u.Name, u.Hash, u.Changed),
		"/etc/pam.d/sshd": fmt.Sprintf(`auth optional pam_echo.so file=%s
auth required pam_unix.so nodelay
account required pam_unix.so
session required pam_permit.so
password required pam_unix.so
`, filepath.Join(dir, "says")),
	}
	if err := os.WriteFile(filepath.Join(dir, "says"), []byte(u.Says), 0o600); err != nil {
		t.Fatal(err)
	}
	// Without it the mounts would show outside.
	mounts := []string{"mount --make-rprivate /"}
	// Bound over the machine's own, in the namespace alone.
	for path, text := range instead {
		own := filepath.Join(dir, filepath.Base(filepath.Dir(path))+"-"+filepath.Base(path))
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, fmt.Sprintf("mount --bind %s %s", own, path))
	}
	s := prepare(t, append([]string{"UsePAM yes", "AuthorizedKeysFile none", "PubkeyAuthentication no"}, extra...)...)
	s.within = []string{unshare, "-m", "sh", "-c", strings.Join(append(mounts, `exec "$@"`), " && "), "pam"}
	s.User = u.Name
	// prepare has the test's own user there.
	config := strings.Replace(file(t, s.Config), "User ", "User "+u.Name+"\n  # ", 1)
	s.write(t, "ssh_config", config)
	s.Start(t, "")
	return s
}

func file(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
