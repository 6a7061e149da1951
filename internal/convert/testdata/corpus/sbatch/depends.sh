#!/bin/bash
#SBATCH --job-name=evaluate
#SBATCH --dependency=afterok:17:18,afterany:20,after:21+10:22
#SBATCH --begin=2027-01-31T08:00:00Z
#SBATCH --gres=gpu:1
python evaluate.py
