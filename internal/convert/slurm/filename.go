package slurm

import (
	"strconv"
	"strings"
)

// FileName is the name of a job's file that a pattern of sbatch --output makes:
// values are what stands for the letter behind each %, and a number between fills
// up with zeros (%4j). Letters without a value are kept as they are.
func FileName(pattern string, values map[byte]string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		at := i + 1
		for at < len(pattern) && pattern[at] >= '0' && pattern[at] <= '9' {
			at++
		}
		if at == len(pattern) {
			b.WriteString(pattern[i:])
			break
		}
		text, known := values[pattern[at]]
		if !known {
			b.WriteString(pattern[i : at+1])
			i = at
			continue
		}
		if width, err := strconv.Atoi(pattern[i+1 : at]); err == nil && width <= 10 {
			text = strings.Repeat("0", max(0, width-len(text))) + text
		}
		b.WriteString(text)
		i = at
	}
	return b.String()
}
