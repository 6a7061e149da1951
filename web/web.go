// Package web holds the pages of the user interface as they are served. They are
// made of src and vendor by tools/web and committed, so that building Muster
// needs neither node nor a bundler.
package web

import "embed"

//go:generate go -C ../tools/web run . types
//go:generate go -C ../tools/web run . build

// Dist is the folder dist: index.html, where {{base}} stands for the way to the
// folder and {{version}} for that of the files, and what it loads.
//
//go:embed dist
var Dist embed.FS
