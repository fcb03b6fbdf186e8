package steps

import "slices"

// A Code names a cause: what a verdict says, in a word that stays when its sentences change. It is empty where nothing
// is wrong. Scripts and tests hold on to codes; people read the sentences. assets/docs/json.md lists all of them with
// the comments below.
type Code string

// The codes. The comment of each is its meaning, in one line.
const (
	// Runs that tell nothing of the rig.

	// The cell needs something that is not on this rig or node.
	CannotRun Code = "cannot-run"
	// A node does not answer, or could not be looked at.
	NodeAway Code = "node-away"
	// No rail leads from node to node.
	NoRail Code = "no-rail"
	// A rail that the rig file names is not there.
	RailMissing Code = "rail-missing"
	// A port that should be a rail is none, and was left out.
	PortLeftOut Code = "port-left-out"
	// Nothing was run.
	NothingRan Code = "nothing-ran"
	// A script did not run on a node.
	NotRunHere Code = "not-run-here"
	// A script or a test did not run to its end.
	NotRunToEnd Code = "not-run-to-end"
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
	// The output could not be read, or is not whole.
	OutputIncomplete Code = "output-incomplete"
	// No judge knows this cell.
	NotJudged Code = "not-judged"
	// A part of railbench failed.
	Defect Code = "railbench-defect"

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
	// Another program than the test's answered on its port.
	OtherProgram Code = "other-program"
	// A port that a test listens on is held by another process.
	PortTaken Code = "port-taken"
	// A test stood still: for some time nothing moved.
	TestStalled Code = "test-stalled"
	// The output is not of the test that was started, or contradicts it.
	OutputForeign Code = "output-foreign"
	// Data arrived other than it was sent.
	DataCorrupt Code = "data-corrupt"

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
	// Good alone, and slower when several links are measured at once.
	SlowTogether Code = "slow-together"
	// A PCIe link came up narrower or slower than the slot and the device allow.
	PCIeNarrow Code = "pcie-narrow"
	// A link came up slower than the ports allow.
	LinkSlow Code = "link-slow"
	// A latency is above what is usual.
	LatencyHigh Code = "latency-high"
	// Streams of one test carried next to nothing.
	StreamsUneven Code = "streams-uneven"
	// Packets were lost on the way and sent again.
	PacketsResent Code = "packets-resent"

	// Both ends and their links.

	// A port was not ACTIVE.
	PortDown Code = "port-down"
	// The MTUs of both ends differ.
	MTUDiffers Code = "mtu-differs"
	// The two ends of a link differ in something that should be alike.
	EndsDiffer Code = "ends-differ"
	// Links that should be alike have different rates.
	LinksUnequal Code = "links-unequal"
	// A ping over a rail was not answered.
	NoAnswer Code = "no-answer"
	// A route leads over another interface than the rail's own.
	WrongRoute Code = "wrong-route"

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
	// Whether a change works was not tried.
	ChangeUntried Code = "change-untried"
	// A node keeps the rollback of another change.
	RollbackLeft Code = "rollback-left"
	// Netplan does not take the file.
	NetplanRefuses Code = "netplan-refuses"

	// Network settings of a node.

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

	// What a runbook of your own expects.

	// An output or a value is not what the runbook expects.
	NotExpected Code = "not-expected"
)

// Uncoded is a finding that has no code yet.
const Uncoded Code = "uncoded"

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
