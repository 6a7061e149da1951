// Package report reads what there is: nodes, pools, clusters, how projects stand,
// who holds which devices, the census. It reads a draft and changes nothing.
package report
