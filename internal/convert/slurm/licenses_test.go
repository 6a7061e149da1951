package slurm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert/source"
)

// TestLicenseNames has names as sites of Slurm choose them, which are no names of a
// document: they are written as its names are, as accounts and jobs are.
func TestLicenseNames(t *testing.T) {
	for value, want := range map[string]string{
		"SCRATCH":                  "map[scratch:1]",
		"cscratch1,cfs:2":          "map[cfs:2 cscratch1:1]",
		"MATLAB_Toolbox:3,scratch": "map[matlab-toolbox:3 scratch:1]",
		"SCRATCH,scratch":          "map[scratch:2]",
		"ansys@slurmdb:2":          "map[ansys-slurmdb:2]",
	} {
		res, err := Import([]byte("#!/bin/sh\n#SBATCH --licenses="+value+"\ntrue\n"), Submission{})
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if got := fmt.Sprint(res.Documents[0].Licenses); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
		said := false
		for _, n := range res.Notes {
			said = said || n.Field == "--licenses" && n.Fate == source.Translated && strings.Contains(n.Reason, "lower-case") && !n.Lossy
		}
		if changed := strings.ToLower(value) != value || strings.Contains(value, "@"); said != changed {
			t.Errorf("%s: that names change is said: %v", value, said)
		}
	}
	if _, err := Import([]byte("#!/bin/sh\n#SBATCH -L ___\ntrue\n"), Submission{}); err == nil {
		t.Error("a name without letters is taken")
	}
}
