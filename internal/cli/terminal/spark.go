package terminal

import (
	"fmt"
	"strings"
)

// bars are the heights of a sparkline, an eighth each.
var bars = []rune("▁▂▃▄▅▆▇█")

// Spark draws values in so many characters, between 0 and most; where nothing is
// known it leaves room. The lowest bar is something other than nothing.
func Spark(values []*float64, width int, most float64) string {
	if width <= 0 || len(values) == 0 {
		return strings.Repeat(" ", max(width, 0))
	}
	out := make([]rune, width)
	for i := range out {
		from, to := i*len(values)/width, (i+1)*len(values)/width
		v, ok := meanOf(values[from:max(to, from+1)])
		switch {
		case !ok:
			out[i] = ' '
		case most <= 0:
			out[i] = bars[0]
		default:
			out[i] = bars[min(max(int(v/most*float64(len(bars))), 0), len(bars)-1)]
		}
	}
	return string(out)
}

// meanOf is the mean of what is known; false: nothing is.
func meanOf(values []*float64) (float64, bool) {
	sum, n := 0.0, 0
	for _, v := range values {
		if v != nil {
			sum, n = sum+*v, n+1
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

// Bar is a bar of so many characters that is filled to a part of 1.
func Bar(part float64, width int) string {
	full := min(max(int(part*float64(width)), 0), width)
	return strings.Repeat("■", full) + strings.Repeat("□", width-full)
}

// BarAt is a bar with the per cent behind it.
func BarAt(part float64, width int) string {
	part = min(max(part, 0), 1)
	return fmt.Sprintf("%s %3d%%", Bar(part, width), int(part*100))
}
