package terms

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/convert/slurm"
)

// Hosts folds names: a[1-3],b.
func Hosts(names []string) string {
	type run struct{ from, to int }
	var heads []string
	numbers := map[string][]run{} // by head; the key of a name that is taken whole ends with a comma, as no name does
	for _, n := range names {
		head := strings.TrimRight(n, "0123456789")
		tail := n[len(head):]
		v, err := strconv.Atoi(tail)
		if err != nil || len(tail) > 1 && tail[0] == '0' {
			head, v = n+",", -1
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
			out = append(out, strings.TrimSuffix(h, ","))
		case len(rs) == 1 && rs[0].from == rs[0].to:
			out = append(out, h+parts[0])
		default:
			out = append(out, h+"["+strings.Join(parts, ",")+"]")
		}
	}
	return strings.Join(out, ",")
}

// Unfold is the names of a[1-3],b.
func Unfold(text string) ([]string, error) {
	names, err := slurm.Hostnames(text)
	if err != nil {
		return nil, cli.Wrong(fmt.Sprintf("%q: %v", text, err), "like gpu-[1-3,8],cpu-1")
	}
	return names, nil
}
