package logfile

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// What a former backend has written is read to its end, also by who would follow it,
// and deleted with its workload.
func TestFormerOutputIsReadAndDeleted(t *testing.T) {
	t.Parallel()
	dir, id := Dir(t.TempDir()), core.TaskID{Workload: "w", Index: 1}
	if err := os.MkdirAll(dir.Workload("w"), 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := Append(dir.Log(id), dir.Index(id), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("one\ntwo\n"), time.Now())
	w.Close("")
	former := Former(dir)
	r, err := former.Logs(t.Context(), id, backend.LogOptions{Tail: 1, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || string(text) != "two\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := former.DeleteLogs(t.Context(), "../w"); err == nil {
		t.Error("something outside was deleted")
	}
	if err := former.DeleteLogs(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := former.Logs(t.Context(), id, backend.LogOptions{Tail: -1}); !errors.Is(err, backend.ErrNoLogs) {
		t.Errorf("after it was deleted: %v", err)
	}
}
