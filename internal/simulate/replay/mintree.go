package replay

import "math"

// minTree holds a number for each of 0 to n-1 and finds the next place with a
// small one in logarithmic time.
type minTree struct {
	leaves int // a power of two
	least  []int64
}

// newMinTree returns a tree in which nothing is small.
func newMinTree(n int) *minTree {
	t := &minTree{leaves: 1}
	for t.leaves < n {
		t.leaves *= 2
	}
	t.least = make([]int64, 2*t.leaves)
	for i := range t.least {
		t.least[i] = math.MaxInt64
	}
	return t
}

func (t *minTree) set(i int, value int64) {
	i += t.leaves
	t.least[i] = value
	for i /= 2; i > 0; i /= 2 {
		t.least[i] = min(t.least[2*i], t.least[2*i+1])
	}
}

// next returns the first place from i on whose number is at most limit; -1: none.
func (t *minTree) next(i int, limit int64) int {
	if i >= t.leaves {
		return -1
	}
	for i += t.leaves; t.least[i] > limit; i++ {
		for i%2 == 1 { // a right child has no one to its right below its parent
			if i /= 2; i <= 1 {
				return -1
			}
		}
		if i == 0 {
			return -1
		}
	}
	for i < t.leaves {
		if i *= 2; t.least[i] > limit {
			i++
		}
	}
	return i - t.leaves
}
