package convert_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
)

// A variable of the shell that submits is a secret where it is the whole value of a
// variable of the workload, as in files of SkyPilot and dstack.
func TestVariablesOfTheSubmittersShellAreSecrets(t *testing.T) {
	r := imported(t, []byte("SEED=7\nrunai training submit a -i b -e WANDB_KEY=\"$WANDB_API_KEY\" --environment HF_TOKEN=${HF_TOKEN} -e \"OTHER=$OTHER_KEY\" --environment=LAST=$LAST -e SEED=$SEED -- true\n"))
	d := r.Documents[0]
	var all []string
	for _, s := range d.Secrets {
		all = append(all, s.Env+" of "+s.Name)
	}
	if got, want := strings.Join(all, ", "), "WANDB_KEY of wandb-api-key, HF_TOKEN of hf-token, OTHER of other-key, LAST of last"; got != want || d.Env["SEED"] != "7" || len(d.Env) != 1 || len(r.Lossy()) > 0 {
		t.Errorf("secrets %s, want %s; variables %v; lost: %q", got, want, d.Env, lost(r))
	}
	for _, line := range []string{"-p $TEAM", "-e A=x$TEAM", "-e A=${TEAM%x}", "-e $TEAM", "-v $TEAM", "-e A=$(date)"} {
		if _, err := convert.Import([]byte("runai training submit a -i b " + line + "\n")); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}

// Commands that look at workloads of a kind submit nothing, and lose nothing.
func TestCommandsBesideASubmissionAreNotes(t *testing.T) {
	r := imported(t, []byte("runai training submit a -i b -- true\nrunai training exec a -it -- bash\nrunai workspace list\nrunai training standard logs a\nrunai pytorch describe a\nrunai training pytorch delete a\nrunai inference update a\n"))
	if len(r.Documents) != 1 || len(r.Lossy()) > 0 {
		t.Errorf("%d documents; lost: %q", len(r.Documents), lost(r))
	}
	n := 0
	for _, note := range r.Notes {
		if note.Reason == "submits nothing" {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d notes of commands that submit nothing, want 6", n)
	}
	if _, err := convert.Import([]byte("runai training submit a -i b -- true\nrunai training sbumit a\n")); err == nil {
		t.Error("a command that is none is passed over")
	}
}
