package slurmtools

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// handedLimits are the limits of srun that its processes have, on all nodes, as far as
// theirs allow it (PropagateResourceLimits of slurm.conf, which is ALL where nothing is said).
var handedLimits = []int{unix.RLIMIT_AS, unix.RLIMIT_CORE, unix.RLIMIT_CPU, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_MEMLOCK, unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC, unix.RLIMIT_RSS, unix.RLIMIT_STACK}

// softLimits are those of this process, by their numbers.
func softLimits() map[int]uint64 {
	all := map[int]uint64{}
	for _, n := range handedLimits {
		var l unix.Rlimit
		if err := unix.Getrlimit(n, &l); err == nil {
			all[n] = l.Cur
		}
	}
	return all
}

// setSoftLimits makes them this process's, where its own hard ones allow it.
func setSoftLimits(all map[int]uint64) {
	for n, soft := range all {
		var l unix.Rlimit
		if err := unix.Getrlimit(n, &l); err != nil || l.Cur == soft {
			continue
		}
		l.Cur = min(soft, l.Max)
		_ = unix.Setrlimit(n, &l) // else it has what the node gives
	}
}

// undress takes away what is not Slurm's, or ours, and does not say where things are: a
// step of --export=NONE, or of a list, has no PATH (slurm.schedmd.com/srun.html, --export).
func undress() {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "SLURM") || strings.HasPrefix(name, "MUSTER_") || slices.Contains([]string{"TMPDIR", "PWD", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL"}, name) {
			continue
		}
		_ = os.Unsetenv(name)
	}
}
