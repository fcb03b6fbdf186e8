// Package scripts is the shell and the Perl that run on nodes, as files. It is data, and no code: who reads a script
// gives it its values as variables or arguments, and nothing is spliced into a text.
package scripts

import _ "embed"

// The supervisor of a script: SupervisorBoot chooses between the other two. The environment of a step of Slurm's, the
// lock of a node, and how a user becomes root. runner reads them.
var (
	//go:embed supervisor-boot.sh
	SupervisorBoot string
	//go:embed supervisor.pl
	SupervisorPerl string
	//go:embed supervisor.sh
	SupervisorShell string
	//go:embed slurm-batch.sh
	SlurmBatch string
	//go:embed node-lock.sh
	NodeLock string
	//go:embed sudo.sh
	Sudo string

	// A change that is rolled back unless it is confirmed, for runner/undo: Undo stands before all but two.

	//go:embed undo.sh
	Undo string
	//go:embed undo-arm.sh
	UndoArm string
	//go:embed undo-watch.sh
	UndoWatch string
	//go:embed undo-go.sh
	UndoGo string
	//go:embed undo-start.sh
	UndoStart string
	//go:embed undo-wait.sh
	UndoWait string
	//go:embed undo-confirm.sh
	UndoConfirm string
	//go:embed undo-back.sh
	UndoBack string
	//go:embed undo-forget.sh
	UndoForget string

	// What a change of interfaces and its rollback are written of, for steps/change.

	//go:embed absent.sh
	Absent string
	//go:embed restore.sh
	Restore string
	//go:embed unload-bonding.sh
	UnloadBonding string
	//go:embed unmanage.sh
	Unmanage string
	//go:embed keep-addresses.sh
	KeepAddresses string
	//go:embed nm-take.sh
	NMTake string
	//go:embed nm-give.sh
	NMGive string
	//go:embed networkd-take.sh
	NetworkdTake string
	//go:embed networkd-give.sh
	NetworkdGive string
	//go:embed managers-log.sh
	ManagersLog string

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

	// Whether a server listens, which processes are stopped, and a script in a container, for steps/session; which port
	// leads where, for steps/cabling; how hot a node is, for steps/health; what a launcher has left, for steps/launch;
	// railbench's own program on a node, for steps/upload.

	//go:embed listening.sh
	Listening string
	//go:embed stopped.sh
	Stopped string
	//go:embed container.sh
	Container string
	//go:embed cabling.sh
	Cabling string
	//go:embed health.sh
	Health string
	//go:embed sweep.sh
	Sweep string
	//go:embed upload.sh
	Upload string
	//go:embed upload-look.sh
	UploadLook string
	//go:embed upload-hold.sh
	UploadHold string
)
