package packing

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// maxSeeds is how many seeds one experiment takes.
const maxSeeds = 10_000

// ParseSeeds reads a list such as "42-51" or "1,5,42-51".
func ParseSeeds(s string) ([]uint64, error) {
	var seeds []uint64
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.ParseUint(lo, 10, 64)
		to, err2 := strconv.ParseUint(hi, 10, 64)
		if err1 != nil || err2 != nil || to < from {
			return nil, fmt.Errorf("seeds %q: want numbers and ranges such as 42-51 or 1,5,9", s)
		}
		if to-from >= maxSeeds || len(seeds)+int(to-from) >= maxSeeds {
			return nil, fmt.Errorf("seeds %q: more than %d; ask for fewer", s, maxSeeds)
		}
		for n := from; ; n++ {
			seeds = append(seeds, n)
			if n == to {
				break
			}
		}
	}
	return seeds, nil
}

// Named returns the policy of a name among all, or an error with the names
// there are.
func Named(all []Policy, name string) (Policy, error) {
	names := make([]string, len(all))
	for i, p := range all {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Policy{}, fmt.Errorf("policy %q: there are %s", name, strings.Join(names, ", "))
}

// WriteText writes a table of results; all but the seed is percent of the GPUs.
func WriteText(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tAT 100 %\tSD\tWORST (SEED)\tAT 130 %\tFRAGMENTED AT 80/90/95 %\tMISSED")
	for i := range results {
		r := &results[i]
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f (%d)\t%.2f\t%.2f / %.2f / %.2f\t%d\n", r.Policy, r.Mean, r.SD, r.Worst, r.WorstSeed,
			r.Saturated, r.Fragmented[0], r.Fragmented[1], r.Fragmented[2], r.Missed)
	}
	return t.Flush()
}

// WriteChurnText writes a table of results with departures; waits are seconds.
func WriteChurnText(w io.Writer, results []ChurnResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tDURATIONS\tLOAD\tALLOCATED\tWHILE WAITING\tTIME WAITING\tQUEUE\tFRAGMENTED\tWAIT\t≤1 GPU\t8 GPUS\tMAX\tNEVER\tMISSED")
	for i := range results {
		r, m := &results[i], &results[i].Mean
		durations, busy := "exponential", "-"
		if r.Config.Trace {
			durations = "trace"
		}
		if m.Waiting > 0 {
			busy = fmt.Sprintf("%.2f", m.Busy)
		}
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%s\t%.0f %%\t%.1f\t%.2f\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t%d\n", r.Policy, durations, r.Config.Load,
			m.Allocated, busy, m.Waiting, m.Queue, m.Fragmented, m.Wait, m.WaitGPU, m.WaitLarge, m.MaxLarge, m.Never, m.Missed)
	}
	return t.Flush()
}
