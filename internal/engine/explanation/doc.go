// Package explanation answers why a workload waits, when it is likely to start, who
// is in its way and what would help. It reads a draft and changes nothing.
package explanation
