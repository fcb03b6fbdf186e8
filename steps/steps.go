// Package steps is what railbench is about: the rig and its rails, the parts
// and cells of a tutorial, what happened when a cell ran, and the verdict.
//
// The session runs cells through the nodes that runner gives it and tells what
// happens as events; Notebook folds them. Which parsers and judges exist is
// catalog's; how a tutorial is read from Markdown is runbook's; how counters
// become rates is meter's. Nothing here draws, and nothing here opens a socket.
package steps
