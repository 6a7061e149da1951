//go:build !linux

package main

import "github.com/musterhq/muster/internal/program"

// server is empty: servers run on Linux.
var server program.Server
