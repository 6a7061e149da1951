package slurmtools

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
)

// TestMain lets the test binary be every command that a script finds.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case SrunArg:
			os.Exit(SrunMain(os.Args[2:]))
		case ScontrolArg:
			os.Exit(ScontrolMain(os.Args[2:]))
		case StepArg:
			os.Exit(StepMain(os.Args[2:]))
		case SignalArg:
			os.Exit(SignalMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// script runs a script of sh on one node and returns its output file.
func script(t *testing.T, text string, env ...string) (code int, out string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("SLURM_JOB_NODELIST", "127.0.0.1")
	t.Setenv("SLURM_NTASKS", "3")
	t.Setenv("SLURM_JOB_ID", "42")
	t.Setenv("MUSTER_SLURM_OUTPUT", "out-%5j.txt")
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	shell, _, _ := strings.Cut(strings.TrimPrefix(text, "#!"), "\n")
	if !strings.HasPrefix(text, "#!") {
		shell = "/bin/sh"
	}
	code, err := batch([]string{shell, "-c", text, "slurm_script"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out-00042.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return code, string(data)
}

func TestSrunStartsRanksWithTheScriptsEnvironment(t *testing.T) {
	code, out := script(t, `export A=1 CUDA_VISIBLE_DEVICES=4,5,6; unset GONE; cd /
srun -l --gpus-per-task=1 sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID $A ${GONE-none} $CUDA_VISIBLE_DEVICES $PWD $SLURM_STEP_ID'
srun -n 1 sh -c 'echo step $SLURM_STEP_ID of $SLURM_NTASKS'`, "GONE=here")
	if code != 0 {
		t.Errorf("code %d", code)
	}
	for rank := range 3 {
		if want := fmt.Sprintf("%d: %d/3 %d 1 none %d / 0\n", rank, rank, rank, 4+rank); !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if !strings.Contains(out, "step 1 of 1\n") {
		t.Errorf("no second step in %q", out)
	}
}

// TestSrunsInput: as Slurm 22.05.8 hands it on.
func TestSrunsInput(t *testing.T) {
	code, out := script(t, `echo in >file
echo hi | srun -l cat; echo none | srun -l -i none cat; echo one | srun -l --input=1 cat; srun -l --input=file cat
printf 'a\nb\n' | while read -r x; do srun -n1 echo got $x </dev/null; done
head -c 300000 /dev/zero | srun -n2 sh -c 'exec wc -c'
head -c 300000 /dev/zero | srun true`)
	if code != 0 {
		t.Errorf("code %d: %s", code, out)
	}
	for _, want := range []string{"0: hi\n", "1: hi\n", "2: hi\n", "1: one\n", "0: in\n", "2: in\n", "got a\n", "got b\n", "300000\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if strings.Contains(out, "none") || strings.Contains(out, "0: one") {
		t.Errorf("too much in %q", out)
	}
}

func TestSrunOfSeveralPrograms(t *testing.T) {
	code, out := script(t, `cat >conf <<'END'
# who does what
0 echo zero %t %o
1-2 sh -c 'echo rest %t %o $0' \
  more
END
srun -l --multi-prog conf
printf '1 echo other\n* echo all %%t %%o\n' >conf; srun -l --multi-prog conf x
srun -n2 --multi-prog conf; printf '5 true\n' >conf; srun --multi-prog conf; echo five $?
printf '0 true\n' >conf; srun --multi-prog conf; echo less $?`)
	for _, want := range []string{"0: zero 0 0\n", "1: rest 1 0 more\n", "2: rest 2 1 more\n", "1: other x\n", "0: all 0 0 x\n", "2: all 2 1 x\n", "srun: error: Invalid task id, 5 >= ntasks\nsrun: error: Line 1 of configuration file conf invalid\n", "five 1\n", "srun: error: Configuration file conf invalid, no record for task id 1\n", "less 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q (code %d)", want, out, code)
		}
	}
}

// TestSrunReadsItsOptionsAsSlurmDoes, and says why it refuses what it refuses.
func TestSrunReadsItsOptionsAsSlurmDoes(t *testing.T) {
	code, out := script(t, `export SLURM_EXPORT_ENV=; A=1; export A
srun -n1 --cpu_bind=v echo bound; srun -n 2 --tasks=2 --lab echo tasks; srun -n1 nosuchcmd; echo code $?
srun -n1 --export=NONE /bin/sh -c 'echo bare ${A-none}'; srun -n1 --export=B=2 /bin/sh -c 'echo only ${A-none} $B'; SLURM_EXPORT_ENV=NONE srun -n1 /bin/sh -c 'echo told ${A-none}'; srun -n1 --export=ALL,B=3 sh -c 'echo all $A $B'
srun -n1 --export=all sh -c 'echo small $A'; srun -n1 --export=none /bin/sh -c 'echo smallest ${A-none}'
srun -n1 --export=NONE sh -c 'echo found'; srun --het-group=0 true; srun -n1 true : -n1 true; echo colon $?`)
	for _, want := range []string{"bound\n", "0: tasks\n", "1: tasks\n", "execve(): nosuchcmd: No such file or directory", "code 2\n", "bare none\n", "only none 2\n", "told none\n", "all 1 3\n", "small 1\n", "smallest none\n", "execve(): sh: No such file or directory", "--het-group: the nodes", "colon 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q (code %d)", want, out, code)
		}
	}
}

