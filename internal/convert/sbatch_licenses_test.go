package convert_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
)

func TestLicensesOfScripts(t *testing.T) {
	for options, want := range map[string]map[string]int{
		"-L matlab":                    {"matlab": 1},
		"--licenses=matlab:2,ansys":    {"matlab": 2, "ansys": 1},
		"--licenses=matlab=2,matlab:1": {"matlab": 3},
		"--licenses=matlab:1|ansys:1":  nil, // either: no document says that
		"--ntasks=1":                   nil,
	} {
		if got := imported(t, []byte("#!/bin/bash\n#SBATCH "+options+"\ntrue\n")).Documents[0].Licenses; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", options, got, want)
		}
	}
	if _, err := convert.Import([]byte("#!/bin/bash\n#SBATCH --licenses=matlab:many\ntrue\n")); err == nil || !strings.Contains(err.Error(), "matlab:many") {
		t.Errorf("a number that is none: %v", err)
	}
}
