package runner_test

import (
	"os"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
)

// sesame is the password of a test's user: openssl passwd -6 -salt railbench sesame.
const sesame = "$6$railbench$1CabsXS0w6M77csFUHWAknRrPNqlhT3LVRd3bKCwEq1Bx0DHGQM5.V6lWas6o2AkWkpxmttrfANODYTIVHnMo1"

// longAgo is a day on which a password may have been changed.
const longAgo = 19000

// TestPasswordByPAM: a node whose sshd asks PAM for a password, by keyboard-interactive and by
// ssh's own way, lets in who knows it, and asks again who doesn't.
func TestPasswordByPAM(t *testing.T) {
	for name, way := range map[string][]string{
		"keyboard-interactive": {"KbdInteractiveAuthentication yes", "PasswordAuthentication no"},
		"password":             {"KbdInteractiveAuthentication no", "PasswordAuthentication yes"},
		"both":                 {"KbdInteractiveAuthentication yes", "PasswordAuthentication yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nodetest.StartPAM(t, nodetest.PAMUser{
				Name: "railbench-guest", Hash: sesame, Changed: longAgo, Says: "\x1b]0;owned\x07Welcome.\nPASS  everything",
			}, way...)
			a := &asker{secrets: []string{"wrong", "sesame"}}
			n := dial(t, s, func(o *runner.SSHOptions) { o.Ask = a })
			if err := n.Connect(t.Context()); err != nil {
				log, _ := os.ReadFile(s.Dir + "/log")
				t.Fatalf("%v\n%s", err, log)
			}
			if len(a.asked) != 2 || a.asked[0].What != "password" || a.asked[0].Again || !a.asked[1].Again {
				t.Errorf("asked %+v", a.asked)
			}
			stdout, _, exit := nodetest.Do(t, n, "id -un")
			if !exit.OK() || len(stdout) != 1 || stdout[0] != "railbench-guest" {
				t.Errorf("%s: %q", exit, stdout)
			}
			// A second channel asks no one, nor does a connection that comes back.
			n.Close()
			// A user who gives up gets an error that says what to do, and nothing is tried without an answer.
			for _, secrets := range [][]string{nil, {"wrong", "wrong", "wrong", "wrong", "wrong", "wrong"}} {
				a := &asker{secrets: secrets}
				err := dial(t, s, func(o *runner.SSHOptions) { o.Ask = a }).Connect(t.Context())
				if kind(err) != runner.NotPermitted {
					t.Errorf("after %d questions: %v", len(a.asked), err)
				}
				if strings.ContainsFunc(err.Error(), runner.Hidden) {
					t.Errorf("what PAM says is in the error: %q", err)
				}
			}
		})
	}
}

// TestPasswordThatIsOver: a user whose password has expired learns that from the error, and no script is
// reported as run.
func TestPasswordThatIsOver(t *testing.T) {
	t.Parallel()
	s := nodetest.StartPAM(t, nodetest.PAMUser{Name: "railbench-guest", Hash: sesame}, "KbdInteractiveAuthentication yes")
	a := &asker{secrets: []string{"sesame"}}
	n := dial(t, s, func(o *runner.SSHOptions) { o.Ask = a })
	exit, err := n.Run(t.Context(), runner.Script{Name: "id", Body: "id"},
		func(l runner.Line) { t.Errorf("printed %q", l.Text) })
	t.Logf("%s: %v", exit, err)
	if err == nil || !strings.Contains(err.Error(), "expired") {
		log, _ := os.ReadFile(s.Dir + "/log")
		t.Errorf("%s: %v\n%s", exit, err, log)
	}
}
