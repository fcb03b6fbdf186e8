package main

import "strings"

// A promise has a test that would fail if it did not hold.
type promise struct {
	group, name, says string
	in, tests         string   // the package, and -run's pattern
	env               []string // what the tests ask for
	args              []string
}

// key is by what a result is kept: what another test tried was another promise.
func (p promise) key() string { return p.name + " " + p.in + " " + p.tests }

// with is what has to be set, for people.
func (p promise) with() string {
	if p.env == nil {
		return ""
	}
	return " with `" + strings.Join(p.env, " ") + "`"
}

const (
	core  = "The sixteen"
	kinds = "What attackers and sick nodes try"
	many  = "On more than two nodes"
	rig   = "On virtual machines"
)

var (
	whole   = []string{"RAILBENCH_FULL=1"}
	long    = []string{"RAILBENCH_FULL=1", "RAILBENCH_LONG=1"}
	netns   = []string{"RAILBENCH_FULL=1", "RAILBENCH_NETNS=1"}
	virtual = []string{"RAILBENCH_VIRTUAL=1"}
)

// promises are all of them, in the order of the page.
//
//nolint:gochecknoglobals // a table, which nobody writes
var promises = []promise{
	{
		core, "Q1", "the switch is armed on each node before the first change, fires by itself, and survives a lost " +
			"connection and kill -9",
		"./runner/undo", "Confirmed|GoesBackByItself|TooLateToConfirm|ChangeThatHangs", whole, nil,
	},
	{
		core, "Q1", "the same between network namespaces with an sshd each: killed, cut, hung", "./steps/session",
		"^Test(Killed|Cut|ChangeIsNotKept)$", netns, nil,
	},
	{
		core, "Q2", "the management interface and the default route are in no change", "./steps/session",
		"DefaultRouteIsRefused|ChangeTouchesWhatItMustNot|OnlyWayIsARail", netns, nil,
	},
	{
		core, "Q3", "a change happens on both nodes or on neither", "./runner/sim", "GuardedChanges|TheSwitchTriesAgain", nil,
		nil,
	},
	{
		core, "Q4", "what is taken down twice, or breaks in the middle, leaves the nodes as they were", "./cmd/railbench",
		"LeavesTheNodesAsTheyWere|AreLeftAsTheyWere", whole, nil,
	},
	{
		core, "Q5", "nothing that a script started is alive when it is over", "./runner", "NothingSurvives", whole,
		[]string{"-parallel=1"},
	},
	{
		core, "Q6", "nothing passes without an exit of 0, a whole output, its bytes on the wire and a figure within its band",
		"./steps/catalog", "Alter", whole, nil,
	},
	{core, "Q6", "nor where a node restarts in the middle", "./steps/session", "^TestRestarted$", nil, nil},
	{core, "Q6", "nor where a script did not end well", "./steps/session", "NothingPassesThatDidNotEndWell", nil, nil},
	{
		core, "Q7", "an unknown host key is asked about, a changed or revoked one refused", "./runner",
		"SSHRefusals|OtherKeysMayBeRevoked|UnknownHost", whole, nil,
	},
	{
		core, "Q7", "who knows the password is let in by PAM and keyboard-interactive, at a real sshd, and nobody else",
		"./runner", "TestPassword", whole, nil,
	},
	{
		core, "Q8", "no byte of a node's reaches a terminal, a log or a report as it came", "./cmd/railbench",
		"NothingGoesRoundTheGate|ForgedLines|ForgedNode|JUnitIsClean", nil, nil,
	},
	{
		core, "Q9", "no value of a rig file, a parameter or a node is shell", "./cmd/railbench",
		"NastyNodes|RigFileNastyValues|AssignmentsQuote", nil, nil,
	},
	{core, "Q10", "a password is in no file, argument or log", "./runner", "EncryptedKeyAsks|BesideWrong", whole, nil},
	{
		core, "Q11", "every saved output of a tool parses as it did, and no text breaks a parser", "./steps/parse",
		"Corpus|Fuzz|EndlessLine", nil, nil,
	},
	{core, "Q12", "gauges are exact", "./steps/meter", "RatesAreExact|NoSpike|Between|NoAverageAboveThePeak", nil, nil},
	{core, "Q13", "a crashed session is as it was shown", "./steps/notebook", "Crash|Killed|Damaged|Journal", nil, nil},
	{core, "Q14", "a dry run changes nothing and shows what would run", "./cmd/railbench", "DryRunIsWhatRuns", nil, nil},
	{
		core, "Q15", "output is bounded in memory and in the log", "./steps/session",
		"Flood|ALogHasAnEnd|WhatWaitsIsBounded|LiveTablesAreReadBounded", nil, nil,
	},
	{
		core, "Q15", "256 MiB hold ten gigabytes of each of 24 inputs, and sessions as long as they may be",
		"./cmd/railbench", "MemoryIsBounded", long, nil,
	},
	{
		kinds, "1", "no link, pipe, device or foreign owner is followed where files are written or read", "./runner/disk",
		".", nil, nil,
	},
	{kinds, "1", "nor where a command is told to write", "./cmd/railbench", "OutputsAreNobodysTrap", nil, nil},
	{
		kinds, "2", "what variables of the environment hold, Slurm's and sudo's among them, forges no line",
		"./cmd/railbench", "ForgedEnvironment", nil, nil,
	},
	{kinds, "1", "nor where keys are", "./runner", "KeyFilesAreTraps", nil, nil},
	{kinds, "4", "what came in somebody else's session, runbook or rig file runs once its content was trusted, and not " +
		"before", "./cmd/railbench", "Somebody|TrustCommand|RigFilesTraps|Includes|ConfigurationIsShown|OwnSessionStays|^TestValues|DeceivingScripts", nil, nil},
	{
		kinds, "8", "every verb ends, whatever a server does", "./cmd/railbench",
		"EveryVerbEnds|ServersEnd|SIGTERM|BadServer|ASignalEnds", nil, nil,
	},
	{
		kinds, "8", "a second signal ends the program, also where it comes with the first", "./cmd/railbench", "TwoSignals",
		nil, nil,
	},
	{
		kinds, "8", "a server that is silent, floods or lies at any stage is given up", "./runner",
		"BadServers|Abandoned|StuckSpare|Silence", nil, nil,
	},
	{kinds, "8", "an agent, and what an ssh configuration runs, may be stuck as well", "./runner", "ThatHang", whole, nil},
	{kinds, "4", "and jump hosts are as they were when it was trusted", "./runner", "LookedUpOnce", whole, nil},
	{
		kinds, "9", "an unterminated sequence takes no exit with it, and a long script is told", "./runner",
		"Cleaner|OnlyTheLeash|LongScripts|HowARunEnds", nil, nil,
	},
	{
		kinds, "10", "answers to our own scripts are bounded", "./runner",
		"AskIsBounded|ForwardFlood|ForwardHasABound|ConfigurationThatFloods", nil, nil,
	},
	{kinds, "10", "and so is what a text of somebody's takes to set", "./steps/gate", "^TestMarkdown$", nil, nil},
	{
		kinds, "11", "algorithms, revoked keys, strictness and who is asked mean what they mean to ssh", "./runner",
		"Algorithms|Allowed|HostKeyOrder|SignsWithoutSHA1|Target|WeakHostKeys|TestUnknownHosts|NobodyIsAsked|BadLines|Remembered|SplitDest", nil, nil,
	},
	{kinds, "12", "what runs as root lies where root alone can write", "./runner/undo", "Owned", nil, nil},
	{
		kinds, "12", "a program is handed over where nobody can put another in its place", "./steps/handover", "^TestPlace$",
		nil, nil,
	},
	{
		kinds, "14", "what somebody else made meanwhile is neither changed nor taken away", "./steps/change", "^TestNotOurs$",
		nil, nil,
	},
	{
		kinds, "14", "nor is anything, where a node became another while the question was open", "./steps/session",
		"ChangedMeanwhile", netns, nil,
	},
	{kinds, "14", "and a bond takes the place of an empty bond alone", "./steps/family/bond", "OnlyABond", nil, nil},
	{
		kinds, "two", "of two railbenches on a rig one runs; the other is told who, and comes after it", "./runner",
		"^TestClaim$", nil, nil,
	},
	{kinds, "two", "the same of two sessions", "./steps/session", "TwoOnOneRig", nil, nil},
	{
		kinds, "15", "over slow, narrow, lossy and stalling links scripts end as over good ones, and no limit is fooled",
		"./runner", "FarNodes", whole, nil,
	},
	{
		kinds, "15", "there cells come to the same verdicts, sixty keys a second are answered as over a good one, and " +
			"gauges say that they are late",
		"./cmd/railbench", "BadLinks|TheyAreLate", whole, nil,
	},
	{
		kinds, "13", "spare leashes, too, are gone ten seconds after a lost connection", "./runner", "SSHLostConnection",
		whole, nil,
	},
	{
		kinds, "13", "what holds a script's output and can't be ended is named, and holds nobody", "./runner", "HeldOutput",
		nil, nil,
	},
	{
		kinds, "seeds", "somebody at the keys of a rig that breaks, reboots, fills up and answers late: no panic, no false " +
			"PASS, no orphan, no changed network, a valid notebook", "./cmd/railbench", "^TestSimulation$", nil,
		[]string{"-seeds=200", "-from=1"},
	},
	{many, "many", "a step of Slurm's keeps the contract of every node: streams, limits, forwarding, the leash, nothing " +
		"left after kill -9", "./runner", "^TestSlurm$", whole, nil},
	{
		many, "many", "an allocation that railbench asked for is given back, however it ends", "./runner",
		"TestAllocated|TestAllocate$", whole, nil,
	},
	{
		many, "many", "what a launcher of collectives started is ended on every node, and what can't be looked for is told",
		"./steps/launch", "NothingIsLeft|Swept|SweepTells|OpenMPI", nil, nil,
	},
	{
		many, "many", "a node that is away or dies stops nobody else, and passes nowhere", "./cmd/railbench",
		"ThirdNodeIsAway|PairsNodeDies", nil, nil,
	},
	{
		many, "many", "nor in a check that asks all nodes at once", "./steps/session", "ChecksJudgeANodeThatIsGone", nil,
		nil,
	},
	{
		many, "many", "every fault is found on whichever node it is", "./cmd/railbench",
		"EveryFaultIsFoundOnAnotherNode|ChecklistOfThreeNodes", whole, nil,
	},
	{
		many, "many", "the matrix of pairs names what is wrong, and goes on where it was interrupted", "./cmd/railbench",
		"PairsNameTheFault|PairsGoOn", nil, nil,
	},
	{
		many, "many", "a change of all nodes is made on each of them or on none, whichever is in its way", "./cmd/railbench",
		"ChangesOfAllNodes", nil, nil,
	},
	{
		many, "many", "nodes in a ring: no port that leads to another neighbour is a fault, and every fault is found",
		"./cmd/railbench", "TestRing$|FaultsInARing", whole, nil,
	},
	{many, "many", "a collective passes by the bytes of every node alone", "./steps/catalog", "Collectives", nil, nil},
	{
		rig, "rig", "real kernels, sshd and perftest: cells, changes, cables, a dead node, a stopped sshd", "./cmd/railbench",
		"^TestVirtualRig$", virtual, nil,
	},
}
