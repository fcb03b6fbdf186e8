package parse

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// A KernelEvent is a line of the kernel's log that is about a rail, a bond, a GPU
// or the memory.
type KernelEvent struct {
	// Time is as printed; empty where the log has none.
	Time string `json:"time"`
	// Seconds is the same since the boot, left out where the log has a date.
	Seconds float64 `json:"seconds,omitempty"`
	// Kind is one of the kinds in kernelKinds: "cable-unplugged", "link-down" …
	Kind string `json:"kind"`
	// Device is a PCI address, or the interface where the line has none.
	Device string `json:"device"`
	Netdev string `json:"netdev,omitempty"`
	// Watts is the power that an adapter says its slot has.
	Watts int `json:"watts,omitempty"`
	// XID is the number of a GPU's error.
	XID  int    `json:"xid,omitempty"`
	Text string `json:"text"`
}

// kernelKinds are in the order in which they are tried: a cable's error that is its
// heat is heat. The texts are those of the kernel: mlx5/core/events.c, health.c,
// eswitch.c, en_main.c, lag; drivers/pci; drivers/net/bonding; NVIDIA's own modules.
var kernelKinds = []struct {
	kind    string
	words   []string // the pattern needs one of them; a look for a word costs a tenth
	pattern *lazyregexp.Pattern
}{
	{
		"high-temperature",
		[]string{"emperature", "hermal shutdown"},
		lazyregexp.New(`(?i)(?:high|critical|over-?) ?temperature|temperature above threshold|thermal shutdown`),
	},
	{"insufficient-power", []string{"PCIe slot"}, lazyregexp.New(`insufficient(?:/unadvertised)? power on the PCIe slot`)},
	{"power-enough", []string{"PCIe slot"}, lazyregexp.New(`PCIe slot advertised sufficient power`)},
	// A slot that does not report its power is not a complaint.
	{"power-untold", []string{"PCIe slot"}, lazyregexp.New(`PCIe slot power capability was not advertised`)},
	{"cable-unplugged", []string{"Cable unplugged"}, lazyregexp.New(`Port module event: module \d+, Cable unplugged`)},
	{
		"cable-plugged",
		[]string{"Cable plug"},
		lazyregexp.New(`Port module event: module \d+, Cable plugged|cx7-pcie-hotplug.*: Cable plugin`),
	},
	{
		"cable-error",
		[]string{"Port module event"},
		lazyregexp.New(`Port module event\[error\]: module|Port module event: module \d+, Cable (?:error|disabled)`),
	},
	{"bonding", []string{"bond", "(slave "}, lazyregexp.New(`^bonding: |^\S+: \(slave \S+\): |^bond\w*: `)},
	{"roce-lag", []string{"lag map", "shared_fdb"}, lazyregexp.New(`^mlx5_core .*(?:\blag map\b|shared_fdb)`)},
	{
		"device-removed",
		[]string{"pciehp: ", "PCI slot is unavailable"},
		lazyregexp.New(`pciehp: Slot\(\S+\): (?:Link Down|Card not present)|^mlx5_core .*PCI slot is unavailable`),
	},
	{
		"firmware-error",
		[]string{"Fatal error ", "health", "synd 0x", "leak of a command"},
		lazyregexp.New(`^mlx5_core .*(?:Fatal error \d+ detected|health compromised|` +
			`\bsynd 0x\w+: |health recovery|Will cause a leak of a command resource)`),
	},
	{
		"driver-unloaded",
		[]string{"E-Switch: ", "(unregistering)", "Shutdown was called", "rdma_rxe: "},
		lazyregexp.New(`^mlx5_core .*(?:E-Switch: (?:[Cc]leanup|Unload vfs)|\(unregistering\)|Shutdown was called)|` +
			`^rdma_rxe: unloaded`),
	},
	{
		"driver-loaded",
		[]string{"firmware version: ", "rdma_rxe: "},
		lazyregexp.New(`^mlx5_core .*firmware version: \d|^rdma_rxe: loaded`),
	},
	// At each boot the kernel logs that AER is enabled on a port, which is not an error.
	{"pcie-error", []string{"PCIe Bus Error", "AER: "}, lazyregexp.New(`PCIe Bus Error|\bAER: (?:[^e]|e[^n])`)},
	{"pcie-limited", []string{"available PCIe bandwidth"}, lazyregexp.New(`available PCIe bandwidth.* limited by`)},
	{
		"tx-timeout",
		[]string{"NETDEV WATCHDOG: ", "TX timeout detected"},
		lazyregexp.New(`NETDEV WATCHDOG: |^mlx5_core .*TX timeout detected`),
	},
	{
		"link-down",
		[]string{"ink down", "ink Down", "ink is down", "ink is Down"},
		lazyregexp.New(`: (?:NIC )?[Ll]ink (?:is )?[Dd]own\b`),
	},
	{
		"link-up",
		[]string{"ink up", "ink Up", "ink is up", "ink is Up", "ink becomes ready"},
		lazyregexp.New(`: (?:NIC )?[Ll]ink (?:is )?[Uu]p\b|link becomes ready`),
	},
	{
		"module-refused",
		[]string{"is rejected", "module loading is restricted", "module verification failed"},
		lazyregexp.New(`Loading of .*is rejected|module loading is restricted|module verification failed`),
	},
	{"gpu", []string{"NVRM: ", "nvidia"}, lazyregexp.New(`^NVRM: |^nvidia(?:[-_]\w+)?(?: \S+)?: |\[nvidia-drm\]`)},
	{
		"out-of-memory",
		[]string{"ut of memory", "oom-kill", "allocation failure", "alloc failed"},
		lazyregexp.New(`(?:Out|Memory cgroup out) of memory: Killed process|^oom-kill:constraint=|invoked oom-killer|page allocation failure|^cma: .*alloc failed`),
	},
}

