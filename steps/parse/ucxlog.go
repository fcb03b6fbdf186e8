package parse

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A UCXLog is what UCX prints about itself if UCX_LOG_LEVEL is info: it is the UCX that this process has
// loaded, whichever ucx_info belongs to. A Python wheel may bring one of its own, under another name.
type UCXLog struct {
	// Libraries are the paths of libucp, each with its release behind it; UCX prints both since 1.13
	// (openucx/ucx#7986).
	Libraries []string `json:"ucx,omitempty"`
	// Lanes are what it chose for an endpoint between the nodes: "rma(rc_mlx5/rocep1s0f0:1)".
	Lanes []string `json:"lanes,omitempty"`
}

var (
	ucxInfo   = lazyregexp.New(`UCX  ?INFO +(.+)$`)
	ucxLoaded = lazyregexp.New(`^Version (\d[\w.-]{0,40}) \(loaded from (\S+)\)`)
	// Of 1.13 and of 1.15; transports within a process or a node do not use a rail.
	ucxLane = lazyregexp.New(`^(?:ep_cfg\[\d+\]: *|0x[0-9a-f]+ inter-node cfg#\d+ *)([a-z]\w*\(.*)$`)
)

// info keeps what a line at level info says; it reports whether the line is one.
func (u *UCXLog) info(line string) bool {
	m := ucxInfo.Regexp().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	to, said := &u.Lanes, ""
	if v := ucxLoaded.Regexp().FindStringSubmatch(m[1]); v != nil {
		to, said = &u.Libraries, v[2]+" "+v[1]
	} else if v := ucxLane.Regexp().FindStringSubmatch(m[1]); v != nil {
		said = strings.TrimRight(v[1], "; ")
	}
	// Each context and each worker of a process says the same.
	if said = cut(said); said != "" && len(*to) < maxErrors && !slices.Contains(*to, said) {
		*to = append(*to, said)
	}
	return true
}
