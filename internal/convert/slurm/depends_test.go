package slurm

import (
	"strings"
	"testing"
)

// TestDependencies has for options what slurmctld 22.05.8 waits for.
func TestDependencies(t *testing.T) {
	for option, want := range map[string]string{
		"afterok:1_3":                        "1[3]",
		"afterok:1_3:1_4":                    "1[3] 1[4]",
		"afterok:1_[1-3]":                    "1[1-3]",
		"afterok:1_*":                        "1",
		"afterok:2?afterany:1_2":             "2? 1[2]ended?",
		"afterok:1_3?afterok:2,afternotok:2": "1[3]? 2? 2failed?",
		"after:1_2+3":                        "1[2]started",
		"afterok:1_x":                        "problem",
		"afterok:abc":                        "problem",
		"foo:3":                              "problem",
	} {
		r, err := Import([]byte("#!/bin/sh\ntrue\n"), Submission{Options: []string{"--dependency=" + option}})
		if err != nil {
			if want != "problem" {
				t.Errorf("%s: %v", option, err)
			}
			continue
		}
		var all []string
		for _, d := range r.Documents {
			for _, a := range d.After {
				text := a.Workload + a.When
				if a.Tasks != "" {
					text = a.Workload + "[" + a.Tasks + "]" + a.When
				}
				if a.Any {
					text += "?"
				}
				all = append(all, text)
			}
		}
		got := strings.Join(all, " ")
		if got != want {
			t.Errorf("%s: %s, want %s", option, got, want)
		}
	}
}
