package spec

import (
	"fmt"
	"testing"
)

func TestPriorityAndPreemptionFollowOneAnother(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: training":                                     "train true",
		"kind: distributed\nworkers: 2":                      "train true",
		"kind: workspace":                                    "build false",
		"kind: workspace\npreemptible: true":                 "interactive-preemptible true",
		"kind: workspace\npriority: interactive-preemptible": "interactive-preemptible true",
		"kind: inference":                                    "high false",
		"kind: training\npreemptible: false":                 "train false",
		"kind: training\npriority: high":                     "high false",
		"kind: training\npriority: high\npreemptible: true":  "high true",
		"kind: training\npriority: 99":                       "99 true",
		"kind: training\npriority: 0":                        "0 true",
		"kind: inference\npriority: medium-high":             "medium-high true",
	} {
		d := WithDefaults(mustParse(t, "command: ls\n"+text+"\n"))
		if got := fmt.Sprintf("%s %t", d.Priority, *d.Preemptible); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestAnotherPriorityLeavesPreemptionAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"priority: high":                     true,
		"priority: high\npreemptible: false": false,
		"priority: low":                      true,
	} {
		d := mustParse(t, "command: ls\n"+text+"\n")
		d.Follow(WithDefaults(mustParse(t, "command: ls\n")))
		if d.Defaults(); *d.Preemptible != want {
			t.Errorf("%q after train is preemptible: %t", text, *d.Preemptible)
		}
	}
	d := mustParse(t, "command: ls\n")
	d.Follow(WithDefaults(mustParse(t, "command: ls\npreemptible: false\n")))
	if d.Defaults(); !*d.Preemptible {
		t.Error("what was said before and is not said any more still holds")
	}
}
