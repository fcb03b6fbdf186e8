package software

import (
	"maps"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// told judges what two nodes report, where the peer's report is good.
func told(judge func(steps.Result, [2]map[string]string, *registry.Report) steps.Verdict, here,
	peer map[string]string,
) steps.Verdict {
	var rep registry.Report
	return judge(steps.Result{Rig: kindtest.Spark()}, [2]map[string]string{here, peer}, &rep)
}

func TestDiskSpace(t *testing.T) {
	good := map[string]string{"free /tmp": "789889336", "free inodes /tmp": "60452832", "free /home/nvidia": "789889336"}
	with := func(name, value string) map[string]string {
		m := maps.Clone(good)
		m[name] = value
		return m
	}
	for name, c := range map[string]struct {
		here  map[string]string
		grade steps.Grade
		code  steps.Code
		words []string
	}{
		"room": {good, steps.Pass, "", []string{"6 places"}},
		"full": {
			with("free /tmp", "0"), steps.Fail, steps.DiskFull,
			[]string{"/tmp on spark-02 has no space left (0 kB)"},
		},
		"nearly":    {with("free /tmp", "4096"), steps.Fail, steps.DiskFull, []string{"4096 kB"}},
		"no inodes": {with("free inodes /tmp", "3"), steps.Fail, steps.DiskFull, []string{"no inodes left"}},
		"no df": {
			with("free /tmp", "unknown"), steps.Inconclusive, steps.Unreadable,
			[]string{"the free space of /tmp on spark-02"},
		},
		"no /tmp": {
			map[string]string{"free /home/nvidia": "789889336"},
			steps.Inconclusive, steps.Unreadable,
			[]string{"the free space of /tmp on spark-02"},
		},
		"inodes untold": {with("free inodes /tmp", "-"), steps.Pass, "", nil},
	} {
		v := told(judgeDiskSpace, c.here, good)
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
	}
	kindtest.Because(t, "nothing", told(judgeDiskSpace, map[string]string{}, map[string]string{}), steps.Inconclusive,
		steps.Unreadable)
}

func TestClocks(t *testing.T) {
	at := func(seconds string) map[string]string {
		return map[string]string{"seconds": seconds, "synchronized": "yes"}
	}
	for name, c := range map[string]struct {
		here, peer string
		grade      steps.Grade
		code       steps.Code
		words      []string
	}{
		"alike": {"1763720000", "1763720001", steps.Pass, "", []string{"the clocks of both nodes agree"}},
		"a day ahead": {
			"1763806400", "1763720000", steps.Warn, steps.ClocksApart,
			[]string{"the clock of spark-02 is 24 h ahead of spark-01"},
		},
		"behind": {
			"1763720000", "1763720090", steps.Warn, steps.ClocksApart,
			[]string{"the clock of spark-01 is 90 s ahead"},
		},
		"years": {"0", "1763720000", steps.Pass, "", nil},
		"1980":  {"315532800", "1763720000", steps.Warn, steps.ClocksApart, []string{"days ahead"}},
		"no number": {
			"+%s", "1763720000", steps.Inconclusive, steps.Unreadable,
			[]string{"could not read the time on spark-02"},
		},
	} {
		v := told(judgeClocks, at(c.here), at(c.peer))
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
	}
	v := told(judgeClocks, map[string]string{"seconds": "1763720000", "synchronized": "no"}, at("1763720000"))
	kindtest.Want(t, "nobody keeps it", v, steps.Pass, "not synchronized on spark-02")
}
