package parse

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/pattern"
)

// MaxText is how many bytes of a saved text are read.
const MaxText = 32 << 20

// A Tool is one whose saved output can be read without a cell around it.
type Tool struct {
	Name string
	// Also are other names for it.
	Also []string
	// Shows says what its output looks like, to somebody who has another's.
	Shows string
	// read makes an object with the keys "tool", "rows" and "errors" of a text. The
	// errors are the tool's own, and more can be added to them.
	read  func(text string) (value any, errs *[]string, err error)
	marks []mark
}

// Tools are all of them, in the order in which a tutorial meets them.
func Tools() []Tool {
	return []Tool{
		{
			Name: "ibv_devices", Shows: "a table under \"device  node GUID\"",
			read:  list("ibv_devices", IbvDevices),
			marks: []mark{{3, `^\s*device\s+node GUID`}},
		},
		{
			Name: "ibv_devinfo", Shows: "blocks that begin with \"hca_id:\"",
			read: list("ibv_devinfo", IbvDevinfo),
			marks: []mark{
				{3, `^hca_id:`},
				{1, `^\s+(?:phys_port_cnt|active_mtu|link_layer):`},
				{2, `^No IB devices found`},
			},
		},
		{
			Name: "show_gids", Shows: "a table under \"DEV  PORT  INDEX  GID\"",
			read:  list("show_gids", ShowGids),
			marks: []mark{{3, `^DEV\s+PORT\s+INDEX\s+GID`}},
		},
		{
			Name: "ibdev2netdev", Shows: "lines \"DEVICE port 1 ==> INTERFACE (Up)\"",
			read:  list("ibdev2netdev", Ibdev2netdev),
			marks: []mark{{3, ` port \d+ ==> \S+ \((?:Up|Down)\)`}},
		},
		{
			Name: "ip", Shows: "interfaces or routes, as ip link," +
				" ip addr and ip route print them, also with -j, -s and -br",
			read: readIP,
			marks: []mark{
				{3, `^\d+: \S+: <[A-Z_,0-9-]*>`},
				{3, `"if(?:index|name)" *:`},
				{3, `^\S+ +(?:UP|DOWN|UNKNOWN) +(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5} |[0-9a-f.:]+/\d+)`},
				{2, `^(?:(?:local|unreachable|blackhole|broadcast) )?(?:default|` +
					`[\d.]+(?:/\d+)?|[0-9a-f:]+/\d+) (?:via|dev) \S+`},
				{3, `"dst" *: *"[^"]+", *"(?:gateway|dev)"`},
			},
		},
		{
			Name: "ping", Shows: "\"PING HOST\" and its summary",
			read:  readPing,
			marks: []mark{{3, `^PING \S+`}, {3, `^\d+ packets transmitted, `}, {3, `^ping: `}},
		},
		{
			Name: "perftest",
			Also: []string{
				"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw",
				"ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_lat",
				"raw_ethernet_bw", "raw_ethernet_lat",
			},
			Shows: "a table under \"#bytes  #iterations …\" with a row in it, or the file of --out_json",
			read:  readPerftest,
			marks: []mark{
				{3, `#bytes\s+#iterations`},
				{3, `^\W*"?test_info"? *:`},
				{2, `^\s+\w[\w /-]* (?:BW|Latency|Lat)(?: Post List)? Test\s*$`},
				{2, `^ (?:local|remote) address: LID `},
				{2, `Waiting for client to connect`},
				{2, `Unable to init the socket connection|Failed status-transport|Port number \d+ state is|` +
					`the Infiniband/RoCE device|Couldn't connect to \S+:\d+|Failed to modify QP|` +
					`Failed to negotiate parameters|` +
					`Couldn't (?:create IB resources|allocate MR)|Invalid Command or flag`},
			},
		},
		{
			Name: "iperf3", Shows: "rows that end in sender or receiver, or one JSON object (-J)",
			read: readIperf3,
			marks: []mark{
				{3, `"(?:sum_sent|sum_received|tcp_mss_default|intervals)" *:|"version" *: *"iperf 3`},
				{3, `^\[ *(?:ID|SUM|\d+)\] .*(?:Interval|bits/sec)`},
				{2, `^iperf3: `},
				{2, `^(?:Server listening on \d+|Connecting to host \S+, port \d+)`},
			},
		},
		{
			Name: "ucx_info", Shows: "lines \"# Library version:\" (-v) or \"# Memory domain:\" (-d)",
			read: readUCX,
			marks: []mark{
				{3, `^# (?:UCX version=|Library version: |Version \d)`},
				{3, `^#\s+Memory domain: `},
				{1, `^#\s+Transport: `},
			},
		},
		{
			Name: "nixlbench", Shows: "\"Block Size (B)\" with a row under it (initiator), or its rank (target)",
			read: readNIXLBench,
			marks: []mark{
				{3, `Block Size \(B\)`},
				{3, `^ETCD Runtime: Registered as rank|^Using address \S+ port \d+ for ASIO`},
				{3, `^Init nixl worker, dev `},
				{3, `NIXLBench Configuration`},
				{2, `Failed to setup (?:ETCD|ASIO) runtime|Incorrect (?:buffer size configuration|device list)|` +
					`Total_buffer_size must|xferbench/|\(--etcd_endpoints|nixlbench`},
				{2, `NIXL_ERR_|^NIXL: `},
			},
		},
		{
			Name: "bonding", Also: []string{"/proc/net/bonding"},
			Shows: "what /proc/net/bonding/BOND holds, of one or several bonds",
			read:  readBonding,
			marks: []mark{
				{3, `^Ethernet Channel Bonding Driver`},
				{3, `^Bonding Mode: `},
				{2, `^no bond$`},
				{1, `^Slave Interface: `},
			},
		},
		{
			Name: "nvidia-smi", Also: []string{"nvidia_smi"},
			Shows: "its table, -L, -q, or --query-gpu=… --format=csv with the header",
			read:  readNvidiaSMI,
			marks: []mark{
				{3, `NVIDIA-SMI `},
				{3, `NVSMI LOG`},
				{3, `^GPU \d+: .* \(UUID: `},
				{2, `^\s*(?:BAR1 Memory Usage|Attached GPUs)`},
				{3, `^(?:[a-z][\w.]*(?: \[[^\]]*\])?, ?)*(?:driver_version|temperature\.gpu|` +
					`memory\.(?:total|used|free)|utilization\.gpu|power\.draw|pci\.bus_id)(?: \[[^\]]*\])?(?:,|\s*$)`},
			},
		},
		{
			Name: "free", Shows: "a table under \"total  used  free\"",
			read:  readFree,
			marks: []mark{{3, `^\s+total\s+used\s+free`}, {1, `^Mem: `}},
		},
		{
			Name: "dmesg", Also: []string{"journal", "journalctl"},
			Shows: "the kernel's log, of dmesg, journalctl -k or syslog",
			read:  list("dmesg", Dmesg),
			marks: []mark{
				{2, `^(?:<\d+>|\w+ *:\w+ *: )?\[ *\d+\.\d+\](?:\[ *[TC]\d+\]:?)? [^\[\s]`},
				{3, `^\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] `},
				{3, ` kernel: `},
				{2, `mlx5_core [0-9a-f]{4}:`},
				{1, `NVRM: |pcieport `},
				{3, `^dmesg: `},
			},
		},
	}
}

