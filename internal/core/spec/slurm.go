package spec

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Slurm is what a batch script of Slurm finds in its tasks. Here a task is
// what Slurm calls a node of the job.
type Slurm struct {
	Name         string            `json:"name,omitempty" doc:"Name of the job as it was given: SLURM_JOB_NAME, and %x in names of files. By default the workload's." example:"My_Job.2"`
	Tasks        int               `json:"tasks,omitempty" doc:"Processes that srun starts where it is not told: SLURM_NTASKS. By default one on each node." example:"8" min:"1" max:"1000000"`
	TasksPerNode int               `json:"tasksPerNode,omitempty" doc:"Processes on each node: SLURM_NTASKS_PER_NODE. By default as even as can be." example:"4" min:"1" max:"4096"`
	CPUsPerTask  int               `json:"cpusPerTask,omitempty" doc:"SLURM_CPUS_PER_TASK." example:"8" min:"1" max:"4096"`
	Indexes      string            `json:"indexes,omitempty" doc:"SLURM_ARRAY_TASK_ID of an array's tasks, in their order, as sbatch --array takes them. By default from 0." example:"1-10:2,20"`
	ArrayTask    *int              `json:"arrayTask,omitempty" doc:"Which job of an array of jobs of several nodes this is, from 0: its SLURM_ARRAY_TASK_ID is that of indexes. An import makes a workload of each such job; they are submitted together, in their order." min:"0"`
	AtOnce       int               `json:"atOnce,omitempty" doc:"How many jobs of such an array run at once: this one waits for the one that stands so many before it. By default all." example:"4" min:"1"`
	Singleton    bool              `json:"singleton,omitempty" doc:"The job waits for the submitter's jobs of the same name that have not ended when it is submitted."`
	Partition    string            `json:"partition,omitempty" doc:"SLURM_JOB_PARTITION." example:"gpu"`
	Account      string            `json:"account,omitempty" doc:"SLURM_JOB_ACCOUNT." example:"vision"`
	Output       string            `json:"output,omitempty" doc:"File below the working directory that the script's output also goes to, with the patterns of sbatch: %j, %A, %a, %x, %N, %u." example:"logs/%x-%j.out"`
	Error        string            `json:"error,omitempty" doc:"The same for what it writes to standard error. By default as output." example:"logs/%x-%j.err"`
	Input        string            `json:"input,omitempty" doc:"File below the working directory that the script reads as its standard input, with the same patterns. By default it reads nothing." example:"params-%a.txt"`
	Export       string            `json:"export,omitempty" doc:"Which of the submitter's variables its tasks have, as sbatch --export says it: ALL, NONE, NIL, or names and NAME=VALUE with commas between. By default ALL." example:"ALL,SEED=1"`
	Variables    map[string]string `json:"variables,omitempty" doc:"Variables that say what was asked for, such as SLURM_MEM_PER_CPU and SLURM_HINT. An import fills them in." form:"variable"`
	Environment  string            `json:"environment,omitempty" doc:"The submitter's variables, packed. Submitting fills it in, as export says, and the server never shows it."`
	OpenMode     string            `json:"openMode,omitempty" doc:"What becomes of output and error where such files are there already: they are emptied, or written on behind." default:"truncate" enum:"truncate,append"`
	Signal       string            `json:"signal,omitempty" doc:"Signal some seconds before maxDuration ends it, as sbatch --signal takes it: with B: for the script itself, else for what srun started." example:"B:USR1@90"`
}

// SlurmJobs is how many numbers of jobs a document takes: each task of a script's
// array is a job of its own. The last of them has the number of the array, as
// Slurm has it, and those before it the numbers below.
func (d *Document) SlurmJobs() int64 {
	if d.Slurm == nil || d.Array == nil {
		return 1
	}
	return int64(max(1, d.Size()))
}

// ParseIndexes reads the indexes of an array as sbatch has them: numbers and
// ranges, with a step after a colon. It fails on what is none, stands twice,
// or is more than a workload may have tasks.
func ParseIndexes(text string) ([]int, error) {
	bad := func(format string, args ...any) ([]int, error) {
		return nil, codec.FieldError{Value: text, Problem: fmt.Sprintf(format, args...), Hint: "write it like 0-15, 1,3,7 or 0-20:5"}
	}
	var all []int
	seen := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		part, stepText, stepped := strings.Cut(strings.TrimSpace(part), ":")
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to, step := from, 1
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err == nil && stepped {
			if step, err = strconv.Atoi(stepText); !ranged || step < 1 {
				return bad("%q has a step that is none", codec.Shorten(text))
			}
		}
		const most = 4_000_000 // above which no Slurm goes either
		if err != nil || from < 0 || to < from || to > most {
			return bad("%q is not a list of indexes", codec.Shorten(text))
		}
		for i := from; i <= to; i += step {
			if seen[i] {
				return bad("the index %d stands twice", i)
			}
			if seen[i] = true; len(seen) > maxTasks {
				return bad("there are more than %d indexes", maxTasks)
			}
			all = append(all, i)
		}
	}
	return all, nil
}

