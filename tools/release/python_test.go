package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestVersionsOfPython(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3":                       "1.2.3",
		"1.2.3-rc.1":                  "1.2.3rc1",
		"1.2.3-beta":                  "1.2.3b0",
		"0.1.0-dev.12.gabcdef0":       "0.1.0.dev12+gabcdef0",
		"0.1.0-dev.12.gabcdef0.dirty": "0.1.0.dev12+gabcdef0.dirty",
		"1.2.3-rc.1.7.gabcdef0":       "1.2.3rc1+7.gabcdef0",
		"1.2.3-something":             "",
	} {
		got, err := pep440(version)
		if got != want || (err == nil) == (want == "") {
			t.Errorf("%s: %q (%v), want %q", version, got, err, want)
		}
	}
}

// TestTheWheelIsInstalled installs the wheel by pip into an environment that has nothing
// else, without a network.
func TestTheWheelIsInstalled(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/python3")
	if out, err := exec.Command("/usr/bin/python3", "-c", "import build, setuptools, wheel, ensurepip").CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("scripts/packages installs what this needs: %s", out)
		}
		t.Skipf("this takes Python's build, setuptools, wheel and ensurepip; scripts/packages installs them: %s", out)
	}
	r := made(t)
	env := filepath.Join(t.TempDir(), "env")
	says(t, "/usr/bin/python3", "-m", "venv", env)
	wheel := filepath.Join(r.out, "muster-9.8.7-py3-none-any.whl")
	python := filepath.Join(env, "bin", "python")
	says(t, python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
	if got := says(t, python, "-I", "-c", "import muster, mcli, jobq; print(muster.__version__, muster.Client.__name__)"); got != "9.8.7 Client" {
		t.Errorf("it says %q", got)
	}
	if got := says(t, python, "-m", "pip", "check", "--disable-pip-version-check"); got != "No broken requirements found." {
		t.Error(got)
	}
	for _, f := range unpacked(t, filepath.Join(r.out, "muster-9.8.7.tar.gz")) {
		if filepath.Base(f.name) == "_version.py" && string(f.data) == "\"\"\"The version of this package.\"\"\"\n\n__version__ = \"9.8.7\"\n" {
			return
		}
	}
	t.Error("the source archive is not of this version")
}
