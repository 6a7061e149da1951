//go:build linux

package local

import (
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// TestWhatAnEndedTaskLeavesIsLikeNew: its directory and files become those of the
// next one, which sees nothing of it, whatever it did with them.
func TestWhatAnEndedTaskLeavesIsLikeNew(t *testing.T) {
	p := open(t, Options{})
	const look = `cd "$MUSTER_TASK_DIR"; ls -A . files; stat -c %a . files files/key out; cat files/key`
	var first string
	for i, before := range []string{"", "", `echo left >"$MUSTER_TASK_DIR/left"`, `mkdir "$MUSTER_TASK_DIR/files/more"; ln "$MUSTER_TASK_DIR/files/key" "$MUSTER_TASK_DIR/../../kept"; chmod 777 "$MUSTER_TASK_DIR"`, `rm -r "$MUSTER_TASK_DIR/files"`, "", ""} {
		a := shellTask("like", i, look+"\n"+before+"\n:")
		a.Files = []backend.File{{Name: "key", Data: []byte("secret")}}
		start(t, p, a)
		wantCode(t, end(t, p, a.ID), 0)
		got := outputOf(t, p, a.ID)
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("task %d sees\n%s, the first saw\n%s", i, got, first)
		}
		if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
			t.Fatal(err)
		}
	}
}