func TestSrunExitsAsItsWorstRank(t *testing.T) {
	code, out := script(t, `srun sh -c 'exit $SLURM_PROCID'; echo "srun said $?"; exit 9`)
	if code != 9 || !strings.Contains(out, "srun said 2\n") || !strings.Contains(out, "task 2: Exited with exit code 2") {
		t.Errorf("code %d, %q", code, out)
	}
}

func TestRefusalsOfSrunSayWhy(t *testing.T) {
	for args, why := range map[string]string{
		"":                      "No command given to execute",
		"--ntask=2 true":        "unknown option --ntask",
		"-N 2 true":             "Only allocated 1 nodes asked for 2",
		"-w elsewhere true":     "is not a node of this job",
		"--multi-prog nofile":   "srun: error: Could not open multi_prog config file nofile\n",
		"-n":                    "needs a value",
		"-n x true":             "srun: error: Invalid numeric value \"x\" for --ntasks.\n",
		"-n 0 true":             "srun: error: Invalid numeric value \"0\" for --ntasks.\n",
		"--gpus-per-task=9 env": "the node has 1",
	} {
		code, out := script(t, "srun "+args, "CUDA_VISIBLE_DEVICES=0")
		if code == 0 || !strings.Contains(out, why) {
			t.Errorf("srun %s: code %d, %q; want %s", args, code, out, why)
		}
	}
}

// TestSignalComesBeforeTheLimit, to the script or to what srun started.
func TestSignalComesBeforeTheLimit(t *testing.T) {
	for signal, text := range map[string]string{
		"B:USR1@100": `trap 'echo told; exit 3' USR1; for i in $(seq 600); do sleep 0.1; done`,
		"USR2@100":   `srun -n 1 sh -c "trap 'echo told; exit 3' USR2; for i in \$(seq 600); do sleep 0.1; done"; exit $?`,
	} {
		code, out := script(t, text, "MUSTER_SLURM_LIMIT=101", "MUSTER_SLURM_SIGNAL="+signal, "MUSTER_WORKLOAD_ID="+t.Name()+signal[:1])
		if code != 3 || !strings.Contains(out, "told\n") {
			t.Errorf("%s: code %d, %q", signal, code, out)
		}
	}
}

// TestAStepThatHasEndedIsNotSignalled: its pid may be another program's.
func TestAStepThatHasEndedIsNotSignalled(t *testing.T) {
	_, out := script(t, `srun -n 1 sh -c 'wc -c <$MUSTER_SLURM_DIR/step-0'; wc -c <$MUSTER_SLURM_DIR/step-0`)
	if running, ended, _ := strings.Cut(out, "\n"); running == "0" || ended != "0\n" {
		t.Errorf("%q", out)
	}
}

