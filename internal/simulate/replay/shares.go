package replay

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/simulate/trace"
)

// Shares divides gpus among the projects of a trace by the GPU-time that each
// asks for in all: whole GPUs, what is left by the largest remainder (Hamilton's
// method), ties to the project that comes first by name.
func Shares(jobs []trace.Job, gpus int) map[string]int {
	asked, all := map[string]int64{}, int64(0)
	for _, j := range jobs {
		t := j.Duration * int64(j.GPUs)
		asked[j.Project] += t
		all += t
	}
	if all == 0 {
		return map[string]int{}
	}
	type part struct {
		name      string
		remainder float64
	}
	shares, left := make(map[string]int, len(asked)), gpus
	var parts []part
	for name, t := range asked {
		exact := float64(t) / float64(all) * float64(gpus)
		shares[name] = int(exact)
		left -= shares[name]
		parts = append(parts, part{name, exact - float64(shares[name])})
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.remainder, a.remainder), cmp.Compare(a.name, b.name))
	})
	for _, p := range parts[:min(max(left, 0), len(parts))] {
		shares[p.name]++
	}
	return shares
}
