package slurm

import "testing"

func TestHistoryIsReadOnlyForWhatHasEnded(t *testing.T) {
	for word, want := range map[string]bool{"RUNNING": false, "pd": false, "CG": false, "CD": true, "CANCELLED": true, "OOM": true, "all": true, "TO": true, "S": false} {
		if _, ended, err := wantedStates([]string{word}); err != nil || ended != want {
			t.Errorf("%s: %v, %v", word, ended, err)
		}
	}
	if _, ended, _ := wantedStates([]string{"R", "CD"}); !ended {
		t.Error("of two states the ended one is forgotten")
	}
}
