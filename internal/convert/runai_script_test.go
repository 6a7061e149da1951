package convert_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/runai"
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

// A script has the variables of the shell that runs it, but for those that it sets, and
// for values that may be secret.
func TestAScriptHasTheVariablesOfWhoeverRunsIt(t *testing.T) {
	around := map[string]string{"TEAM": "nlp", "HOME": "/home/ada", "SEED": "1", "HF_TOKEN": "t"}
	r, err := runai.Script([]byte("SEED=7\nDAY=$(date)\nrunai submit --name a -p $TEAM -i b --host-path path=${HOME},mount=/h -e SEED=$SEED -e HF_TOKEN=$HF_TOKEN -- true\n"), func(name string) (string, bool) {
		text, set := around[name]
		return text, set
	})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Documents[0]
	if d.Project != "nlp" || len(d.Volumes) != 1 || d.Volumes[0].HostPath != "/home/ada" || d.Env["SEED"] != "7" || len(d.Secrets) != 1 || d.Secrets[0].Env != "HF_TOKEN" {
		t.Errorf("%+v", d)
	}
	for _, line := range []string{"-p $DAY", "-p $NOBODY"} {
		_, err := runai.Script([]byte("DAY=$(date)\nrunai submit --name a -i b "+line+" -- true\n"), func(name string) (string, bool) { return "d", name == "DAY" })
		if err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}

// What kubectl shows loses nothing, and policies of pods say nothing new.
func TestWhatOnlyLooksLosesNothing(t *testing.T) {
	r := imported(t, []byte("runai training submit a -i b --restart-policy Never --backoff-limit 2 -- true\nkubectl logs a-0-0\nkubectl get pods\n"))
	if len(r.Lossy()) > 0 || r.Documents[0].Retry.Limit != 2 {
		t.Errorf("lost: %q", lost(r))
	}
	if r := imported(t, []byte("runai training submit a -i b --restart-policy Always -- true\nkubectl apply -f c.yaml\n")); len(r.Lossy()) != 2 {
		t.Errorf("lost: %q", lost(r))
	}
}
