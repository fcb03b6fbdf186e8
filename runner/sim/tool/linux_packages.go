package tool

import (
	"context"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
)

// programs are those of a package, by name: each prints what the real one prints, and
// returns its exit status.
type programs map[string]func(ctx context.Context, c *host.Call) int

// A pkg is a Debian package that the nodes have.
type pkg struct {
	// As Ubuntu 24.04 has them, and NVIDIA's for a Spark.
	name, version string // dpkg knows nothing of one without a version
	// By it which and ldd find it: a package whose programs are in two directories has two lines.
	dir      string // where its programs are
	programs programs
}

// linuxPackages are Linux's own, and others beside them, of which dpkg knows.
func linuxPackages(others []pkg) []pkg {
	all := slices.Concat([]pkg{
		{"coreutils", "9.4-3ubuntu6.1", "/usr/bin", programs{
			// Those that a script calls by a path, or through env, timeout and the like; the shell
			// has its own of some.
			"true": runTrue, "false": runFalse, "echo": runEcho, "cat": runCat, "ls": runLs,
			"readlink": runReadlink, "realpath": runReadlink, "basename": runBasename, "dirname": runDirname,
			"head": runHead, "tail": runTail, "wc": runWc, "sort": runSort, "uniq": runUniq, "tr": runTr,
			"cut": runCut, "seq": runSeq, "sleep": runSleep, "date": runDate, "id": runID, "whoami": runWhoami,
			"nproc": runNproc, "env": runEnv, "printenv": runEnv, "timeout": runTimeout, "nice": runNice,
			"stdbuf": runStdbuf, "nohup": runNice, "uname": runUname, "tee": runTee, "mkdir": runMkdir,
			"rm": runRm, "touch": runTouch, "mv": runMv, "cp": runCp, "rmdir": runRmdir, "chmod": runChmod, "mktemp": runMktemp,
			"pwd": host.Pwd, "df": runDf, "stat": runStat, "test": runTest,
		}},
		{"hostname", "", "/usr/bin", programs{"hostname": runHostname}},
		{"procps", "2:4.0.4-4ubuntu3.2", "/usr/bin", programs{
			"uptime": runUptime, "free": runFree, "pgrep": runPgrep, "ps": runPs, "kill": host.Kill,
		}},
		{"grep", "3.11-4build1", "/usr/bin", programs{
			"grep": runGrep, "egrep": runGrep, "fgrep": runGrep,
		}},
		{"findutils", "", "/usr/bin", programs{"find": runFind}},
		{"dash", "", "/usr/bin", programs{"sh": runSh, "dash": runSh, "bash": runSh}},
		{"sudo", "", "/usr/bin", programs{"sudo": runSudo}},
		{"debianutils", "", "/usr/bin", programs{"which": runWhich}},
		{"util-linux", "", "/usr/bin", programs{"dmesg": runDmesg, "setsid": runSetsid, "last": runLast}},
		{"pciutils", "1:3.10.0-2build1", "/usr/bin", programs{"lspci": runLspci}},
		{"systemd", "255.4-1ubuntu8.10", "/usr/bin", programs{
			"systemd-run": runSystemdRun, "systemctl": runSystemctl, "journalctl": runJournalctl,
		}},
		{"kmod", "", "/usr/sbin", programs{
			"lsmod": runLsmod, "modprobe": runModprobe, "rmmod": runModprobe, "modinfo": runModinfo,
		}},
		{"libc-bin", "", "/usr/sbin", programs{"ldconfig": runLdconfig}},
		{"libc-bin", "", "/usr/bin", programs{"ldd": runLdd}},
		{"nvidia-utils-580", "", "/usr/bin", programs{"nvidia-smi": runNvidiaSmi}},
		{"docker.io", "", "/usr/bin", programs{"docker": runDocker}},
		{"mokutil", "", "/usr/bin", programs{"mokutil": runMokutil}},
	}, others)
	dpkg := func(_ context.Context, c *host.Call) int { return runDpkgQuery(c, all) }
	return append(all, pkg{"dpkg", "", "/usr/bin", programs{"dpkg-query": dpkg, "dpkg": dpkg}})
}
