package packing

import (
	"flag"
	"strings"
	"testing"
)

var (
	tables     = flag.Bool("tables", false, "measure the tables of docs/benchmarks.md (minutes)")
	tableSeeds = flag.String("seeds", "42-51", "the seeds of -tables")
)

// TestTables measures what the documents say:
//
//	go test ./internal/simulate/packing -run TestTables -tables -v -timeout 30m
func TestTables(t *testing.T) {
	if !*tables {
		t.Skip("measures for minutes: add -tables")
	}
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
