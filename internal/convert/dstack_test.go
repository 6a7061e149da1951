package convert_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommandsOfDstackAreShell: each goes on only where the one before has
// succeeded, whatever it looks like.
func TestCommandsOfDstackAreShell(t *testing.T) {
	each(t, func(t *testing.T, name string, data []byte) {
		if !strings.HasPrefix(name, "dstack/") {
			return
		}
		argv := imported(t, data).Documents[0].Command.Argv
		if len(argv) != 3 {
			return // the image's own
		}
		if out, err := exec.Command("/bin/sh", "-n", "-c", argv[2]).CombinedOutput(); err != nil {
			t.Errorf("%s\n%s", out, argv[2])
		}
	})
	r := imported(t, []byte("type: task\nname: a\nimage: a\ncommands:\n- sleep 0 &\n- 'echo one # not two'\n- |\n  echo two\n  false\n- echo three\n"))
	out, err := exec.Command("/bin/sh", "-c", r.Documents[0].Command.Argv[2]).CombinedOutput()
	if err == nil || string(out) != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
}
