package parse

import (
	"encoding/csv"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// NvidiaSMI is what nvidia-smi prints, in any of its forms.
type NvidiaSMI struct {
	Driver string `json:"driver"`
	CUDA   string `json:"cuda"`
	Rows   []GPU  `json:"rows"`
	// Errors are what it says where it can't ask the driver.
	Errors []string `json:"errors"`
}

// A GPU is one that nvidia-smi lists. A figure that it doesn't print, or calls N/A, is left out: a Spark's
// GPU has no memory of its own.
type GPU struct {
	Index        *int     `json:"index,omitempty"`
	Name         string   `json:"name"`
	UUID         string   `json:"uuid,omitempty"`
	BusID        string   `json:"busID,omitempty"` // 0000000F:01:00.0
	TemperatureC *float64 `json:"temperatureC,omitempty"`
	PowerW       *float64 `json:"powerW,omitempty"`
	UtilPercent  *float64 `json:"utilPercent,omitempty"`
	MemTotalMiB  *float64 `json:"memTotalMiB,omitempty"`
	MemUsedMiB   *float64 `json:"memUsedMiB,omitempty"`
	MemFreeMiB   *float64 `json:"memFreeMiB,omitempty"`
	// BAR1 is the window through which RDMA reaches the GPU's memory.
	BAR1TotalMiB *float64 `json:"bar1TotalMiB,omitempty"`
	BAR1UsedMiB  *float64 `json:"bar1UsedMiB,omitempty"`
	BAR1FreeMiB  *float64 `json:"bar1FreeMiB,omitempty"`
	// Fields are the other columns of --query-gpu, by their names.
	Fields map[string]string `json:"fields,omitempty"`
}

// In the table a GPU has two lines: index, name, persistence and bus in the first; heat, P-state, power, memory
// and load in the second. Memory is "Not Supported" where the GPU shares the processor's memory.
var (
	smiHead    = lazyregexp.New(`NVIDIA-SMI\s+\S+.*?Driver Version:\s*(\S+)(?:.*CUDA Version:\s*(\S+))?`)
	smiListed  = lazyregexp.New(`^GPU (\d{1,6}): (.+?) \(UUID: ([^)\s]+)\)`)
	smiFirst   = lazyregexp.New(`^\| +(\d{1,6}) +(.+?) +(?:On|Off|N/A) +\| +([0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.\d)`)
	smiSecond  = lazyregexp.New(`^\|[^|]*?(\d{1,4})C +P\d+ +(\S+)[^|]*\|([^|]*)\|([^|]*)\|`)
	smiMemory  = lazyregexp.New(`(\d{1,9})MiB / +(\d{1,9})MiB`)
	smiPercent = lazyregexp.New(`(\d{1,3})%`)
	smiGPU     = lazyregexp.New(`^GPU ([0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.\d)\s*$`)
	smiField   = lazyregexp.New(`^(\s*)(\S[^:]*?)\s*:\s+(.+)$`)
	smiFigure  = lazyregexp.New(`^\[?(\d[\d.]*)(?: ?(?:C|W|%|MiB))?\]?$`)
	smiError   = lazyregexp.New(`NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found|` +
		`^Field ".*" is not a valid field|Unable to determine the device handle|GPU is lost`)
	// The names of --query-gpu begin with small letters and hold no blank.
	smiColumn = lazyregexp.New(`^([a-z][\w.]*)(?: \[[^\]]*\])?$`)
)

// NvidiaSMIOutput reads nvidia-smi's table, -L, -q, or the CSV of --query-gpu with
// its header. -q is read from a copy that lost its indentation, too.
func NvidiaSMIOutput(text string) (NvidiaSMI, error) {
	v := NvidiaSMI{Rows: []GPU{}, Errors: []string{}}
	var s smiReader
	lines(text, func(line string) {
		plain := strings.TrimSpace(line)
		switch {
		case smiError.Regexp().MatchString(plain):
			if len(v.Errors) < maxErrors {
				v.Errors = append(v.Errors, cut(plain))
			}
			return
		case len(v.Rows) >= maxRows:
			return
		}
		if m := smiHead.Regexp().FindStringSubmatch(plain); m != nil {
			v.Driver, v.CUDA = m[1], m[2]
			return
		}
		if s.list(&v, plain) || s.table(&v, plain) || s.csv(&v, plain) {
			return
		}
		s.query(&v, plain)
	})
	if len(v.Rows) == 0 {
		return v, ErrNoResult
	}
	return v, nil
}

// smiReader is where in the output the reading is.
type smiReader struct {
	open    bool     // the table's second line of a GPU is next
	columns []string // of the CSV
	detail  bool     // inside -q's report on a GPU
	section string   // of that report
}

// list reads a line of -L.
func (s *smiReader) list(v *NvidiaSMI, line string) bool {
	m := smiListed.Regexp().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	index, _ := strictnum.Count(m[1])
	v.Rows = append(v.Rows, GPU{Index: &index, Name: cut(m[2]), UUID: m[3]})
	return true
}

// table reads the box of figures, in which a GPU has two lines.
func (s *smiReader) table(v *NvidiaSMI, line string) bool {
	if m := smiFirst.Regexp().FindStringSubmatch(line); m != nil {
		index, _ := strictnum.Count(m[1])
		v.Rows = append(v.Rows, GPU{Index: &index, Name: cut(m[2]), BusID: m[3]})
		s.open = true
		return true
	}
	m := smiSecond.Regexp().FindStringSubmatch(line)
	if m == nil || !s.open {
		return false
	}
	s.open = false
	g := &v.Rows[len(v.Rows)-1]
	g.TemperatureC = smiNumber(m[1])
	g.PowerW = smiNumber(strings.TrimSuffix(m[2], "W"))
	if mem := smiMemory.Regexp().FindStringSubmatch(m[3]); mem != nil {
		g.MemUsedMiB, g.MemTotalMiB = smiNumber(mem[1]), smiNumber(mem[2])
	}
	if u := smiPercent.Regexp().FindStringSubmatch(m[4]); u != nil {
		g.UtilPercent = smiNumber(u[1])
	}
	return true
}

// csv reads a header of --query-gpu, and the lines under it.
func (s *smiReader) csv(v *NvidiaSMI, line string) bool {
	if s.columns == nil {
		s.columns = smiColumns(line)
		return s.columns != nil
	}
	r := csv.NewReader(strings.NewReader(line))
	r.TrimLeadingSpace, r.LazyQuotes = true, true
	cells, err := r.Read()
	if err != nil || len(cells) != len(s.columns) {
		return false
	}
	var g GPU
	for i, cell := range cells {
		g.set(s.columns[i], strings.TrimSpace(cell), v)
	}
	v.Rows = append(v.Rows, g)
	return true
}

// smiColumns are a CSV header's names; nil if the line is not a header. One name alone does not make one:
// every word would.
func smiColumns(line string) []string {
	var names []string
	known := false
	for cell := range strings.SplitSeq(line, ",") {
		m := smiColumn.Regexp().FindStringSubmatch(strings.TrimSpace(cell))
		if m == nil || len(names) >= 256 {
			return nil
		}
		names = append(names, m[1])
		switch m[1] {
		case "name", "gpu_name", "uuid", "gpu_uuid", "index", "driver_version", "pci.bus_id",
			"temperature.gpu", "memory.total", "memory.used", "utilization.gpu", "power.draw":
			known = true
		}
	}
	// One of the common names has to be among them: a line of small words with commas may be anybody's.
	if !known || len(names) < 2 && !strings.Contains(line, ".") {
		return nil
	}
	return names
}

// set puts a column of --query-gpu in its place.
func (g *GPU) set(name, value string, v *NvidiaSMI) {
	figures := map[string]**float64{
		"temperature.gpu": &g.TemperatureC, "power.draw": &g.PowerW, "utilization.gpu": &g.UtilPercent,
		"memory.total": &g.MemTotalMiB, "memory.used": &g.MemUsedMiB, "memory.free": &g.MemFreeMiB,
	}
	to, isFigure := figures[name]
	switch {
	case isFigure:
		*to = smiNumber(value)
	case name == "index":
		if n, ok := strictnum.Count(value); ok {
			g.Index = &n
		}
	case name == "name" || name == "gpu_name":
		g.Name = cut(value)
	case name == "uuid" || name == "gpu_uuid":
		g.UUID = cut(value)
	case name == "pci.bus_id" || name == "gpu_bus_id":
		g.BusID = cut(value)
	case name == "driver_version":
		v.Driver = cut(value)
	default:
		if g.Fields == nil {
			g.Fields = map[string]string{}
		}
		g.Fields[cut(name)] = cut(value)
	}
}

// query reads a line of -q.
func (s *smiReader) query(v *NvidiaSMI, line string) {
	if m := smiGPU.Regexp().FindStringSubmatch(line); m != nil {
		v.Rows = append(v.Rows, GPU{BusID: m[1]})
		s.detail, s.section = true, ""
		return
	}
	m := smiField.Regexp().FindStringSubmatch(line)
	if m == nil {
		if s.detail && line != "" {
			s.section = strings.TrimSpace(strings.TrimRight(line, "<- "))
		}
		return
	}
	name, value := m[2], strings.TrimSpace(m[3])
	switch name {
	case "Driver Version":
		v.Driver = cut(value)
	case "CUDA Version":
		v.CUDA = cut(value)
	}
	if !s.detail {
		return
	}
	v.Rows[len(v.Rows)-1].detail(s.section, name, value)
}

// detail takes a field of -q. A name alone is not enough: Total and Used stand under
// several headings, and a heading may come twice (a MIG device has its own memory). The
// first is the GPU's.
func (g *GPU) detail(section, name, value string) {
	var to **float64
	switch section + "/" + name {
	case "FB Memory Usage/Total":
		to = &g.MemTotalMiB
	case "FB Memory Usage/Used":
		to = &g.MemUsedMiB
	case "FB Memory Usage/Free":
		to = &g.MemFreeMiB
	case "BAR1 Memory Usage/Total":
		to = &g.BAR1TotalMiB
	case "BAR1 Memory Usage/Used":
		to = &g.BAR1UsedMiB
	case "BAR1 Memory Usage/Free":
		to = &g.BAR1FreeMiB
	}
	// What these are called is said nowhere else, and their headings differ between drivers.
	switch name {
	case "Product Name":
		g.Name = cut(value)
	case "GPU UUID":
		g.UUID = cut(value)
	case "GPU Current Temp":
		to = &g.TemperatureC
	case "Power Draw", "Average Power Draw", "Instantaneous Power Draw":
		to = &g.PowerW
	case "Gpu", "GPU":
		if strings.HasSuffix(value, "%") { // else its clock
			to = &g.UtilPercent
		}
	}
	if to != nil && *to == nil {
		*to = smiNumber(value)
	}
}

// smiNumber reads a figure with its unit; nil for N/A and the like.
func smiNumber(s string) *float64 {
	m := smiFigure.Regexp().FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	v, ok := strictnum.Number(m[1])
	if !ok {
		return nil
	}
	return &v
}
