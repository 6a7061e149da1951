// Package sdk holds the SDKs; its tests run theirs.
package sdk

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// python is the system's Python 3 with the modules that are asked for. Where it
// lacks one the test is skipped, but not in CI.
func python(tb testing.TB, modules ...string) string {
	tb.Helper()
	lacks := tb.Skipf
	if os.Getenv("CI") != "" {
		lacks = tb.Fatalf
	}
	exe := "/usr/bin/python3" // whose packages the distribution has, before one that only comes first in PATH
	if _, err := os.Stat(exe); err != nil {
		if exe, err = exec.LookPath("python3"); err != nil {
			lacks("there is no python3: scripts/packages installs what the tests need")
		}
	}
	for _, m := range append([]string{"sys; assert sys.version_info >= (3, 9)"}, modules...) {
		if out, err := exec.Command(exe, "-c", "import "+m).CombinedOutput(); err != nil {
			lacks("%s cannot import %s (scripts/packages installs what the tests need): %s", exe, m, out)
		}
	}
	return exe
}

// run runs a program below sdk/python and returns what it wrote.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "python"
	cmd.Env = append(os.Environ(), append([]string{"PYTHONPATH=" + source(t), "PYTHONDONTWRITEBYTECODE=1"}, env...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it then ends the servers that it has started
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func source(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs(filepath.Join("python", "src"))
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// TestPython runs the SDK's own tests against servers of the built program.
func TestPython(t *testing.T) {
	exe := python(t)
	bin := os.Getenv("MUSTER_BIN") // as everywhere, a program that is built already
	if bin == "" {
		bin = filepath.Join(t.TempDir(), "muster")
		if out, err := exec.Command("go", "build", "-o", bin, "../cmd/muster").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	env := []string{"MUSTER_BIN=" + bin, "MUSTER_SERVER=", "MUSTER_TOKEN=", "MUSTER_PROJECT=", "MUSTER_CONFIG=" + os.DevNull}
	files, err := filepath.Glob("python/tests/test_*.py")
	if err != nil || len(files) < 10 {
		t.Fatalf("only %d files of tests were found (%v)", len(files), err)
	}
	out := run(t, env, exe, "-W", "error::ResourceWarning", "-m", "unittest", "-v", "tests")
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".py"); !strings.Contains(out, "(tests."+name+".") {
			t.Errorf("no test of %s has run", f)
		}
	}
	if i := strings.Index(out, "skipped"); i >= 0 {
		t.Errorf("a test was skipped: %s", out[max(0, i-200):])
	}
}

// TestTypes checks the package and its examples as strictly as there is.
func TestTypes(t *testing.T) {
	t.Parallel()
	exe := python(t, "mypy")
	cache := "--cache-dir=" + t.TempDir()
	run(t, nil, exe, "-m", "mypy", "--config-file", "pyproject.toml", cache)
	run(t, nil, exe, "-m", "mypy", "--config-file", "pyproject.toml", "--python-version", "3.9", cache)
	examples, err := filepath.Glob("../examples/as-documented/python/*.py")
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	for i := range examples {
		if examples[i], err = filepath.Abs(examples[i]); err != nil {
			t.Fatal(err)
		}
	}
	run(t, []string{"MYPYPATH=" + source(t)}, exe, slices.Concat([]string{"-m", "mypy", "--strict", "--config-file", os.DevNull, cache}, examples)...)
}

// TestWheel builds what is published, the wheel out of the source archive, and
// imports it from there.
func TestWheel(t *testing.T) {
	t.Parallel()
	exe := python(t, "build", "setuptools", "wheel")
	work, dist, site := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.CopyFS(work, os.DirFS("python")); err != nil { // building leaves things behind
		t.Fatal(err)
	}
	run(t, nil, exe, "-m", "build", "--no-isolation", "--outdir", dist, work)
	wheels, _ := filepath.Glob(filepath.Join(dist, "muster-*.whl"))
	archives, _ := filepath.Glob(filepath.Join(dist, "muster-*.tar.gz"))
	if len(wheels) != 1 || len(archives) != 1 {
		t.Fatalf("built %v and %v", wheels, archives)
	}
	run(t, nil, exe, "-m", "zipfile", "-e", wheels[0], site)
	for _, file := range []string{"muster/py.typed", "mcli/py.typed", "jobq/py.typed", "mcli/api/exceptions.py", "mcli/api/runs/api_create_run.py"} {
		if _, err := os.Stat(filepath.Join(site, file)); err != nil {
			t.Errorf("the wheel lacks it: %v", err)
		}
	}
	code := `import sys; sys.path.insert(0, sys.argv[1])
import muster, mcli, jobq, mcli.api.runs
from mcli import RunConfig, create_run
for n in muster.__all__: getattr(muster, n)
assert muster.__file__.startswith(sys.argv[1]), muster.__file__
meta = open(sys.argv[1] + "/muster-%s.dist-info/METADATA" % muster.__version__).read()
assert "Requires-Dist" not in meta and "Requires-Python: >=3.9" in meta, meta`
	run(t, nil, exe, "-I", "-c", code, site)
}

// BenchmarkImport is how long imports take, in milliseconds and without the
// start of Python: on the clock, the fastest of all, and of the processor.
func BenchmarkImport(b *testing.B) {
	exe := python(b)
	for _, bb := range []struct{ name, code string }{
		{"muster", "import muster"},
		{"in-run", "from muster import report, checkpoint, resume_from, this_run, on_preempt"},
		{"client", "from muster import Client"},
		{"mcli", "from mcli import create_run, RunConfig, get_run, follow_run_logs, RunStatus"},
		{"jobq", "from jobq import job, JobOptions, ResourceOptions"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			fastest, busy := time.Hour, time.Duration(0)
			for b.Loop() {
				code := "import time; a, b = time.perf_counter(), time.process_time(); " + bb.code + "; print('%fs %fs' % (time.perf_counter() - a, time.process_time() - b))"
				cmd := exec.Command(exe, "-c", code)
				cmd.Env = append(os.Environ(), "PYTHONPATH="+source(b))
				out, err := cmd.Output()
				if err != nil {
					b.Fatal(err)
				}
				clock, cpu, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
				took, err := time.ParseDuration(clock)
				if err != nil {
					b.Fatal(err)
				}
				worked, err := time.ParseDuration(cpu)
				if err != nil {
					b.Fatal(err)
				}
				fastest, busy = min(fastest, took), busy+worked
			}
			b.ReportMetric(fastest.Seconds()*1e3, "ms/import")
			b.ReportMetric(busy.Seconds()*1e3/float64(b.N), "cpu-ms/import")
		})
	}
}
