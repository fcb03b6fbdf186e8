package steps

import "maps"

// Settings are the parameters that were set, as the scripts read them: for all cells, and for single ones,
// whose own win. It is a value: With and Without never change the one that they are called on.
type Settings struct {
	All   map[string]string            // by parameter
	Cells map[string]map[string]string // by cell id, then by parameter
}

// Get is what was set for a cell, or for all where cell is empty or has none of its own.
func (s Settings) Get(cell, name string) (value string, ok bool) {
	if value, ok = s.Cells[cell][name]; !ok {
		value, ok = s.All[name]
	}
	return value, ok
}

// Of are all that hold for a cell.
func (s Settings) Of(cell string) map[string]string {
	all := maps.Clone(s.All)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, s.Cells[cell])
	return all
}

// With sets one, for all cells where cell is empty.
func (s Settings) With(cell, name, value string) Settings {
	if cell == "" {
		s.All = added(s.All, name, value)
		return s
	}
	s.Cells = added(s.Cells, cell, added(s.Cells[cell], name, value))
	return s
}

// Without takes back what was set for a cell, or for all where cell is empty.
func (s Settings) Without(cell, name string) Settings {
	if cell == "" {
		s.All = removed(s.All, name)
		return s
	}
	own := removed(s.Cells[cell], name)
	if s.Cells = removed(s.Cells, cell); len(own) > 0 {
		s.Cells = added(s.Cells, cell, own)
	}
	return s
}

// Any reports whether something was set.
func (s Settings) Any() bool { return len(s.All)+len(s.Cells) > 0 }

// added copies: an older notebook has the same map, and keeps what it saw.
func added[V any](m map[string]V, key string, value V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// removed copies, as added does.
func removed[V any](m map[string]V, key string) map[string]V {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