// TestProcessesAreMarkedByNode: several nodes may be of one machine, where each
// sends the signals to its own.
func TestProcessesAreMarkedByNode(t *testing.T) {
	s := step{key: "w.0.1", env: map[string]string{}, hosts: []string{"a", "b"}, ranks: []rank{{proc: 0, at: 0, host: "a"}, {proc: 1, local: 1, at: 0, host: "a"}, {proc: 2, node: 1, at: 1, host: "b"}}}
	var marks []string
	for _, r := range s.ranks {
		marks = append(marks, s.of(r).Env[keyVar])
	}
	if marks[0] != marks[1] || marks[0] == marks[2] || marks[0] != s.keyOn(0) {
		t.Errorf("%q", marks)
	}
}

func TestOutputOfRanksGoesToTheirFiles(t *testing.T) {
	_, out := script(t, `srun -n 2 -o 'rank-%t.log' sh -c 'echo $SLURM_PROCID'; cat rank-0.log rank-1.log`)
	if out != "0\n1\n" {
		t.Errorf("%q", out)
	}
}

func TestLayout(t *testing.T) {
	hosts := []string{"a", "b", "c"}
	for args, want := range map[string]string{
		"-n 3 x":                     "a0 b0 c0",
		"-n 4 x":                     "a0 a1 b0 c0",
		"-N 2 -n 4 x":                "a0 a1 b0 b1",
		"--ntasks-per-node=2 x":      "a0 a1 b0 b1 c0 c1",
		"-N 1 x":                     "a0",
		"-n 1 -w b x":                "b0",
		"-n 2 -x a x":                "b0 c0",
		"-n 2 -r 1 x":                "b0 c0",
		"-n2 -l x":                   "a0 b0",
		"-n 5 --ntasks-per-node=2 x": "a0 a1 b0 b1 c0",
		"-w c -n 2 x":                "a0 c0",
		"-w c,b -N 2 x":              "b0 c0",
		"-n 5 -m cyclic x":           "a0 b0 c0 a1 b1",
		"-N 2 -n 5 --distribution=cyclic:block x": "a0 b0 a1 b1 a2",
		"-N 2 -n 7 -m plane=2 x":                  "a0 a1 b0 b1 a2 a3 b2",
		"-N 2 -n 4 -m block:cyclic x":             "a0 a1 b0 b1",
	} {
		o, err := parse(strings.Fields(args))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		ranks, _, err := o.layout(hosts, (&room{}).space(&o, len(hosts), true))
		var got []string
		for _, r := range ranks {
			got = append(got, fmt.Sprintf("%s%d", r.host, r.local))
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %v, %v; want %s", args, got, err, want)
		}
	}
}

// TestStepsAreLaidOutAsSlurmDoes: what srun 22.05.8 says of jobs whose nodes have so many
// CPUs, with what the job says of its tasks.
func TestStepsAreLaidOutAsSlurmDoes(t *testing.T) {
	const beyond = "Unable to create step for job 7: More processors requested than permitted"
	for _, c := range []struct{ cpus, tasks, per, args, want string }{
		{"15,1", "16", "", "x", "15,1"},
		{"15,1", "16", "", "-n 2 x", "1(x2)"},
		{"15,1", "16", "", "-n 4 x", "3,1"},
		{"15,1", "16", "", "-N 2 -n 8 x", "7,1"},
		{"15,1", "16", "", "-N 1 x", beyond},
		{"15,1", "16", "", "-N 1 -n 2 x", "2"},
		{"15,1", "16", "", "-N 1 -n 2 -r 1 x", beyond},
		{"15,1", "16", "", "-c 2 x", beyond},
		{"15,1", "16", "", "--ntasks-per-node=2 x", "15,1"},
		{"8(x2)", "16", "8", "-n 3 x", "2,1"},
		{"8(x2)", "16", "8", "-N 1 x", beyond},
		{"8(x2)", "16", "8", "-N 1 -n 8 x", "8"},
		{"10,2", "6", "", "x", "4,2"},
		{"16,3,1", "20", "", "x", "16,3,1"},
		{"4(x2)", "", "", "x", "1(x2)"},
		{"4(x2)", "", "", "-c 2 x", "2(x2)"},
		{"4(x2)", "", "", "--ntasks-per-node=2 x", "2(x2)"},
		{"1", "1", "1", "--cpus-per-task=16 x", beyond},
		{"1", "1", "", "-n 20 -O x", "20"},
		{"3(x3)", "5", "3", "x", "2(x2),1"},
	} {
		t.Setenv("SLURM_JOB_ID", "7")
		t.Setenv("SLURM_NTASKS", c.tasks)
		t.Setenv("SLURM_NTASKS_PER_NODE", c.per)
		o, err := parse(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		r := room{cpus: spec.SlurmAmounts(c.cpus)}
		hosts := []string{"a", "b", "c"}[:len(r.cpus)]
		ranks, step, err := o.layout(hosts, r.space(&o, len(hosts), true))
		counts := make([]int, len(step))
		for _, x := range ranks {
			counts[x.node]++
		}
		got := spec.SlurmPerNode(counts)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of a job on %s: %s, want %s", c.args, c.cpus, got, c.want)
		}
	}
}

