package mcli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

func logs() *compat.Command {
	return &compat.Command{
		Use: "logs [RUN]", Also: "log l", Short: "Output of a run, by default the latest", Most: 1, Names: true,
		Long: `Prints what a node of a run wrote: node rank 0, or where the run has failed the
rank that failed first.`,
		Flags: []compat.Flag{
			{Names: "node-rank node rank", Arg: "N", Does: "the node whose output is shown"},
			{Names: "failed", Does: "the first node that failed"},
			{Names: "gpu local-gpu-rank", Arg: "N", Void: "there is one output for each node, in which its processes write; what one wrote has its own prefix if the launcher gives it one."},
			{Names: "global-gpu-rank", Arg: "N", Does: "the node that has this GPU; its processes share one output"},
			{Names: "error first-exception", Does: "only the first error in the output of all nodes"},
			{Names: "resumption", Arg: "N", Does: "the resumption, from 0; default: the latest"},
			{Names: "prev", Does: "the resumption before the latest"},
			{Names: "container c", Arg: "MAIN|MODEL", Does: "MAIN, which is all that a run has here"},
			{Names: "follow f", Does: "go on until the run has ended"},
			{Names: "no-follow", Does: "only what there is (the default)"},
			{Names: "tail t", Arg: "N", Does: "only the last lines"},
			{Names: "restart", Arg: "N", Does: "of a deployment: the attempt, from 0"},
			{Names: "timestamps", Does: "before each line when it was written"},
		},
		Run: showLogs,
	}
}

// clashes are flags of which one excludes the other.
var clashes = [][2]string{
	{"failed", "error"}, {"follow", "error"}, {"follow", "no-follow"}, {"resumption", "prev"}, {"resumption", "restart"},
	{"node-rank", "failed"}, {"node-rank", "global-gpu-rank"}, {"global-gpu-rank", "failed"}, {"node-rank", "error"},
}

func showLogs(c *compat.Call) error {
	for _, two := range clashes {
		if c.Bool(two[0]) && c.Bool(two[1]) || c.Given(two[0]) && c.Given(two[1]) {
			return cli.Wrong(fmt.Sprintf("--%s and --%s cannot be used together", two[0], two[1]), "leave one of them out")
		}
	}
	if k := c.Text("container"); k != "" && !strings.EqualFold(k, "main") {
		return cli.Wrong(fmt.Sprintf("--container: %q is not there: a run has no model server beside it here", k), "deploy the model as a deployment of its own and see mcli logs of that")
	}
	name := c.First()
	if name == "deployment" || name == "deployments" {
		name = ""
	}
	kinds := append(append([]string{}, runKinds...), deploymentKinds...)
	if name == "" {
		kinds = runKinds
	}
	w, err := found(c, name, kinds)
	if err != nil {
		return err
	}
	if notYet, err := early(c, w); notYet {
		return err
	}
	args := []string{"logs", w.ID, "--project", w.Project}
	rank, err := rankOf(c, w)
	if err != nil {
		return err
	}
	args = append(args, rank...)
	for flag, own := range map[string]string{"resumption": "--attempt", "restart": "--attempt", "tail": "--tail"} {
		if !c.Given(flag) {
			continue
		}
		n, err := c.Int(flag, 0)
		if err != nil {
			return err
		}
		if n < 0 {
			return cli.Wrong(fmt.Sprintf("--%s: %d is negative", flag, n), "0 or more")
		}
		args = append(args, own, strconv.Itoa(n))
	}
	for flag, own := range map[string]string{"prev": "--previous", "follow": "--follow", "error": "--first-error", "timestamps": "--timestamps"} {
		if c.Bool(flag) {
			args = append(args, own)
		}
	}
	return c.Muster(c.Context, args...)
}

// early is what there is to say instead of output.
func early(c *compat.Call, w *api.Workload) (bool, error) {
	st := w.Statuses[dialect]
	if st.Reason == "FailedImagePull" {
		c.Say("Run %s failed to pull its image %s.", w.Name, compat.Dash(cli.Document(w).Image))
		c.Say("It is private and no docker secret opens it (mcli create secret docker), or its name is wrong (mcli describe run %s).", w.Name)
		return true, nil
	}
	if c.Bool("follow") || c.Given("resumption") || c.Bool("prev") || len(w.Attempts) > 1 || cli.Ended(w) {
		return false, nil
	}
	switch lifecycle.Phase(w.Phase) {
	case lifecycle.Running, lifecycle.Terminating, lifecycle.Restarting, lifecycle.Backoff, lifecycle.Publishing:
		return false, nil
	}
	return true, cli.Conflict(fmt.Sprintf("%s has not started yet: it is %s, %s", w.Name, status(w), waiting(st.Status)), "mcli logs --follow "+w.Name+" waits for it")
}

// waiting is what a run waits for, by its status.
func waiting(status string) string {
	switch strings.ToUpper(status) {
	case "PENDING":
		return "waiting in run queue"
	case "QUEUED":
		return "waiting for resources"
	case "STARTING":
		return "pulling image"
	}
	return "waiting"
}

// rankOf says whose output is wanted.
func rankOf(c *compat.Call, w *api.Workload) ([]string, error) {
	switch {
	case c.Bool("failed"):
		return []string{"--failed"}, nil
	case c.Bool("error"):
		return nil, nil
	case c.Given("node-rank"):
		n, err := c.Int("node-rank", 0)
		if err == nil && (n < 0 || n >= compat.Count(w)) && !lifecycle.Kind(w.Kind).Replicated() {
			err = cli.Missing(fmt.Sprintf("%s has no node rank %d; it has 0 to %d", w.Name, n, compat.Count(w)-1), "mcli describe run "+w.Name+" shows its nodes")
		}
		return []string{"--task", strconv.Itoa(n)}, err
	case c.Given("global-gpu-rank"):
		n, err := c.Int("global-gpu-rank", 0)
		if err != nil {
			return nil, err
		}
		if n < 0 || n >= devicesOf(w) {
			return nil, cli.Missing(fmt.Sprintf("%s has no GPU %d; it has %d", w.Name, n, devicesOf(w)), "GPUs are counted from 0 over all nodes")
		}
		return []string{"--task", strconv.Itoa(n / max(devicesOf(w)/nodeCount(w), 1))}, nil
	case w.Phase == string(lifecycle.Failed) && compat.Count(w) > 1:
		if a := compat.Last(w); a != nil && a.Culprit != nil && !c.Given("resumption") && !c.Bool("prev") {
			c.Say("Run %s failed; showing node rank %d, which failed first. --node-rank shows another.", w.Name, *a.Culprit)
			return []string{"--task", strconv.Itoa(*a.Culprit)}, nil
		}
	case lifecycle.Kind(w.Kind).Replicated():
		return nil, nil
	}
	return []string{"--task", "0"}, nil
}

// devicesOf is how many GPUs its tasks see, parts of one as one.
func devicesOf(w *api.Workload) int { return cli.Document(w).TotalGPUs() }
