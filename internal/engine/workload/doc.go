// Package workload reads what follows from a workload and the tasks of its
// present attempt alone: what is still to be placed, what a task holds of its
// node, who is to blame for a failure, which checks are open. It knows neither
// the engine nor anything else that lives.
package workload
