package nearest

import (
	"strings"
	"testing"
)

func TestTheNearestWord(t *testing.T) {
	known := []string{"status", "gpu", "gpus", "memory", "command"}
	for word, want := range map[string]string{
		"staus": "status", "Satus": "status", "gpsu": "gpu", "mem": "memory", "command_line": "command", "status": "", "zebra": "", strings.Repeat("s", 65): "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]string{"gpuss": "gpus", "mem": "memory", "status": "", "gpx": "gpu"} {
		if got := strings.Join(Words(word, known), " "); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	flags := []string{"cpu", "gpu-limit", "gpu-memory", "gpu-memory-limit", "gpu-type", "gpus", "memory"}
	if got := strings.Join(Words("gpu", flags), " "); got != "gpus cpu gpu-type" {
		t.Errorf("gpu: %q", got)
	}
}
