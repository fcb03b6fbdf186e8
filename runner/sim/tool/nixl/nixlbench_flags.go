package nixl

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nixlbenchHelp is what the real program prints for --help. Its flags, their types
// and defaults are read from it, so that there is one list of them.
//
//go:embed nixlbench_help.txt
var nixlbenchHelp string

// nixlbenchBanner is a line for each flag that the banner shows: the flag, the form of its value, and a title.
//
//go:embed nixlbench_banner.txt
var nixlbenchBanner string

// A gflag is a flag as gflags describes it.
type gflag struct {
	// As the help has them; standard is without quotes.
	name, kind, standard string
	text                 string // its paragraph of the help
}

var (
	// A flag begins four blanks in, and what belongs to it six.
	gflagParagraph = regexp.MustCompile(`(?m)^    -\w+ \((?:.*\n)(?:      .*\n)*`)
	gflagParts     = regexp.MustCompile(`^-(\w+) .*type: (\w+) default: (\S*)`)
)

// newerFlags are those that a nixlbench of NIXL 1.0 lacks. What --help lacks is how railbench distinguishes the
// releases.
var newerFlags = []string{
	"asio_address", "asio_port", "reregister_mem", "pipeline_depth",
	"use_hugepages", "prepared_xfer", "infinia_config_file",
	"randomize_location_mode", "randomize_location_mode_seed", "gusli_try_use_uring", "use_device_api",
}

// nixlbenchFlags are the program's flags and gflags' own.
func nixlbenchFlags(old bool) []gflag {
	var fs []gflag
	// gflags breaks a flag's description over lines that are indented further.
	for _, text := range gflagParagraph.FindAllString(nixlbenchHelp, -1) {
		m := gflagParts.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
		if m != nil && (!old || !slices.Contains(newerFlags, m[1])) {
			fs = append(fs, gflag{m[1], m[2], strings.Trim(m[3], `"`), text})
		}
	}
	return fs
}

// help is the text of --help.
func (b *nixlbench) help() string {
	text := strings.Replace(nixlbenchHelp, "inst/bin/nixlbench", b.c.Args[0], 1)
	if !b.old {
		return text
	}
	for _, f := range nixlbenchFlags(false) {
		if slices.Contains(newerFlags, f.name) {
			text = strings.Replace(text, f.text, "", 1)
		}
	}
	return strings.Replace(text, "[ETCD, ASIO]", "[ETCD]", 1)
}

// A nixlbenchSetting is the values of all flags.
type nixlbenchSetting map[string]string

// Values are legal by now, so what isn't a number is a text's.
func (s nixlbenchSetting) number(name string) int {
	v, _ := strconv.Atoi(s[name])
	return v
}

func (s nixlbenchSetting) on(name string) bool { return s[name] == "true" }

// legal checks a value as gflags does, and writes a bool as it will be read.
func (f gflag) legal(value string) (string, bool) {
	var err error
	switch f.kind {
	case "bool":
		switch strings.ToLower(value) {
		case "1", "t", "true", "y", "yes":
			return "true", true
		case "0", "f", "false", "n", "no":
			return "false", true
		}
		return "", false
	case "int32":
		_, err = strconv.ParseInt(value, 10, 32)
	case "uint32":
		_, err = strconv.ParseUint(value, 10, 32)
	case "uint64":
		// Go's int has to hold it as well.
		_, err = strconv.ParseUint(value, 10, 62)
	}
	return value, err == nil
}

// parse reads the command line; ok says that there is something to run.
func (b *nixlbench) parse() (code int, ok bool) {
	c := b.c
	if refused := refusedFlag(c.Args[1:]); refused != "" {
		c.Printf("%s", b.help())
		c.Out.Flush()
		return c.Fail(1, "%s is disabled for nixlbench. Use --config_file instead.", refused), false
	}
	flags := map[string]gflag{}
	b.set = nixlbenchSetting{}
	for _, f := range nixlbenchFlags(b.old) {
		flags[f.name], b.set[f.name] = f, f.standard
	}
	args := c.Args[1:]
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		// As gflags does, with one dash or two.
		if len(a) < 2 || a[0] != '-' {
			continue // what is not a flag is ignored
		}
		if a == "--" {
			break
		}
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"), "=")
		// gflags 2.2.2 takes dashes for underscores.
		name = strings.ReplaceAll(name, "-", "_")
		f, known, denied := flagNamed(flags, name)
		if denied {
			value, given = "false", true
		}
		switch {
		case !known:
			return c.Fail(1, "ERROR: unknown command line flag '%s'", name), false
		case !given && f.kind == "bool":
			value = "true"
		case !given && len(args) == 0:
			return c.Fail(1, "ERROR: flag '%s' is missing its argument; flag description: %s",
				a, strings.Join(strings.Fields(f.text), " ")), false
		case !given:
			value, args = args[0], args[1:]
		}
		legal, good := f.legal(value)
		if !good {
			return c.Fail(1, "ERROR: illegal value '%s' specified for %s flag '%s'", value, f.kind, f.name), false
		}
		b.set[f.name] = legal
	}
	return b.answer()
}

