package slurm

import "github.com/musterhq/muster/internal/face"

func Sbatch() *face.Command { return nil }
func Srun() *face.Command   { return nil }
