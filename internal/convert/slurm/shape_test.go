package slurm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert/source"
)

// TestShapes has for options what slurmctld 22.05.8 makes of them (scontrol show
// job): nodes, tasks, CPUs and GPUs of each node, the limit.
func TestShapes(t *testing.T) {
	for options, want := range map[string]string{
		// --ntasks-per-node is the most of a node where --ntasks is said.
		"-N1 -n2 --ntasks-per-node=64":             "1 nodes, 2 tasks, 2 CPUs, 0 GPUs",
		"-N2 -n10 --ntasks-per-node=8 -c2":         "2 nodes, 10 tasks, 16 CPUs, 0 GPUs",
		"-N4 -n5 --ntasks-per-node=32":             "4 nodes, 5 tasks, 2 CPUs, 0 GPUs",
		"-n6 --ntasks-per-node=4":                  "2 nodes, 6 tasks, 4 CPUs, 0 GPUs",
		"-n1 --ntasks-per-node=4 --mem-per-cpu=1G": "1 nodes, 1 tasks, 1 CPUs, 0 GPUs, 1Gi",

		// Fewer tasks than nodes: as many nodes as tasks.
		"-N4 -n2":                       "2 nodes, 2 tasks, 1 CPUs, 0 GPUs",
		"-N4 -n1":                       "1 nodes, 1 tasks, 1 CPUs, 0 GPUs",
		"-N4 -n2 --ntasks-per-node=1":   "2 nodes, 2 tasks, 1 CPUs, 0 GPUs",
		"-N2 -n1 --gpus-per-node=8 -c4": "1 nodes, 1 tasks, 4 CPUs, 8 GPUs",

		// --ntasks-per-gpu says the tasks where GPUs are said, and GPUs where tasks are.
		"--ntasks-per-gpu=2 --gpus=4":                   "1 nodes, 8 tasks, 8 CPUs, 4 GPUs",
		"--ntasks-per-gpu=2 --gpus-per-node=4 -N2":      "2 nodes, 16 tasks, 8 CPUs, 4 GPUs",
		"--ntasks-per-gpu=1 --gpus-per-node=4 -N1 -c32": "1 nodes, 4 tasks, 128 CPUs, 4 GPUs",
		"--ntasks-per-gpu=1 --gres=gpu:2":               "1 nodes, 2 tasks, 2 CPUs, 2 GPUs",
		"--ntasks-per-gpu=1 --gres=gpu:a100:2,nvme:1":   "1 nodes, 2 tasks, 2 CPUs, 2 GPUs",
		"--ntasks-per-gpu=2 -n8":                        "1 nodes, 8 tasks, 8 CPUs, 4 GPUs",
		"--ntasks-per-gpu=2 -n8 -N2":                    "2 nodes, 8 tasks, 4 CPUs, 2 GPUs",
		"--ntasks-per-gpu=2 --ntasks-per-node=4 -N2":    "2 nodes, 8 tasks, 4 CPUs, 2 GPUs",
		"--ntasks-per-gpu=2 -n3":                        "1 nodes, 3 tasks, 3 CPUs, 2 GPUs",
		"--ntasks-per-gpu=2 -n4 --gpus=2":               "1 nodes, 4 tasks, 4 CPUs, 2 GPUs",

		// --gpus and --gpus-per-task say the tasks where nothing else does, --gpus-per-node
		// and --gpus-per-task the nodes of so many tasks.
		"--gpus=4 --gpus-per-task=2":              "1 nodes, 2 tasks, 2 CPUs, 4 GPUs",
		"--gpus=4 --gpus-per-task=1 -c3":          "1 nodes, 4 tasks, 12 CPUs, 4 GPUs",
		"-N2 --gpus=4 --gpus-per-task=2":          "2 nodes, 2 tasks, 1 CPUs, 2 GPUs",
		"-n4 --gpus-per-task=1 --gpus-per-node=2": "2 nodes, 4 tasks, 2 CPUs, 2 GPUs",
		"-n2 --gpus-per-task=2 --gpus=4":          "1 nodes, 2 tasks, 2 CPUs, 4 GPUs",

		// A list of nodes is as many.
		"-w n[1-3]":                     "3 nodes, 1 tasks, 1 CPUs, 0 GPUs",
		"-w n[1-3] -n2":                 "2 nodes, 2 tasks, 1 CPUs, 0 GPUs",
		"-w n[1-3] -n6":                 "3 nodes, 6 tasks, 1 CPUs, 0 GPUs, 4 CPUs on the first",
		"-w n[1-3] --ntasks-per-node=2": "3 nodes, 6 tasks, 2 CPUs, 0 GPUs",
		"-N3 -w n1":                     "3 nodes, 1 tasks, 1 CPUs, 0 GPUs",

		// The first of several nodes has as many as leave one for each other.
		"-N2 -n16":                      "2 nodes, 16 tasks, 1 CPUs, 0 GPUs, 15 CPUs on the first",
		"-N2 -n6 -c2 --mem-per-cpu=1G":  "2 nodes, 6 tasks, 2 CPUs, 0 GPUs, 2Gi, 10 CPUs on the first, 10Gi",
		"-N2 -n8 --gres=gpu:4 --mem=8G": "2 nodes, 8 tasks, 1 CPUs, 4 GPUs, 8Gi, 7 CPUs on the first, 8Gi",
		"-N4 -n18":                      "4 nodes, 18 tasks, 1 CPUs, 0 GPUs, 15 CPUs on the first",
		"-N2 -n4 --exclusive":           "2 nodes, 4 tasks, 2 CPUs, 0 GPUs",
		"-N2 -n16 --ntasks-per-node=8":  "2 nodes, 16 tasks, 8 CPUs, 0 GPUs",
		"-N2 -n8 -O -c2":                "2 nodes, 8 tasks, 2 CPUs, 0 GPUs",
		"-N2 -n3 --mincpus=4":           "2 nodes, 3 tasks, 4 CPUs, 0 GPUs",
		"-n1 -c2 --mincpus=3":           "1 nodes, 1 tasks, 2 CPUs, 0 GPUs",
		"-n8 -O":                        "1 nodes, 8 tasks, 1 CPUs, 0 GPUs",
		"-N2 -n8 --ntasks-per-socket=2": "2 nodes, 8 tasks, 4 CPUs, 0 GPUs",
		"-N2 --tasks=3":                 "2 nodes, 6 tasks, 3 CPUs, 0 GPUs",

		// Limits are whole minutes.
		"-t 0:10":     "1 nodes, 1 tasks, 1 CPUs, 0 GPUs, 1m",
		"-t 1:30":     "1 nodes, 1 tasks, 1 CPUs, 0 GPUs, 2m",
		"-t 00:00:60": "1 nodes, 1 tasks, 1 CPUs, 0 GPUs, 1m",
		"-t 0":        "1 nodes, 1 tasks, 1 CPUs, 0 GPUs",
		"-t 1-0:0:1":  "1 nodes, 1 tasks, 1 CPUs, 0 GPUs, 1d1m",
	} {
		r, err := Import([]byte("#!/bin/sh\nhostname\n"), Submission{Options: strings.Fields(options)})
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		d := r.Documents[0]
		got := fmt.Sprintf("%d nodes, %d tasks, %s CPUs, %d GPUs", max(d.Workers, 1), max(d.Slurm.Tasks, 1), d.Resources.CPU, d.Resources.GPU.Count)
		if d.Resources.Memory > 0 {
			got += ", " + d.Resources.Memory.String()
		}
		if m := d.Master; m != nil {
			got += fmt.Sprintf(", %s CPUs on the first", m.Resources.CPU)
			if m.Resources.Memory > 0 {
				got += ", " + m.Resources.Memory.String()
			}
		}
		if d.MaxDuration > 0 {
			got += ", " + d.MaxDuration.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestWordsThatSlurmDoesNotKnow are refused when the job is submitted, as by sbatch 22.05.8.
func TestWordsThatSlurmDoesNotKnow(t *testing.T) {
	for options, taken := range map[string]bool{
		"-m nonsense": false, "-m block:nonsense": false, "-m plane": false, "-m plane=2": true, "-m BLOCK:CYCLIC": true, "-m cyclic:cyclic:cyclic,Pack": true, "--hint=foo": false, "--hint=nomultithread": true,
		"--exclusive=foo": false, "--exclusive=user": true, "--exclusive": true, "--open-mode=foo": false, "--wait-all-nodes=7": false, "--propagate=FOO": false, "--propagate=STACK,MEMLOCK": true, "--propagate": true, "--profile=foo": false,
		"--ntasks-per-core=x": false, "--threads-per-core=1": true, "-S x": false, "--gres-flags=foo": false, "--gres-flags=enforce-binding": true, "--signal=bogus": false, "--signal=PIPE@3": false, "--signal=0": false, "--signal=XCPU@30": true, "--signal=B:usr1@90": true, "--gpus=3 --gpus-per-task=2": false, "--kill-on-invalid-dep=x": false, "--kill-on-invalid-dep=yes": true,
	} {
		r, err := Import([]byte("#!/bin/sh\nhostname\n"), Submission{Options: strings.Fields(options)})
		if (err == nil) != taken {
			t.Errorf("%s: taken is %v, want %v: %v, %v", options, err == nil, taken, err, r)
		}
	}
}

// A comment begins at any # that is in no quotes, as sbatch 22.05 reads it.
func TestCommentsBehindOptions(t *testing.T) {
	for line, want := range map[string]string{
		`--job-name=a#b`: "a", `--job-name="a#b"`: "a#b", `-J a\#b`: "a#b", `--job-name=a'#'b`: "a#b", `-J "a b"c#d`: "a bc", `-J x # y`: "x", `-J x #-J y`: "x",
		`--container-image=nvcr.io#nvidia/x:1 --job-name=y#z`: "y", `--container-image nvcr.io\#nvidia/x:1 -J y`: "y",
	} {
		r, err := Import([]byte("#!/bin/sh\n#SBATCH "+line+"\nhostname\n"), Submission{})
		if err != nil || r.Documents[0].Slurm.Name != want {
			t.Errorf("%s: %v, %v, want %s", line, r, err, want)
		}
		if err == nil && strings.Contains(line, "nvcr.io") && r.Documents[0].Image != "nvcr.io/nvidia/x:1" {
			t.Errorf("%s: the image is %s", line, r.Documents[0].Image)
		}
	}
}

// Of how many run at once only the digits count.
func TestLimitsOfArrays(t *testing.T) {
	for value, want := range map[string]int{"0-9%4": 4, "0-9%3x": 3, "0-9%${N:-1}": 0, "0-9%": 0, "0-9%-2": 0, "0-9%0": 0, "0-9%40": 10} {
		r, err := Import([]byte("#!/bin/sh\nhostname\n"), Submission{Options: []string{"--array=" + value}})
		if err != nil || r.Documents[0].Array.Parallelism != want {
			t.Errorf("%s: %v, %v, want %d", value, r, err, want)
		}
	}
}

// Slurm takes brackets about the indexes of an array, with the limit in them or
// behind them.
func TestBracketsOfArrays(t *testing.T) {
	for value, want := range map[string]string{
		"[0-32]%20": "33 at 20", "[0-3%2]": "4 at 2", "[1,3]": "2 at 0 1,3", "[1-5:2]": "3 at 0 1-5:2", "[4]": "1 at 0 4", "0-3": "4 at 0",
	} {
		r, err := Import([]byte("#!/bin/sh\n#SBATCH --array="+value+"\nhostname\n"), Submission{})
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		d := r.Documents[0]
		if got := strings.TrimSpace(fmt.Sprintf("%d at %d %s", d.Array.Completions, d.Array.Parallelism, d.Slurm.Indexes)); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	for _, value := range []string{"x[1-3]", "[]", "[1-3]x", "[[1-3]]"} {
		if _, err := Import([]byte("#!/bin/sh\n#SBATCH --array="+value+"\nhostname\n"), Submission{}); err == nil {
			t.Errorf("%s is taken", value)
		}
	}
}

// What the tasks and nodes are made to agree by is told, and nothing is lost.
func TestFewerTasksThanNodesAreTold(t *testing.T) {
	r, err := Import([]byte("#!/bin/sh\n#SBATCH -N 4 -n 2\nhostname\n"), Submission{})
	if err != nil || len(r.Lossy()) > 0 {
		t.Fatalf("lossy, or %v", err)
	}
	for _, n := range r.Notes {
		if n.Field == "--nodes" && n.Fate == source.Approximated && strings.Contains(n.Reason, "2 tasks run on 2 nodes") {
			return
		}
	}
	t.Errorf("the notes do not say it: %v", r.Notes)
}

// TestTasksAreSpread over as many nodes as it takes, where the script does not say and
// the largest node is too small (slurmctld 22.05.8 with nodes of 8 CPUs).
func TestTasksAreSpread(t *testing.T) {
	for options, want := range map[string]string{
		"-n20":                     "3 nodes, 20 tasks, 7 CPUs",
		"-n8":                      "1 nodes, 8 tasks, 8 CPUs",
		"-n9 -c2":                  "3 nodes, 9 tasks, 6 CPUs",
		"-n2 -c16":                 "1 nodes, 2 tasks, 32 CPUs", // fits nowhere, which the scheduler says
		"-n20 -N1":                 "1 nodes, 20 tasks, 20 CPUs",
		"-n20 -p small":            "10 nodes, 20 tasks, 2 CPUs",
		"-n20 --ntasks-per-node=4": "5 nodes, 20 tasks, 4 CPUs",
	} {
		r, err := Import([]byte("#!/bin/sh\nhostname\n"), Submission{Options: strings.Fields(options), Largest: func(pool string) int {
			if pool == "small" {
				return 2
			}
			return 8
		}})
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		d := r.Documents[0]
		if got := fmt.Sprintf("%d nodes, %d tasks, %s CPUs", max(d.Workers, 1), max(d.Slurm.Tasks, 1), d.Resources.CPU); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// What follows the letter of an option is its value, as it stands: Slurm refuses -N=1.
func TestAnEqualsSignIsOfTheValue(t *testing.T) {
	for _, line := range []string{"-N=1", "-t=10", "-n=2"} {
		if _, err := Import([]byte("#!/bin/sh\n#SBATCH "+line+"\nhostname\n"), Submission{}); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
	r, err := Import([]byte("#!/bin/sh\n#SBATCH -N1 -t10\nhostname\n"), Submission{})
	if err != nil || len(r.Documents) != 1 {
		t.Errorf("%v", err)
	}
}
