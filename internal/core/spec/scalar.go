package spec

import "time"

// Command is an argument vector. A string in a document becomes
// ["sh", "-c", string]; Shell remembers that for printing it back.
type Command struct {
	Argv  []string
	Shell bool
}

// Quantity is an amount in thousandths of its unit (cores, bytes).
type Quantity int64

// Priority is an order inside a project; higher goes first.
type Priority int

// Duration is a length of time, written like 90s, 15m, 12h or 7d.
type Duration time.Duration
