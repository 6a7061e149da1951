package printers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fold writes names of nodes shortly: gpu-a[01-03,07],login.
func Fold(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	slices.Sort(names)
	names = slices.Compact(names)
	type group struct {
		stem  string
		width int
		n     []int
	}
	var groups []*group
	for _, name := range names {
		stem := strings.TrimRight(name, "0123456789")
		digits := name[len(stem):]
		n, err := strconv.Atoi(digits)
		if err != nil || len(digits) > 9 {
			groups = append(groups, &group{stem: name, width: -1})
			continue
		}
		if g := len(groups) - 1; g >= 0 && groups[g].stem == stem && groups[g].width == len(digits) {
			groups[g].n = append(groups[g].n, n)
			continue
		}
		groups = append(groups, &group{stem, len(digits), []int{n}})
	}
	var out []string
	for _, g := range groups {
		switch {
		case g.width < 0:
			out = append(out, g.stem)
		case len(g.n) == 1:
			out = append(out, fmt.Sprintf("%s%0*d", g.stem, g.width, g.n[0]))
		default:
			out = append(out, g.stem+"["+ranges(g.n, g.width)+"]")
		}
	}
	return strings.Join(out, ",")
}

// ranges writes sorted numbers as 1-3,7.
func ranges(n []int, width int) string {
	var out []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j == i {
			out = append(out, fmt.Sprintf("%0*d", width, n[i]))
		} else {
			out = append(out, fmt.Sprintf("%0*d-%0*d", width, n[i], width, n[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
