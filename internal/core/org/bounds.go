package org

import "github.com/musterhq/muster/internal/core"

// Bounds are what a project may use of each resource in all pools together, whatever is
// lent to it: the sum of its limits, or the smaller one of a department above it. A
// resource of which some pool gives it any amount has none. GPUs are devices, CPU cores,
// memory bytes.
func (t Tree) Bounds(project core.ProjectID, pools []string) map[core.Resource]float64 {
	var out map[core.Resource]float64
	for p := range t.Up(project) {
		for _, r := range core.Resources() {
			sum, bounded := 0.0, len(pools) > 0
			for _, pool := range pools {
				limit := p.QuotaIn(pool).Of(r).Limit
				if limit == nil {
					bounded = false
					break
				}
				sum += *limit
			}
			if !bounded {
				continue
			}
			if was, there := out[r]; !there || sum < was {
				if out == nil {
					out = map[core.Resource]float64{}
				}
				out[r] = sum
			}
		}
	}
	return out
}
