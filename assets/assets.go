// Package assets is data that the program carries, and no code: the tutorial's
// parts. Only cmd imports it and hands the files on.
package assets

import "embed"

// Tutorial holds tutorial/*.md, one file per part; steps/runbook reads them.
//
//go:embed tutorial
var Tutorial embed.FS
