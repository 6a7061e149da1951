#!/bin/bash
#SBATCH --job-name=resume
#SBATCH --dependency=singleton
#SBATCH --array=0-3
#SBATCH --mem=0 --exclusive
#SBATCH --mail-type=END
#SBATCH
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
echo "$here"