// answer is what gflags itself does for --help and its relatives.
func (b *nixlbench) answer() (code int, ok bool) {
	c := b.c
	switch {
	// It names no number: the release shows in which flags there are.
	case b.set.on("version"):
		c.Println("nixlbench")
		return 0, false
	// gflags ends with 1 after its help.
	case b.set.on("help"), b.set.on("helpfull"): //nolint:misspell // that is its name
		c.Printf("%s", b.help())
		return 1, false
	case b.set.on("helpshort"):
		head, _, _ := strings.Cut(b.help(), "  Flags from")
		c.Printf("%s", strings.TrimRight(head, "\n")+"\n\n  No modules matched: use -help\n")
		return 1, false
	case b.set["config_file"] != "":
		return c.Fail(1, "Failed to load config file: %s: File could not be opened for reading", b.set["config_file"]), false
	}
	return 0, true
}

// nixlbenchBackends are what --backend takes.
var nixlbenchBackends = []string{
	"UCX", "LIBFABRIC", "GDS", "GDS_MT", "POSIX", "GPUNETIO",
	"Mooncake", "HF3FS", "OBJ", "GUSLI", "UCCL", "AZURE_BLOB", "INFINIA",
}

// flagNamed finds a flag; denied is one that is switched off by a no before its name.
func flagNamed(flags map[string]gflag, name string) (f gflag, known, denied bool) {
	if f, known = flags[name]; known {
		return f, true, false
	}
	positive, isNo := strings.CutPrefix(name, "no")
	f = flags[positive]
	denied = isNo && f.kind == "bool"
	return f, denied, denied
}

// refusedFlag is the first flag of gflags' own that nixlbench doesn't take.
func refusedFlag(args []string) string {
	for _, a := range args {
		for _, refused := range []string{"--flagfile", "--fromenv", "--tryfromenv"} {
			if strings.Contains(a, refused[2:]) {
				return refused
			}
		}
	}
	return ""
}

// check is the program's own look at its flags, in its order: of several things that are wrong it reports the first.
func (b *nixlbench) check() (code int, ok bool) {
	s := b.set
	if why := b.wrongNumbers(); why != "" {
		return b.c.Fail(1, "%s", why), false
	}
	if s["runtime_type"] == "ETCD" && s["etcd_endpoints"] == "" {
		s["etcd_endpoints"] = "http://localhost:2379"
		b.say("Using default ETCD endpoint for non-storage backend: http://localhost:2379")
	}
	if s["worker_type"] == "nvshmem" {
		return b.c.Fail(1, "Unsupported configuration for NVSHMEM worker\n"+
			"Supported configuration: \n********************\n"+
			"initiator_seg_type = VRAM\ntarget_seg_type = VRAM\nnum_threads = 1\n"+
			"num_initiator_dev = 1\nnum_target_dev = 1\nscheme = pairwise\n********************"), false
	}
	if code, ok := b.checkSizes(); !ok {
		return code, false
	}
	if why := b.unsupported(); why != "" {
		return b.c.Fail(1, "%s", why), false
	}
	return 0, true
}

// wrongNumbers says what is wrong with what is asked for; empty where nothing is.
func (b *nixlbench) wrongNumbers() string {
	s := b.set
	switch {
	case !b.old && s["op_type"] != "READ" && s["op_type"] != "WRITE":
		return fmt.Sprintf("Invalid op type: %s. Must be one of [READ, WRITE]", s["op_type"])
	case s.number("num_iter") < 1:
		return "num_iter must be >= 1"
	case !b.old && s.number("pipeline_depth") < 1:
		return "pipeline_depth must be >= 1"
	case !b.old && s.on("use_device_api"):
		// A UCX of the system has no code for the GPU, and no one has built another here.
		return "Invalid configuration for NIXL Device API: UCX GPU Device API support is not enabled in this build. " +
			"Set -Ducx_path=<path> with UCX GPU device headers available"
	case s.number("large_blk_iter_ftr") < 1:
		return "iter_factor must be greater than 0"
	}
	return ""
}

