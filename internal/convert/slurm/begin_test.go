package slurm

import (
	"testing"
	"time"
)

func TestBegin(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2027, 1, 31, 13, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"now": "2027-01-31T13:30:00+01:00", "now+60": "2027-01-31T13:31:00+01:00", "now+1hour": "2027-01-31T14:30:00+01:00", "now+2days": "2027-02-02T13:30:00+01:00",
		"16:00": "2027-01-31T16:00:00+01:00", "12:00": "2027-02-01T12:00:00+01:00", "noon": "2027-02-01T12:00:00+01:00", "3PM": "2027-01-31T15:00:00+01:00",
		"tomorrow": "2027-02-01T00:00:00+01:00", "2027-03-01": "2027-03-01T00:00:00+01:00", "2027-03-01T08:00": "2027-03-01T08:00:00+01:00",
		"fika": "fika", "now+": "now+", "now+1fortnight": "now+1fortnight", "now+99999999999999999999": "now+99999999999999999999", "2027-03-01T08:00:00Z": "2027-03-01T08:00:00Z",
	} {
		if got := Begin(text, now); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
