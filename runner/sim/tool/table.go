// Package tool is the programs of the simulated nodes, a file each, and what they need of
// each other, such as UCX: they print what the real ones print. They are found by the table
// alone, and no fault is named here: what a program minds is a host.Flaw of its own.
package tool

import (
	"context"

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

// packages are those with programs. A new tool is a file of this room, and a line here.
func packages() []pkg {
	return []pkg{
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
		{"dpkg", "", "/usr/bin", programs{"dpkg-query": runDpkgQuery, "dpkg": runDpkgQuery}},
		{"pciutils", "1:3.10.0-2build1", "/usr/bin", programs{"lspci": runLspci}},
		{"iputils-ping", "3:20240117-1ubuntu0.1", "/usr/bin", programs{"ping": runPing}},
		{"curl", "", "/usr/bin", programs{"curl": runCurl}},
		{"systemd", "255.4-1ubuntu8.10", "/usr/bin", programs{
			"systemd-run": runSystemdRun, "systemctl": runSystemctl, "journalctl": runJournalctl,
			"networkctl": runNetworkctl,
		}},
		{"network-manager", "", "/usr/bin", programs{"nmcli": runNmcli}},
		{"netplan.io", "1.1.2-2~ubuntu24.04.2", "/usr/sbin", programs{"netplan": runNetplan}},
		{"kmod", "", "/usr/sbin", programs{
			"lsmod": runLsmod, "modprobe": runModprobe, "rmmod": runModprobe, "modinfo": runModinfo,
		}},
		{"libc-bin", "", "/usr/sbin", programs{"ldconfig": runLdconfig}},
		{"libc-bin", "", "/usr/bin", programs{"ldd": runLdd}},
		{"nftables", "", "/usr/sbin", programs{"nft": runNft}},
		{"iproute2", "6.1.0-1ubuntu6.2", "/usr/sbin", programs{"ip": runIP, "ss": runSs, "tc": runTc}},
		{"iproute2", "6.1.0-1ubuntu6.2", "/usr/bin", programs{"rdma": runRdma}},
		{"ethtool", "1:6.7-1build1", "/usr/sbin", programs{"ethtool": runEthtool}},
		{"ibverbs-utils", "50.0-2ubuntu0.2", "/usr/bin", programs{
			"ibv_devices": runIbvDevices, "ibv_devinfo": runIbvDevinfo,
		}},
		{"infiniband-diags", "50.0-2ubuntu0.2", "/usr/sbin", programs{
			"ibstat": runIbstat, "ibstatus": runIbstatus,
		}},
		{"mlnx-tools", "24.10-0", "/usr/sbin", programs{
			"show_gids": runShowGids, "ibdev2netdev": runIbdev2netdev,
		}},
		// Debian 12's, whose columns say MB: the fault tool-differs puts a newer one beside it.
		{"perftest", "4.5+0.17-1", "/usr/bin", programs{
			"ib_write_bw": runPerftest, "ib_write_lat": runPerftest, "ib_read_bw": runPerftest,
			"ib_send_bw": runPerftest, "ib_read_lat": runPerftest, "ib_send_lat": runPerftest,
		}},
		{"iperf3", "3.16-1build2", "/usr/bin", programs{"iperf3": runIperf3}},
		{"ucx-utils", "1.21.0-1", "/usr/bin", programs{"ucx_info": runUcxInfo, "ucx_perftest": runUcxPerftest}},
		{
			"nccl-tests", "", "/usr/local/nccl-tests/build",
			programs{"all_reduce_perf": runNCCLTest, "all_gather_perf": runNCCLTest},
		},
		{"nixl", "", "/usr/local/bin", programs{"nixlbench": runNixlbench}},
		{"openmpi-bin", "4.1.6-7ubuntu2", "/usr/bin", programs{"mpirun": runMpirun, "mpiexec": runMpirun}},
		{"python3", "", "/usr/bin", programs{"python3": runPython}},
		{"nvidia-utils-580", "", "/usr/bin", programs{"nvidia-smi": runNvidiaSmi}},
		{"docker.io", "", "/usr/bin", programs{"docker": runDocker}},
		{"mokutil", "", "/usr/bin", programs{"mokutil": runMokutil}},
		{"mft", "", "/usr/bin", programs{"mget_temp": runMgetTemp}},
		{"railbench", "", "/usr/local/bin", programs{"railbench": runRailbench}},
	}
}

// libraries are the packages without a program that somebody asks for, with their versions.
func libraries() map[string]string {
	return map[string]string{
		"rdma-core": "50.0-2ubuntu0.2", "ibverbs-providers": "50.0-2ubuntu0.2", "libibverbs1": "50.0-2ubuntu0.2",
		"rdmacm-utils": "50.0-2ubuntu0.2",
	}
}

// All is every program that the nodes have, by name.
func All() map[string]host.Tool {
	all := map[string]host.Tool{}
	for _, p := range packages() {
		for name, run := range p.programs {
			all[name] = host.Tool{Dir: p.dir, Run: run}
		}
	}
	return all
}