func TestDistributionsAreChecked(t *testing.T) {
	for _, right := range []string{"block", "cyclic", "*", "plane=4", "block:cyclic", "cyclic:block:fcyclic", "*:block", "arbitrary", "block,Pack", "cyclic:*,NoPack"} {
		if _, err := parse([]string{"-m", right, "x"}); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
	for _, wrong := range []string{"", "nonsense", "plane", "plane=0", "block:arbitrary", "cyclic,Packed"} {
		if _, err := parse([]string{"--distribution=" + wrong, "x"}); err == nil || !strings.Contains(err.Error(), "--distribution: ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestScontrolShowsHosts(t *testing.T) {
	t.Setenv("SLURM_JOB_NODELIST", "n[1-2],z")
	for args, want := range map[string]string{"show hostnames": "n1\nn2\nz\n", "show hostnames a,b": "a\nb\n", "show hostlist": "n1,n2,z\n"} {
		var b bytes.Buffer
		if err := scontrol(strings.Fields(args), &b); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v", args, b.String(), err)
		}
	}
	if err := scontrol([]string{"requeue", "1"}, &bytes.Buffer{}); err == nil {
		t.Error("it does what it cannot")
	}
}

func TestPatternsOfFiles(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "7")
	t.Setenv("SLURM_JOB_NAME", "x")
	for in, want := range map[string]string{"a-%j": "a-7", "%x.%4j.out": "x.0007.out", "%A_%a": "7_4294967294", "100%%": "100%", "%": "%", "%q": "%q", "%t": "3"} {
		if got := expandPattern(in, map[byte]string{'t': "3"}); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestScriptIsAFile: what a script asks of where it is has the answer that it has
// under Slurm, and every interpreter that reads a file will do.
func TestScriptIsAFile(t *testing.T) {
	code, out := script(t, `#!/bin/bash
set -u
echo "$(basename "$0") $(basename "${BASH_SOURCE[0]}")"
test -d "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
echo $LINENO`)
	if want := "slurm_script slurm_script\n5\n"; code != 0 || out != want {
		t.Errorf("it ends with %d and says %q, want %q", code, out, want)
	}
	code, err := batch([]string{"/usr/bin/awk", "-f", "-c", "#!/usr/bin/awk -f\nBEGIN { exit 9 }\n", "slurm_script"})
	if code != 9 || err != nil {
		t.Errorf("a script of awk ends with %d, %v, want 9", code, err)
	}
}

// TestOutputStaysInOrder: what a script writes to both of its outputs is one file in the
// order in which it wrote, unless --error says otherwise.
func TestOutputStaysInOrder(t *testing.T) {
	code, out := script(t, "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done")
	var want strings.Builder
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	if code != 0 || out != want.String() {
		t.Errorf("it ends with %d and writes\n%s", code, out)
	}
}
