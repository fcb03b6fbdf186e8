// Package assets is data that the program carries, and no code: the parts of the
// tutorial and of the checklist, the knowledge of causes, the pages to read, an example of
// a runbook, the programs of its NIXL and NCCL cells, the page that a browser shows and the script of the virtual rig.
// Only cmd imports it and hands the files on.
package assets

import "embed"

// Tutorial holds tutorial/*.md, one file per part; steps/runbook reads them.
//
//go:embed tutorial
var Tutorial embed.FS

// Checklist holds checklist/*.md, read by steps/runbook, too.
//
//go:embed checklist
var Checklist embed.FS

// Stage holds stage/*.md, the cells of a demo that are next to the tutorial's way: read by steps/runbook, too.
//
//go:embed stage
var Stage embed.FS

// Show is show/show.md, the script of the built-in show; steps/script reads it.
//
//go:embed show/show.md
var Show []byte

// Runbook is runbook/example.md, with which another user's own runbook begins.
//
//go:embed runbook/example.md
var Runbook []byte

// EthernetRunbook is runbook/ethernet.md, one for any two Linux machines.
//
//go:embed runbook/ethernet.md
var EthernetRunbook []byte

// Docs holds docs/*.md, what README leads to: README.md lists the others in the order in
// which they are read. cmd/railbench keeps their tables.
//
//go:embed docs/*.md
var Docs embed.FS

// Knowledge holds knowledge/*.toml, the causes of what people paste and say, an entry each; steps/explain reads them.
//
//go:embed knowledge/*.toml
var Knowledge embed.FS

// NIXL holds nixl/*.py. agent.py is what the others share: it stands where their
// second comment names it (see cmd/railbench/programs.go).
//
//go:embed nixl
var NIXL embed.FS

// NCCL holds nccl/*.sh, what cells run by sh, in a container, too.
//
//go:embed nccl
var NCCL embed.FS

// Launchers holds launchers/*.toml, a file a launcher; steps/launch reads them.
//
//go:embed launchers
var Launchers embed.FS

// Web holds web/*, the page of railbench serve as a browser loads it.
//
//go:embed web
var Web embed.FS

// RigScript is rig/rig, a bash script that boots two virtual machines with
// soft-RoCE between them.
//
//go:embed rig/rig
var RigScript []byte
