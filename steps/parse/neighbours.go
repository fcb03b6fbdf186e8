package parse

import (
	"encoding/json"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Neighbour is an entry of ip neigh.
type Neighbour struct {
	Dst string `json:"dst"`
	// Dev is the interface; null where ip does not print it, as with -j and a dev in the question.
	Dev *string `json:"dev"`
	// MAC is the address that answered; null where none did.
	MAC   *string  `json:"mac"`
	State []string `json:"state"` // REACHABLE, STALE, FAILED …
}

// 192.168.10.2 dev enp1s0f0np0 lladdr 4c:bb:47:00:00:01 REACHABLE
var neighbour = lazyregexp.New(`^([\da-fA-F.:]+) (?:dev (\S+) )?(?:lladdr (\S+) )?(?:router |extern_learn |proxy )*` +
	`(PERMANENT|NOARP|REACHABLE|STALE|NONE|INCOMPLETE|DELAY|PROBE|FAILED)\s*$`)

// Neighbours reads ip neigh, also with -j.
func Neighbours(text string) ([]Neighbour, error) {
	all := []Neighbour{}
	if isArray(text) {
		var raw []struct {
			Dst    string   `json:"dst"`
			Dev    *string  `json:"dev"`
			Lladdr *string  `json:"lladdr"`
			State  []string `json:"state"`
		}
		if err := unmarshalPieces(text, &raw); err != nil {
			return all, ErrNoResult
		}
		for _, r := range raw {
			if r.Dst != "" && r.State != nil && len(all) < maxRows {
				all = append(all, Neighbour{r.Dst, r.Dev, r.Lladdr, r.State})
			}
		}
	}
	lines(text, func(line string) {
		m := neighbour.Regexp().FindStringSubmatch(strings.TrimSpace(line))
		if m != nil && len(all) < maxRows {
			all = append(all, Neighbour{m[1], told(m[2]), told(m[3]), []string{m[4]}})
		}
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}

// told is a word that a tool printed; nil if it printed none.
func told(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// sides are the two halves of perftest's JSON with results_local and results_remote; ok is false for another text.
func sides(text string) (local, remote string, ok bool) {
	i, j := strings.Index(text, `"results_local"`), strings.Index(text, `"results_remote"`)
	if i < 0 || j < 0 || !json.Valid([]byte(strings.TrimSpace(text))) {
		return "", "", false
	}
	if i < j {
		return text[:j], text[:i] + text[j:], true
	}
	return text[:j] + text[i:], text[:i], true
}