var (
	// [18846.942536] and, with the caller, [  223.280777][   T13]; dmesg -x puts the
	// facility before it.
	kernelSeconds = lazyregexp.New(`^(?:<\d{1,3}>|\w+ *:\w+ *: )?\[ *(\d{1,9}\.\d{1,9})\](?:\[ *[TC]\d+\]:?)?(?: (.*))?$`)
	// dmesg -T, and the short forms of dmesg -e and -H.
	kernelDate = lazyregexp.New(`^(?:\w+ *:\w+ *: )?\[(\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}|` +
		`\w{3} ?\d{1,2} \d\d:\d\d| *\+\d{1,9}\.\d{1,9})\] (.*)$`)
	// journalctl -k and syslog, which hold other programs' lines too; dmesg
	// --time-format iso has a comma in its seconds.
	kernelJournal = lazyregexp.New(`^(\w{3} [ \d]\d [\d:]{8}(?:\.\d+)?|` +
		`\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?) \S+ kernel: (?:\[ *[\d.]+\] )?(.*)$`)
	kernelISO = lazyregexp.New(`^(\d{4}-\d\d-\d\dT[\d:]{8},\d+[+-]\d\d:?\d\d) (.*)$`)
	// UCX stamps its lines in the same way, followed by host and process.
	ucxStamp = lazyregexp.New(`^\[\S+:\d+ *:\d+\]`)

	pciAddress   = lazyregexp.New(`\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b`)
	driverNetdev = lazyregexp.New(`^\w+ [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ([\w.-]+)(?: \(unregistering\))?: `)
	bondLine     = lazyregexp.New(`^(?:bonding: (\S+?):? |(\S+?): )(?:\(slave (\S+?)\): |.* for interface ([\w.-]+))?`)
	readyLine    = lazyregexp.New(`(\S+): link becomes ready`)
	plainLink    = lazyregexp.New(`(\S+?):? (?:NIC )?[Ll]ink (?:is )?(?:[Uu]p|[Dd]own)`)
	watchdogLine = lazyregexp.New(`NETDEV WATCHDOG: (\S+?):? `)
	slotWatts    = lazyregexp.New(`\((\d{1,5})W\)`)
	gpuXID       = lazyregexp.New(`NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d{1,6})`)
)

