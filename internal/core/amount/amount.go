// Package amount writes amounts for people.
package amount

import (
	"fmt"
	"strconv"
	"strings"
)

// Thousandths writes an amount that is counted in thousandths, such as GPUs and cores:
// 1500 is 1.5.
func Thousandths(n int64) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }

// GPUs writes a number of GPUs of which parts count as such, to the thousandth.
func GPUs(n float64) string { return Thousandths(int64(n*1000 + 0.5)) }

// Bytes writes bytes in the largest binary unit of which there is one, such as 1.5 GiB.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, words := float64(n), []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	word := ""
	for _, w := range words {
		if v < unit {
			break
		}
		v, word = v/unit, w
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + word
}
