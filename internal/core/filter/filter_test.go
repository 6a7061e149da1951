package filter

import (
	"fmt"
	"testing"
	"time"
)

func TestMatches(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	r := Row{
		ID: "06h0", Number: 17, Name: "Train-moons", Project: "vision", User: "ana", Kind: "training", Phase: "Queued", Reason: "", Words: []string{"Pending"},
		GPUType: "nvidia-H100", GPUs: 8, Priority: 80, Attempt: 1, Created: now.Add(-3 * time.Hour), Labels: map[string]string{"team": "Red", "x": ""},
		Nodes: []string{"gpu-07"}, Preemptible: true, Conditions: []string{"Degraded"},
	}
	for text, want := range map[string]bool{
		"": true, "moons": true, "-moons": false, "nothing": false, "status:queued": true, "status:running,queued": true, "-status:queued": false, "status:waiting": true,
		"status:pending": true, "status:bad": false, "user:@me": true, "user:bob": false, "project:vis*": true, "name:train*s": true, "name:tr*x": false,
		"gpus>=8": true, "gpus>8": false, "gpus:8": true, "priority<80": false, "try:1": true, "try:2": false, "age<2h": false, "age>2h": true, "age:1d": true, "ended<1d": false, "status:started": false, "node:gpu-*": true,
		"gpu:h100": true, "label:team": true, "label.team:red": true, "label.team:blue": false, "is:preemptible": true, "is:degraded": true, "is:idle": false, "id:17": true,
		`name:"Train-moons" gpus>1`: true, "moons status:failed": false, "status:": true, "foo:bar": false, "name:t*n*n*": true, "name:*moons": true, "name:aa*a": false,
	} {
		terms, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got := Matches(terms, r, "ana", now); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	r.Phase, r.Ended = "Restarting", now.Add(-time.Hour)
	for text, want := range map[string]bool{"ended<2h": true, "ended:30m": false, "status:started": true, "status:running": false} {
		if terms, err := Parse(text); err != nil || Matches(terms, r, "ana", now) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"gpus>many", "age<soon", "ended<soon", "is:happy", "priority:high"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestSlips(t *testing.T) {
	for text, want := range map[string]string{
		"staus:failed": "map[staus:status]", "moons status:failed label.team:red": "map[]", "-gpu>=8 gpsu>8": "map[gpsu:gpu]", "http://x": "map[http:]",
	} {
		if got := fmt.Sprint(Slips(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`-status:failed,lost "a b" label.x/y:"1 2" age>=2d`)
	f.Fuzz(func(t *testing.T, text string) {
		terms, err := Parse(text)
		if err == nil {
			Matches(terms, Row{Labels: map[string]string{"a": "b"}}, "me", time.Time{})
		}
	})
}
