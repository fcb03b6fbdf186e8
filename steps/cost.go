package steps

import "slices"

// A Cost is what a cause takes from a rig.
type Cost uint8

// The costs, the highest first.
const (
	CostsTraffic Cost = iota // a rail or a test does not work at all
	CostsSpeed               // it works, and less well than it could
	CostsLater               // nothing, until the next boot or until a tool is used
)

// Cost is what a cause takes from a rig. Findings are listed by it.
func (c Code) Cost() Cost {
	switch {
	case slices.Contains(stopsTraffic, c):
		return CostsTraffic
	case slices.Contains(costsLater, c):
		return CostsLater
	}
	return CostsSpeed
}

var stopsTraffic = []Code{
	NodeAway, NoRail, NoLinkUp, LinkDown, InterfaceOff, PortDown, RailLost, AdapterLost, AdapterAbsent, AdapterFault,
	CablesCrossed, CableUnplugged, NeighbourWrong, DuplicateIP, AddressTaken, AddressStray, AddressMissing,
	RailUnaddressed,
	MTUDiffers, WrongRoute, NoRoute, RouteBlocked, FirewallBlocks, RailUnreachable, RDMAUnanswered, BondOneSided,
	RailInBond, RailInBridge, BondDown, GIDMissing, SubnetManagerMissing, MemlockLow, LibraryMissing, CommandMissing,
	DiskFull, PortTaken, DataCorrupt, AppArmorRefuses, UverbsClosed,
}

var costsLater = []Code{
	JustBooted, UncleanShutdown, AddressNotSaved, BondNotSaved, MTUNotSaved, BootMTUDiffers, BootWaits, NoAutoconnect,
	ProfileUnfinished, ProfilesCompete, ManagerMasked, ManagerSilent, ManagerUnknown, ManagerTrouble, RailUnmanaged,
	SeveralManagers, DispatcherScript, NetplanRefuses, ModuleUnsigned, SudoPassword, ClocksApart, EtcdNotRunning,
	EtcdMasked, EtcdStaleKeys, EtcdInUse, EtcdLoopback, NIXLBenchOld, VersionsDiffer, SecondAddress, LinkLocalMissing,
}

// follows are the causes that another code is a consequence of, where both are found.
var follows = map[Code][]Code{
	PortDown:          {LinkDown, InterfaceOff, CableUnplugged},
	CableUnplugged:    {LinkDown},
	InterfaceOff:      {LinkDown},
	RailUnreachable:   {CablesCrossed, NeighbourWrong, DuplicateIP, BondOneSided, RailInBond, LinkDown, InterfaceOff},
	RDMAUnanswered:    {CablesCrossed, NeighbourWrong, DuplicateIP, BondOneSided, RailInBond},
	NoAnswer:          {CablesCrossed, NeighbourWrong, DuplicateIP, BondOneSided, FirewallBlocks, LinkDown, InterfaceOff},
	TimedOut:          {CablesCrossed, NeighbourWrong, DuplicateIP, BondOneSided, RailInBond},
	NotRunToEnd:       {CablesCrossed, NeighbourWrong, DuplicateIP, BondOneSided, RailInBond},
	OtherEndGone:      {CablesCrossed, NeighbourWrong, DuplicateIP, BondOneSided, RailInBond},
	ServerUnreachable: {FirewallBlocks, DuplicateIP, PortTaken},
	ProgramUnable:     {LibraryMissing},
	NIXLNoPath:        {UCXDiffers},
	UCXNoRail:         {UCXNoVerbs},
	ErrorsGrew:        {CableErrors, PacketsLost},
	BytesDiffer:       {PacketsLost, CableErrors},
	LinkSlow:          {CableSlow},
	DevicesDiffer:     {AdapterLost, RoCELAG, BondOneSided},
	RDMADeviceMissing: {RoCELAG, BondOneSided},
	RoCELAG:           {BondOneSided, RailInBond},
	AdapterFault:      {AdapterHot},
	SubnetShared:      {AddressStray, RailInBond},
	BondNotSaved:      {BondOneSided, RailInBond},
	BondPortManaged:   {BondOneSided, RailInBond},
	BondPortAddress:   {BondOneSided, RailInBond, DuplicateIP},
	AddressNotSaved:   {DuplicateIP},
	NotCounted:        {CounterBad},
	GPUOneSided:       {GPUDriverMissing},
	MissingOnOneNode:  {GPUDriverMissing, CommandMissing},
	MemoryUnpinnable:  {VersionsDiffer},
}

// Follows reports whether a code is a consequence of another, where both are found on a rig.
func (c Code) Follows(cause Code) bool { return slices.Contains(follows[c], cause) }
