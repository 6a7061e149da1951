package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli/session"
)

// localServer serves the samples on the socket of a data directory.
func localServer(t *testing.T, socket string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Error(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/", sampleAPI())
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}}
	srv.Start()
	t.Cleanup(srv.Close)
}

// shortDir is a directory whose sockets have short paths.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestAutostart(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	w := newWorld(t, nil)
	w.env["MUSTER_NO_AUTOSTART"], w.env["MUSTER_DATA_DIR"] = "", dir
	started := 0
	w.s.Program.StartServer = func(_ context.Context, dataDir string, _ ...string) error {
		started++
		if dataDir != dir {
			t.Errorf("on %s, want %s", dataDir, dir)
		}
		localServer(t, filepath.Join(dir, "elsewhere"))
		return os.WriteFile(filepath.Join(dir, session.AddressName), []byte("unix://"+filepath.Join(dir, "elsewhere")+"\n"), 0o600)
	}
	if code := w.run("get", "-A", "-o", "name"); code != 0 || !strings.Contains(w.out.String(), "sweep\n") {
		t.Errorf("exit code %d: %s", code, w.err.String())
	}
	if !strings.Contains(w.err.String(), "muster: started a local server (data in "+dir+"; muster server stop ends it)\n") {
		t.Errorf("%q", w.err.String())
	}
	w.s.Conn = nil
	if code := w.run("get", "-A", "-o", "name"); code != 0 || started != 1 {
		t.Errorf("exit code %d, started %d times: a server that runs is used", code, started)
	}
}

func TestAutostartForbidden(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"get", "--no-autostart"}, {"server", "status"}, {"server", "stop"}} {
		w := newWorld(t, nil)
		w.env["MUSTER_DATA_DIR"] = shortDir(t)
		w.env["MUSTER_NO_AUTOSTART"] = "0"
		w.s.Program.StartServer = func(context.Context, string, ...string) error { t.Error("a server was started"); return nil }
		if code := w.run(args...); code != session.ExitUnreachable {
			t.Errorf("%v: exit code %d: %s", args, code, w.err.String())
		}
	}
}

func TestAServerThatDiesIsReported(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	w := newWorld(t, nil)
	w.env["MUSTER_NO_AUTOSTART"], w.env["MUSTER_DATA_DIR"] = "", dir
	if err := os.WriteFile(filepath.Join(dir, session.LogName), []byte("begun\nthe database is damaged\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.s.Program.StartServer = func(context.Context, string, ...string) error { return errors.New("exit status 1") }
	if code := w.run("get"); code != session.ExitUnreachable {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"did not start: exit status 1", "its log ends: the database is damaged", "fix: muster server --data-dir " + dir} {
		if !strings.Contains(w.err.String(), want) {
			t.Errorf("%q is missing in\n%s", want, w.err.String())
		}
	}
}

func TestDataDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string
	}{
		{"/f", map[string]string{"MUSTER_DATA_DIR": "/e", "XDG_DATA_HOME": "/x"}, "/f"},
		{"", map[string]string{"MUSTER_DATA_DIR": "/e", "XDG_DATA_HOME": "/x"}, "/e"},
		{"", map[string]string{"XDG_DATA_HOME": "/x"}, "/x/muster"},
	} {
		w := newWorld(t, nil)
		w.env, w.s.DataDir = c.env, c.flag
		if got, err := w.s.Dir(); err != nil || got != c.want {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
}
