package software

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// usual are the ports of the tests, unless a user chose others.
const usual = "PORT: 18515\nTCP_PORT: 5201\nNIXL_PORT: 5555\nASIO_PORT: 12345\nSPEED_PORT: 18519\n" +
	"UCXPERF_PORT: 13337\nSTREAM_PORT: 12377\n"

// ruleset is what the check prints of rules, one a line.
func ruleset(rules string) string {
	var b strings.Builder
	b.WriteString("loaded: nf_tables\nservice ufw: inactive\n" + usual)
	n := 0
	for line := range strings.Lines(rules) {
		n++
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&b, "rule %d: %s\n", n, line)
		}
	}
	fmt.Fprintf(&b, "rules: %d lines\n", n)
	return b.String()
}

func TestFirewall(t *testing.T) {
	const none = "loaded: none\n"
	input := func(policy, rules string) string {
		return ruleset("table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy " + policy +
			";\n" + rules + "\n\t}\n\n\tchain rails {\n\t\ttcp dport 18515 reject\n\t}\n}\n")
	}
	output := func(of, policy, rules string) string {
		return ruleset("table ip any {\n\tchain output {\n\t\ttype " + of + " hook output priority filter; policy " + policy +
			";\n" + rules + "\n\t}\n}\n")
	}
	const rails = `iifname { "enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1" } `
	runCases(t, registered().Judges["firewall"], map[string]textCase{
		"not loaded": {none, none, steps.Pass, "", []string{"no packet filter is loaded"}},
		"not told": {
			none, "service ufw: inactive\n", steps.Inconclusive, steps.Unreadable,
			[]string{"whether a packet filter is loaded on spark-01"},
		},
		"no root": {
			none, "loaded: nf_tables\nunread: only root may read the rules\n", steps.Skipped, steps.Unreadable,
			[]string{"spark-01", "only root may read"},
		},
		"no program": {
			none, "loaded: nf_tables\nunread: nft is not installed\nrules: 1 lines\n", steps.Skipped, steps.Unreadable,
			[]string{"spark-01", "nft is not installed"},
		},
		"one unread": {
			none, "unread: iptables failed\n" + input("accept", rails+"drop"), steps.Fail, steps.FirewallBlocks,
			[]string{"spark-01"},
		},
		"broken off": {
			none, "loaded: nf_tables\n" + usual + "rule 1: table inet filter {\n", steps.Inconclusive, steps.OutputIncomplete,
			[]string{"not listed completely"},
		},
		"too many": {
			none, "loaded: nf_tables\n" + usual + "rule 1: table inet filter {\nrules: 2001 lines\n", steps.Inconclusive,
			steps.OutputIncomplete,
			[]string{"2001 lines"},
		},
		"no rules": {none, ruleset(""), steps.Pass, "", []string{"no rule on spark-01", "spark-02 has no packet filter"}},
		"rejects": {
			none, input("accept",
				"ct state established,related accept\n"+rails+"tcp dport 22 accept\n"+rails+
					"meta l4proto tcp reject with icmpx admin-prohibited"), steps.Fail, steps.FirewallBlocks,
			[]string{"spark-01", "reject with icmpx", "ping works"},
		},
		"one rail": {
			input("accept", `iifname "enp1s0f1np1" drop`), none, steps.Fail, steps.FirewallBlocks,
			[]string{"spark-02", `iifname "enp1s0f1np1" drop`},
		},
		"wildcard": {
			none, input("accept", `iifname "enp*" tcp dport 5000-6000 drop`), steps.Fail, steps.FirewallBlocks,
			[]string{"dport 5000-6000"},
		},
		"a port that was chosen": {
			none, amended(t, input("accept", rails+"tcp dport 7000-7002 drop"), "PORT: 18515", "PORT: 7001"), steps.Fail,
			steps.FirewallBlocks,
			[]string{"spark-01", "dport 7000-7002"},
		},
		"a port that nobody uses any more": {
			none, amended(t, input("accept", rails+"tcp dport 18515 drop"), "PORT: 18515", "PORT: 7001"), steps.Pass, "", nil,
		},
		"no ports": {
			none, amended(t, input("accept", rails+"tcp dport 80 drop"), usual, ""), steps.Inconclusive, steps.Unreadable,
			[]string{"the ports of the tests on spark-01"},
		},
		"another port": {none, input("accept", rails+"tcp dport 80 drop"), steps.Pass, "", nil},
		"queued": {
			none, input("accept", `iifname "enp1s0f0np0" queue num 0`), steps.Warn, steps.FirewallMayBlock,
			[]string{"may block", "queue num 0"},
		},
		"NFQUEUE": {
			none, ruleset("-P INPUT ACCEPT\n-A INPUT -i enp1s0f0np0 -j NFQUEUE --queue-num 0\n"), steps.Warn,
			steps.FirewallMayBlock,
			[]string{"may block"},
		},
		"TARPIT": {
			none, ruleset("-P INPUT ACCEPT\n-A INPUT -i enp1s0f0np0 -p tcp -j TARPIT\n"), steps.Fail, steps.FirewallBlocks,
			[]string{"drop by TARPIT"},
		},
		"rail-speed's": {
			none, input("accept", rails+"tcp dport 18519 drop"), steps.Fail, steps.FirewallBlocks,
			[]string{"dport 18519"},
		},
		"dual-link's": {
			none, input("accept", rails+"tcp dport 18516-18521 reject"), steps.Fail, steps.FirewallBlocks,
			[]string{"dport 18516-18521"},
		},
		"railbench's own": {
			none, ruleset("-P INPUT ACCEPT\n-A INPUT -i enp1s0f0np0 -p tcp -m tcp --dport 12377 -j DROP\n"),
			steps.Fail, steps.FirewallBlocks,
			[]string{"12377"},
		},
		"another device": {none, input("accept", `iifname "enP7s7" drop`), steps.Pass, "", nil},
		"all others": {
			none, input("accept", `iifname != "enP7s7" drop`), steps.Warn, steps.FirewallMayBlock,
			[]string{"may block"},
		},
		"policy": {
			none, input("drop",
				"ct state established,related accept\niifname \"lo\" accept\ntcp dport 22 accept"), steps.Warn,
			steps.FirewallMayBlock,
			[]string{"policy drop of the chain input", "enp1s0f0np0"},
		},
		"policy, let in": {none, input("drop", "ct state invalid drop\n"+rails+"accept"), steps.Pass, "", nil},
		"let in first":   {none, input("accept", rails+"accept\nmeta l4proto tcp drop"), steps.Pass, "", nil},
		"too late": {
			none, input("accept", rails+"meta l4proto tcp drop\n"+rails+"accept"), steps.Fail,
			steps.FirewallBlocks, nil,
		},
		"jump": {
			none, input("accept", rails+"jump rails"), steps.Warn, steps.FirewallMayBlock,
			[]string{"tcp dport 18515 reject"},
		},
		"jump from other": {none, input("accept", "iifname \"enP7s7\" jump rails"), steps.Pass, "", nil},
		"ping only": {
			none, input("accept", rails+"meta l4proto icmp drop\n"+rails+"icmp type echo-request drop"),
			steps.Pass, "", nil,
		},
		"iptables": {
			none, ruleset("-P INPUT ACCEPT\n-P FORWARD DROP\n-A INPUT -m state --state " +
				"ESTABLISHED,RELATED -j ACCEPT\n-A INPUT -i enp1s0f0np0 -p tcp -j REJECT --reject-with icmp-host-prohibited\n"),
			steps.Fail, steps.FirewallBlocks,
			[]string{"spark-01", "enp1s0f0np0"},
		},
		"iptables, chain": {
			none, ruleset("-P INPUT DROP\n-N ufw\n-A INPUT -j ufw\n-A ufw -i lo -j ACCEPT\n"), steps.Warn,
			steps.FirewallMayBlock,
			[]string{"policy drop of the chain INPUT"},
		},
		"iptables, ports": {none, ruleset("-P INPUT ACCEPT\n-A INPUT -i enp1s0f0np0 -p tcp -m multiport --dports " +
			"22,5000:5999 -j DROP\n"), steps.Fail, steps.FirewallBlocks, []string{"5000-5999"}},
		"iptables, 80": {none, ruleset("-P INPUT ACCEPT\n-A INPUT -p tcp -m multiport --dports 80,443 -j DROP\n" +
			"-A INPUT -p tcp -m tcp --dport 25 -j REJECT\n"), steps.Pass, "", nil},
		"iptables, but": {
			none, ruleset("-P INPUT ACCEPT\n-A INPUT -i enp1s0f0np0 -p tcp -m tcp ! --dport 22 -j DROP\n"),
			steps.Fail, steps.FirewallBlocks,
			[]string{"enp1s0f0np0"},
		},
		"iptables, not": {
			none, ruleset("-P INPUT ACCEPT\n-A INPUT ! -i enP7s7 -p tcp -j DROP\n"), steps.Warn, steps.FirewallMayBlock,
			[]string{"may block"},
		},
		"iptables, logs": {none, ruleset("-P INPUT ACCEPT\n-A INPUT -i enp1s0f0np0 -j LOG\n" +
			"-A INPUT -i enp1s0f0np0 -p icmp -j DROP\n"), steps.Pass, "", nil},
		"nft, but": {
			none, input("accept", rails+"tcp dport != 22 drop"), steps.Fail, steps.FirewallBlocks,
			[]string{"dport != 22"},
		},
		"RoCE's port": {
			none, input("accept", "udp dport 4791 drop"), steps.Warn, steps.RoCEFiltered,
			[]string{"blocks RoCE packets (UDP 4791)", "Hardware RoCE is not affected"},
		},
		"RoCE, iptables": {
			none, ruleset("-P INPUT ACCEPT\n-A INPUT -p udp -m udp --dport 4791 -j DROP\n"), steps.Warn, steps.RoCEFiltered,
			[]string{"UDP 4791"},
		},
		"RoCE, going out": {none, ruleset("-P OUTPUT ACCEPT\n-A OUTPUT -p udp -m udp --dport 4791 -j DROP\n" +
			"-A OUTPUT -p tcp --dport 5201 -j DROP\n"), steps.Warn, steps.RoCEFiltered, []string{"UDP 4791"}},
		"going out": {
			none, ruleset("-P OUTPUT DROP\n-A OUTPUT -p tcp --dport 5201 -j DROP\n"), steps.Warn, steps.FirewallMayBlock,
			[]string{"all traffic sent over", "dport { 5201 } drop", "policy drop of the chain OUTPUT"},
		},
		"out, all": {
			none, ruleset("-P INPUT ACCEPT\n-P OUTPUT DROP\n-A OUTPUT -m state --state " +
				"ESTABLISHED,RELATED -j ACCEPT\n-A OUTPUT -o lo -j ACCEPT\n-A OUTPUT -o enP7s7 -j ACCEPT\n"), steps.Warn,
			steps.FirewallMayBlock,
			[]string{"allows all traffic sent over enp1s0f0np0", "policy drop of the chain OUTPUT"},
		},
		"out, let": {
			none, ruleset("-P OUTPUT DROP\n-A OUTPUT -o enp+ -j ACCEPT\n-A OUTPUT -o enP+ -j ACCEPT\n"),
			steps.Pass, "", nil,
		},
		"out, one of them": {
			none, ruleset("-P OUTPUT DROP\n-A OUTPUT -o enp+ -j ACCEPT\n"), steps.Warn, steps.FirewallMayBlock,
			[]string{"sent over enP2p1s0f0np0 and enP2p1s0f1np1"},
		},
		"out, nft": {
			none, output("filter", "drop", "ct state established,related accept\noifname \"lo\" accept"),
			steps.Warn, steps.FirewallMayBlock,
			[]string{"policy drop of the chain output"},
		},
		"out, a rail": {
			none, output("filter", "accept", `oifname "enp1s0f1np1" meta l4proto tcp drop`), steps.Fail, steps.FirewallBlocks,
			[]string{"blocks traffic to the other node", `oifname "enp1s0f1np1"`},
		},
		"out, not a rail": {none, output("filter", "accept", `oifname "enP7s7" drop`), steps.Pass, "", nil},
		"out, let by nft": {none, output("filter", "drop",
			`oifname { "enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1" } accept`), steps.Pass, "", nil},
		"out, mangle": {
			none, output("route", "accept", "counter packets 0 bytes 0 drop"), steps.Warn, steps.FirewallMayBlock,
			[]string{"all traffic sent over", "drop"},
		},
		"out, mail": {none, output("filter", "accept", "tcp dport { 25, 587 } reject"), steps.Pass, "", nil},
		"firewalld's own": {
			none, output("filter", "accept",
				"ip6 daddr { ::/96, ::ffff:0.0.0.0/96, 2002::/24, 2002:e000::/19 } reject with icmpv6 addr-unreachable"),
			steps.Pass, "",
			nil,
		},
		"ufw": {
			none, ruleset("-P INPUT DROP\n-P OUTPUT ACCEPT\n-N ufw-user-input\n" +
				"-A INPUT -j ufw-user-input\n-A ufw-user-input -p udp -m udp --dport 4791 -j DROP\n"), steps.Warn,
			steps.RoCEFiltered,
			[]string{"UDP 4791", "policy drop of the chain INPUT"},
		},
		"one of four": {
			none, input("drop", `iifname "enp1s0f0np0" accept`), steps.Warn, steps.FirewallMayBlock,
			[]string{"received over enp1s0f1np1, enP2p1s0f0np0 and enP2p1s0f1np1"},
		},
		"new ones": {
			none, input("drop", rails+"ct state { established, new } counter packets 2 bytes 9 accept"),
			steps.Pass, "", nil,
		},
		"some of them": {
			none, input("drop", rails+"ip saddr 10.0.0.0/8 accept"), steps.Warn, steps.FirewallMayBlock,
			[]string{"policy drop"},
		},
		"a jump of few": {none, "loaded: nf_tables\n" + strings.TrimPrefix(ruleset("table inet filter {\nchain input "+
			"{\ntype filter hook input priority filter; policy drop;\nudp dport 137 jump all\nip saddr 10.0.0.1 jump all\n}\n"+
			"chain all {\naccept\n}\n}\n"), "loaded: nf_tables\n"), steps.Warn, steps.FirewallMayBlock, []string{"policy drop"}},
		"a jump of all": {
			none, ruleset("table inet filter {\nchain input {\n" +
				"type filter hook input priority filter; policy drop;\n" + rails + "goto all\n}\nchain all {\naccept\n}\n}\n"),
			steps.Pass, "", nil,
		},
		"iptables, some": {
			none, ruleset("-P INPUT DROP\n-A INPUT -s 10.0.0.0/8 -j ACCEPT\n"), steps.Warn, steps.FirewallMayBlock,
			[]string{"policy drop"},
		},
		"iptables, back": {none, ruleset("-P INPUT ACCEPT\n-A INPUT -j X\n-A X -i enp+ -j RETURN\n" +
			"-A X -i enP+ -j RETURN\n-A X -j DROP\n"), steps.Pass, "", nil},
		"map of verdicts": {
			none, input("accept", `iifname vmap { "lo" : accept, "enp1s0f0np0" : jump rails }`), steps.Warn,
			steps.FirewallMayBlock,
			[]string{"18515 reject"},
		},
		"a set of names": {
			none, ruleset("table inet filter {\nset rails {\ntype ifname\nelements = { \"enp1s0f0np0\",\n" +
				"\"enp1s0f1np1\" }\n}\nchain input {\ntype filter hook input priority filter; policy accept;\n" +
				"iifname @rails drop\n}\n}\n"), steps.Fail, steps.FirewallBlocks,
			[]string{`iifname { "enp1s0f0np0", "enp1s0f1np1" } drop`},
		},
		"docker": {none, ruleset("-P INPUT ACCEPT\n-P FORWARD DROP\n-A FORWARD -o docker0 -j DOCKER\n" +
			"-A DOCKER -i docker0 -j DROP\n"), steps.Pass, "", nil},
	})
	for name, c := range map[string]struct {
		grade steps.Grade
		code  steps.Code
		words []string
		not   string
		all   []string
	}{
		// As Debian's packages load them. The last lines of each file's ufw-user-input show the rules that
		// ufw was given.
		"ufw-allow.txt": {steps.Warn, steps.RoCEFiltered, []string{
			"a rule of ufw on spark-01 blocks RoCE packets (UDP 4791)", "udp dport 4791 drop",
		}, "may block", nil},
		"ufw-deny.txt": {steps.Warn, steps.RoCEFiltered, []string{
			`iifname "enp1s0f1np1" udp dport 4791 drop`, "allows all traffic received over enp1s0f1np1, enP2p1s0f0np0 and enP2p1s0f1np1",
			"tcp dport 5201 reject with tcp reset",
			"ufw on spark-01 may block the other node", "policy drop of the chain INPUT",
		}, "over enp1s0f0np0", nil},
		"nftables.txt": {steps.Warn, steps.RoCEFiltered, []string{
			"udp dport { 4789, 4791 } drop", "udp dport { 4791, 4792 } log prefix", "udp dport 4791 reject",
		}, "53 accept", []string{
			"(udp dport 4791 drop)", `(iifname "enp1s0f0np0" udp dport 4791 drop)`,
			"(tcp dport { 5201-5210 } drop)",
		}},
	} {
		rules, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		v := registered().Judges["firewall"](steps.Cell{}, checkedFacts(none, ruleset(string(rules))))
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
		for _, e := range v.Evidence {
			v.Reason += fmt.Sprintf("; (%v)", e.Value) // the evidence has the rules that no longer fit in the reason
		}
		kindtest.Want(t, name+", all", v, c.grade, c.all...)
		if strings.Contains(v.Said(), c.not) {
			t.Errorf("%s says %q: %s", name, c.not, v.Reason)
		}
	}
	soft := checkedFacts(none, input("accept", "udp dport { 4791 } drop"))
	soft.Rig.Nodes[steps.Peer].Adapter = "soft-RoCE"
	kindtest.Because(t, "soft-RoCE", registered().Judges["firewall"](steps.Cell{}, soft), steps.Fail, steps.RoCEFiltered)
	r := checkedFacts(none, input("accept", rails+"drop"))
	r.Rig.Nodes[steps.Peer].Rails = nil
	kindtest.Want(t, "no rails", registered().Judges["firewall"](steps.Cell{}, r), steps.Pass)
}
