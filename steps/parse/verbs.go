package parse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// A VerbsDevice is a line of ibv_devices.
type VerbsDevice struct {
	Name string `json:"name"`
	GUID string `json:"guid"` // 16 hex digits
}

var guid = lazyregexp.New(`^[0-9a-f]{16}$`)

// IbvDevices reads ibv_devices. No device is an empty list; a text without the
// tool's header is ErrNoResult.
func IbvDevices(text string) ([]VerbsDevice, error) {
	devices := []VerbsDevice{}
	header := false
	lines(text, func(line string) {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "device" && f[1] == "node" && f[2] == "GUID":
			header = true
		case header && len(f) == 2 && guid.Regexp().MatchString(f[1]) && len(devices) < maxRows:
			devices = append(devices, VerbsDevice{Name: f[0], GUID: f[1]})
		}
	})
	if !header {
		return devices, ErrNoResult
	}
	return devices, nil
}

// An HCA is a block of ibv_devinfo.
type HCA struct {
	ID           string    `json:"id"` // empty where only lines below it were given
	Transport    string    `json:"transport"`
	Firmware     string    `json:"firmware"`
	NodeGUID     string    `json:"nodeGUID"`
	SysImageGUID string    `json:"sysImageGUID"`
	VendorPart   string    `json:"vendorPart"`
	Board        string    `json:"board"`
	Ports        []HCAPort `json:"ports"`
}

// An HCAPort is one port of an HCA. MTUs are bytes.
type HCAPort struct {
	Port      int    `json:"port"`  // 0 where its line was left out
	State     string `json:"state"` // ACTIVE, DOWN …: without PORT_
	MaxMTU    int    `json:"maxMTU"`
	ActiveMTU int    `json:"activeMTU"`
	LinkLayer string `json:"linkLayer"`
	Unread    string `json:"unread,omitempty"` // a line whose MTU is none
	// GIDs are those of -v. The lids are of InfiniBand; null if they aren't printed.
	GIDs  []HCAGID `json:"gids,omitempty"`
	LID   *int     `json:"lid,omitempty"`
	SMLID *int     `json:"smLID,omitempty"`
}

// An HCAGID is an entry of a port's GID table.
type HCAGID struct {
	Index int    `json:"index"`
	GID   string `json:"gid"`
	Type  string `json:"type"` // RoCE v2 …; empty if it isn't printed
}

// GID[  3]:		::ffff:192.0.2.6, RoCE v2
var hcaGID = lazyregexp.New(`^\s*GID\[ *(\d{1,5})\]:\s*([\da-fA-F:.]+),? *(\S.*)?$`)

// more takes what only -v and InfiniBand print of a port.
func (p *HCAPort) more(line string) {
	if m := hcaGID.Regexp().FindStringSubmatch(line); m != nil && len(p.GIDs) < maxRows {
		n, _ := strictnum.Count(m[1])
		p.GIDs = append(p.GIDs, HCAGID{n, m[2], strings.TrimSpace(m[3])})
	}
	if v, ok := field(line, "port_lid"); ok {
		p.LID = lid(v)
	}
	if v, ok := field(line, "sm_lid"); ok {
		p.SMLID = lid(v)
	}
}

// IbvDevinfo reads ibv_devinfo, also with -v. "No IB devices found" is an empty
// list; a text without either is ErrNoResult.
func IbvDevinfo(text string) ([]HCA, error) {
	hcas := []HCA{}
	none := false
	lines(text, func(line string) {
		if strings.Contains(line, "No IB devices found") {
			none = true
		}
		if id, ok := field(line, "hca_id"); ok {
			if len(hcas) < maxRows {
				hcas = append(hcas, HCA{ID: id, Ports: []HCAPort{}})
			}
			return
		}
		if len(hcas) == 0 && mtuLine.Regexp().MatchString(line) {
			hcas = append(hcas, HCA{Ports: []HCAPort{}}) // what grep left of it
		}
		if len(hcas) > 0 {
			hcas[len(hcas)-1].take(line)
		}
	})
	if len(hcas) == 0 && !none {
		return hcas, ErrNoResult
	}
	for _, h := range hcas {
		for _, p := range h.Ports {
			if p.Unread != "" {
				return hcas, fmt.Errorf("%w: %s of %s is none of the five RoCE MTUs", ErrNoResult, cut(p.Unread),
					cmp.Or(h.ID, "a port"))
			}
		}
	}
	return hcas, nil
}

var mtuLine = lazyregexp.New(`^\s+(?:max|active)_mtu:\s+\d+ \(\d\)`)

// take reads a line below an adapter's first. Where a port has begun its fields are the
// port's; no name is both's.
func (h *HCA) take(line string) {
	if v, ok := field(line, "port"); ok {
		if n, ok := strictnum.Count(v); ok && len(h.Ports) < 256 {
			h.Ports = append(h.Ports, HCAPort{Port: n})
		}
		return
	}
	for name, set := range map[string]*string{
		"fw_ver": &h.Firmware, "node_guid": &h.NodeGUID, "sys_image_guid": &h.SysImageGUID,
		"vendor_part_id": &h.VendorPart, "board_id": &h.Board,
	} {
		if v, ok := field(line, name); ok {
			*set = v
		}
	}
	if v, ok := field(line, "transport"); ok {
		h.Transport, _, _ = strings.Cut(v, " (")
	}
	var p HCAPort
	if !p.take(line) {
		if len(h.Ports) > 0 {
			h.Ports[len(h.Ports)-1].more(line)
		}
		return
	}
	// Where grep took the line "port:" away, a port begins with the first of its lines that
	// the one before has, too.
	if n := len(h.Ports); n == 0 || n < 256 && h.Ports[n-1].Port == 0 && h.Ports[n-1].has(p) {
		h.Ports = append(h.Ports, HCAPort{})
	}
	h.Ports[len(h.Ports)-1].take(line)
}