// ToolNamed finds a tool by one of its names.
func ToolNamed(name string) (Tool, bool) {
	all := Tools()
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name || slices.Contains(t.Also, name) })
	if i < 0 {
		return Tool{}, false
	}
	return all[i], true
}

// Read reads a text that somebody saved: it may have colours in it, another
// system's line ends, or be something else altogether. The value is an object for
// encoding/json with the keys "tool", "rows", which is never null, and "errors":
// what the tool complained of. Where there is no result, or only a part of it could
// be read, the error says why, and so does the last of "errors".
func (t Tool) Read(text string) (any, error) { return t.readUpTo(MaxText, text) }

func (t Tool) readUpTo(bytes int, text string) (any, error) {
	var part error
	if len(text) > bytes {
		part = fmt.Errorf("the text is longer than the %d MiB that are read of one: cut out the part that matters",
			MaxText>>20)
		text = text[:strings.LastIndexByte(text[:bytes], '\n')+1]
	}
	text = Plain(text)
	value, errs, err := t.read(text)
	if err != nil && len(*errs) == 0 {
		*errs = complaints(text)
	}
	switch {
	case err == nil:
		err = part
	case part != nil:
		err = fmt.Errorf("%w; %w", err, part)
	}
	if err != nil {
		*errs = append(*errs, cut(err.Error()))
	}
	return value, err
}

