package slurmtools

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// programs is what each of n tasks runs, as a file of --multi-prog says it
// (slurm.schedmd.com/srun.html, "MULTIPLE PROGRAM CONFIGURATION"): numbers of tasks
// or *, a program, its arguments; %t in them is the task's number, %o its place
// among those of the line.
func programs(argv []string, n int) ([][]string, error) {
	name := argv[0]
	f, err := os.Open(name)
	if err != nil {
		return nil, inSlurmsWords("Could not open multi_prog config file %s", name)
	}
	defer func() { _ = f.Close() }()
	all := make([][]string, n)
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for line := 1; in.Scan(); line++ {
		text := in.Text()
		for strings.HasSuffix(text, "\\") && in.Scan() {
			text, line = strings.TrimSuffix(text, "\\")+in.Text(), line+1
		}
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		words, err := source.ShellWords(text)
		wrong := inSlurmsWords("Line %d of configuration file %s invalid", line, name)
		if err != nil || len(words) < 2 {
			return nil, wrong
		}
		tasks, err := tasksOf(words[0], all)
		if err != nil {
			return nil, fmt.Errorf("%w\nsrun: error: %w", err, wrong)
		}
		for place, task := range tasks {
			for _, w := range append(words[1:], argv[1:]...) {
				w = strings.ReplaceAll(strings.ReplaceAll(w, "%t", strconv.Itoa(task)), "%o", strconv.Itoa(place))
				all[task] = append(all[task], w)
			}
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	for task, words := range all {
		if words == nil {
			return nil, inSlurmsWords("Configuration file %s invalid, no record for task id %d", name, task)
		}
	}
	return all, nil
}

// tasksOf are the tasks of a line; * is all that no line before has.
func tasksOf(text string, have [][]string) (tasks []int, err error) {
	if text == "*" {
		for i, words := range have {
			if words == nil {
				tasks = append(tasks, i)
			}
		}
		return tasks, nil
	}
	if tasks, err = spec.ParseIndexes(text); err != nil {
		return nil, inSlurmsWords("Invalid task range specification (%s)", text)
	}
	for _, task := range tasks {
		if task >= len(have) {
			return nil, inSlurmsWords("Invalid task id, %d >= ntasks", task)
		}
		if have[task] != nil {
			return nil, inSlurmsWords("Duplicate record for task %d", task)
		}
	}
	return tasks, nil
}
