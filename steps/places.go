package steps

// Places is Place for many lines: it looks for each node and role once.
func (c Cell) Places(rig Rig) func(OutputLine) int {
	known := map[[2]string]int{}
	return func(l OutputLine) int {
		key := [2]string{l.Role, l.From}
		at, ok := known[key]
		if !ok {
			at = c.Place(l, rig)
			known[key] = at
		}
		return at
	}
}
