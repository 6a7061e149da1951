package slurmtools

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// imagesOwn are variables that say where things are: in a container they are
// the image's.
var imagesOwn = []string{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONHOME", "HOME", "SHELL", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "SSH_AUTH_SOCK"}

// submitters adds the variables that whoever submitted the script had. What
// this job is told of itself stands over them, and in a container what its image
// says, as pyxis has it.
func submitters() error {
	file := os.Getenv("MUSTER_SLURM_ENVIRONMENT")
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	contained := os.Getenv("MUSTER_SLURM_CONTAINER") != ""
	for kv := range strings.SplitSeq(string(data), "\x00") {
		name, text, has := strings.Cut(kv, "=")
		_, set := os.LookupEnv(name)
		switch {
		case !has, name == "", strings.HasPrefix(name, "MUSTER_"):
		case set && (contained || strings.HasPrefix(name, "SLURM")):
		case contained && slices.Contains(imagesOwn, name):
		default:
			if err := os.Setenv(name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobEnvironment sets what Slurm says of a job that only the node knows.
func jobEnvironment() {
	for name, text := range map[string]string{
		"SLURM_JOB_UID": strconv.Itoa(os.Getuid()), "SLURM_JOB_GID": strconv.Itoa(os.Getgid()), "SLURM_TASK_PID": strconv.Itoa(os.Getpid()),
		"HOSTNAME": os.Getenv("SLURMD_NODENAME"), "SLURM_TOPOLOGY_ADDR_PATTERN": "node", "SLURM_NODE_ALIASES": "(null)",
	} {
		_ = os.Setenv(name, text)
	}
	if os.Getenv("SLURM_PRIO_PROCESS") == "" { // whoever submitted it did not say
		_ = os.Setenv("SLURM_PRIO_PROCESS", "0")
	}
	if gpus := os.Getenv("CUDA_VISIBLE_DEVICES"); gpus != "" && os.Getenv("SLURM_GPUS_ON_NODE") != "" {
		_ = os.Setenv("SLURM_JOB_GPUS", gpus)
		_ = os.Setenv("GPU_DEVICE_ORDINAL", gpus)
	}
}
