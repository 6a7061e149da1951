package terms

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/spec"
)

// Tasks reads which tasks of an array an id names: 3, or [1,4-6], as
// SLURM_ARRAY_TASK_ID counts them; nil: all of the workload.
func Tasks(w *api.Workload, id, part string) ([]int, error) {
	if ofMembers(w) {
		return nil, nil // it is the one that is meant
	}
	if cli.Document(w).Array == nil {
		return nil, cli.Wrong(fmt.Sprintf("Invalid job id specified: %s is no array, so %s is none of its tasks", w.Name, id), "name the job by its number")
	}
	given, err := spec.ParseIndexes(strings.TrimSuffix(strings.TrimPrefix(part, "["), "]"))
	if err != nil {
		return nil, cli.Wrong(fmt.Sprintf("Invalid job id specified: %s", id), "an array's tasks are named like 12_3 or 12_[1,4-6]")
	}
	numbers := Numbers(w)
	for k, n := range given {
		at := slices.Index(numbers, n)
		if numbers != nil && at < 0 {
			return nil, cli.Missing(fmt.Sprintf("Invalid job id specified: %s has no task %d", id, n), "squeue -r lists the tasks that there are")
		}
		if numbers != nil {
			given[k] = at
		}
	}
	return given, nil
}

// Find is the workload of a number, or of a name.
func Find(c *compat.Call, text string) (*api.Workload, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" && text[0] != '@' {
		return c.Find(c.Context, "", text)
	}
	var list []api.Workload
	if n > 0 { // zero would ask for any
		if list, err = c.Pages(c.Context, client.ListOptions{Number: n, Deleted: true}, 1, nil); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		if w, index, is := TaskOf(c, text); is {
			return nil, cli.Missing(fmt.Sprintf("Invalid job id specified: %s is a task of an array, %d_%d", text, w.Number, NumberIn(Numbers(w), index)), fmt.Sprintf("name the whole array: %d", w.Number))
		}
		return nil, cli.Missing(fmt.Sprintf("Invalid job id specified: %s", cmp.Or(text, `""`)), "squeue lists the jobs that there are")
	}
	return &list[0], nil
}

// FindEach are the jobs of a number: one, or all of an array whose jobs have a workload
// each, or those of them that part names, such as 3 or [1,4-6].
func FindEach(c *compat.Call, number, part string) ([]*api.Workload, error) {
	w, err := Find(c, number)
	if err != nil {
		return nil, err
	}
	array, jobs, _, is := Member(w)
	if !is || array != w.Number || jobs == 1 && part == "" {
		return []*api.Workload{w}, nil
	}
	var given []int
	if part != "" {
		if given, err = spec.ParseIndexes(strings.TrimSuffix(strings.TrimPrefix(part, "["), "]")); err != nil {
			return nil, cli.Wrong(fmt.Sprintf("Invalid job id specified: %s_%s", number, part), "an array's tasks are named like 12_3 or 12_[1,4-6]")
		}
	}
	var out []*api.Workload
	for n := array - int64(jobs) + 1; n <= array; n++ {
		o, err := Find(c, strconv.FormatInt(n, 10))
		if cli.CodeOf(err) == cli.CodeOf(cli.Missing("", "")) && err != nil {
			continue // it was deleted
		}
		if err != nil {
			return nil, err
		}
		if of, _, task, is := Member(o); is && of == array && (part == "" || slices.Contains(given, task)) {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return nil, cli.Missing(fmt.Sprintf("Invalid job id specified: %s_%s", number, part), "squeue -r lists the tasks that there are")
	}
	return out, nil
}

// ofMembers reports whether a job is one of an array whose jobs have a workload each.
func ofMembers(w *api.Workload) bool {
	_, _, _, is := Member(w)
	return is
}

// TaskOf is the array that has not ended of which the job of a number is a
// task, and which one.
func TaskOf(c *compat.Call, text string) (w *api.Workload, index int, ok bool) {
	return ArrayOf(c, text, true)
}

// ArrayOf is the array that the job of a number is a task of, and which one:
// each has a number of its own, those below the array's.
func ArrayOf(c *compat.Call, text string, live bool) (w *api.Workload, index int, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return nil, 0, false
	}
	in := func(w *api.Workload) bool {
		return w.Number >= n && w.Number-cli.Document(w).SlurmJobs() < n
	}
	list, err := c.Pages(c.Context, client.ListOptions{Live: live, Deleted: !live}, 1, in)
	if err != nil || len(list) == 0 {
		return nil, 0, false
	}
	w = &list[0]
	return w, int(n - 1 - w.Number + cli.Document(w).SlurmJobs()), true
}

// Whole refuses ids of a part of a job: what is done, is done to all of it.
func Whole(done string, ids []string) error {
	for _, id := range ids {
		if number, _, part := strings.Cut(id, "_"); part {
			return cli.Wrong(fmt.Sprintf("Invalid job id specified: %q is a part of an array: only the whole array can be %s", id, done), "name it by its number: "+number)
		}
		if number, _, part := strings.Cut(id, "."); part {
			return cli.Wrong(fmt.Sprintf("Invalid job id specified: %q is a step: only the whole job can be %s", id, done), "name it by its number: "+number)
		}
	}
	return nil
}

// FindAll are those of several ids; an array's task is its array.
func FindAll(c *compat.Call, texts []string) ([]*api.Workload, error) {
	var out []*api.Workload
	for _, text := range texts {
		number, part, _ := strings.Cut(text, "_")
		ws, err := FindEach(c, number, part)
		if err != nil {
			return nil, err
		}
		out = append(out, ws...)
	}
	return out, nil
}