// unsupported says what no nixlbench, or none of this rig, can do; empty where it is all
// right.
func (b *nixlbench) unsupported() string {
	s := b.set
	near, far := s.number("num_initiator_dev"), s.number("num_target_dev")
	// pairwise wants a device for each process.
	if n := len(strings.Split(s["device_list"], ",")); s["device_list"] != "all" && s["scheme"] == "pairwise" &&
		(n != near || n != far) {
		return fmt.Sprintf("Incorrect device list %s provided for pairwise scheme %d# devices\nFailed to parse device list",
			s["device_list"], n)
	}
	switch {
	case s["worker_type"] != "nixl":
		return "Unsupported worker type: " + s["worker_type"]
	case s["runtime_type"] != "ETCD" && (b.old || s["runtime_type"] != "ASIO"):
		return "Invalid runtime: " + s["runtime_type"]
	case near != 1 || far != 1:
		return "nixlbench: the simulated rig runs one initiator and one target"
	}
	return ""
}

// checkSizes is about the buffer, and how it and the iterations are shared out.
func (b *nixlbench) checkSizes() (code int, ok bool) {
	c, s := b.c, b.set
	fail := func(format string, args ...any) (int, bool) { return c.Fail(1, format, args...), false }
	most, total, threads := s.number("max_block_size")*s.number("max_batch_size"),
		s.number("total_buffer_size"), max(1, s.number("num_threads"))
	near, far := max(1, s.number("num_initiator_dev")), max(1, s.number("num_target_dev"))
	switch {
	// The program looks at them in this order, and reports the first.
	case most > total/near:
		return fail("Incorrect buffer size configuration for Initiator" +
			"(max_block_size * max_batch_size) is > (total_buffer_size / num_initiator_dev)")
	case most > total/far:
		return fail("Incorrect buffer size configuration for Target" +
			"(max_block_size * max_batch_size) is > (total_buffer_size / num_target_dev)")
	case most > total/threads:
		return fail("Incorrect buffer size configuration "+
			"(max_block_size * max_batch_size) (%d) is > (total_buffer_size / num_threads) (%d)", most, total/threads)
	}
	// The plain defaults, 1000 and 100, are not multiples of 16 either.
	for _, name := range []string{"num_iter", "warmup_iter"} {
		step := threads * s.number("large_blk_iter_ftr")
		if n := s.number(name); n%step != 0 {
			// Rounded up, and said so: the row's figures are of the number that was run.
			n += step - n%step
			s[name] = strconv.Itoa(n)
			b.say("WARNING: Adjusting %s to %d to allow equal distribution to %d threads", name, n, threads)
		}
	}
	if parts := threads * near; total%parts != 0 {
		return fail("Total_buffer_size must be divisible by the product of num_threads and num_initiator_dev, "+
			"next such value is %d", total+parts-total%parts)
	}
	return 0, true
}

// banner is what the initiator prints above its table.
func (b *nixlbench) banner() {
	s := b.set
	stars := strings.Repeat("*", 160)
	b.say("%s\nNIXLBench Configuration\n%s", stars, stars)
	// A title that is longer than 60 has its colon right behind it.
	option := func(title, value string) { b.say("%-60s: %s", title, value) }
	named := func(title, name, form string) {
		value := s[name]
		switch value {
		case "true":
			value = "1"
		case "false":
			value = "0"
		}
		if !b.old || !slices.Contains(newerFlags, name) {
			option(fmt.Sprintf("%s (--%s%s)", title, name, form), value)
		}
	}
	if b.old {
		named("Runtime", "runtime_type", "=[etcd]")
	} else {
		named("Runtime", "runtime_type", "=[ETCD,ASIO]")
	}
	if s["runtime_type"] == "ASIO" {
		named("ASIO Address", "asio_address", "")
		named("ASIO Port", "asio_port", "")
	} else {
		option("ETCD Endpoint ", s["etcd_endpoints"])
	}
	for line := range strings.Lines(nixlbenchBanner) {
		o := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		named(o[2], o[0], o[1])
	}
	b.say("%s\n", strings.Repeat("-", 160))
	var head strings.Builder
	for i, title := range []string{
		"Block Size (B)", "Batch Size", "B/W (GB/Sec)", "Avg Lat. (us)", "Avg Prep (us)", "P99 Prep (us)",
		"Avg Post (us)", "P99 Post (us)", "Avg Tx (us)", "P99 Tx (us)",
	} {
		fmt.Fprintf(&head, "%-*s", columnWidth(i), title)
	}
	b.say("%s\n%s", head.String(), strings.Repeat("-", 160))
}

// columnWidth is what setw has in nixlbench's table: the first column is wider than the others.
func columnWidth(i int) int {
	if i == 0 {
		return 20
	}
	return 15
}
