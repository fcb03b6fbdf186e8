// Package steps has railbench's types: the rig and its rails, the parts and cells of a tutorial, what
// happened when a cell ran, and the verdict.
//
// The session runs cells through the nodes that runner gives it and reports what happens as events; Notebook
// folds them. The parsers and judges are listed in catalog; runbook reads a tutorial from Markdown; meter
// turns counters into rates. Nothing here draws, and nothing here opens a socket.
package steps
