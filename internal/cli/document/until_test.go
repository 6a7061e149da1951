package document

import (
	"testing"
	"time"
)

func TestDeadlinesAsPeopleWriteThem(t *testing.T) {
	zone := time.FixedZone("X", 2*3600)
	now := time.Date(2026, 11, 25, 10, 30, 0, 0, zone) // a Wednesday
	for text, want := range map[string]string{
		"fri 09:00":            "2026-11-27T09:00:00+02:00",
		"Friday 9:00":          "2026-11-27T09:00:00+02:00",
		"wed 09:00":            "2026-12-02T09:00:00+02:00",
		"wed 11:00":            "2026-11-25T11:00:00+02:00",
		"today 9:00":           "2026-11-25T09:00:00+02:00",
		"tomorrow 18:00":       "2026-11-26T18:00:00+02:00",
		"10:00":                "2026-11-26T10:00:00+02:00",
		"11:00":                "2026-11-25T11:00:00+02:00",
		"2026-11-27T09:00":     "2026-11-27T09:00:00+02:00",
		"2026-11-27 09:00":     "2026-11-27T09:00:00+02:00",
		"8h":                   "2026-11-25T16:30:00Z",
		"2027-01-31T08:00:00Z": "2027-01-31T08:00:00Z",
		"fritag 09:00":         "fritag 09:00",
		"soon":                 "soon",
	} {
		if got := Until(text, now); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
