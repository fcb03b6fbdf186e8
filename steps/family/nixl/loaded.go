package nixl

import (
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/verify"
)

// installedUCX is for ends that failed without a reason: UCX of different releases may refuse each other's connections
// before either says which one it is.
func installedUCX(rig steps.Rig, rep *registry.Report) {
	here, peer := rig.At(steps.Here).Tools["ucx_info"].Version, rig.At(steps.Peer).Tools["ucx_info"].Version
	if here != peer && here != "" && peer != "" {
		rep.Add(steps.UCXDiffers, steps.Warn, "the installed UCX is %s on %s but %s on %s. Install one version on both nodes",
			here, rig.NameOf(steps.Here), peer, rig.NameOf(steps.Peer))
	}
}

// otherUCX looks whether the processes at both ends had one release of UCX: ucx_info reports the one that is
// installed, and a wheel, or a library path, may have brought another.
func otherUCX(r steps.Result, rep *registry.Report, add verify.Adder, told [2]parse.UCXLog) {
	var releases [2]string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		for _, library := range told[e].Libraries {
			rep.ShowAt(node, "UCX loaded", library, "", nil)
			_, releases[e], _ = strings.Cut(library, " ")
		}
		for _, lanes := range told[e].Lanes {
			rep.ShowAt(node, "UCX chose", lanes, "", nil)
		}
		if n := len(told[e].Libraries); n > 1 {
			add(steps.SeveralUCX, steps.Warn, "the process on %s loaded %d UCX libraries: a wheel's own, and another through "+
				"LD_LIBRARY_PATH. Keep only one", node, n)
		}
	}
	if here, peer := releases[steps.Here], releases[steps.Peer]; here != peer && here != "" && peer != "" {
		add(steps.UCXDiffers, steps.Warn, "the loaded UCX is %s on %s but %s on %s. Install one version on both nodes",
			here, r.Rig.NameOf(steps.Here), peer, r.Rig.NameOf(steps.Peer))
	}
}
