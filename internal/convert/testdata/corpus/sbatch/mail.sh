#!/bin/bash
#SBATCH --job-name=eval
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=ann@example.com
#SBATCH --nodes=1-2
#SBATCH --time=UNLIMITED
#SBATCH --no-requeue
set -euo pipefail
# the last line of the script
./eval.sh
#SBATCH --time=5
