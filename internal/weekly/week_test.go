package weekly

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

func TestAWeekHasAName(t *testing.T) {
	now := time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC) // a Friday
	for text, want := range map[string]string{
		"last": "2026-W47 2026-11-16 2026-11-23", "this": "2026-W48 2026-11-23 2026-11-30", "2026-W01": "2026-W01 2025-12-29 2026-01-05", "2026-W53": "2026-W53 2026-12-28 2027-01-04",
	} {
		w, ok := Of(text, now)
		if got := w.Name + w.From.Format(" 2006-01-02") + w.To.Format(" 2006-01-02"); !ok || got != want {
			t.Errorf("%s is %s, %v, not %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"2025-W53", "2026-W00", "2026-W54", "yesterday", "", "2026-W4x"} {
		if _, ok := Of(text, now); ok {
			t.Errorf("%q is a week", text)
		}
	}
}

func TestAWeekIsAText(t *testing.T) {
	w, _ := Of("2026-W47", time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC))
	row := api.ReportRow{Project: "vision", GPUHours: 30, Cost: 60, Lost: 5, Displaced: 2, Idle: 1, Workloads: 7, Waits: 4, MeanWait: 90, Wait95: 600, Ends: map[string]int{"Completed": 5, "Failed": 2}}
	text := Text(w, "vision", &api.UsageReport{
		By: []string{"project"}, Currency: "EUR", Items: []api.ReportRow{row}, Total: row,
		Largest: []api.ReportRun{{Project: "vision", Name: "big", User: "ann", Phase: "Running", GPUHours: 20, Cost: 40}},
		Waited:  []api.WaitedFor{{Reason: "WaitingForCapacity", Hours: 9}, {Reason: "OverLimit", Hours: 1}}, Missing: []string{"the weather"},
	})
	for _, want := range []string{
		"week 2026-W47 (Mon 16 Nov 2026 to Sun 22 Nov 2026): vision", "7 workloads, 30.00 GPU-hours, 60.00 EUR", "5 Completed, 2 Failed", "3.00 GPU-hours failed, 2.00 had to be given up for others, 1.00 idle",
		"1m30s before a start, on average; 95 of 100 starts 10m0s or less", "WaitingForCapacity  9.00 h  90 %\n", "OverLimit           1.00 h  10 %\n", "vision/big  ann  20.00 GPU-hours, 40.00 EUR  Running", "Not known: the weather",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}
