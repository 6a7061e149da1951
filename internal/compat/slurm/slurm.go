// Package slurm is the command line of Slurm, as seen from outside of a job:
// sbatch, srun, squeue, scancel, sinfo and scontrol. A job is a workload and its
// id the number of that, a node of a job one of its tasks, a partition a pool.
// What its tools say of jobs that have run is in accounting.
package slurm

import (
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// Sprio and Sshare are answered by what there is instead: the order here is no
// sum of factors, and shares are of quotas.
func Sprio() *compat.Command {
	return &compat.Command{Use: "sprio", Words: &terms.Words, Short: "The factors of jobs' priorities", Loose: true,
		Void: "the order of jobs is no sum of factors: scontrol show job and muster why JOB say what one waits for, squeue -P lists them in their order."}
}

// Sshare is sshare.
func Sshare() *compat.Command {
	return &compat.Command{Use: "sshare", Words: &terms.Words, Short: "Shares of accounts", Loose: true,
		Void: "shares are quotas and weights of projects: muster quota shows what each is due and has."}
}
