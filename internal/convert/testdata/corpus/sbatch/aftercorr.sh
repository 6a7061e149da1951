#!/bin/bash
#SBATCH --job-name=second
#SBATCH --array=1-10:3
#SBATCH --dependency=aftercorr:17,afterany:20
python evaluate.py --shard $SLURM_ARRAY_TASK_ID