// ArrayPlace is where a job stands in an array of jobs that have a workload each: its
// SLURM_ARRAY_TASK_ID among those of all. It fails to be of one where none are said.
func (s *Slurm) ArrayPlace() (place int, all []int, ok bool) {
	if s == nil || s.ArrayTask == nil {
		return 0, nil, false
	}
	all, err := ParseIndexes(s.Indexes)
	return *s.ArrayTask, all, err == nil && *s.ArrayTask >= 0 && *s.ArrayTask < len(all)
}

// SlurmCancelArg is the argument under which the program of a script's tasks, whose
// path they find in SlurmToolVar, sends a signal to the script or its steps: which
// of them, and the signal.
const (
	SlurmCancelArg = "__slurm-cancel"
	SlurmToolVar   = "MUSTER_SLURM_TOOL"
)

// Exit codes of that program.
const (
	SlurmNoStep   = 3 // no such step runs
	SlurmNoScript = 4 // the script does not run
)

// ParseSignal reads [B:]SIGNAL[@SECONDS] as sbatch has it: whether it is for
// the script itself, the signal's name without SIG or its number, and how many
// seconds before the limit it comes.
func ParseSignal(text string) (script bool, signal string, before int, err error) {
	rest, script := strings.CutPrefix(text, "B:")
	rest = strings.TrimPrefix(rest, "R:")
	signal, at, has := strings.Cut(rest, "@")
	signal, before = strings.ToUpper(strings.TrimPrefix(strings.ToUpper(signal), "SIG")), 60
	if has {
		before, err = strconv.Atoi(at)
	}
	if err != nil || before < 0 || before > 65535 || signal == "" || strings.Trim(signal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-") != "" {
		return false, "", 0, codec.FieldError{Value: text, Problem: fmt.Sprintf("%q is not a signal", codec.Shorten(text)), Hint: "write it like USR1@90 or B:TERM@120"}
	}
	return script, signal, before, nil
}

// SlurmLayout is how many of so many processes go to each node, of which each has room
// for so many: one to each in turn for as long as it has. Nil: there is not room for all.
func SlurmLayout(tasks int, room []int) []int {
	counts := make([]int, len(room))
	for tasks > 0 {
		open, least := 0, tasks // nodes that take more, and how much each of them does
		for i, most := range room {
			if left := most - counts[i]; left > 0 {
				open++
				least = min(least, left)
			}
		}
		if open == 0 {
			return nil
		}
		each, rest := min(least, tasks/open), 0
		if each == 0 {
			each, rest = 0, tasks
		}
		for i, most := range room {
			if counts[i] >= most {
				continue
			}
			n := each
			if rest > 0 {
				n, rest = 1, rest-1
			}
			counts[i] += n
			tasks -= n
		}
	}
	return counts
}

// SlurmFill is how Slurm gives CPUs for so many processes to so many nodes, of which none
// has room for more than most: as many to the first as leaves one for each other
// (slurmctld 22.05.8, select/cons_tres).
func SlurmFill(tasks, most, nodes int) []int {
	counts := make([]int, nodes)
	for i := range counts {
		counts[i] = max(min(most, tasks-(nodes-1-i)), 0)
		tasks -= counts[i]
	}
	return counts
}

// environmentMost bounds the variables that a batch script takes along, in
// bytes. No program can be started with more than some 2 MB.
const environmentMost = 1 << 20

// PackEnvironment is a list of NAME=VALUE as a document keeps it: a submitter
// has a hundred of them, and a job of an array is one of thousands.
func PackEnvironment(vars []string) string {
	if len(vars) == 0 {
		return ""
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, strings.Join(vars, "\x00"))
	if err = errors.Join(err, z.Close()); err != nil { // not to memory
		return ""
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// UnpackEnvironment is the list that a document keeps so. It fails on anything
// else, and on more than can be given to a program.
func UnpackEnvironment(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	no := errors.New("is not what a submission wrote")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, no
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, no
	}
	vars, err := io.ReadAll(io.LimitReader(z, environmentMost+1))
	if err != nil {
		return nil, no
	}
	if len(vars) > environmentMost {
		return nil, errors.New("holds more than 1 MiB, which no program can be given; write --export with the names that are needed")
	}
	return strings.Split(string(vars), "\x00"), nil
}

// SlurmPerNode writes amounts of nodes, in their order, as Slurm does: 4(x2),3.
func SlurmPerNode(counts []int) string {
	var parts []string
	for i := 0; i < len(counts); {
		same := i
		for same < len(counts) && counts[same] == counts[i] {
			same++
		}
		part := strconv.Itoa(counts[i])
		if same-i > 1 {
			part = fmt.Sprintf("%s(x%d)", part, same-i)
		}
		parts = append(parts, part)
		i = same
	}
	return strings.Join(parts, ",")
}

// SlurmAmounts reads what SlurmPerNode writes; nil: it is nothing of the kind, or of more
// nodes than a gang may have.
func SlurmAmounts(text string) (counts []int) {
	for part := range strings.SplitSeq(text, ",") {
		number, times, repeated := strings.Cut(part, "(x")
		n, err := strconv.Atoi(number)
		count, terr := 1, error(nil)
		if repeated {
			count, terr = strconv.Atoi(strings.TrimSuffix(times, ")"))
		}
		if err != nil || terr != nil || n < 0 || count < 1 || len(counts)+count > maxTasks {
			return nil
		}
		counts = append(counts, slices.Repeat([]int{n}, count)...)
	}
	return counts
}
