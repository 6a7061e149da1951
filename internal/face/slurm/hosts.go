package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// hosts folds names: a[1-3],b.
func hosts(names []string) string {
	type run struct{ from, to int }
	var heads []string
	numbers := map[string][]run{}
	for _, n := range names {
		head := strings.TrimRight(n, "0123456789")
		tail := n[len(head):]
		v, err := strconv.Atoi(tail)
		if err != nil || len(tail) > 1 && tail[0] == '0' {
			head, v = n, -1
		}
		if _, ok := numbers[head]; !ok {
			heads = append(heads, head)
			numbers[head] = nil
		}
		if v < 0 {
			continue
		}
		rs := numbers[head]
		if len(rs) > 0 && rs[len(rs)-1].to+1 == v {
			rs[len(rs)-1].to = v
		} else {
			rs = append(rs, run{v, v})
		}
		numbers[head] = rs
	}
	var out []string
	for _, h := range heads {
		var parts []string
		for _, r := range numbers[h] {
			if r.from == r.to {
				parts = append(parts, strconv.Itoa(r.from))
			} else {
				parts = append(parts, fmt.Sprintf("%d-%d", r.from, r.to))
			}
		}
		switch rs := numbers[h]; {
		case len(rs) == 0:
			out = append(out, h)
		case len(rs) == 1 && rs[0].from == rs[0].to:
			out = append(out, h+parts[0])
		default:
			out = append(out, h+"["+strings.Join(parts, ",")+"]")
		}
	}
	return strings.Join(out, ",")
}

// unfold is the names of a[1-3],b.
func unfold(text string) []string {
	var out []string
	for _, part := range splitOutside(text) {
		head, rest, ok := strings.Cut(part, "[")
		inner, tail, closed := strings.Cut(rest, "]")
		if !ok || !closed {
			if part != "" {
				out = append(out, part)
			}
			continue
		}
		for r := range strings.SplitSeq(inner, ",") {
			from, to, isRange := strings.Cut(r, "-")
			if !isRange {
				to = from
			}
			a, err1 := strconv.Atoi(from)
			b, err2 := strconv.Atoi(to)
			if err1 != nil || err2 != nil || b < a || b-a > 100_000 {
				out = append(out, part)
				break
			}
			for i := a; i <= b; i++ {
				out = append(out, fmt.Sprintf("%s%0*d%s", head, len(from), i, tail))
			}
		}
	}
	return out
}

// splitOutside splits at the commas that stand in no brackets.
func splitOutside(text string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range text {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			out, from = append(out, text[from:i]), i+1
		}
	}
	return append(out, text[from:])
}
