package wire

// How far what was counted may be from what was predicted, all of it in one place. Each
// is derived from how counters and protocols work, measured, or chosen by us.
const (
	// least of the prediction. Chosen: counters are read before the first packet and after
	// the last, so nothing is missing but what an idle rate took off.
	least = 0.98
	// more than the prediction, at port counters. Derived: with the headers known to the
	// byte, what is above them was sent again. Chosen: how much of that is nothing yet
	// (assets/docs/facts.md#more-bytes-than-predicted).
	more = 1.03
	// moreAtInterface: an interface counts everything, so TCP, ARP and acknowledgements
	// are in its bytes. Chosen.
	moreAtInterface = 1.08
	// stagedMore: what is staged travels as messages with headers of UCX's own. Measured:
	// the tutorial counted 1.5 % more than payload and RoCE's headers; four times as much
	// is chosen (assets/docs/facts.md#bytes-of-nixlbench).
	stagedMore = 1.06
	// jumped: nothing makes a transfer three times as large. Chosen.
	jumped = 3
	// otherShare is the share of the payload that may move where the test sends nothing:
	// on each rail that it doesn't use, on all of them together, and beside what comes
	// back on its own. Chosen: what a rig does for itself is less by orders of magnitude
	// (assets/docs/facts.md#bytes-beside-a-test).
	otherShare = 0.01
	// chatter is bytes that an interface may move meanwhile by itself: railbench's own SSH
	// connections may lead over a rail, and a test of a few MB is no reason to warn of
	// them. Chosen (assets/docs/facts.md#bytes-beside-a-test).
	chatter = 10e6
	// evenShare: UCX cuts a block by the speeds that the ports report, so two equal rails
	// get half each. Chosen: less than this is no half.
	evenShare = 0.35
	// busyGbps on a rail before a test began is traffic of somebody else. Chosen.
	busyGbps = 1
)
