//go:build linux

package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Busy is how long all cores together have worked since the start.
func Busy(file string) (time.Duration, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(data), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for i, text := range f[1:9] { // user nice system idle iowait irq softirq steal
		if i == 3 || i == 4 {
			continue
		}
		ticks, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(ticks) * clockTick
	}
	return sum, true
}

// Memory is one figure of a meminfo file, in bytes.
func Memory(file, key string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %s %q: %w", file, key, rest, err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, key)
}
