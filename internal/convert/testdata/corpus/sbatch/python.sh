#!/usr/bin/env python3
#SBATCH --time=1-12
#SBATCH --qos=high
#SBATCH --comment="nightly eval"
import os
print("job", os.environ["SLURM_JOB_ID"])
