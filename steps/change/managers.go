package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/strictnum"
)

// Managers are those of a node.
type Managers struct {
	Links map[string][]steps.Manager `json:",omitempty"` // by interface
	// Any are those that may manage any interface: they can't be asked which.
	Any []steps.Manager `json:",omitempty"`
}

// Of are an interface's own, and those that may have it.
func (m Managers) Of(link string) []steps.Manager { return slices.Concat(m.Links[link], m.Any) }

// The oldest releases that can be asked: NetworkManager keeps a device's setting across its own restarts, and
// networkctl knows reload.
const (
	leastNM       = "1.10"
	leastNetworkd = "244"
)

// others are the daemons that railbench knows by name only.
var others = []struct{ unit, name, stop string }{
	{"connman", "ConnMan", "connmanctl"},
	{"wicked", "wicked", "wicked ifdown"},
	{"dhcpcd", "dhcpcd", "denyinterfaces in dhcpcd.conf"},
	{"netifd", "netifd", "ifdown"},
}

// plainName is a name of an interface that means the same in a file's name, in a match of
// networkd, which may hold wildcards, and in a list of NetworkManager.
var plainName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// ReadManagers reads what LookAtManagers printed. It never fails: a daemon that runs and was not understood
// has a Trouble. A heading may come several times, once for each place where a daemon was found: the text
// below them is joined.
func ReadManagers(text string) Managers {
	said := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSpace(heading)
			said[name] += ""
			continue
		}
		said[name] += line
	}
	m := Managers{Links: map[string][]steps.Manager{}}
	runs := func(prefix string) bool {
		for line := range strings.Lines(said["daemons"]) {
			if strings.HasPrefix(line, prefix) {
				return true
			}
		}
		return false
	}
	if runs("NetworkManager") {
		m.networkManager(said["NetworkManager"], said["devices"], said["shared"])
	}
	if runs("systemd-network") {
		m.networkd(said["networkd"], said["links"])
	}
	for _, o := range others {
		if runs(o.unit) {
			m.Any = append(m.Any, steps.Manager{
				By: o.name, State: "running",
				Trouble: "railbench does not know how to make " + o.name + " release an interface (" + o.stop + ")",
			})
		}
	}
	for line := range strings.Lines(said["clients"]) {
		m.client(strings.Fields(line))
	}
	stanzas, _ := parse.IfupdownStanzas(said["ifupdown"]) // most nodes have none
	for _, s := range stanzas {
		m.ifupdown(s)
	}
	return m
}

func (m *Managers) add(link string, by steps.Manager) {
	if by.Holds() && by.Trouble == "" && !plainName.Regexp().MatchString(link) {
		by.Trouble = "its name has a character that " + by.By + " reads differently"
	}
	m.Links[link] = append(m.Links[link], by)
}

// networkManager reads what nmcli says, STATE:VERSION and its list of devices, and the names of the pid files
// of the dnsmasq that NetworkManager starts for what it shares.
func (m *Managers) networkManager(general, devices, shared string) {
	const name = "NetworkManager"
	running, version, _ := strings.Cut(strings.TrimSpace(general), ":")
	list, err := parse.NMDevices(devices)
	trouble := ""
	switch {
	case err != nil || running != "running":
		m.Any = append(m.Any, steps.Manager{
			By: name, State: "running",
			Trouble: noAnswer("nmcli", general, name),
			Busy:    strings.Contains(general, "no answer within") || strings.Contains(general, "not running"),
		})
		return
	case !atLeast(version, leastNM):
		trouble = fmt.Sprintf("release %s is older than %s, which railbench needs",
			or(version, "unknown"), leastNM)
	}
	for _, d := range list {
		by := steps.Manager{By: name, State: d.State, Profile: d.Profile, ID: d.UUID, Trouble: trouble}
		switch {
		case by.Trouble != "":
		// What it would be given back as is not settled.
		case strings.HasPrefix(d.State, "connecting") || d.State == "deactivating":
			by.Trouble = fmt.Sprintf("it is busy (%s%s). Wait, or run nmcli device disconnect %s", d.State,
				profile(d.Profile), d.Name)
			by.Busy = true
		case strings.Contains(shared, "/nm-dnsmasq-"+d.Name+".pid\n"):
			by.Trouble = fmt.Sprintf("it shares this interface with other machines (ipv4.method shared%s). Change "+
				"the method of the profile first", profile(d.Profile))
		}
		m.add(d.Name, by)
	}
}

// noAnswer is about a manager that runs, and whose program gets nothing from it.
func noAnswer(program, said, unit string) string {
	return fmt.Sprintf("it runs, but %s gets no answer (%s). Run: sudo systemctl restart %s", program,
		strings.TrimRight(firstLine(said), "."), unit)
}

func profile(name string) string {
	if name == "" {
		return ""
	}
	return ", profile " + name
}

// networkd reads what networkctl says: its release, and its list with the files that links are configured by.
func (m *Managers) networkd(said, links string) {
	const name = "networkd"
	list, err := parse.Networkctl(links)
	version, ok := strings.CutPrefix(firstLine(said), "systemd ")
	version, _, _ = strings.Cut(version, " ")
	trouble := ""
	switch {
	case err != nil || !ok:
		m.Any = append(m.Any, steps.Manager{
			By: name, State: "running",
			Trouble: noAnswer("networkctl", said, "systemd-networkd"),
			Busy:    ok, // its version is the program's own, and the list is the daemon's
		})
		return
	case !atLeast(version, leastNetworkd):
		trouble = fmt.Sprintf("release %s is older than %s, which railbench needs", version, leastNetworkd)
	}
	for _, l := range list {
		by := steps.Manager{By: name, State: l.State, Profile: l.File, Trouble: trouble}
		// Of what it leaves alone it names no file; netplan may have written one.
		if file := "/run/systemd/network/10-netplan-" + l.Name + ".network"; by.Profile == "" &&
			strings.Contains(links, "\n"+file+"\n") {
			by.Profile = file
		}
		if by.Trouble == "" && (l.State == "pending" || l.State == "initialized") {
			by.Trouble = "it has not set it up yet (" + l.State + "). Wait until networkctl list shows configured"
			by.Busy = true
		}
		m.add(l.Name, by)
	}
}

// client is a DHCP client that no daemon has started, and the interfaces that it names. One that names
// none may have any.
func (m *Managers) client(words []string) {
	if len(words) == 0 {
		return
	}
	by := func(stop string) steps.Manager {
		return steps.Manager{
			By: words[0], State: "running", Trouble: "a DHCP client would set its address again. Stop it first" + stop,
		}
	}
	for _, link := range words[1:] {
		m.add(link, by(": sudo dhclient -r "+link))
	}
	if len(words) == 1 {
		m.Any = append(m.Any, by(""))
	}
}

// ifupdown configures only at boot and on request; only a DHCP client keeps running.
func (m *Managers) ifupdown(s parse.Ifupdown) {
	by := steps.Manager{By: "ifupdown", State: "unmanaged", Profile: "/etc/network/interfaces"}
	if s.Method == "dhcp" {
		by.State = "dhcp"
		by.Trouble = "a DHCP client would set its address again. Run: sudo ifdown " + s.Name +
			", or use a static address"
	}
	m.add(s.Name, by)
}

// atLeast compares releases by their numbers.
func atLeast(version, least string) bool {
	return slices.Compare(strictnum.Release(version), strictnum.Release(least)) >= 0
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return or(strings.TrimSpace(line), "no message")
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
