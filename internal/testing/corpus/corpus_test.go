package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folder has one file of each verdict.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plain.sh":    "#!/bin/bash\n#SBATCH --time=10\necho hello\n",
		"noted.yaml":  "run: echo hello\nresources: {cpus: 0.1, region: here}\n",
		"lossy.yaml":  "run: \"false\"\nresources: {cpus: 0.1}\nfile_mounts: {/b: ./b}\n",
		"lossy2.yaml": "run: \"false\"\nresources: {cpus: 0.1}\nfile_mounts: {/b: ./c}\n",
		"bad/no.yaml": "apiVersion: batch/v1\nkind: ScheduledWorkflow\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEveryFileIsCountedWithItsReasons(t *testing.T) {
	var b bytes.Buffer
	if err := run([]string{"-files", folder(t)}, &b); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"format files clean with notes lossy refused", "kubernetes 1 0 0 0 1", "sbatch 1 1 0 0 0", "skypilot 3 0 1 2 0",
		"refused, files by reason: 1 kind: no document can be made of a ScheduledWorkflow bad/no.yaml",
		"2 file_mounts./b: a process of the machine sees its own files; write an image, or use the path itself lossy.yaml lossy2.yaml", "with notes skypilot noted.yaml",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, b.String())
		}
	}
	if err := run([]string{t.TempDir()}, &b); err == nil || !strings.Contains(err.Error(), "there is no file in") {
		t.Errorf("an empty folder: %v", err)
	}
	if err := run(nil, &b); err == nil || !strings.Contains(err.Error(), "make corpus DIR=") {
		t.Errorf("no folder: %v", err)
	}
}

// The server that files run on is its own, and nothing of it is left.
func TestWhatIsImportedIsRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "muster")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/musterhq/muster/cmd/muster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var b bytes.Buffer
	if err := run([]string{"-run", program, "-files", folder(t)}, &b); err != nil {
		t.Fatal(err)
	}
	_, ran, _ := strings.Cut(strings.Join(strings.Fields(b.String()), " "), "run: ")
	if !strings.Contains(ran, "2 ended well noted.yaml plain.sh") || !strings.Contains(ran, "2 exit code 10") {
		t.Errorf("it says %s", b.String())
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%d things are left behind, %v", len(left), err)
	}
}

// Jobs that end one after another are waited for until the last has; those that do not
// end are not.
func TestLargeArraysAreWaitedFor(t *testing.T) {
	const wait = time.Second
	n, asked := 15, 0
	if !settles(func() (int, bool) {
		if asked++; asked%2 == 0 { // that nobody answers now and then is no end
			return 0, false
		}
		time.Sleep(wait / 10) // all of them take far longer than the wait
		n = max(n-1, 0)
		return n, true
	}, wait) || n > 0 {
		t.Errorf("%d jobs were left when it gave up", n)
	}
	begun := time.Now()
	if settles(func() (int, bool) { return 3, true }, wait) || time.Since(begun) < wait {
		t.Errorf("it waited %s for jobs that stay", time.Since(begun))
	}
	grows := 0
	if settles(func() (int, bool) { grows++; return grows, true }, wait) {
		t.Error("jobs that become ever more have ended")
	}
}

// Told is what a line names that sbatch says here alone, and nothing beside it.
func TestToldIsWhatALineNames(t *testing.T) {
	lines := ownLines("Submitted batch job 20001\n", "20.sh:3: ntasks-per-gpu: SLURM_CPUS_ON_NODE is that of all its tasks\nSubmitted batch job 20002\nnote: chdir: it is not there\n")
	for difference, told := range map[string]bool{
		`programs: 4 × "SLURM_CPUS_ON_NODE=128" here alone`: true,
		`programs: 4 × "SLURM_CPUS_ON=128" here alone`:      false,
		`programs: 4 × "SLURM_NTASKS=128" here alone`:       false,
		`programs: 1 × "program ntasks-per-gpu" here alone`: false,
		`WorkDir: "/a" there, "/b" here`:                    true,
		`JobState: "FAILED" there, "COMPLETED" here`:        false,
		`text of /x: "SLURM_CPUS_ON_NODE=1" there, "" here`: true,
		`text of /x: "chdir" there, "it is not there" here`: false,
	} {
		if got := names(lines, difference); got != told {
			t.Errorf("%s: told is %v, want %v", difference, got, told)
		}
	}
	if len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	for line, want := range map[string]string{
		"SLURM_CPUS_ON_NODE=2048": "SLURM_CPUS_ON_NODE=4096", "SLURM_JOB_CPUS_PER_NODE=2048(x2)": "SLURM_JOB_CPUS_PER_NODE=4096(x2)", "SLURM_JOB_CPUS_PER_NODE=2048(x3)": "SLURM_JOB_CPUS_PER_NODE=2048(x3)",
		"SLURM_NTASKS=2048": "SLURM_NTASKS=2048", "SLURM_CPUS_ON_NODE=3": "SLURM_CPUS_ON_NODE=3",
	} {
		if got := divided(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Batch scripts run on a real Slurm and on Muster, and are told apart by what they do.
func TestScriptsAreComparedWithSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a Slurm: not in -short")
	}
	if os.Getuid() != 0 {
		t.Skip("a machine of its own for each side takes root")
	}
	for _, name := range []string{"unshare", "ip", "apt-get", "dpkg"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v: install it to compare with Slurm", err)
		}
	}
	slurmHere, err := filepath.Abs("../../../scripts/slurm")
	if err != nil {
		t.Fatal(err)
	}
	layers := t.TempDir()
	if out, err := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", `cd "$1" && mkdir up wk at && mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=wk at`, "sh", layers).CombinedOutput(); err != nil {
		t.Skipf("no machine of its own can be made here: %v\n%s", err, out)
	}
	bin, dir := t.TempDir(), t.TempDir()
	for name, pkg := range map[string]string{"muster": "github.com/musterhq/muster/cmd/muster", "corpus": "github.com/musterhq/muster/internal/testing/corpus"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for name, text := range map[string]string{
		"steps.sh":  "#!/bin/bash\n#SBATCH -p theirs -a 1-2 -n 4 --cpus-per-task=2 --gres=gpu:a100:1\nsrun nosuchprogram --seed $SLURM_ARRAY_TASK_ID\nexit $SLURM_ARRAY_TASK_ID\n",
		"alone.sh":  "#!/bin/bash\n#SBATCH --exclusive -N2\nnosuchprogram\n",
		"range.sh":  "#!/bin/bash\n#SBATCH -N 2-3 -n 25\nnosuchprogram\n",
		"parts.sh":  "#!/bin/bash\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\ntrue\n",
		"typo.sh":   "#!/bin/bash\n#SBATCH --nosuchoption=1\ntrue\n",
		"notes.txt": "no script\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(bin, "corpus"), "-beside", filepath.Join(bin, "muster"), "-slurm", slurmHere, "-files", dir)
	tmp, err := os.MkdirTemp("/tmp", "c") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "slurm is not to be had") {
		t.Skipf("Slurm can neither be found nor fetched by apt here, to be compared with: %v\n%s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, compared, _ := strings.Cut(strings.Join(strings.Fields(string(out)), " "), "beside Slurm: ")
	for _, want := range []string{
		"5 batch scripts, of which Slurm refuses 1", "same 3 60.0 %", "told 1 20.0 %", "different 0 0.0 %", "wrongly refused 1 20.0 %",
		"told: range.sh:", "wrongly refused: parts.sh:",
	} {
		if !strings.Contains(compared, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%d things are left behind, %v", len(left), err)
	}
}
