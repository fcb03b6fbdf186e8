package parse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// UCX is what ucx_info -v and ucx_info -d print.
type UCX struct {
	Version string `json:"version"`
	Library string `json:"library,omitempty"` // path of libucs, since 1.14
	// Configured are the options of ./configure.
	Configured string `json:"configured,omitempty"`
	// Revision is git's of the source.
	Revision string      `json:"revision,omitempty"`
	Domains  []UCXDomain `json:"domains"`
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

// Registers reports whether a domain registers a kind of memory.
func (d UCXDomain) Registers(kind string) bool { return slices.Contains(d.Memory[kind], "reg") }

// A UCXTransport is a way of sending over one device.
type UCXTransport struct {
	Name   string `json:"name"`   // rc_mlx5
	Device string `json:"device"` // rocep1s0f0:1
}

var (
	// 1.13 "# Version 1.13.1", later "# Library version: 1.16.0", and in the
	// tutorial's text "# UCX version=1.16.0".
	ucxVersion = lazyregexp.New(`^# (?:UCX version=|Library version: |Version )(\d[\w.]*)`)
	// "# Git branch 'v1.21.x', revision 96cc3f8"; it is all zeros where it was built from no repository.
	ucxRevision = lazyregexp.New(`^# Git branch '[^']*', revision ([0-9a-f]*[1-9a-f][0-9a-f]*)\s*$`)
	ucxField    = lazyregexp.New(`^#\s+([A-Za-z][\w -]*?): (.*)$`)
	ucxMemory   = lazyregexp.New(`([\w-]+) \(([\w,-]*)\)`)
)

// UCXInfo reads both reports, in any order. The error is ErrNoResult where there
// is neither a version nor a memory domain.
func UCXInfo(text string) (UCX, error) {
	r := ucxReader{u: UCX{Domains: []UCXDomain{}}}
	lines(text, r.line)
	if r.u.Version == "" && len(r.u.Domains) == 0 {
		return r.u, ErrNoResult
	}
	return r.u, nil
}

// maxConfigured is how much of a build's options is kept.
const maxConfigured = 8192

// A ucxReader reads ucx_info's lines, each a comment of its own; a transport's fields follow its name.
type ucxReader struct {
	u         UCX
	transport string // whose devices come next; empty until a domain names one
}

func (r *ucxReader) line(line string) {
	// What UCX itself complains of has no #, whatever else it looks like.
	if m := ucxWarn.Regexp().FindStringSubmatch(line); m != nil &&
		len(r.u.Warnings) < maxErrors && !strings.HasPrefix(line, "#") {
		r.u.Warnings = append(r.u.Warnings, cut(m[1]))
		return
	}
	if m := ucxVersion.Regexp().FindStringSubmatch(line); m != nil && r.u.Version == "" {
		r.u.Version = m[1]
		return
	}
	if m := ucxRevision.Regexp().FindStringSubmatch(line); m != nil {
		r.u.Revision = cmp.Or(r.u.Revision, m[1])
		return
	}
	m := ucxField.Regexp().FindStringSubmatch(line)
	if m == nil {
		return
	}
	switch name, value := m[1], strings.TrimSpace(m[2]); {
	case name == "Library path" && r.u.Library == "":
		r.u.Library = cut(value)
	case strings.EqualFold(name, "Configured with") && r.u.Configured == "":
		r.u.Configured = value[:min(len(value), maxConfigured)] // a distribution's has many options
	case name == "Memory domain":
		if len(r.u.Domains) < maxRows {
			r.u.Domains = append(r.u.Domains, UCXDomain{Name: cut(value), Transports: []UCXTransport{}})
		}
		r.transport = ""
	case len(r.u.Domains) > 0:
		r.ofDomain(&r.u.Domains[len(r.u.Domains)-1], name, value)
	}
}

// ofDomain takes a field below the line of a memory domain.
func (r *ucxReader) ofDomain(d *UCXDomain, name, value string) {
	switch {
	case strings.EqualFold(name, "Component"):
		d.Component = cut(value)
	case name == "register":
		d.DMABuf = strings.Contains(value, "dmabuf")
	case name == "memory types" && r.transport == "": // below a transport it would be the transport's
		d.Memory = map[string][]string{}
		for _, m := range ucxMemory.Regexp().FindAllStringSubmatch(value, 16) {
			d.Memory[m[1]] = strings.Split(m[2], ",")
			d.DMABuf = d.DMABuf || slices.Contains(d.Memory[m[1]], "dmabuf") && d.Component == "ib"
		}
	case name == "Transport":
		r.transport = cut(value)
	case name == "Device" && r.transport != "" && len(d.Transports) < maxRows:
		d.Transports = append(d.Transports, UCXTransport{Name: r.transport, Device: cut(value)})
	}
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
