package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// The check reads the rules of this kernel wherever its packet filter is: a module, or built in and on no list.
func TestFirewallIsRead(t *testing.T) {
	t.Parallel()
	testform.NeedsFull(t, "makes a network namespace, and rules in it")
	if _, err := exec.LookPath("nft"); err != nil || !testform.Root() {
		t.Skip("needs root and nft")
	}
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	check, ok := tut.Cell("firewall")
	if !ok {
		t.Fatal("no such check")
	}
	const rules = `table inet t { chain i { type filter hook input priority 0; policy accept;
		iifname "rail*" tcp dport { 5201, 12345 } drop
	}
	}`
	script := "PORT=1 TCP_PORT=5201 NIXL_PORT=1 ASIO_PORT=12345 SPEED_PORT=1 UCXPERF_PORT=1 STREAM_PORT=1\n" +
		check.Roles[0].Script
	cmd := exec.Command("unshare", "--net", "sh", "-c", "nft -f - && eval \"$0\"", script)
	cmd.Stdin = strings.NewReader(rules)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"loaded: ", "nf_tables", "tcp dport { 5201, 12345 } drop", "rules: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}
