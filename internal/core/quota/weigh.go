package quota

import "math"

// bits is the length of the largest weight once usage has made it a fraction:
// fine enough for any cluster, and short enough for most products to fit a word.
const bits = 31

// weigh sets each claim's part and returns their sum, which is above 0.
// Without usage the parts are the weights, and all arithmetic is exact.
func weigh(claims []claim, k float64) uint64 {
	var whole uint64
	for i := range claims {
		claims[i].part = claims[i].weight
		whole += uint64(claims[i].weight)
	}
	if k == 0 {
		return whole
	}
	largest := 0.0
	for i := range claims {
		largest = max(largest, claims[i].lessUsed(k, float64(whole)))
	}
	if largest < 1e-9 {
		// Everyone has had far too much: then nobody is worse than another.
		return whole
	}
	// Shifting keeps equal remainders equal, where dividing would round.
	_, length := math.Frexp(largest)
	scale := math.Ldexp(1, bits-length)
	var sum uint64
	for i := range claims {
		c := &claims[i]
		c.part = int64(float64(c.lessUsed(k, float64(whole))*scale) + 0.5)
		sum += uint64(c.part)
	}
	return sum
}

// lessUsed is the weight of a claim after usage. It is whole times what the
// rule says of relative weights: one rounding less.
func (c *claim) lessUsed(k, whole float64) float64 {
	// The conversions keep compilers from fusing the operations, which would
	// round differently from machine to machine.
	surplus := float64(c.weight) - float64(c.usage*whole)
	w := float64(c.weight) + float64(k*surplus)
	if !(w > 0) { // not a number, too
		return 0
	}
	return min(w, 1e300)
}

// mulDiv returns a*b/c and the remainder, without losing a bit on the way.
// c is not 0 and b is at most c, so the quotient fits.
func mulDiv(a, b, c uint64) (q, r uint64) {
	if a|b < 1<<32 {
		q = a * b / c
		return q, a*b - q*c
	}
	const low = 1<<32 - 1
	a1, a0, b1, b0 := a>>32, a&low, b>>32, b&low
	t := a0 * b0
	mid := a1*b0 + t>>32
	mid2 := a0*b1 + mid&low
	hi, lo := a1*b1+mid>>32+mid2>>32, mid2<<32|t&low
	if hi == 0 {
		q = lo / c
		return q, lo - q*c
	}
	if hi >= c { // b was above c: the caller's mistake; the nearest answer
		return 1<<64 - 1, 0
	}
	return divide128(hi, lo, c)
}

// divide128 divides hi·2^64+lo by c, which is above hi: long division with
// digits of 32 bits, after shifting c so far up that a digit's guess is at
// most two too high.
func divide128(hi, lo, c uint64) (q, r uint64) {
	const low = 1<<32 - 1
	shift := 0
	for c>>63 == 0 {
		c <<= 1
		shift++
	}
	if shift > 0 {
		hi = hi<<shift | lo>>(64-shift)
		lo <<= shift
	}
	c1, c0 := c>>32, c&low
	digit := func(hi, next uint64) (uint64, uint64) {
		guess, left := hi/c1, hi%c1
		for guess > low || guess*c0 > left<<32|next {
			guess--
			if left += c1; left > low {
				break
			}
		}
		return guess, hi<<32 + next - guess*c // wraps around, and back
	}
	q1, left := digit(hi, lo>>32)
	q0, left := digit(left, lo&low)
	return q1<<32 | q0, left >> shift
}
