package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/steps"
)

// The daemons that can be asked to let an interface go.
const (
	networkManager = "NetworkManager"
	networkd       = "networkd"
)

// external is NetworkManager's word for what another program has set up.
const external = "connected (externally)"

// held are the interfaces of a change set that a manager manages.
func (m Managers) held(set []string, by string) []string {
	var all []string
	for _, name := range set {
		if _, ok := m.holder(name, by); ok {
			all = append(all, name)
		}
	}
	return all
}

// holder is a manager that manages an interface.
func (m Managers) holder(link, by string) (steps.Manager, bool) {
	all := m.Of(link)
	i := slices.IndexFunc(all, func(m steps.Manager) bool { return m.By == by && m.Holds() })
	if i < 0 {
		return steps.Manager{}, false
	}
	return all[i], true
}

// knows reports whether a manager was asked of an interface, and said something.
func (m Managers) knows(link, by string) bool {
	return slices.ContainsFunc(m.Links[link], func(m steps.Manager) bool { return m.By == by })
}

// free are the interfaces of a change set that NetworkManager leaves alone.
func (m Managers) free(set []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(name string) bool {
		_, held := m.holder(name, networkManager)
		return held || !m.knows(name, networkManager) || !plainName.Regexp().MatchString(name)
	})
}

// watched are those that networkd has to be kept from: what it holds, and what the change makes,
// which may match a file of its own.
func (m Managers) watched(set []string) []string {
	runs := false
	for _, managers := range m.Links {
		runs = runs || slices.ContainsFunc(managers, func(m steps.Manager) bool { return m.By == networkd })
	}
	var all []string
	for _, name := range set {
		_, holds := m.holder(name, networkd)
		// It lists every link that is there.
		if holds || runs && m.Links[name] == nil && plainName.Regexp().MatchString(name) {
			all = append(all, name)
		}
	}
	return all
}

// started is the order in which interfaces are given back: that of their routes' metrics, which
// NetworkManager numbers as it starts them.
func (s State) started(held []string) []string {
	slices.SortStableFunc(held, func(a, b string) int { return s.metric(a) - s.metric(b) })
	return held
}

// metric is the least that a link's IPv4 routes have.
func (s State) metric(link string) int {
	least := 0
	for _, r := range s.Routes {
		if r.Dev == link && !r.V6 && (least == 0 || r.Metric < least) {
			least = r.Metric
		}
	}
	return least
}

// Refuse says why a change must not be begun: an interface of its set is managed by a manager that can't be
// asked to release it, or something depends on it that could not be restored. It is empty if the change may
// begin; busy says that this may change in a moment. It is asked before anything is touched: what is refused
// here could not be rolled back.
func Refuse(s State, set []string) (why string, busy bool) {
	if why := s.stacked(set); why != "" {
		return why, false
	}
	for _, name := range set {
		for _, l := range s.Links {
			if slices.Contains(l.Others, name) {
				return fmt.Sprintf("%s is another name of %s. Use that name", name, l.Name), false
			}
		}
		for _, m := range s.Managers.Of(name) {
			l, there := s.Links[name]
			switch {
			case !there || !m.Holds():
			case m.Trouble != "":
				return fmt.Sprintf("%s is managed by %s: %s", name, m.By, m.Trouble), m.Busy
			case l.Master != "" && !slices.Contains(set, l.Master):
				// A port that it lets go it takes out of its bridge, with all that goes over that.
				return fmt.Sprintf("%s is in %s and managed by %s, which would remove it from there. Give the rail its own "+
					"configuration first", name, l.Master, m.By), false
			}
		}
	}
	return "", false
}

