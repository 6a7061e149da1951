package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli/session"
)

// TestConfigurationFile: it says what the environment does not.
func TestConfigurationFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, env string
		args      []string
		want      string
	}{
		"no file":        {"", "", nil, "Running(Degraded)"},
		"file":           {"dialect: mcli\n", "", nil, "RUNNING"},
		"environment":    {"dialect: mcli\n", "modelarts", nil, "8 JOBSTAT_RUNNING"},
		"flag":           {"dialect: mcli\n", "", []string{"--dialect", "native"}, "Running(Degraded)"},
		"other settings": {"noAutostart: true\nproject: vision\n", "", nil, "Running(Degraded)"},
		"an empty one":   {"# nothing\n", "", nil, "Running(Degraded)"},
	} {
		w := newWorld(t, sampleAPI())
		home := t.TempDir()
		w.env["HOME"] = home
		if c.env != "" {
			w.env["MUSTER_DIALECT"] = c.env
		}
		if c.file != "" {
			if err := os.MkdirAll(filepath.Join(home, ".config", "muster"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".config", "muster", "config.yaml"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w.run(append([]string{"get", "llama-sft", "--columns", "status", "--no-headers"}, c.args...)...)
		if got := w.out.String(); got != c.want+"\n" {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, w.err.String())
		}
	}
}

func TestWrongConfigurationFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	for text, says := range map[string]string{
		"dialct: mcli\n":     `there is no setting "dialct"`,
		"dialect: [mcli]\n":  "dialect is not a text",
		"dialect: \"mcli\n":  "is not YAML",
		"dialect: klingon\n": `--dialect: "klingon" is not known`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, sampleAPI())
		w.env["MUSTER_CONFIG"] = path
		if code := w.run("get"); code != session.ExitUsage || !strings.Contains(w.err.String(), says) {
			t.Errorf("%q: exit code %d: %s; want %q", text, code, w.err.String(), says)
		}
	}
	w := newWorld(t, sampleAPI())
	w.env["MUSTER_CONFIG"] = path + ".not"
	if code := w.run("get"); code != session.ExitUsage {
		t.Errorf("a file that was named and is not there: exit code %d", code)
	}
}

// TestConfigView: each setting says who has the last word.
func TestConfigView(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("dialect: mcli\nproject: vision\nserver: http://example.org:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, sampleAPI())
	w.env["MUSTER_CONFIG"], w.env["MUSTER_PROJECT"], w.env["MUSTER_TOKEN"] = path, "speech", "do-not-show"
	w.env["MUSTER_SERVER"] = ""
	if code := w.run("config", "view", "--no-autostart"); code != session.ExitOK {
		t.Fatalf("exit code %d: %s", code, w.err.String())
	}
	for _, want := range []string{"server\thttp://example.org:1\tfile " + path, "project\tspeech\tenvironment MUSTER_PROJECT", "dialect\tmcli\tfile " + path, "noAutostart\ttrue\tflag --no-autostart", "token\tset\tenvironment MUSTER_TOKEN"} {
		if !strings.Contains(w.out.String(), want+"\n") {
			t.Errorf("there is no %q in\n%s", want, w.out.String())
		}
	}
	if strings.Contains(w.out.String(), "do-not-show") {
		t.Error("the token is shown")
	}
	w = newWorld(t, nil)
	w.env["MUSTER_CONFIG"], w.env["MUSTER_DATA_DIR"] = path, t.TempDir() // means the local server, whatever the file says
	w.run("config", "view", "-o", "json")
	if out := w.out.String(); !strings.Contains(out, `"value": "unix://`+w.env["MUSTER_DATA_DIR"]) || strings.Contains(out, "example.org") {
		t.Error(out)
	}
}
