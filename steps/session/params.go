package session

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Params are the parameters of the scripts, in the order in which they are shown:
// railbench's own, and those that a tutorial declares. One of both has railbench's
// facts and the tutorial's default.
func Params(t steps.Tutorial) []steps.Param {
	all := own()
	for _, p := range t.Params() {
		i := slices.IndexFunc(all, func(q steps.Param) bool { return q.Name == p.Name })
		if i < 0 {
			p.Does = "a parameter of this runbook"
			all = append(all, p)
			continue
		}
		value, err := all[i].Parse(p.Default)
		if err != nil {
			value = p.Default // it is told when somebody sets it
		}
		all[i].Default = value
	}
	return all
}

func own() []steps.Param {
	const (
		ki = 1 << 10
		mi = 1 << 20
		gi = 1 << 30
	)
	number := func(name, value, unit, does string, least, most int64) steps.Param {
		return steps.Param{Name: name, Default: value, Unit: unit, Does: does, Kind: steps.Number, Min: least, Max: most}
	}
	size := func(name, value, does string, least, most int64) steps.Param {
		return steps.Param{Name: name, Default: value, Unit: "bytes", Does: does, Kind: steps.Size, Min: least, Max: most}
	}
	block := func(name, value, does string) steps.Param {
		p := size(name, value, does, 1, gi)
		p.PowerOfTwo = true
		return p
	}
	choice := func(name, value, does string, choices ...string) steps.Param {
		return steps.Param{Name: name, Default: value, Does: does, Kind: steps.Choice, Choices: choices}
	}
	words := func(name, value, does, may string, check func(string) error) steps.Param {
		return steps.Param{Name: name, Default: value, Does: does, May: may, Check: check}
	}
	port := func(name, value, does string) steps.Param { return number(name, value, "", does, 1, 65535) }

	// perftest takes no fewer and no more (MIN_ITER and MAX_ITER of its
	// perftest_parameters.h). SIZE is bounded by what an RDMA message can have.
	iterations := number("ITERATIONS", "", "messages", "how many messages a bandwidth test sends", 5, 100_000_000)
	iterations.Empty = "chosen for each rail"

	all := []steps.Param{
		size("SIZE", "65536", "size of one message of a bandwidth test", 1, 2*gi),
		iterations,
		number("LAT_ITERATIONS", "1000", "messages", "how many messages a latency test sends", 5, 100_000_000),
		port("PORT", "18515", "TCP port over which perftest's two ends meet"),
		port("SPEED_PORT", "18519", "the same for the checklist's own test, rail-speed"),
		number("PINGS", "3", "packets", "how many packets ping sends over each rail, of each size", 1, 100),
	}

	// Longer than TCP_SECONDS may be, the cells' limit would end them.
	all = append(all,
		number("TCP_SECONDS", "10", "s", "how long a TCP test runs", 1, 90),
		number("TCP_STREAMS", "4", "streams", "how many connections the parallel TCP test has", 1, 128),
		port("TCP_PORT", "5201", "port of iperf3"),
	)

	mode := choice("BOND_MODE", "balance-xor", "how a bond spreads packets over its rails", "balance-xor", "active-backup", "balance-rr")
	mode.Refused = map[string]string{"802.3ad": "it needs a switch that speaks LACP at the other end of both links, and these nodes are cabled to each other; take balance-xor"}
	bond := words("BOND", "bond0", "name of the bond that bond-setup makes", "an interface's name: at most 15 characters, no blank, / or :", interfaceName)
	bond.Worked = []string{"bond-teardown"}
	address := words("RAIL_ADDRESS", "", "IPv4 address that fix-rail-address gives to the rail that lacks one", "an IPv4 address, with or without its prefix", railAddress)
	address.Empty, address.Cells = "worked out from the other rails", []string{"fix-rail-address"}
	all = append(all,
		number("JUMBO_MTU", "9000", "bytes", "the MTU that mtu sets on the rails", 1280, 9216),
		bond, mode,
		choice("BOND_HASH", "layer3+4", "what balance-xor chooses a packet's rail by", "layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4"),
		number("BOND_MIIMON", "100", "ms", "how often a bond looks at its links", 1, 1000),
		address,
	)

	// UCX_TLS has rc with what it needs to set up a connection, and the copies from and to a GPU
	// (assets/docs/facts.md#ucx-transports).
	all = append(all,
		words("NIXL_PYTHON", "python3", "the Python that has NIXL: a command or a path", "", nil),
		words("NIXL_TLS", "rc,cuda_copy,tcp,sm,self", "UCX_TLS, the transports that UCX may take", "UCX's names of transports, with commas between and no blank", noBlank),
		port("NIXL_PORT", "5555", "port of NIXL's listener on the peer"),
		choice("UCX_LOG_LEVEL", "warn", "how much UCX tells", "fatal", "error", "warn", "diag", "info", "debug", "trace"),
		size("NIXL_REGISTER_BYTES", "4194304", "size of the buffer that nixl-register registers", 1, 64*gi),
		size("NIXL_BYTES", "67108864", "size of one read of nixl-transfer and nixl-transfer-gpu", 1, 64*gi),
		number("NIXL_READS", "256", "reads", "how many reads nixl-transfer does", 1, 10_000_000),
		size("NIXL_DUAL_BYTES", "1073741824", "size of one read of nixl-transfer-dual", 1, 64*gi),
		number("NIXL_DUAL_READS", "16", "reads", "how many reads nixl-transfer-dual does", 1, 10_000_000),
		number("NIXL_GPU_READS", "16", "reads", "how many reads nixl-transfer-gpu does", 1, 10_000_000),
		size("NIXL_LAT_BYTES", "4096", "size of one read of nixl-latency", 1, gi),
		number("NIXL_LAT_READS", "1000", "reads", "how many reads nixl-latency does", 1, 10_000_000),
		size("STAGING_BYTES", "536870912", "size of the copies between host and GPU", mi, 64*gi),
	)

	// nixlbench, as in C15. It doubles the block from the first to the last.
	all = append(all,
		choice("NIXL_RUNTIME", "auto", "how nixlbench's two ends find each other", "auto", "ASIO", "ETCD"),
		size("NIXL_DRAM_BUFFER", "4294967296", "buffer of nixlbench in the host's memory", 64*ki, 1024*gi),
		size("NIXL_VRAM_BUFFER", "2147483648", "buffer of nixlbench in the GPU's memory", 64*ki, 1024*gi),
		block("NIXL_START", "65536", "the smallest block that nixlbench sends"),
		block("NIXL_DRAM_MAX", "67108864", "the largest block that it sends from the host's memory"),
		block("NIXL_VRAM_MAX", "33554432", "the largest block that it sends from the GPU's memory"),
		number("NIXL_ITERATIONS", "1000", "blocks", "how many blocks of each size nixlbench measures", 1, 10_000_000),
		number("NIXL_WARMUP", "100", "blocks", "how many it sends before it measures", 0, 10_000_000),
		number("NIXL_THREADS", "4", "threads", "threads of nixl-mt that send", 1, 128),
		number("NIXL_PROGRESS", "2", "threads", "threads of nixl-mt that drive UCX", 1, 128),
		port("ASIO_PORT", "12345", "the first port that is tried where nixlbench's ends meet over sockets"),
	)

	return append(all, steps.Param{
		Name: "KV_CACHE_GB", Default: "1,4,8", Unit: "GB", Does: "sizes of a KV cache, in 10^9 bytes, that the summary tells the time of",
		Kind: steps.NumberList, Most: 8, Max: 100_000, Cells: []string{"summary"},
	})
}

