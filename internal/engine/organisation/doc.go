// Package organisation has the use cases of those who run a site: edits of
// departments, projects, pools, licenses, nodes and reservations, with what
// follows from them for workloads that are there; templates, secrets and
// subscriptions.
package organisation
