package theme

import "strings"

// longestAddress is what terminals take of a link's address, bytes.
const longestAddress = 2083

// WithLinks has Link make links, where the terminal knows them.
func (k *Styles) WithLinks(known bool) *Styles {
	k.links = known && !k.Plain()
	return k
}

// Link makes text lead to a web address, as terminals do it (OSC 8). If the terminal has no links, or the
// address is invalid, the text stays as it was. A link's address is not visible, so callers write it next to
// the text.
func (k *Styles) Link(address, text string) string {
	if !k.links || !onTheWeb(address) {
		return text
	}
	return linkBegins + address + linkEnds + text + linkBegins + linkEnds
}

const (
	linkBegins = "\x1b]8;;"
	linkEnds   = "\x1b\\"
	// noHyphen stands for a hyphen in an address while lines are broken; no address has it.
	noHyphen = "`"
)

// inAddresses puts one letter in another's place within the addresses of links.
func inAddresses(s, from, to string) string {
	if !strings.Contains(s, linkBegins) {
		return s
	}
	var b strings.Builder
	for {
		text, after, found := strings.Cut(s, linkBegins)
		b.WriteString(text)
		if !found {
			return b.String()
		}
		address, rest, _ := strings.Cut(after, linkEnds)
		b.WriteString(linkBegins + strings.ReplaceAll(address, from, to) + linkEnds)
		s = rest
	}
}

// onTheWeb reports whether an address is one that a browser opens, and nothing in it ends or divides
// the sequence that it stands in.
func onTheWeb(address string) bool {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || len(address) > longestAddress {
		return false
	}
	return !strings.ContainsFunc(address,
		func(r rune) bool { return r <= ' ' || r > '~' || r == ';' || string(r) == noHyphen })
}
