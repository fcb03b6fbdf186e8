// Package linux is the simulated nodes' programs of Linux itself: coreutils, systemd, kernel modules, PCI, the GPU's
// nvidia-smi, Docker. It has what lists of programs are made of, too. What concerns the network is not here.
package linux

import (
	"context"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
)

// Programs are those of a package, by name: each prints what the real one prints, and
// returns its exit status.
type Programs map[string]func(ctx context.Context, c *host.Call) int

// A Package is a Debian package that the nodes have.
type Package struct {
	// As Ubuntu 24.04 has them, and NVIDIA's for a Spark.
	Name, Version string // dpkg knows nothing of one without a version
	// By it which and ldd find it: a package whose programs are in two directories has two lines.
	Dir      string // where its programs are
	Programs Programs
}

// Packages are Linux's own, and others in addition, which dpkg knows.
func Packages(others []Package) []Package {
	all := slices.Concat([]Package{
		{"coreutils", "9.4-3ubuntu6.1", "/usr/bin", Programs{
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
		{"hostname", "", "/usr/bin", Programs{"hostname": runHostname}},
		{"procps", "2:4.0.4-4ubuntu3.2", "/usr/bin", Programs{
			"uptime": runUptime, "free": runFree, "pgrep": runPgrep, "ps": runPs, "kill": host.Kill,
		}},
		{"grep", "3.11-4build1", "/usr/bin", Programs{
			"grep": runGrep, "egrep": runGrep, "fgrep": runGrep,
		}},
		{"findutils", "", "/usr/bin", Programs{"find": runFind}},
		{"dash", "", "/usr/bin", Programs{"sh": runSh, "dash": runSh, "bash": runSh}},
		{"sudo", "", "/usr/bin", Programs{"sudo": runSudo}},
		{"debianutils", "", "/usr/bin", Programs{"which": runWhich}},
		{"util-linux", "", "/usr/bin", Programs{"dmesg": runDmesg, "setsid": runSetsid, "last": runLast}},
		{"pciutils", "1:3.10.0-2build1", "/usr/bin", Programs{"lspci": runLspci}},
		{"systemd", "255.4-1ubuntu8.10", "/usr/bin", Programs{
			"systemd-run": runSystemdRun, "systemctl": runSystemctl, "journalctl": runJournalctl,
		}},
		{"kmod", "", "/usr/sbin", Programs{
			"lsmod": runLsmod, "modprobe": runModprobe, "rmmod": runModprobe, "modinfo": runModinfo,
		}},
		{"libc-bin", "", "/usr/sbin", Programs{"ldconfig": runLdconfig}},
		{"libc-bin", "", "/usr/bin", Programs{"ldd": runLdd}},
		{"nvidia-utils-580", "", "/usr/bin", Programs{"nvidia-smi": runNvidiaSmi}},
		{"docker.io", "", "/usr/bin", Programs{"docker": runDocker}},
		{"mokutil", "", "/usr/bin", Programs{"mokutil": runMokutil}},
	}, others)
	dpkg := func(_ context.Context, c *host.Call) int { return runDpkgQuery(c, all) }
	return append(all, Package{"dpkg", "", "/usr/bin", Programs{"dpkg-query": dpkg, "dpkg": dpkg}})
}
