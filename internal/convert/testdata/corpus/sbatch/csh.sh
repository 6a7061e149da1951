#!/bin/tcsh -f
#SBATCH --ntasks=1
#SBATCH --constraint="gpu_mem:32GB|gpu_mem:80GB"
#SBATCH --mail-user=netid --mail-type=FAIL
setenv SEED 3
python3 train.py --seed $SEED
