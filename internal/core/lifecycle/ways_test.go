package lifecycle

import (
	"slices"
	"strings"
	"testing"
)

func TestSaid(t *testing.T) {
	for _, c := range []struct {
		d    Dialect
		word string
		want []string
	}{
		{Modelarts, "9", []string{"Terminating on its way to Stopped, Preempted, TimedOut or Deleting", "Deleting for any other reason"}},
		{Modelarts, "JOBSTAT_MOUNT_FAILED", []string{"Failed because of MountFailed", "Deleted, when it had ended so or was ended so by the deletion"}},
		{Modelarts, "scaling", []string{"Running while Scaling holds"}},
		{Modelarts, "0", []string{"any phase that holds resources, while the whole backend does not report"}},
		{Modelarts, "8", []string{
			"Running or Restarting", "Terminating on its way to Queued, Reserved, Backoff, Publishing or Completed",
			"Terminating on its way to Failed for any other reason",
		}},
		{RunaiJob, "errimagepull", []string{"Starting, while its task says ErrImagePull"}},
		{RunaiJob, "Init:0/3", []string{"Starting, while its task says Init:A/B"}},
		{RunaiJob, "Terminating", []string{"Terminating on its way to Queued, Reserved, Stopped, Preempted, TimedOut or Deleting"}},
		{RunaiWorkload, "Resuming", []string{"Submitted, Reviewing or Building, after the first attempt"}},
		{RunaiWorkload, "Creating", []string{"Submitted, Reviewing or Building, in the first attempt"}},
		{Jobq, "Succeeded", []string{"Completed", "Deleting, when that was its word before", "Deleted, when it had ended so or was ended so by the deletion"}},
		{Mcli, "TERMINATING", []string{"Publishing", "Terminating", "Deleting, when that was its word before"}},
		{Mcli, "nonsense", nil},
	} {
		if got := Ways(c.d, c.word); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q", c.d, c.word, got)
		}
	}
}

// TestSaidNamesEveryPhase: the lines of a word speak of exactly the phases in
// which PhasesOf takes it.
func TestSaidNamesEveryPhase(t *testing.T) {
	for _, d := range Dialects() {
		for _, w := range Words(d) {
			ways := Ways(d, w.Status)
			if len(ways) == 0 {
				t.Errorf("nobody knows how %s comes to say %s", d, w.Status)
			}
			var named []Phase
			for _, p := range Phases() {
				if slices.ContainsFunc(ways, func(way string) bool {
					if strings.HasPrefix(way, "any phase that holds resources") {
						return p.Held
					}
					phases, _, _ := strings.Cut(way, " on its way")
					phases, _, _ = strings.Cut(phases, " because")
					phases, _, _ = strings.Cut(phases, ", when")
					phases, _, _ = strings.Cut(phases, ", while")
					return slices.Contains(strings.FieldsFunc(phases, func(r rune) bool { return r == ',' || r == ' ' }), string(p.Phase))
				}) {
					named = append(named, p.Phase)
				}
			}
			if heard := PhasesOf(d, w.Status); !slices.Equal(named, heard) {
				t.Errorf("%s %s: said in %v, heard in %v", d, w.Status, named, heard)
			}
		}
	}
}