// stacked says what stands on a link that a change makes a slave, or takes away: it would lose
// its addresses and routes, and is none of the change's own.
func (s State) stacked(set []string) string {
	// A change that makes a link, or has a bond, moves others into it or out of it.
	moves := slices.ContainsFunc(set, func(name string) bool {
		l, there := s.Links[name]
		return !there || l.Bond != nil
	})
	if !moves {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(s.Links)) {
		l := s.Links[name]
		if l.Bond != nil && l.Bond.Odd != "" && slices.Contains(set, name) {
			return fmt.Sprintf("%s has settings that cannot be restored (%s). Remove it by hand, or in its manager's "+
				"configuration", name, l.Bond.Odd)
		}
		if slices.Contains(set, l.Lower) && !slices.Contains(set, name) {
			return fmt.Sprintf("%s (%s) is built on %s and would lose its addresses and routes. Remove it first: ip link del "+
				"%s", name, or(l.Kind, "a link"), l.Lower, name)
		}
	}
	for _, r := range s.Odd {
		if slices.Contains(set, r.Dev) {
			return fmt.Sprintf("the route to %s over %s has settings that cannot be restored (%s). Remove it first: "+
				"%s", r.Dst, r.Dev, r.More, r.del())
		}
	}
	for _, r := range s.Shared {
		if slices.Contains(set, r.Dev) {
			return fmt.Sprintf("the route to %s uses %s and other interfaces and cannot be restored. Remove it first: "+
				"ip route del %s", r.Dst, r.Dev, r.Dst)
		}
	}
	return ""
}

// TakenBack says which links of a change set a manager manages again, though they were unmanaged, and what it has set
// on them.
func TakenBack(before, now State, set []string) (all []string) {
	for _, name := range set {
		for _, by := range []string{networkManager, networkd} {
			_, was := before.Managers.holder(name, by)
			m, is := now.Managers.holder(name, by)
			text := fmt.Sprintf("%s manages %s again (%s), although it was released", by, name, m.State)
			if !was {
				text = fmt.Sprintf("%s has started to manage %s (%s)", by, name, m.State)
			}
			switch {
			case !is, !was && !before.Managers.knows(name, by):
				continue
			case !was && m.State == external:
				continue // set up by another program; it only shows that
			}
			l := now.Links[name]
			if addrs := l.lasting(Link{}); l.Master != "" && len(addrs) > 0 {
				text += fmt.Sprintf(", and has set %s on it", strings.Join(addrs, ", "))
			}
			all = append(all, text)
		}
	}
	return all
}

// Take writes what has to run before a change's own script: it makes the managers release the links of the
// set, with their addresses and routes left as they are. It is empty if no manager has one, and runs as root,
// in a shell of its own.
func Take(m Managers, set []string) string {
	set = slices.Compact(slices.Sorted(slices.Values(set)))
	nm, own := m.held(set, networkManager), m.watched(set)
	if len(nm)+len(own) == 0 {
		return ""
	}
	var w writer
	w.WriteString("# What manages these interfaces lets them go until the change is taken back.\n(\n")
	w.WriteString(scripts.Unmanage + scripts.KeepAddresses)
	w.functions(nm, own, scripts.NMTake, scripts.NetworkdTake)
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(nm, own))))
	w.or("exit 1", append([]string{"keep"}, all...)...)
	w.take(nm, own)
	w.WriteString("put_again\n:\n) || exit 1\n")
	return w.String()
}

// functions are those that the lines for some managers call.
func (w *writer) functions(nm, own []string, forNM, forNetworkd string) {
	if len(nm) > 0 {
		w.WriteString(forNM)
	}
	if len(own) > 0 {
		w.WriteString(forNetworkd)
	}
}

// take is a line for each manager.
func (w *writer) take(nm, own []string) {
	if len(nm) > 0 {
		w.or("exit 1", append([]string{"nm_take"}, nm...)...)
	}
	if len(own) > 0 {
		w.or("exit 1", append([]string{"networkd_take"}, own...)...)
	}
}

// give returns links that are as they were to their managers.
func (w *writer) give(s State, nm, own []string) {
	for _, name := range nm {
		m, _ := s.Managers.holder(name, networkManager)
		state := m.State
		if strings.HasPrefix(state, "connected (") {
			state = "external" // NetworkManager shows what another program set up as a profile of its own
		}
		w.or("left=1", "nm_give", name, state, m.ID, fmt.Sprint(s.metric(name)))
	}
	if len(own) > 0 {
		w.or("left=1", append([]string{"networkd_give"}, own...)...)
	}
}
