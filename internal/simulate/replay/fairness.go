package replay

import (
	"cmp"
	"slices"
)

// tiny is what counts as no GPU at all in means over time.
const tiny = 1e-9

// entitled divides GPUs by weight, to nobody more than wanted; what someone
// does not want is divided among the others. What remains when all with a
// weight have enough goes to those without, in equal parts.
func entitled(gpus float64, weights, wanted []float64) []float64 {
	out := make([]float64, len(weights))
	left := pour(gpus, weights, wanted, out)
	if left > tiny {
		others := make([]float64, len(weights))
		for i, w := range weights {
			if w <= 0 {
				others[i] = 1
			}
		}
		pour(left, others, wanted, out)
	}
	return out
}

// pour gives to those with a weight, and returns what nobody of them wants.
func pour(gpus float64, weights, wanted, out []float64) (left float64) {
	var order []int
	total := 0.0
	for i, w := range weights {
		if w > 0 {
			order = append(order, i)
			total += w
		}
	}
	// Who wants least for its weight is served first; all after it can then
	// have at least their share of what is left.
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(wanted[a]/weights[a], wanted[b]/weights[b]), cmp.Compare(a, b))
	})
	for _, i := range order {
		out[i] = min(wanted[i], gpus*weights[i]/total)
		gpus -= out[i]
		total -= weights[i]
	}
	return gpus
}

// jain is Jain's index of held ÷ due over all who are due something.
func jain(held, due []float64) float64 {
	sum, squares, n := 0.0, 0.0, 0.0
	for i, d := range due {
		if d <= tiny {
			continue
		}
		x := held[i] / d
		sum += x
		squares += x * x
		n++
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (n * squares)
}
