// Package planner keeps what the scheduler knows in step with a draft (queues,
// pools, nodes, windows, past use), asks it for plans and whether something fits,
// and contains its faults.
package planner