// has reports whether a port has a value already that another brings.
func (p HCAPort) has(more HCAPort) bool {
	return p.State != "" && more.State != "" || p.MaxMTU > 0 && more.MaxMTU > 0 ||
		p.ActiveMTU > 0 && more.ActiveMTU > 0 || p.LinkLayer != "" && more.LinkLayer != ""
}

// take reads a line below "port:", and reports whether it is one. The figures behind a value
// are the enumeration's.
func (p *HCAPort) take(line string) bool {
	if v, ok := field(line, "state"); ok {
		v, _, _ = strings.Cut(v, " ")
		p.State = strings.TrimPrefix(v, "PORT_")
		return true
	}
	for name, to := range map[string]*int{"max_mtu": &p.MaxMTU, "active_mtu": &p.ActiveMTU} {
		v, ok := field(line, name)
		if !ok {
			continue
		}
		// Where the library has no name for an enumeration's value, ibv_devinfo says "invalid MTU (0)".
		if *to = firstNumber(v); !slices.Contains([]int{256, 512, 1024, 2048, 4096}, *to) &&
			!strings.HasPrefix(v, "invalid MTU") {
			*to, p.Unread = 0, cmp.Or(p.Unread, name+" "+v)
		}
		return true
	}
	v, ok := field(line, "link_layer")
	if ok {
		p.LinkLayer = v
	}
	return ok
}

// firstNumber is 4096 in "4096 (5)".
func firstNumber(s string) int {
	s, _, _ = strings.Cut(s, "(")
	s, _, _ = strings.Cut(s, " ")
	n, _ := strictnum.Count(s)
	return n
}

// Devices is what ibv_devices and ibv_devinfo say together.
type Devices struct {
	Listed []VerbsDevice `json:"listed"`
	HCAs   []HCA         `json:"hcas"`
}

// VerbsDevices reads the output of both tools, one after the other.
func VerbsDevices(text string) (Devices, error) {
	var d Devices
	var errList, errInfo error
	d.Listed, errList = IbvDevices(text)
	d.HCAs, errInfo = IbvDevinfo(text)
	if errInfo != nil {
		return d, fmt.Errorf("ibv_devinfo: %w", errInfo)
	}
	if errList != nil {
		return d, fmt.Errorf("ibv_devices: %w", errList)
	}
	return d, nil
}

// A GIDRow is one entry of a GID table.
type GIDRow struct {
	Dev     string `json:"dev"`
	Port    int    `json:"port"`
	Index   int    `json:"index"`
	GID     string `json:"gid"`
	IPv4    string `json:"ipv4"`    // empty where the GID holds none
	Version string `json:"version"` // v1 or v2
	Netdev  string `json:"netdev"`
}

var gidValue = lazyregexp.New(`^[0-9a-f]{4}(:[0-9a-f]{4}){7}$`)

// ShowGids reads the table of show_gids, and the same table as the cells print it from sysfs. The column IPv4
// is empty in most rows, so cells are recognized by their shape.
func ShowGids(text string) ([]GIDRow, error) {
	rows := []GIDRow{}
	header := false
	lines(text, func(line string) {
		f := strings.Fields(line)
		if len(f) > 3 && f[0] == "DEV" && f[1] == "PORT" && f[2] == "INDEX" {
			header = true
			return
		}
		if !header || len(rows) >= maxRows {
			return
		}
		if r, ok := gidRow(f); ok {
			rows = append(rows, r)
		}
	})
	if !header {
		return rows, ErrNoResult
	}
	return rows, nil
}

// gidRow takes a row apart; a line of dashes, or the number of entries at the end, is none.
func gidRow(f []string) (GIDRow, bool) {
	if len(f) < 5 {
		return GIDRow{}, false
	}
	port, okPort := strictnum.Count(f[1])
	index, okIndex := strictnum.Count(f[2])
	if !okPort || !okIndex {
		return GIDRow{}, false
	}
	r := GIDRow{Dev: f[0], Port: port, Index: index}
	for _, c := range f[3:] {
		switch {
		case gidValue.Regexp().MatchString(c) && r.GID == "":
			r.GID = c
		case c == "v1" || c == "v2":
			r.Version = c
		case ipv4.Regexp().MatchString(c):
			r.IPv4 = c
		default:
			r.Netdev = c
		}
	}
	return r, r.GID != ""
}

var ipv4 = lazyregexp.New(`^\d{1,3}(\.\d{1,3}){3}$`)

// A NetdevOf is a line of ibdev2netdev.
type NetdevOf struct {
	Dev    string `json:"dev"`
	Port   int    `json:"port"`
	Netdev string `json:"netdev"`
	Up     bool   `json:"up"`
}

var ibdevLine = lazyregexp.New(`^(?:\S+ )?(\S+) port (\d{1,3}) ==> (\S+) \((Up|Down)\)`)

// Ibdev2netdev reads ibdev2netdev.
func Ibdev2netdev(text string) ([]NetdevOf, error) {
	all := []NetdevOf{}
	lines(text, func(line string) {
		if m := ibdevLine.Regexp().FindStringSubmatch(strings.TrimSpace(line)); m != nil && len(all) < maxRows {
			port, _ := strictnum.Count(m[2])
			all = append(all, NetdevOf{Dev: m[1], Port: port, Netdev: m[3], Up: m[4] == "Up"})
		}
	})
	if len(all) == 0 {
		return all, ErrNoResult
	}
	return all, nil
}
