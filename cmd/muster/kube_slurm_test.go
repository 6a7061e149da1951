package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// batched is a batch script of Slurm on two nodes of a cluster: the script runs
// in the first, srun starts its steps in both.
func batched(t *testing.T, w *world, image string) {
	t.Helper()
	const script = `#!/bin/sh
#SBATCH -J steps -N 2 --ntasks-per-node=2 --gpus-per-node=1 --mem=256M
echo "list $SLURM_JOB_NODELIST"
scontrol show hostnames
export SAID=passed
srun -l sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname) $SAID'
srun -N 1 -n 1 -w "$(scontrol show hostnames | tail -n 1)" sh -c 'echo last $(hostname)'
srun sh -c 'exit $SLURM_PROCID'
echo "steps ended with $?"
`
	file := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	w.muster("run", "-f", file, "--set", "image="+image, "--set", "resources.cpu=100m", "--set", "gracePeriod=1s", "--name", "steps")
	onTwo(t, w.is("steps", "completed", phase("Completed")), 0, 1)
	out := w.muster("logs", "steps")
	for _, want := range []string{"0: rank 0 of 4 on task-0 passed", "1: rank 1 of 4 on task-0 passed", "2: rank 2 of 4 on task-1 passed", "3: rank 3 of 4 on task-1 passed", "last task-1", "steps ended with 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("the script did not say %q:\n%s", want, out)
		}
	}
}
