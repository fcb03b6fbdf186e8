package software

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// A testPort is a port that a test's server listens on.
type testPort struct {
	port int
	end  steps.End
	// param is the parameter that says which port it is.
	param, what string
	// moves says that railbench takes another one where it is taken.
	moves bool
}

// testPorts are those of the parameters, on the node where the server runs: the peer
// serves, and nixlbench's initiator waits for its target.
func testPorts(f map[string]string) []testPort {
	var all []testPort
	add := func(name string, plus int, end steps.End, what string) {
		if n, ok := strictnum.Count(f[name]); ok && n > 0 {
			all = append(all, testPort{n + plus, end, name, what, name == "ASIO_PORT"})
		}
	}
	for plus := range 7 { // dual-link has a server for each of its tests
		add("PORT", plus, steps.Peer, "perftest")
	}
	for plus := range 2 {
		add("TCP_PORT", plus, steps.Peer, "iperf3")
	}
	add("SPEED_PORT", 0, steps.Peer, "rail-speed")
	add("STREAM_PORT", 0, steps.Peer, "railbench stream")
	add("NIXL_PORT", 0, steps.Peer, "NIXL")
	add("UCXPERF_PORT", 0, steps.Peer, "ucx_perftest")
	add("ASIO_PORT", 0, steps.Here, "nixlbench")
	return all
}

// The ports of an etcd. No cell needs them.
var etcdPorts = []string{"2379", "2380"}

// judgeTestPort looks whether a port is free.
func judgeTestPort(rig steps.Rig, p testPort, f map[string]string, rep *registry.Report) {
	no, node := strconv.Itoa(p.port), rig.NameOf(p.end)
	switch {
	case f["port "+no] == "" && f["ss"] != "read":
		// That it is free was not seen.
		rep.At(rig, p.end, steps.Unreadable, steps.Inconclusive, "could not read all listening ports on %s (ss failed)", node)
		return
	case f["port "+no] == "":
		rep.ShowAt(node, "port "+no, "free", "", nil)
		return
	}
	rep.ShowAt(node, "port "+no, holder(f, no), "", nil)
	grade, then := steps.Fail, "End that process, or choose another port: -p "+p.param+"=NUMBER"
	if p.moves {
		grade, then = steps.Warn, "railbench takes the next free port; nixlbench by hand does not"
	}
	rep.At(rig, p.end, steps.PortTaken, grade, "port %s on %s (%s) is used by %s. %s", no, node, p.what,
		briefHolder(f, no), then)
	rep.Decide(node + " port " + no)
}

// judgeTestPorts: the servers of the tests find their ports free.
// Two tests may share a port, as they never run at once: it is said once.
func judgeTestPorts(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var ports, notes, blind []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		if f["ss"] == "missing" {
			blind = append(blind, node)
			continue
		}
		mine := map[string]bool{}
		for _, p := range testPorts(f) {
			no := strconv.Itoa(p.port)
			if p.end != e || mine[no] {
				continue
			}
			mine[no] = true
			ports = append(ports, no)
			judgeTestPort(r.Rig, p, f, rep)
		}
		for _, name := range slices.Sorted(maps.Keys(f)) {
			no, ok := strings.CutPrefix(name, "port ")
			if !ok || strings.Contains(no, " ") || mine[no] {
				continue
			}
			rep.ShowAt(node, "port "+no, holder(f, no), "", nil)
			if slices.Contains(etcdPorts, no) {
				notes = append(notes, fmt.Sprintf("port %s on %s is used by %s, and no cell needs it", no, node, holder(f, no)))
			}
		}
	}
	if blind != nil { // a port that is taken on the other node is so all the same
		return checks.Unseen(*rep, steps.CommandMissing, "%s no ss, so the listening ports are unknown. Install iproute2",
			registry.HaveOrHas(blind))
	}
	if len(ports) == 0 {
		rep.Add(steps.ParameterUnusable, steps.Inconclusive, "the parameters contain no readable port")
	}
	return rep.Verdict(fmt.Sprintf("the ports of the test servers are free: %s", registry.And(ports)),
		strings.Join(notes, "; "))
}

// briefHolder names what listens on a port by its id and its program alone.
func briefHolder(f map[string]string, port string) string {
	pid, command := strings.TrimSpace(f["port "+port+" pid"]), firstField(f["port "+port+" command"])
	if pid == "" || command == "" {
		return holder(f, port)
	}
	return fmt.Sprintf("process %s (%s)", pid, command)
}

func firstField(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return first
}

// holder names who listens on a port, as far as the login may see.
func holder(f map[string]string, port string) string {
	get := func(what string) string { return strings.TrimSpace(f["port "+port+" "+what]) }
	user := "user " + get("uid")
	switch get("uid") {
	case "0":
		user = "root"
	case "":
		user = "an unknown user"
	}
	if get("pid") == "" {
		return "a process of " + user
	}
	age := ""
	if s, ok := strictnum.Count(get("seconds")); ok {
		age = ", for " + inWords(time.Duration(s)*time.Second)
	}
	return fmt.Sprintf("process %s of %s (%s%s)", get("pid"), user, registry.OrUnknown(get("command")), age)
}

// inWords is a duration as one says it.
func inWords(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// judgeEndProcess: what a port was held by was ended.
func judgeEndProcess(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var ended []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		if facts[e]["looked at"] == "" {
			rep.At(r.Rig, e, steps.OutputIncomplete, steps.Inconclusive, "could not read which ports were checked on %s", node)
		}
		rep.ShowAt(node, "ports checked", facts[e]["looked at"], "", nil)
		for _, name := range slices.Sorted(maps.Keys(facts[e])) {
			what := strings.TrimSpace(facts[e][name])
			if port, ok := strings.CutPrefix(name, "ended "); ok {
				rep.ShowAt(node, "port "+port, "ended: "+what, "", nil)
				ended = append(ended, fmt.Sprintf("port %s on %s (%s)", port, node, what))
			}
			if port, ok := strings.CutPrefix(name, "left "); ok {
				rep.ShowAt(node, "port "+port, "left alone: "+what, "", nil)
				rep.At(r.Rig, e, steps.PortTaken, steps.Warn, "port %s on %s is still in use: %s", port, node, what)
			}
		}
	}
	if len(ended) == 0 {
		return rep.Verdict("nothing was ended: no process listens on the test ports")
	}
	return rep.Verdict("free again: " + registry.And(ended))
}
