package cli

import (
	"context"
	"strings"
	"testing"
)

// TestAClientSaysWhereServersAre looks at a program without a server, as it is
// released for other systems than Linux.
func TestAClientSaysWhereServersAre(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"get"}, {"server"}} {
		w := newWorld(t, nil)
		w.env["MUSTER_DATA_DIR"] = t.TempDir()
		if code := w.run(args...); code == 0 || !strings.Contains(w.err.String(), "MUSTER_SERVER") || strings.Contains(w.err.String(), "muster server") {
			t.Errorf("%v: exit code %d: %s", args, code, w.err.String())
		}
	}
	w := newWorld(t, nil)
	w.env["MUSTER_DATA_DIR"] = t.TempDir()
	w.s.Program.StartServer = func(context.Context, string, ...string) error { return nil }
	if w.run("get", "--no-autostart"); !strings.Contains(w.err.String(), "muster server") {
		t.Errorf("where a server can run it is not offered: %s", w.err.String())
	}
}
