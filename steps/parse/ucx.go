package parse

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/pattern"
)

// UCX is what ucx_info -v and ucx_info -d tell.
type UCX struct {
	Version string `json:"version"`
	Library string `json:"library,omitempty"` // path of libucs, since 1.14
	// Configured are the options of ./configure.
	Configured string      `json:"configured,omitempty"`
	Domains    []UCXDomain `json:"domains"`
	// Warnings are lines that UCX logged meanwhile.
	Warnings []string `json:"warnings,omitempty"`
}

// A UCXDomain is a memory domain: what one component can register and reach.
type UCXDomain struct {
	Name      string `json:"name"`      // rocep1s0f0, cuda_cpy
	Component string `json:"component"` // ib, cuda_cpy, tcp
	// DMABuf says that it registers memory through dma-buf.
	DMABuf bool `json:"dmaBuf,omitempty"`
	// Memory is what it does with each kind of memory: cuda -> access, reg. A domain
	// that knows host memory only prints no such line.
	Memory     map[string][]string `json:"memory,omitempty"`
	Transports []UCXTransport      `json:"transports"`
}

// Registers says whether a domain registers a kind of memory.
func (d UCXDomain) Registers(kind string) bool { return slices.Contains(d.Memory[kind], "reg") }

// A UCXTransport is a way of sending over one device.
type UCXTransport struct {
	Name   string `json:"name"`   // rc_mlx5
	Device string `json:"device"` // rocep1s0f0:1
}

var (
	// 1.13 "# Version 1.13.1", later "# Library version: 1.16.0", and in the
	// tutorial's text "# UCX version=1.16.0".
	ucxVersion = pattern.New(`^# (?:UCX version=|Library version: |Version )(\d[\w.]*)`)
	ucxField   = pattern.New(`^#\s+([A-Za-z][\w -]*?): (.*)$`)
	ucxMemory  = pattern.New(`([\w-]+) \(([\w,-]*)\)`)
)

// UCXInfo reads both reports, in any order. The error is ErrNoResult where there
// is neither a version nor a memory domain.
func UCXInfo(text string) (UCX, error) {
	u := UCX{Domains: []UCXDomain{}}
	transport := ""
	lines(text, func(line string) {
		if m := ucxWarn.FindStringSubmatch(line); m != nil &&
			len(u.Warnings) < maxErrors && !strings.HasPrefix(line, "#") {
			u.Warnings = append(u.Warnings, cut(m[1]))
			return
		}
		if m := ucxVersion.FindStringSubmatch(line); m != nil && u.Version == "" {
			u.Version = m[1]
			return
		}
		m := ucxField.FindStringSubmatch(line)
		if m == nil {
			return
		}
		name, value := m[1], strings.TrimSpace(m[2])
		var d *UCXDomain
		if n := len(u.Domains); n > 0 {
			d = &u.Domains[n-1]
		}
		switch {
		case name == "Library path" && u.Library == "":
			u.Library = cut(value)
		case strings.EqualFold(name, "Configured with") && u.Configured == "":
			u.Configured = cut(value)
		case name == "Memory domain":
			if len(u.Domains) < maxRows {
				u.Domains = append(u.Domains, UCXDomain{Name: cut(value), Transports: []UCXTransport{}})
			}
			transport = ""
		case d == nil:
		case strings.EqualFold(name, "Component"):
			d.Component = cut(value)
		case name == "register":
			d.DMABuf = strings.Contains(value, "dmabuf")
		case name == "memory types" && transport == "":
			d.Memory = map[string][]string{}
			for _, m := range ucxMemory.FindAllStringSubmatch(value, 16) {
				d.Memory[m[1]] = strings.Split(m[2], ",")
				d.DMABuf = d.DMABuf || slices.Contains(d.Memory[m[1]], "dmabuf") && d.Component == "ib"
			}
		case name == "Transport":
			transport = cut(value)
		case name == "Device" && transport != "" && len(d.Transports) < maxRows:
			d.Transports = append(d.Transports, UCXTransport{Name: transport, Device: cut(value)})
		}
	})
	if u.Version == "" && len(u.Domains) == 0 {
		return u, ErrNoResult
	}
	return u, nil
}

// Transports lists those of a device, or all where it is empty.
func (u UCX) Transports(device string) []string {
	names := []string{}
	for _, d := range u.Domains {
		for _, t := range d.Transports {
			if (device == "" || t.Device == device) && !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}
