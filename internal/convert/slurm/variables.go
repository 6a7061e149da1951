package slurm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// exports reads which variables the script gets. Values stand in env; names
// mean the submitter's, which only submitting knows.
func (s *script) exports() {
	d := s.consume("export")
	if d == nil {
		return
	}
	s.doc.Slurm.Export = d.value
	for word := range strings.SplitSeq(d.value, ",") {
		if name, text, has := strings.Cut(word, "="); has && name != "" {
			s.doc.Env = source.Set(s.doc.Env, name, text)
		}
	}
	s.translated(d, "slurm.export")
}

// optionVariables are the variables in which a script finds options as they were
// given (slurm.schedmd.com/sbatch.html, "Output environment variables"), beside
// those that follow from what a document says.
var optionVariables = map[string]string{
	"cpus-per-gpu": "SLURM_CPUS_PER_GPU", "dependency": "SLURM_JOB_DEPENDENCY", "distribution": "SLURM_DISTRIBUTION", "gpu-bind": "SLURM_GPU_BIND", "gpu-freq": "SLURM_GPU_FREQ", "gpus": "SLURM_GPUS", "gpus-per-node": "SLURM_GPUS_PER_NODE", "gpus-per-socket": "SLURM_GPUS_PER_SOCKET",
	"gpus-per-task": "SLURM_GPUS_PER_TASK", "hint": "SLURM_HINT", "ntasks-per-core": "SLURM_NTASKS_PER_CORE", "ntasks-per-gpu": "SLURM_NTASKS_PER_GPU", "ntasks-per-socket": "SLURM_NTASKS_PER_SOCKET",
	"overcommit": "SLURM_OVERCOMMIT", "profile": "SLURM_PROFILE", "qos": "SLURM_JOB_QOS", "reservation": "SLURM_JOB_RESERVATION", "threads-per-core": "SLURM_THREADS_PER_CORE",
}

// variables are the environment variables that Slurm sets from the options of a script.
func (s *script) variables() {
	for option, name := range optionVariables {
		if d := s.opts[option]; d != nil {
			value := d.value
			if !d.has {
				value = "1"
			}
			s.doc.Slurm.Variables = source.Set(s.doc.Slurm.Variables, name, value)
		}
	}
	d, gets := s.opts["export"], s.opts["get-user-env"] != nil
	if gets || d != nil && !strings.EqualFold(d.value, "ALL") { // as sbatch 22.05.8 has it
		s.doc.Slurm.Variables = source.Set(s.doc.Slurm.Variables, "SLURM_GET_USER_ENV", "1")
	}
	if d := s.opts["open-mode"]; d != nil && d.value != "" {
		s.doc.Slurm.Variables = source.Set(s.doc.Slurm.Variables, "SLURM_OPEN_MODE", d.value[:1])
	}
	switch { // one of them says how many threads of a core are used
	case s.opts["ntasks-per-core"] != nil || s.opts["threads-per-core"] != nil:
		delete(s.doc.Slurm.Variables, "SLURM_HINT")
	case s.doc.Slurm.Variables["SLURM_HINT"] == "nomultithread":
		s.doc.Slurm.Variables["SLURM_THREADS_PER_CORE"] = "1"
	}
	for option, name := range map[string]string{"mem-per-cpu": "SLURM_MEM_PER_CPU", "mem-per-gpu": "SLURM_MEM_PER_GPU"} {
		d := s.opts[option]
		if d == nil {
			continue
		}
		if q, ok := memoryOf(d.value); ok { // in MB
			s.doc.Slurm.Variables = source.Set(s.doc.Slurm.Variables, name, strconv.FormatInt(int64(q)/1000>>20, 10))
		}
	}
}

// SaysAnOption reports whether a variable is one of those in which a script finds its
// options, and nothing that programs act upon otherwise.
func SaysAnOption(name string) bool {
	switch name {
	case "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_OPEN_MODE", "SLURM_GET_USER_ENV":
		return true
	}
	for _, of := range optionVariables {
		if of == name {
			return true
		}
	}
	return false
}

// notTheirs are variables that are of where something runs, not of who wants it
// run: the submitter's say where that is.
var notTheirs = []string{
	"_", "PWD", "OLDPWD", "SHLVL", "HOSTNAME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL",
}

// ofATask are variables that every task of Muster has: whoever submits from
// inside of one does not mean them.
var ofATask = []string{
	"JOB_NAME", "JOB_UUID", "JOB_COMPLETION_INDEX", "POD_INDEX", "POD_UUID", "RUNAI_JOB_NAME", "RUNAI_PROJECT", "RUN_NAME", "COMPOSER_RUN_NAME", "RESUMPTION_INDEX", "MOSAICML_PLATFORM",
	"LOCAL_WORLD_SIZE", "NODE_RANK", "NUM_NODES", "PYTHONUNBUFFERED", "PARAMETERS", "ENVIRONMENT",
}

// ofTheNode reports whether a variable of Slurm says what a job or step has where it is. Others
// are handed on to jobs that are submitted from inside of one, as under Slurm (22.05.8); what
// such a job has itself stands over them.
func ofTheNode(name string) bool {
	for _, first := range []string{"SLURM_STEP", "SLURM_SRUN", "SLURM_JOB_GPUS", "SLURM_GPUS", "SLURM_RESTART", "SLURM_OVERLAP", "SLURM_LAUNCH", "SLURM_CPU_BIND", "SLURM_ARRAY", "SRUN_"} {
		if strings.HasPrefix(name, first) {
			return true
		}
	}
	return false
}

// Exported are those of the submitter's variables that a batch script has, as
// sbatch --export says (slurm.schedmd.com/sbatch.html); what the document says
// of a variable stands over them. What Slurm says of the place where it was
// submitted comes with them.
func Exported(doc *spec.Document, environ, at []string) []string {
	words := strings.Split(doc.Slurm.Export, ",")
	all := doc.Slurm.Export == "" || ExportsAll(words)
	has := func(name string) bool {
		return slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	inJob, inTask := has("SLURM_JOB_ID"), has("MUSTER_WORKLOAD_ID")
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		_, given := doc.Env[name]
		slurms := strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "SLURMD_") || strings.HasPrefix(name, "SRUN_")
		switch {
		case name == "", given, strings.ContainsRune(kv, 0), slices.Contains(notTheirs, name), strings.HasPrefix(name, "MUSTER_"):
		case slurms && inJob && (!inTask || ofTheNode(name)), inTask && slices.Contains(ofATask, name):
		case name == "SLURM_CPUS_PER_TASK" && inJob:
			out = append(out, name+"=1") // whatever the job from inside of which it is submitted has
		case slices.ContainsFunc(doc.Secrets, func(s spec.SecretUse) bool { return s.Env == name }):
		case all, slurms, slices.Contains(words, name):
			out = append(out, kv)
		}
	}
	for _, kv := range at { // of where it is submitted, also from inside of a job
		name, _, _ := strings.Cut(kv, "=")
		out = append(slices.DeleteFunc(out, func(o string) bool { return strings.HasPrefix(o, name+"=") }), kv)
	}
	slices.Sort(out)
	return out
}

// ExportsAll reports whether the words of an export have all variables, which is
// written in small letters too.
func ExportsAll(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "ALL") })
}
