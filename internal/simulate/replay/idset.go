package replay

import "math/bits"

// idSet is a set of small integers that finds the next member in constant
// time: words of 64 bits, and above them a bit for each word that is not empty.
type idSet struct {
	levels [][]uint64
	size   int
}

// newIDSet returns an empty set for 0 to n-1.
func newIDSet(n int) *idSet {
	s := &idSet{}
	for {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, max(n, 1)))
		if n <= 1 {
			return s
		}
	}
}

func (s *idSet) add(i int) {
	if s.levels[0][i>>6]&(1<<(i&63)) == 0 {
		s.size++
	}
	for _, words := range s.levels {
		words[i>>6] |= 1 << (i & 63)
		i >>= 6
	}
}

func (s *idSet) remove(i int) {
	if s.levels[0][i>>6]&(1<<(i&63)) == 0 {
		return
	}
	s.size--
	for _, words := range s.levels {
		words[i>>6] &^= 1 << (i & 63)
		if words[i>>6] != 0 {
			return
		}
		i >>= 6
	}
}

// next returns the least member that is at least i; -1: there is none.
func (s *idSet) next(i int) int {
	for level, words := range s.levels {
		if i>>6 >= len(words) {
			return -1
		}
		if rest := words[i>>6] >> (i & 63); rest != 0 {
			i += bits.TrailingZeros64(rest)
			for ; level > 0; level-- {
				i = i<<6 + bits.TrailingZeros64(s.levels[level-1][i])
			}
			return i
		}
		i = i>>6 + 1
	}
	return -1
}
