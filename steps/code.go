package steps

import "slices"

// A Code names a cause: what a verdict says, in a word that stays when its sentences change. It is empty where nothing
// is wrong. Scripts and tests hold on to codes; people read the sentences. assets/docs/json.md lists all of them with
// the comments below.
type Code string

// The codes. The comment of each is its meaning, in one line.
const (
	// Runs that say nothing about the rig.

	// The cell needs something that is not on this rig or node.
	CannotRun Code = "cannot-run"
	// A node does not answer, or could not be looked at.
	NodeAway Code = "node-away"
	// A node booted minutes ago, and what was set by hand is gone.
	JustBooted Code = "just-booted"
	// The boot before this one ended without a shutdown.
	UncleanShutdown Code = "unclean-shutdown"
	// No rail leads from node to node.
	NoRail Code = "no-rail"
	// A rail that the rig file names is not there.
	RailMissing Code = "rail-missing"
	// A port that should be a rail is none, and was left out.
	PortLeftOut Code = "port-left-out"
	// A rail of the rig was not measured.
	RailUnmeasured Code = "rail-unmeasured"
	// Nothing was run.
	NothingRan Code = "nothing-ran"
	// A script did not run on a node.
	NotRunHere Code = "not-run-here"
	// A script or a test did not run to its end.
	NotRunToEnd Code = "not-run-to-end"
	// A path or an address could not be tried, so nothing is known of it.
	NotTried Code = "not-tried"
	// A test was interrupted.
	Interrupted Code = "interrupted"
	// A limit of time was reached.
	TimedOut Code = "timed-out"
	// A command is not installed, or not found.
	CommandMissing Code = "command-missing"
	// The container that was named is not on the node.
	NoContainerFound Code = "no-container"
	// A script ended with another status than 0.
	ScriptFailed Code = "script-failed"
	// A file, counter or setting could not be read, so nothing is known of it.
	Unreadable Code = "unreadable"
	// A setting has a value that cannot be used.
	SettingInvalid Code = "setting-invalid"
	// The output could not be read, or is not whole.
	OutputIncomplete Code = "output-incomplete"
	// A tool printed an error that railbench does not know.
	UnknownError Code = "unknown-error"
	// A tool is too old for an option that it was given.
	ToolTooOld Code = "tool-too-old"
	// A tool refuses the options or sizes that it was given.
	OptionsWrong Code = "options-wrong"
	// The two ends of a test did not agree on their options.
	OptionsDiffer Code = "options-differ"
	// The two ends of a test took the wrong roles.
	RolesSwapped Code = "roles-swapped"
	// A name or an address could not be resolved.
	NameUnresolved Code = "name-unresolved"
	// The other end of a test ended early, or never came.
	OtherEndGone Code = "other-end-gone"
	// A program met the end of another run instead of its own.
	ForeignPeer Code = "foreign-peer"
	// No judge knows this cell.
	NotJudged Code = "not-judged"
	// A part of railbench failed.
	Defect Code = "railbench-defect"
	// A parameter has a value that cannot be used.
	ParameterUnusable Code = "parameter-unusable"
	// The sizes of a test are too small for a verdict.
	SizeTooSmall Code = "size-too-small"

	// How programs ended.

	// A program could not start: a library, a permission, another processor.
	ProgramUnable Code = "program-unable"
	// A program was ended by a signal that railbench did not send.
	ProgramKilled Code = "program-killed"
	// A program crashed.
	ProgramCrashed Code = "program-crashed"
	// A program was built for another processor.
	ProgramForeign Code = "program-foreign"
	// Memory that a program had mapped could not be given.
	MemoryNotGiven Code = "memory-not-given"
	// A file system has no room, or may not be written.
	DiskFull Code = "disk-full"
	// A node restarted in the middle.
	NodeRestarted Code = "node-restarted"
	// A connection broke in the middle of a test.
	ConnectionBroke Code = "connection-broke"
	// No server could be reached at the other end.
	ServerUnreachable Code = "server-unreachable"
	// A server is busy with another client's test.
	ServerBusy Code = "server-busy"
	// A port that a test listens on is held by another process.
	PortTaken Code = "port-taken"
	// A test stood still: for some time nothing moved.
	TestStalled Code = "test-stalled"
	// The output is not of the test that was started, or contradicts it.
	OutputForeign Code = "output-foreign"
	// Data arrived other than it was sent.
	DataCorrupt Code = "data-corrupt"
	// The loader does not find a library that a program needs.
	LibraryMissing Code = "library-missing"
	// A part of the data did not arrive.
	DataLost Code = "data-lost"

	// Traffic accounting: bytes on every port.

	// The bytes of a test were not counted.
	NotCounted Code = "not-counted"
	// A counter is missing, jumped or went backwards.
	CounterBad Code = "counter-bad"
	// A link went down during the test.
	LinkFlapped Code = "link-flapped"
	// Other ports carried the test than the ones that it was given.
	WrongPort Code = "wrong-port"
	// The data went over TCP instead of RDMA.
	NotRDMA Code = "not-rdma"
	// No port carried the test's bytes.
	NothingCarried Code = "nothing-carried"
	// Other traffic ran during the test.
	OtherTraffic Code = "other-traffic"
	// A rail of the test carried nothing.
	RailIdle Code = "rail-idle"
	// More or fewer bytes were counted than the test moved.
	BytesDiffer Code = "bytes-differ"
	// The rails shared the traffic unevenly.
	RailsUneven Code = "rails-uneven"
	// Error counters grew during the test.
	ErrorsGrew Code = "errors-grew"
	// Error counters grow while nothing runs.
	ErrorsWhileIdle Code = "errors-while-idle"
	// Congestion marks or pauses slowed the test.
	Congestion Code = "congestion"
	// Packets were dropped for want of room.
	PacketsDropped Code = "packets-dropped"
	// An adapter was too hot.
	AdapterHot Code = "adapter-hot"

	// Figures against limits.

	// A figure is below what this path can do.
	BelowLimit Code = "below-limit"
	// A figure is above what physics allow.
	FigureImpossible Code = "figure-impossible"
	// A figure is above anything that was measured on such hardware.
	FigureUnseen Code = "figure-unseen"
	// No limit is known for these conditions.
	NoLimitKnown Code = "no-limit-known"
	// Rails that should be alike differ.
	RailsApart Code = "rails-apart"
	// Two tests are not known to have run at the same time.
	NotTogether Code = "not-together"
	// Good alone, and slower when several links are measured at once.
	SlowTogether Code = "slow-together"
	// A PCIe link came up narrower or slower than the slot and the device allow.
	PCIeNarrow Code = "pcie-narrow"
	// A link came up slower than the ports allow.
	LinkSlow Code = "link-slow"
	// A latency is above what is usual.
	LatencyHigh Code = "latency-high"
	// A few messages took much longer than most.
	LatencyTail Code = "latency-tail"
	// A rate was much higher or lower for a while.
	RateUnsteady Code = "rate-unsteady"
	// Blocks of some sizes are much slower than others.
	BlocksUneven Code = "blocks-uneven"
	// Two rails share a PCIe link, so their rates do not add up.
	RailsSharePCIe Code = "rails-share-pcie"
	// An adapter came up degraded, and carries a small part of its rate.
	AdapterDegraded Code = "adapter-degraded"
	// Streams of one test carried next to nothing.
	StreamsUneven Code = "streams-uneven"
	// A test was given socket buffers that are too small for its link.
	WindowSmall Code = "window-small"
	// Packets were lost on the way and sent again.
	PacketsResent Code = "packets-resent"

	// Both ends and their links.

	// A port was not ACTIVE.
	PortDown Code = "port-down"
	// No rail's interface is up on either node.
	NoLinkUp Code = "no-link-up"
	// A rail has no other end on the other node.
	RailUnpaired Code = "rail-unpaired"
	// A rail that was there before a change is gone.
	RailLost Code = "rail-lost"
	// An interface is switched off.
	InterfaceOff Code = "interface-off"
	// An interface has no link (no carrier).
	LinkDown Code = "link-down"
	// The MTUs of both ends differ.
	MTUDiffers Code = "mtu-differs"
	// A small MTU wastes the link on headers.
	MTUSmall Code = "mtu-small"
	// The two ends of a link differ in something that should be alike.
	EndsDiffer Code = "ends-differ"
	// The nodes have different numbers of RDMA devices or rails.
	DevicesDiffer Code = "devices-differ"
	// The firmware of the adapters differs between the nodes.
	FirmwareDiffers Code = "firmware-differs"
	// A rail joins different ports of the two nodes.
	CablesCrossed Code = "cables-crossed"
	// Links that should be alike have different rates.
	LinksUnequal Code = "links-unequal"
	// A ping over a rail was not answered.
	NoAnswer Code = "no-answer"
	// Some packets of a ping were lost.
	PacketsLost Code = "packets-lost"
	// A ping was answered more than once.
	DuplicateAnswers Code = "duplicate-answers"
	// An answer was changed on its way, or took another way.
	AnswerChanged Code = "answer-changed"
	// A router stands between the two ends of a rail.
	RouterBetween Code = "router-between"
	// Something between the ends takes smaller packets than their MTU.
	PathMTUSmall Code = "path-mtu-small"
	// Something on the way of a rail holds packets back.
	PathDelay Code = "path-delay"
	// RDMA packets got no answer in time.
	RDMAUnanswered Code = "rdma-unanswered"
	// A rail does not reach the other end: addresses and GIDs do not belong together.
	RailUnreachable Code = "rail-unreachable"
	// A route leads over another interface than the rail's own.
	WrongRoute Code = "wrong-route"
	// A node has no route to the other end of a rail.
	NoRoute Code = "no-route"
	// A route drops or refuses what is for a rail.
	RouteBlocked Code = "route-blocked"
	// A node reaches the other end of a rail by a router.
	RouteViaRouter Code = "route-via-router"
	// A route has a smaller MTU than its interface.
	RouteMTULow Code = "route-mtu-low"
	// A route sends under another address than the rail's own.
	RouteSourceWrong Code = "route-source-wrong"
	// A default route leads over a rail.
	DefaultRouteOverRail Code = "default-route-over-rail"
	// The SSH session to a node goes over a rail.
	SSHOverRail Code = "ssh-over-rail"
	// A queueing discipline delays, drops or limits what a rail sends.
	TrafficShaped Code = "traffic-shaped"
	// A filter of tc drops, changes or redirects packets of a rail.
	TrafficFiltered Code = "traffic-filtered"
	// A node has learned the MAC address of another interface for a rail.
	NeighbourWrong Code = "neighbour-wrong"

	// GIDs of RDMA devices.

	// The GID table has no entry for the address of a rail.
	GIDMissing Code = "gid-missing"
	// The two ends of a rail have their GIDs at different indexes.
	GIDIndexDiffers Code = "gid-index-differs"
	// The GID index changed since the rig was probed.
	GIDIndexChanged Code = "gid-index-changed"
	// The GIDs of the two ends are of different types.
	GIDTypesDiffer Code = "gid-types-differ"
	// An InfiniBand port has no GID, so no subnet manager may run.
	SubnetManagerMissing Code = "subnet-manager-missing"

	// Memory, and what perftest says of it.

	// The data should have been checked, and was not.
	DataUnchecked Code = "data-unchecked"
	// The memlock limit (ulimit -l) is too low.
	MemlockLow Code = "memlock-low"
	// A buffer does not fit into the memory of a node.
	MemoryShort Code = "memory-short"
	// Memory could not be registered with an adapter.
	MemoryUnregistered Code = "memory-unregistered"
	// An adapter takes no memory of this kind, such as that of a GPU.
	MemoryKindRefused Code = "memory-kind-refused"
	// An adapter refused access to the memory of a test.
	MemoryAccessRefused Code = "memory-access-refused"
	// The receiver was not ready in time.
	ReceiverNotReady Code = "receiver-not-ready"
	// A queue pair had failed before; the first error is not in the output.
	QueueFlushed Code = "queue-flushed"
	// perftest could not measure the rate of its clock.
	ClockUnmeasured Code = "clock-unmeasured"
	// CUDA failed.
	CUDAFailed Code = "cuda-failed"
	// A buffer does not fit into the memory of a GPU.
	GPUMemoryShort Code = "gpu-memory-short"

	// NIXL and UCX.

	// UCX cannot use a rail that it should use.
	UCXNoRail Code = "ucx-no-rail"
	// UCX has no support for RDMA verbs.
	UCXNoVerbs Code = "ucx-no-verbs"
	// UCX has no support for GPU memory.
	UCXNoCUDA Code = "ucx-no-cuda"
	// The UCX versions of the two nodes differ.
	UCXDiffers Code = "ucx-differs"
	// A process loaded several UCX libraries.
	SeveralUCX Code = "several-ucx"
	// NIXL does not find a plugin.
	PluginMissing Code = "plugin-missing"
	// A plugin of NIXL is of another release, or could not be loaded.
	PluginUnfit Code = "plugin-unfit"
	// The UCX backend of NIXL failed.
	BackendFailed Code = "backend-failed"
	// The rate of GPU memory fits neither host staging nor GPUDirect.
	GPUPathUnclear Code = "gpu-path-unclear"
	// NIXL found no way to the other end.
	NIXLNoPath Code = "nixl-no-path"
	// The NIXL versions of the two nodes differ.
	NIXLDiffers Code = "nixl-differs"
	// Software is installed on one of the nodes only.
	MissingOnOneNode Code = "missing-on-one-node"
	// A Python module is missing.
	PythonModuleMissing Code = "python-module-missing"
	// A transfer failed, and nothing says why.
	TransferFailed Code = "transfer-failed"
	// NIXL failed with an error that railbench does not know.
	NIXLFailed Code = "nixl-failed"
	// UCX was built with verbs, and lists no RDMA device.
	UCXNoDevice Code = "ucx-no-device"
	// One release of UCX was built differently on the two nodes.
	UCXBuildDiffers Code = "ucx-build-differs"
	// A setting keeps UCX from RDMA.
	UCXRDMAOff Code = "ucx-rdma-off"
	// A setting lets UCX use fewer rails than there are.
	UCXRailsLimited Code = "ucx-rails-limited"
	// UCX_NET_DEVICES names a device that UCX does not find.
	UCXDevicesWrong Code = "ucx-devices-wrong"
	// nixlbench is older than the first release that needs no etcd.
	NIXLBenchOld Code = "nixlbench-old"
	// GPU memory travels by GPUDirect on one node, and host-staged on the other.
	GPUPathsDiffer Code = "gpu-paths-differ"

	// etcd.

	// etcd does not answer a node.
	EtcdUnreachable Code = "etcd-unreachable"
	// The nodes reach two different etcd servers.
	EtcdDiffers Code = "etcd-differs"
	// etcd holds keys of a run that broke.
	EtcdStaleKeys Code = "etcd-stale-keys"
	// This release of etcd can corrupt its data.
	EtcdCorrupting Code = "etcd-corrupting"
	// An etcd is installed, and does not run.
	EtcdNotRunning Code = "etcd-not-running"
	// An etcd that another node is set to use listens on loopback only.
	EtcdLoopback Code = "etcd-loopback"
	// What listens on the port of etcd does not answer as etcd does without TLS.
	EtcdSilent Code = "etcd-silent"
	// An etcd that a node is set to use is masked, so nothing starts it.
	EtcdMasked Code = "etcd-masked"
	// A run of nixlbench uses an etcd.
	EtcdInUse Code = "etcd-in-use"
	// A service of railbench's that a test needs, such as its etcd, ended during the test.
	ServiceEnded Code = "service-ended"

	// Addresses of the rails.

	// A rail has no address at either end.
	RailUnaddressed Code = "rail-unaddressed"
	// An interface has two addresses in one subnet.
	SecondAddress Code = "second-address"
	// A rail has an address in the subnet of another rail.
	AddressStray Code = "address-stray"
	// Another host on the wire answers for a rail's address.
	AddressTaken Code = "address-taken"
	// Two rails have exchanged their addresses on one node.
	AddressesExchanged Code = "addresses-exchanged"
	// A rail has no link-local IPv6 address, while others have one.
	LinkLocalMissing Code = "link-local-missing"
	// A rail is in a bridge, a team or a VRF.
	RailInBridge Code = "rail-in-bridge"

	// What configures a node's network, and what a boot does.

	// A network manager runs and is masked, so no boot starts it.
	ManagerMasked Code = "manager-masked"
	// A network manager runs and does not answer.
	ManagerSilent Code = "manager-silent"
	// Nothing that railbench knows configures the network of a node.
	ManagerUnknown Code = "manager-unknown"
	// NetworkManager leaves a rail alone, so its profile never starts.
	RailUnmanaged Code = "rail-unmanaged"
	// A script acts whenever an interface comes up.
	DispatcherScript Code = "dispatcher-script"
	// Several profiles of NetworkManager start by themselves on one rail.
	ProfilesCompete Code = "profiles-compete"
	// NetworkManager does not finish setting up a rail.
	ProfileUnfinished Code = "profile-unfinished"
	// The profile that an address comes from is not started by a boot.
	NoAutoconnect Code = "no-autoconnect"
	// A rail's address is in no configuration, and lost at a reboot.
	AddressNotSaved Code = "address-not-saved"
	// A bond is in no configuration, and lost at a reboot.
	BondNotSaved Code = "bond-not-saved"
	// An MTU is in no configuration, and lost at a reboot.
	MTUNotSaved Code = "mtu-not-saved"
	// An interface gets another MTU at a boot than it has now.
	BootMTUDiffers Code = "boot-mtu-differs"
	// A boot waits too long for the network, or in vain.
	BootWaits Code = "boot-waits"

	// Adapters, RDMA devices and cables.

	// The driver has left a function of an adapter.
	AdapterLost Code = "adapter-lost"
	// No adapter is on the PCI bus of a node.
	AdapterAbsent Code = "adapter-absent"
	// The kernel's log has an error of an adapter that works.
	AdapterFault Code = "adapter-fault"
	// An adapter has merged its ports into one RDMA device.
	RoCELAG Code = "roce-lag"
	// One end of a rail is InfiniBand and the other is not.
	LinkLayersDiffer Code = "link-layers-differ"
	// The programs of this user cannot open an RDMA device.
	UverbsClosed Code = "uverbs-closed"
	// The verbs library has no part for a node's adapter.
	VerbsProviderMissing Code = "verbs-provider-missing"
	// The slot of an adapter has fewer or slower lanes than the adapter.
	SlotNarrow Code = "slot-narrow"
	// A PCIe slot gives an adapter too little power.
	SlotPowerLow Code = "slot-power-low"
	// A PCIe link had fatal errors since the boot.
	PCIeFatalErrors Code = "pcie-fatal-errors"
	// A PCIe link had nonfatal errors since the boot.
	PCIeNonfatalErrors Code = "pcie-nonfatal-errors"
	// A PCIe link corrects errors all the time.
	PCIeCorrectableErrors Code = "pcie-correctable-errors"
	// The two ends of a rail do not have the same cable.
	CableEndsDiffer Code = "cable-ends-differ"
	// A cable was made for a lower rate than its port.
	CableSlow Code = "cable-slow"
	// A passive copper cable is longer than it may be.
	CableTooLong Code = "cable-too-long"
	// An adapter says that its cable is unplugged.
	CableUnplugged Code = "cable-unplugged"
	// An adapter cannot use a cable or its module.
	CableUnusable Code = "cable-unusable"
	// Error counters of a cable, a module or a port grow.
	CableErrors Code = "cable-errors"
	// The two ends of a link use different error correction.
	FECDiffers Code = "fec-differs"
	// A port is set to offer less than it can do.
	SpeedNotOffered Code = "speed-not-offered"
	// The speed of a port is set by hand.
	AutonegOff Code = "autoneg-off"

	// GPUs and their drivers.

	// One node has an NVIDIA GPU with its driver and the other has none.
	GPUOneSided Code = "gpu-one-sided"
	// A node has a GPU and no driver for it.
	GPUDriverMissing Code = "gpu-driver-missing"
	// nvidia-smi cannot talk to the driver of the GPU.
	GPUDriverFails Code = "gpu-driver-fails"
	// The driver of a GPU could not start it.
	GPUNotStarted Code = "gpu-not-started"
	// The driver shows fewer GPUs than the PCI bus has.
	GPULost Code = "gpu-lost"
	// The nodes have different versions of the GPU driver.
	GPUDriversDiffer Code = "gpu-drivers-differ"
	// A GPU is slowed by its own heat.
	GPUHot Code = "gpu-hot"
	// Another program uses a GPU.
	GPUBusy Code = "gpu-busy"
	// No load could be put on a GPU.
	GPULoadFailed Code = "gpu-load-failed"
	// A GPU stays at a very low clock under load until its node is power-cycled.
	GPUClockStuck Code = "gpu-clock-stuck"
	// A GPU has a lower clock under load than expected.
	GPUClockLow Code = "gpu-clock-low"
	// A GPU has its clock, and reports that something limits it.
	GPUHeldBack Code = "gpu-held-back"
	// The board of a node slows its processors for heat or power.
	BoardThrottled Code = "board-throttled"
	// Nothing lets the adapter reach the memory of a GPU.
	GPUDirectOff Code = "gpudirect-off"
	// The BAR1 of a GPU is smaller than the buffers need.
	BAR1Small Code = "bar1-small"
	// The kernel has refused a module.
	ModuleRefused Code = "module-refused"
	// A module is unsigned, and the kernel will refuse it.
	ModuleUnsigned Code = "module-unsigned"

	// Changes of a node's network.

	// There was nothing to change.
	NothingToChange Code = "nothing-to-change"
	// The change was refused before anything was touched.
	ChangeRefused Code = "change-refused"
	// The node's network changed while the question was open.
	ChangedMeanwhile Code = "changed-meanwhile"
	// You declined.
	Declined Code = "declined"
	// It needs root.
	NeedsRoot Code = "needs-root"
	// A command of the change failed.
	ChangeFailed Code = "change-failed"
	// The change was rolled back.
	ChangeRolledBack Code = "change-rolled-back"
	// Something else undid the change, such as a network manager.
	ChangeFought Code = "change-fought"
	// A rollback did not succeed.
	RollbackFailed Code = "rollback-failed"
	// After a change, something is not as it was asked for.
	NotAsAsked Code = "not-as-asked"
	// A node keeps the rollback of another change.
	RollbackLeft Code = "rollback-left"
	// Netplan does not take the file.
	NetplanRefuses Code = "netplan-refuses"
	// Whether a change works was not tried.
	ChangeUntried Code = "change-untried"

	// Network settings of a node.

	// An RDMA device is not there, for example because its driver is not loaded.
	RDMADeviceMissing Code = "rdma-device-missing"
	// An RDMA device has no network interface.
	InterfaceMissing Code = "interface-missing"
	// A bond holds the interface of a rail, with its address and its GIDs.
	RailInBond Code = "rail-in-bond"
	// Several network managers configure one interface.
	SeveralManagers Code = "several-managers"
	// The network manager of an interface keeps railbench from changing it.
	ManagerTrouble Code = "manager-trouble"
	// The two ends of a rail are in different subnets.
	SubnetsDiffer Code = "subnets-differ"
	// An interface that needs an IPv4 address has none.
	AddressMissing Code = "address-missing"
	// An address that a rail had is not on the node any more.
	AddressGone Code = "address-gone"
	// Two interfaces have one IP address.
	DuplicateIP Code = "duplicate-ip"
	// Two interfaces of a node are in one subnet.
	SubnetShared Code = "subnet-shared"
	// The RoCE MTU of a device does not follow from its interface's MTU.
	RoCEMTUBehind Code = "roce-mtu-behind"
	// A GID index is set that is not the one of the rail's RoCE v2 GID.
	GIDIndexWrong Code = "gid-index-wrong"
	// The GIDs of a port belong to another interface than its own.
	GIDForeign Code = "gid-foreign"
	// A rule of a firewall keeps the nodes from each other.
	FirewallBlocks Code = "firewall-blocks"
	// No rule of a firewall lets through all that goes over the rails.
	FirewallMayBlock Code = "firewall-may-block"
	// A rule of a firewall drops RoCE's packets, UDP 4791.
	RoCEFiltered Code = "roce-filtered"

	// Bonds.

	// One node bonds its rails, and the other does not.
	BondOneSided Code = "bond-one-sided"
	// A bond holds nothing, and its name is taken.
	BondEmpty Code = "bond-empty"
	// A bond that was to be removed still holds a rail.
	BondLeft Code = "bond-left"
	// A bond is in a configuration that makes it again at the next boot.
	BondComesBack Code = "bond-comes-back"
	// The bonds of both ends have different modes or hash policies.
	BondsDiffer Code = "bonds-differ"
	// A bond has no link.
	BondDown Code = "bond-down"
	// One link of a bond is down.
	BondLinkDown Code = "bond-link-down"
	// A bond has one link only.
	BondSingle Code = "bond-single"
	// A bond does not watch its links (miimon is 0).
	BondUnwatched Code = "bond-unwatched"
	// A bond in balance-rr puts the packets of one connection on both links.
	BondReorders Code = "bond-reorders"
	// A bond in 802.3ad needs another end that speaks LACP.
	BondNeedsLACP Code = "bond-needs-lacp"
	// The links of a bond are in two aggregators: packets go over one of them.
	BondAggregators Code = "bond-aggregators"
	// All connections go over one link of a bond: its mode or its hash policy.
	BondOneLinkUsed Code = "bond-one-link-used"
	// A bond and one of its links have different MTUs.
	BondMTUDiffers Code = "bond-mtu-differs"
	// An interface in a bond kept an address of its own, whose route takes packets.
	BondPortAddress Code = "bond-port-address"
	// A network manager gives an address to an interface that is in a bond.
	BondPortManaged Code = "bond-port-managed"

	// Software of a node.

	// The two nodes have different releases of a program or of the system.
	VersionsDiffer Code = "versions-differ"
	// The two nodes have different kinds of processors.
	ProcessorsDiffer Code = "processors-differ"
	// Two nodes of the rig file are one machine.
	SameMachine Code = "same-machine"
	// Two machines have one host name.
	HostNamesEqual Code = "hostnames-equal"
	// Nothing on a node ends a process that hides from railbench.
	StraysUncaught Code = "strays-uncaught"
	// sudo asks for a password.
	SudoPassword Code = "sudo-password"
	// The clocks of the nodes are far apart.
	ClocksApart Code = "clocks-apart"
	// The kernel keeps free memory that no adapter may pin.
	MemoryUnpinnable Code = "memory-unpinnable"
	// The kernel counts more free CMA memory than it has.
	MemoryMiscounted Code = "memory-miscounted"
	// AppArmor refuses a program of the tests something.
	AppArmorRefuses Code = "apparmor-refuses"
	// AppArmor refused a program something before its profile was changed.
	AppArmorChanged Code = "apparmor-changed"

	// Containers.

	// The container that was named does not run.
	ContainerStopped Code = "container-stopped"
	// A container may not open all RDMA device files of its node.
	ContainerNoDevices Code = "container-no-devices"
	// A container has a network of its own, without the rails' interfaces.
	ContainerOwnNetwork Code = "container-own-network"
	// A container sees no GPU of its node.
	ContainerNoGPU Code = "container-no-gpu"
	// A container has no library for RDMA verbs.
	ContainerNoVerbs Code = "container-no-verbs"
	// A container has little shared memory.
	ContainerShmSmall Code = "container-shm-small"

	// NCCL and launchers.

	// The nodes have different versions of NCCL.
	NCCLDiffers Code = "nccl-differs"
	// NCCL is older than nodes in a ring need.
	NCCLTooOld Code = "nccl-too-old"
	// A setting keeps NCCL from RDMA.
	NCCLRDMAOff Code = "nccl-rdma-off"
	// NCCL_IB_HCA names a device that is not there.
	NCCLDevicesWrong Code = "nccl-devices-wrong"
	// NCCL_SOCKET_IFNAME names no interface that is there.
	NCCLInterfaceWrong Code = "nccl-interface-wrong"
	// A setting of NCCL is not the same on all nodes.
	NCCLSettingsDiffer Code = "nccl-settings-differ"
	// A setting that NCCL needs on nodes in a ring is missing.
	NCCLSettingMissing Code = "nccl-setting-missing"
	// NCCL uses a device that is not a rail of its node.
	NCCLDeviceUnknown Code = "nccl-device-unknown"
	// NCCL warns of something, and ended well.
	NCCLWarns Code = "nccl-warns"
	// NCCL or nccl-tests failed with an error that railbench does not know.
	NCCLFailed Code = "nccl-failed"
	// One PCIe half of a port is left out.
	HalfLeftOut Code = "half-left-out"
	// A queue pair could not be connected.
	QueueUnconnected Code = "queue-unconnected"
	// The ranks are not started along the cables of a ring.
	RanksUnjoined Code = "ranks-unjoined"
	// A launcher started other processes than one on each node.
	RanksWrong Code = "ranks-wrong"
	// A program was built for another MPI than its launcher's.
	MPIDiffers Code = "mpi-differs"
	// A launcher lost a node while it ran.
	NodeLost Code = "node-lost"
	// A launcher started nothing on another node.
	LaunchFailed Code = "launch-failed"
	// A launcher has no room for a process on each node.
	LauncherSlots Code = "launcher-slots"
	// Slurm gives no step on these nodes.
	AllocationMissing Code = "allocation-missing"
	// A node does not reach another by ssh.
	SSHUnreachable Code = "ssh-unreachable"
	// A node may not log in to another by ssh.
	SSHRefused Code = "ssh-refused"

	// What a runbook of your own expects.

	// An output or a value is not what the runbook expects.
	NotExpected Code = "not-expected"
)

// Causes are the codes of findings, the worst first, as a Verdict has them.
func Causes(found []Code) (first Code, all []Code) {
	for _, c := range found {
		if c != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	switch len(all) {
	case 0:
		return "", nil
	case 1:
		return all[0], nil
	}
	return all[0], all
}
