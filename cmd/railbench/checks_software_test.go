package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// nixlTests are the checks that run nixlbench: what keeps that from running, or what
// else moves bytes meanwhile, shows in them too.
var nixlTests = []string{"nixl-rails", "nixl-threads"}

// softwareMay is mayFind's for the checks of the software.
var softwareMay = map[string][]string{
	"bond-left-over":  nixlTests,
	"cable-unplugged": nixlTests,
	"container-bare":  {"rdma-ports", "memlock"}, // which look into it, too
	"counter-missing": {"nixl-rails"},
	"counter-reset":   {"nixl-rails"},
	"hog":             {"nixl-rails"},
	"library-missing": append([]string{"versions"}, nixlTests...), // it doesn't start, and so reports no version
	"link-down":       {"nixl-rails"},
	"memlock":         nixlTests,
	"nixl-missing":    nixlTests,
	"pauses":          {"nixl-rails"},
	"retransmits":     {"nixl-rails"},
	"ucx-mismatch":    nixlTests,
	"ucx-no-verbs":    nixlTests,
}

// ulimit doesn't bind who has CAP_IPC_LOCK (14) in the first user namespace, and the check says who has.
func TestWhoLocksWithoutALimit(t *testing.T) {
	t.Parallel()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("there is no /proc:", err)
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Skip("there are no user namespaces:", err)
	}
	_, caps, _ := strings.Cut(string(status), "CapEff:\t")
	caps, _, _ = strings.Cut(caps, "\n")
	has, err := strconv.ParseUint(caps, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(strings.Fields(string(ids)), " ") == "0 0 4294967295" && has>>14&1 == 1
	out := onThisMachine(t, "memlock", map[string]string{"NIXL_DRAM_BUFFER": "1"}, nil)
	if got := strings.Contains(out, "locks without a limit: yes\n"); got != want {
		t.Errorf("it says %v, and CapEff is %s\n%s", got, caps, out)
	}
}

// A setting in the last line of a file counts where that line has no end, as the shell takes it.
func TestSettingInALastLineWithoutAnEnd(t *testing.T) {
	t.Parallel()
	all, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cell, file, want string }{
		{"ucx-settings", "# ours\nUCX_NET_DEVICES=mlx5_0:1", " UCX_NET_DEVICES: mlx5_0:1\n"},
		{"nccl-settings", "NCCL_IB_HCA=mlx5_0", " NCCL_IB_HCA: mlx5_0\n"},
		{"memlock", "root hard memlock 64", " root hard: 64\n"},
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		names := strings.NewReplacer("/etc/environment", file, "/etc/security/limits.conf", file)
		vars := map[string]string{
			"NIXL_PYTHON": "python3", "NIXL_DRAM_BUFFER": "1", "NCCL_LOOK_SH": names.Replace(all["NCCL_LOOK_SH"]),
		}
		if out := onThisMachine(t, c.cell, vars, names.Replace); !strings.Contains(out, file+c.want) {
			t.Errorf("%s: no %q in\n%s", c.cell, c.want, out)
		}
	}
}

// A packet filter that is built into the kernel is there, though no module was loaded.
func TestPacketFilterOfTheKernelsOwn(t *testing.T) {
	t.Parallel()
	for builtin, want := range map[string]string{
		"kernel/net/netfilter/nf_tables.ko\n":           "loaded:  nf_tables\n",
		"kernel/net/ipv4/netfilter/iptable_filter.ko\n": "loaded:  iptable_filter\n",
		"kernel/net/netfilter/nf_conntrack.ko\n":        "loaded: none\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/builtin", []byte(builtin), 0o644); err != nil {
			t.Fatal(err)
		}
		// No one has to become root for it.
		out := onThisMachine(t, "firewall", nil, func(body string) string {
			return "id() { echo 1000; }\nsudo() { false; }\n" + strings.NewReplacer("/sys/module", dir+"/module",
				"/lib/modules/$(uname -r)/modules.builtin", dir+"/builtin").Replace(body)
		})
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
		if unread := strings.Contains(out, "unread: only root"); unread == strings.Contains(want, "none") {
			t.Errorf("%s: whose rules were not read: %v\n%s", builtin, unread, out)
		}
	}
}

// A package that was removed, and of which settings are left, is missing.
func TestRemovedPackageIsMissing(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{"installed": "52.0-1", "config-files": "missing"} {
		dir := t.TempDir()
		// As the real one: it shows what the format asks for, and ends well for a package that was removed.
		dpkg := "#!/bin/sh\ncase $2 in\n*Package*db:Status-Status*) echo 'rdma-core " + status +
			" 52.0-1' ;;\nesac\n"
		// Who is started by another test meanwhile would hold it open for writing, and no one can run it then.
		syscall.ForkLock.RLock()
		err := os.WriteFile(dir+"/dpkg-query", []byte(dpkg), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		out := onThisMachine(t, "tools-present", nil, func(body string) string { return "PATH=" + dir + ":$PATH\n" + body })
		if !strings.Contains(out, "package rdma-core: "+want+"\n") {
			t.Errorf("%s: no %s in\n%s", status, want, out)
		}
	}
}
