package explain

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

var (
	pciHead   = lazyregexp.New(`^((?:[0-9a-f]{4,6}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) `)
	pciLink   = lazyregexp.New(`Lnk(Cap|Sta):.*?Speed ([\d.]+)GT/s.*?Width x(\d+)`)
	pciPacket = lazyregexp.New(`MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes`)
	pciACS    = lazyregexp.New(`ACSCtl:.*\bSrcValid([+-])`)
	qosTrust  = lazyregexp.New(`(?i)^Priority trust state: *(\w+)`)
	qosPFC    = lazyregexp.New(`^\s*enabled\s+([01](?:\s+[01]){7})\s*$`)
	fabric    = lazyregexp.New(`^\s*(?:0x[0-9a-f]+)?\s+(\d+)\s+(\d+)\[[^\]]*\] ==\( *(\d+X)\s+([\d.]+) Gbps\s+(\w+)/ *(\w+)\)`)
	topoLine  = lazyregexp.New(`^(OK|FAIL)\s+(.{3,160})$`)
)

// printed are facts of lspci -vv, mlnx_qos, iblinkinfo and rdma_topo, which have no typed reader.
func (r *reader) printed() {
	address, could := "", map[string]string{}
	for _, l := range r.lines {
		if m := pciHead.Regexp().FindStringSubmatch(l.whole); m != nil {
			address, could = m[1], map[string]string{}
		}
		if m := pciLink.Regexp().FindStringSubmatch(l.whole); m != nil {
			r.pcie(l.n, address, m, could)
		}
		if m := pciPacket.Regexp().FindStringSubmatch(l.whole); m != nil {
			r.say("lspci", l.n, "pcie %s payload=%s request=%s bytes", orDevice(address), m[1], m[2])
		}
		if m := pciACS.Regexp().FindStringSubmatch(l.whole); m != nil {
			r.say("lspci", l.n, "pcie %s acs=%s", orDevice(address), map[string]string{"+": "on", "-": "off"}[m[1]])
		}
		if m := qosTrust.Regexp().FindStringSubmatch(l.text); m != nil {
			r.say("mlnx_qos", l.n, "qos trust=%s", strings.ToLower(m[1]))
		}
		if m := qosPFC.Regexp().FindStringSubmatch(l.whole); m != nil {
			r.say("mlnx_qos", l.n, "qos pfc=%s", priorities(m[1]))
		}
		if m := fabric.Regexp().FindStringSubmatch(l.whole); m != nil && !l.again {
			r.say("iblinkinfo", l.n, "fabric lid %s port %s: %s at %s Gb/s for each lane, %s, %s", m[1], m[2], m[3], m[4], m[5],
				m[6])
		}
		if m := topoLine.Regexp().FindStringSubmatch(l.text); m != nil &&
			(strings.Contains(m[2], "ACS") || strings.Contains(m[2], "iommu_group")) {
			r.say("rdma_topo", l.n, "rdma_topo %s: %s", strings.ToLower(m[1]), m[2])
		}
	}
}

// pcie compares what a link can do with what it does. A device's LnkCap stands before its LnkSta.
func (r *reader) pcie(at int, address string, m []string, could map[string]string) {
	if m[1] == "Cap" {
		could["speed"], could["width"] = m[2], m[3]
		return
	}
	if could["speed"] == "" {
		r.say("lspci", at, "pcie %s link=%s GT/s x%s", orDevice(address), m[2], m[3])
		return
	}
	speed, _ := strictnum.Number(m[2])
	most, _ := strictnum.Number(could["speed"])
	width, _ := strictnum.Number(m[3])
	widest, _ := strictnum.Number(could["width"])
	how := "runs at"
	if speed < most || width < widest {
		how = "runs below what it can do:"
	}
	r.say("lspci", at, "pcie %s %s %s GT/s x%s of %s GT/s x%s", orDevice(address), how, m[2], m[3], could["speed"],
		could["width"])
}

func orDevice(address string) string {
	if address == "" {
		return "device"
	}
	return address
}

// priorities are those that a row of mlnx_qos enables.
func priorities(row string) string {
	var on []string
	for i, v := range strings.Fields(row) {
		if v == "1" {
			on = append(on, string(rune('0'+i)))
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ",")
}
