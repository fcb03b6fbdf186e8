package software

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestAppArmor(t *testing.T) {
	const read = "AppArmor: Y\nkernel log: read\n"
	// As Linux 6.8 writes it; the profile is of a test.
	const denied = `denied 1: 1732260000.113:91): apparmor="DENIED" operation="open" class="file" profile="/usr/bin/ib_write_bw" ` +
		`name="/dev/infiniband/uverbs0" pid=4242 comm="ib_write_bw" requested_mask="wr" denied_mask="wr" fsuid=1000 ouid=0` +
		"\n"
	judge := func(here, peer string) steps.Verdict {
		return registered().Judges["apparmor"](steps.Cell{}, kindtest.Both(kindtest.Spark(), parse.Facts, here, peer))
	}
	kindtest.Want(t, "nothing", judge(read, read), steps.Pass, "on either node")
	kindtest.Want(t, "a denial", judge(read, read+denied), steps.Fail, "AppArmor on spark-01 refuses ib_write_bw",
		"open /dev/infiniband/uverbs0", "sudo aa-complain /usr/bin/ib_write_bw")
	// aa-complain loads the profile again; a service that loads all of them skips what is the same.
	const loaded = `operation="profile_replace" profile="unconfined" name="/usr/bin/ib_write_bw" pid=4311 comm="apparmor_parser"` + "\n"
	const same = `operation="profile_replace" info="same as current profile, skipping" profile="unconfined" ` +
		`name="/usr/bin/ib_write_bw" pid=4311 comm="apparmor_parser"` + "\n"
	const later, sooner = `loaded 1: 1732263600.000:92): apparmor="STATUS" `,
		`loaded 1: 1732263600.000:90): apparmor="STATUS" `
	kindtest.Want(t, "cured since", judge(read, read+denied+later+loaded), steps.Warn,
		"AppArmor on spark-01 refused ib_write_bw something", "Run the test again")
	kindtest.Want(t, "refused since", judge(read, read+denied+sooner+loaded), steps.Fail,
		"AppArmor on spark-01 refuses ib_write_bw")
	kindtest.Want(t, "loaded as it was", judge(read, read+denied+later+same), steps.Fail,
		"AppArmor on spark-01 refuses ib_write_bw")
	kindtest.Want(t, "another's profile",
		judge(read, read+denied+later+strings.ReplaceAll(loaded, "/usr/bin/ib_write_bw", "/usr/bin/man")),
		steps.Fail, "AppArmor on spark-01 refuses ib_write_bw")
	kindtest.Want(t, "unread", judge(read, "AppArmor: Y\nkernel log: refused\n"), steps.Skipped,
		"could not read the kernel log on spark-01")
	kindtest.Want(t, "a denial, and unread", judge("AppArmor: Y\nkernel log: refused\n", read+denied), steps.Fail,
		"spark-01")
	kindtest.Want(t, "off", judge("AppArmor: no\n", "AppArmor: N\n"), steps.Pass, "AppArmor is off on both nodes")
	kindtest.Want(t, "off at one end", judge("AppArmor: no\n", read), steps.Pass, "is off on spark-02")
	kindtest.Want(t, "neither on nor off", judge(read, "AppArmor: ?\n"), steps.Inconclusive,
		"could not read the state of AppArmor on spark-01")
	kindtest.Want(t, "cut", judge(read, "AppArmor: Y\n"), steps.Inconclusive, "could not read the kernel log on spark-01")
	kindtest.Because(t, "nonsense", judge(read, "x: y\n"), steps.Inconclusive, steps.Unreadable)
}