// interfaceName is what the kernel takes (dev_valid_name), but for a leading hyphen,
// which ip would take for an option.
func interfaceName(s string) error {
	if len(s) > 15 || s == "." || s == ".." || strings.HasPrefix(s, "-") || strings.ContainsAny(s, "/: ") {
		return errors.New("it is an interface's name: at most 15 characters, no blank, / or :, and no hyphen in front")
	}
	return nil
}

func railAddress(s string) error {
	if text, bits, prefixed := strings.Cut(s, "/"); prefixed {
		if p, err := netip.ParsePrefix(s); err != nil || !p.Addr().Is4() {
			return fmt.Errorf("%s/%s is no IPv4 address with its prefix", text, bits)
		}
		return nil
	}
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return errors.New("it is an IPv4 address, with or without its prefix: 192.168.101.11 or 192.168.101.11/24")
	}
	return nil
}

func noBlank(s string) error {
	if strings.Contains(s, " ") {
		return errors.New("it is UCX's names of transports, with commas between and no blank")
	}
	return nil
}

// CheckParam reads a value for a parameter of a cell, or of all where cell is empty,
// and gives it as the scripts read it. The error names what is wrong, and the nearest
// cell or parameter where there is none of that name.
func CheckParam(t steps.Tutorial, cell, name, value string) (string, error) {
	table := Params(t)
	var names []string
	for _, p := range table {
		if p.Name != name {
			names = append(names, p.Name)
			continue
		}
		if cell != "" {
			c, ok := t.Cell(cell)
			if !ok {
				return "", fmt.Errorf("there is no cell %q%s", cell, steps.DidYouMean(cell, t.IDs()))
			}
			if !c.Reads(p) {
				return "", fmt.Errorf("%s reads no %s%s", cell, name, reading(c, table))
			}
		}
		return p.Parse(value)
	}
	return "", fmt.Errorf("there is no parameter %q%s", name, steps.DidYouMean(name, names))
}

// reading is the end of an error: what a cell does read.
func reading(c steps.Cell, table []steps.Param) string {
	var names []string
	for _, p := range table {
		if c.Reads(p) {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		return ", nor any other parameter"
	}
	return "; it reads " + strings.Join(names, ", ")
}

// effective are the parameters as one cell's scripts read them: the defaults, what
// was set for all, and what was set for the cell. One that is worked out where it is
// empty is left out then.
func effective(table []steps.Param, set steps.Settings, cell string) map[string]string {
	all := set.Of(cell)
	for _, p := range table {
		if _, ok := all[p.Name]; !ok {
			all[p.Name] = p.Default
		}
		if all[p.Name] == "" && p.Empty != "" {
			delete(all, p.Name)
		}
	}
	return all
}