// Unread is the object for a text whose tool is not known.
func Unread(why string, candidates []string) any {
	if candidates == nil {
		candidates = []string{}
	}
	return struct {
		Tool       string   `json:"tool"`
		Candidates []string `json:"candidates"`
		Rows       []any    `json:"rows"`
		Errors     []string `json:"errors"`
	}{"", candidates, []any{}, []string{why}}
}

// A listing is what a tool prints that has rows and nothing else.
type listing[T any] struct {
	Tool   string   `json:"tool"`
	Rows   []T      `json:"rows"`
	Errors []string `json:"errors"`
}

// list is a reader of a tool whose value is a list.
func list[T any](name string, read func(string) ([]T, error)) func(string) (any, *[]string, error) {
	return func(text string) (any, *[]string, error) {
		rows, err := read(text)
		v := listing[T]{Tool: name, Rows: rows, Errors: []string{}}
		if rows == nil {
			v.Rows = []T{}
		}
		return &v, &v.Errors, atLimit(len(rows), err)
	}
}

// errMore is for a table that is longer than what is read of it.
var errMore = errors.New("the output has more rows than are read")

// atLimit is the error of a reading that may have ended at the limit.
func atLimit(rows int, err error) error {
	if err == nil && rows >= maxRows {
		return fmt.Errorf("%w: the first %d", errMore, maxRows)
	}
	return err
}

var complaint = pattern.New(`command not found|: not found$|Permission denied|Operation not permitted|` +
	`No such (?:file|device)|does not exist|No IB devices found|Failed to get IB devices|RTNETLINK|^dmesg: |Cannot `)

// complaints are lines in which a shell or a tool says that there is nothing.
func complaints(text string) []string {
	errs := []string{}
	lines(text, func(line string) {
		line = cut(strings.TrimSpace(line))
		if len(errs) < maxErrors && complaint.MatchString(line) && !slices.Contains(errs, line) {
			errs = append(errs, line)
		}
	})
	return errs
}

// readIP tells by what it finds whether the text is of interfaces or of routes.
func readIP(text string) (any, *[]string, error) {
	v := struct {
		Tool   string   `json:"tool"`
		Object string   `json:"object"` // link or route
		Rows   any      `json:"rows"`
		Errors []string `json:"errors"`
	}{Tool: "ip", Object: "link", Rows: []Link{}, Errors: []string{}}
	links, err := Links(text)
	if err == nil && len(links) == 0 && strings.TrimSpace(text) != "[]" {
		err = ErrNoResult // JSON, but of no interface
	}
	if err != nil {
		links, err = BriefLinks(text)
	}
	n := len(links)
	if n > 0 {
		v.Rows = links
	} else if err != nil {
		var routes []Route
		if routes, err = Routes(text); err == nil {
			n, v.Object, v.Rows = len(routes), "route", routes
		}
	}
	return &v, &v.Errors, atLimit(n, err)
}

// readPing is about the whole text: errors are gathered from all runs, each once.
func readPing(text string) (any, *[]string, error) {
	rows, err := Pings(text)
	v := listing[Ping]{Tool: "ping", Rows: rows, Errors: []string{}}
	sent := 0
	for _, p := range rows {
		sent += p.Sent
		for _, e := range p.Errors {
			if len(v.Errors) < maxErrors && !slices.Contains(v.Errors, e) {
				v.Errors = append(v.Errors, e)
			}
		}
	}
	if err == nil && sent == 0 {
		err = fmt.Errorf("%w: ping sent nothing", ErrNoResult)
	}
	return &v, &v.Errors, atLimit(len(rows), err)
}

