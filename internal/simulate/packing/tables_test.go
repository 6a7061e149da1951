package packing

import (
	"flag"
	"strings"
	"testing"
)

var (
	tableSeeds = flag.String("seeds", "42-51", "the seeds of the tables")
)

// BenchmarkTables measures what the documents say:
//
//	go test ./internal/simulate/packing -run '^$' -bench Tables -v -timeout 30m
func BenchmarkTables(t *testing.B) {
	tr, all := trace(t), seeds(t, *tableSeeds)
	var fills []Result
	var churns []ChurnResult
	for _, p := range Policies() {
		r, err := Fill(t.Context(), tr, p, all)
		if err != nil {
			t.Fatal(err)
		}
		fills = append(fills, r)
	}
	for _, traced := range []bool{false, true} {
		for _, load := range []float64{0.8, 0.9, 0.95, 1.1} {
			for _, p := range Policies()[1:] {
				r, err := Churn(t.Context(), tr, p, ChurnConfig{Load: load, Trace: traced}, all)
				if err != nil {
					t.Fatal(err)
				}
				churns = append(churns, r)
			}
		}
	}
	var out strings.Builder
	if err := WriteText(&out, fills); err != nil {
		t.Fatal(err)
	}
	out.WriteString("\n")
	if err := WriteChurnText(&out, churns); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
}
