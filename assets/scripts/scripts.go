// Package scripts is the shell and the Perl that run on nodes, as files. It is data, and no code: who reads a script
// gives it its values as variables or arguments, and nothing is spliced into a text.
package scripts

import _ "embed"

// The supervisor of a script: SupervisorBoot chooses between the other two. runner reads them.
var (
	//go:embed supervisor-boot.sh
	SupervisorBoot string
	//go:embed supervisor.pl
	SupervisorPerl string
	//go:embed supervisor.sh
	SupervisorShell string

	// What a node has, and who configures its interfaces: a function that other scripts call. steps/probe and steps/change
	// read it.

	//go:embed probe.sh
	Probe string
	//go:embed capture.sh
	Capture string
	//go:embed managers.sh
	Managers string

	// What rails carried, for steps/meter.

	//go:embed counters.sh
	Counters string
	//go:embed sampler.sh
	Sampler string
	//go:embed sampler-loop.sh
	SamplerLoop string
	//go:embed sampler.bash
	SamplerBash string
	//go:embed sampler-posix.sh
	SamplerPOSIX string
	//go:embed sampler.pl
	SamplerPerl string

	// Whether a server listens, and which processes are stopped, for steps/session.

	//go:embed listening.sh
	Listening string
	//go:embed stopped.sh
	Stopped string
)