// readPerftest tells a bandwidth test from a latency test by the names of the
// columns.
func readPerftest(text string) (any, *[]string, error) {
	b, err := PerftestBandwidth(text)
	l, errLatency := PerftestLatency(text)
	switch {
	case len(b.Rows) > 0 && len(l.Rows) > 0:
		err = errors.New("a bandwidth test and a latency test are in one text:" +
			" the rows are the former's, give each alone")
	case len(l.Rows) > 0, len(b.Rows) == 0 && strings.Contains(l.Test, "Lat"):
		return &l, &l.Errors, atLimit(len(l.Rows), errLatency)
	}
	return &b, &b.Errors, atLimit(len(b.Rows), err)
}

// readIperf3 takes an iperf3 that could not connect for one without a result, though its
// JSON is whole.
func readIperf3(text string) (any, *[]string, error) {
	v := listing[Iperf3]{Tool: "iperf3", Rows: []Iperf3{}, Errors: []string{}}
	test, err := Iperf3Output(text)
	if test.Error != "" {
		v.Errors = append(v.Errors, test.Error)
	}
	switch {
	case err != nil:
	case test.SentGbps == 0 && test.ReceivedGbps == 0 && test.Error != "":
		err = fmt.Errorf("%w: iperf3 measured nothing", ErrNoResult)
	default:
		v.Rows = append(v.Rows, test)
	}
	return &v, &v.Errors, err
}

func readUCX(text string) (any, *[]string, error) {
	u, err := UCXInfo(text)
	v := struct {
		Tool       string      `json:"tool"`
		Version    string      `json:"version"`
		Library    string      `json:"library"`
		Configured string      `json:"configured"`
		Rows       []UCXDomain `json:"rows"`
		Warnings   []string    `json:"warnings"`
		Errors     []string    `json:"errors"`
	}{"ucx_info", u.Version, u.Library, u.Configured, u.Domains, u.Warnings, []string{}}
	if v.Warnings == nil {
		v.Warnings = []string{}
	}
	return &v, &v.Errors, atLimit(len(v.Rows), err)
}

// readNIXLBench knows what a cell learns from its other end: only rank 0, the
// initiator, prints a configuration and rows (etcd_rt.cpp), and a target prints
// nothing after its rank.
func readNIXLBench(text string) (any, *[]string, error) {
	b, err := NIXLBenchOutput(text)
	if b.Rank < 0 && (len(b.Rows) > 0 || len(b.Config) > 0) {
		b.Rank = 0
	}
	if b.Role == "" && b.Rank == 0 {
		b.Role = "initiator"
	}
	if err == nil && len(b.Rows) == 0 && b.Role != "target" {
		err = fmt.Errorf("%w: the initiator printed no row", ErrNoResult)
		if b.Role == "" {
			err = fmt.Errorf("%w: rank %d printed no row, and nothing tells whether it was a target",
				ErrNoResult, b.Rank)
		}
	}
	return &b, &b.Errors, atLimit(len(b.Rows), err)
}

// readBonding reads one file of the driver's, several in a row, or those that a
// cell prints with their names.
func readBonding(text string) (any, *[]string, error) {
	v := listing[NamedBond]{Tool: "bonding", Rows: []NamedBond{}, Errors: []string{}}
	rows, err := Bonds(text)
	if err != nil && len(rows) == 0 {
		const begin = "Ethernet Channel Bonding Driver"
		bodies := strings.SplitAfterN(text, begin, maxErrors+1)
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
		err = nil
		for _, body := range bodies {
			bond, why := Bonding(body)
			if why != nil {
				err = why
				continue
			}
			rows = append(rows, NamedBond{Bond: bond})
		}
	}
	if rows != nil {
		v.Rows = rows
	}
	return &v, &v.Errors, err
}

func readNvidiaSMI(text string) (any, *[]string, error) {
	n, err := NvidiaSMIOutput(text)
	v := struct {
		Tool string `json:"tool"`
		NvidiaSMI
	}{"nvidia-smi", n}
	return &v, &v.Errors, atLimit(len(n.Rows), err)
}

func readFree(text string) (any, *[]string, error) {
	f, err := FreeOutput(text)
	v := struct {
		Tool string `json:"tool"`
		Free
		Errors []string `json:"errors"`
	}{"free", f, []string{}}
	return &v, &v.Errors, err
}