// Dmesg reads the kernel's log, from dmesg in any of its formats, from the journal or from syslog, and finds
// the events in it. A log without any is an empty list; a text that is not such a log is ErrNoResult. A line
// that was wrapped, as in a document, is put together again.
func Dmesg(text string) ([]KernelEvent, error) {
	events := []KernelEvent{}
	isLog := false
	var open *KernelEvent // a line without an event, that the next may complete
	take := func(e KernelEvent) bool {
		if !e.classify() {
			return false
		}
		if len(events) < maxRows {
			e.Text = cut(e.Text)
			events = append(events, e)
		}
		return true
	}
	lines(text, func(line string) {
		e, stamped := kernelLine(line)
		switch {
		case stamped:
			isLog, open = true, nil
			if !take(e) {
				open = &e
			}
		// A longer line is not the rest of another one.
		case open != nil && e.Text != "" && len(e.Text) < maxError:
			open.Text += " " + e.Text
			take(*open)
			open = nil
		default:
			open = nil
			take(e)
		}
	})
	if !isLog && len(events) == 0 {
		return events, ErrNoResult
	}
	return events, nil
}

// kernelLine takes the stamp off a line.
func kernelLine(line string) (KernelEvent, bool) {
	if !strings.ContainsAny(line, "[T") && !strings.Contains(line, " kernel: ") { // no stamp is without one of them
		return KernelEvent{Text: strings.TrimSpace(line)}, false
	}
	if m := kernelSeconds.Regexp().FindStringSubmatch(line); m != nil && !ucxStamp.Regexp().MatchString(m[2]) {
		seconds, ok := strictnum.Number(m[1])
		return KernelEvent{Time: m[1], Seconds: seconds, Text: strings.TrimSpace(m[2])}, ok
	}
	for _, form := range []*lazyregexp.Pattern{kernelDate, kernelJournal, kernelISO} {
		if m := form.Regexp().FindStringSubmatch(line); m != nil {
			return KernelEvent{Time: strings.TrimSpace(m[1]), Text: strings.TrimSpace(m[2])}, true
		}
	}
	return KernelEvent{Text: strings.TrimSpace(line)}, false
}

// classify finds the kind, and what the text says about it.
func (e *KernelEvent) classify() bool {
	for _, k := range kernelKinds {
		if !slices.ContainsFunc(k.words, func(w string) bool { return strings.Contains(e.Text, w) }) ||
			!k.pattern.Regexp().MatchString(e.Text) {
			continue
		}
		e.Kind = k.kind
		e.Device = pciAddress.Regexp().FindString(e.Text)
		if m := driverNetdev.Regexp().FindStringSubmatch(e.Text); m != nil {
			e.Netdev = cut(m[1])
		}
		e.details()
		if e.Device == "" {
			e.Device = e.Netdev
		}
		return true
	}
	return false
}

// details are what the lines of one kind have.
func (e *KernelEvent) details() {
	first := func(pattern *lazyregexp.Pattern) {
		if m := pattern.Regexp().FindStringSubmatch(e.Text); m != nil && e.Netdev == "" {
			e.Netdev = cut(m[1])
		}
	}
	switch e.Kind {
	case "bonding":
		if m := bondLine.Regexp().FindStringSubmatch(e.Text); m != nil {
			e.Device, e.Netdev = cut(m[1]+m[2]), cut(m[3]+m[4])
		}
	case "insufficient-power":
		if m := slotWatts.Regexp().FindStringSubmatch(e.Text); m != nil {
			e.Watts, _ = strictnum.Count(m[1])
		}
	case "gpu":
		if m := gpuXID.Regexp().FindStringSubmatch(e.Text); m != nil {
			e.Device = m[1]
			e.XID, _ = strictnum.Count(m[2])
		}
	case "tx-timeout":
		first(watchdogLine)
	case "link-up", "link-down":
		first(readyLine)
		first(plainLink)
	}
}
