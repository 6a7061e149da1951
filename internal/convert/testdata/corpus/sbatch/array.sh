#!/bin/bash
#SBATCH --array=0-99%10
#SBATCH --ntasks=1
#SBATCH --time=30
#SBATCH --mem-per-cpu=4000
#SBATCH --output=out/%A_%a.log
python sweep.py --index "$SLURM_ARRAY_TASK_ID"
