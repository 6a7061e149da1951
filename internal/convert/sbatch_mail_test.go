package convert_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
)

func TestMailOfScripts(t *testing.T) {
	for options, want := range map[string]string{
		"--mail-type=BEGIN --mail-user=a@b.c":                  "a@b.c: Running",
		"--mail-type=BEGIN --mail-type=FAIL --mail-user=a@b.c": "a@b.c: Running Failed TimedOut Lost",
		"--mail-type=fail,TIME_LIMIT --mail-user=a@b.c":        "a@b.c: Failed TimedOut Lost",
		"--mail-type=TIME_LIMIT_90 --mail-user=a@b.c,d@e":      "a@b.c: DeadlineNear|d@e: DeadlineNear",
		"--mail-type=ALL --mail-user=a@b.c":                    "a@b.c: Running Completed Failed Stopped Canceled Preempted TimedOut Lost Backoff",
		"--mail-type=NONE --mail-user=a@b.c":                   "",
		"--mail-user=a@b.c":                                    "",
	} {
		var got []string
		for _, n := range imported(t, []byte("#!/bin/bash\n#SBATCH "+options+"\ntrue\n")).Documents[0].Notifications {
			got = append(got, n.Email+": "+strings.Join(n.On, " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
	if _, err := convert.Import([]byte("#!/bin/bash\n#SBATCH --mail-type=SOMETIMES --mail-user=a@b.c\ntrue\n")); err == nil || !strings.Contains(err.Error(), "SOMETIMES") {
		t.Errorf("an unknown word: %v", err)
	}
}
