package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// completing reports whether a command line is the shell's question of what could
// follow.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completeFlags gives every flag whose command says nothing better what its values
// may be. Numbers, lengths of time and free text have none, and no files are offered
// in their place.
func completeFlags(s *session.Session, c *cobra.Command) {
	known := flagValues(s)
	set := func(f *pflag.Flag) {
		if _, given := c.GetFlagCompletionFunc(f.Name); given || f.NoOptDefVal != "" {
			return
		}
		if values, ok := known[f.Name]; ok && strings.HasPrefix(f.Value.Type(), "string") {
			_ = c.RegisterFlagCompletionFunc(f.Name, values)
		} else if !isFile(f.Name) {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	}
	c.LocalFlags().VisitAll(set)
	c.PersistentFlags().VisitAll(set)
	for _, sub := range c.Commands() {
		completeFlags(s, sub)
	}
}

// isFile reports whether the value of a flag is a path of this machine.
func isFile(name string) bool {
	return strings.HasSuffix(name, "file") || slices.Contains([]string{"data-dir", "kubeconfig", "workdir", "trace", "out", "nodes", "tasks", "volume"}, name)
}

// flagValues are the values of flags by their names, which mean the same wherever
// they stand. What depends on the command its own package says.
func flagValues(s *session.Session) map[string]cobra.CompletionFunc {
	of := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	list := func(words ...string) cobra.CompletionFunc { // several, with commas between them
		return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			before := typed[:strings.LastIndexByte(typed, ',')+1]
			out := make([]string, 0, len(words))
			for _, w := range words {
				out = append(out, before+w)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		}
	}
	var phases, kinds, formats []string
	for _, p := range lifecycle.Phases() {
		phases = append(phases, string(p.Phase))
	}
	for _, k := range lifecycle.Kinds() {
		kinds = append(kinds, string(k))
	}
	for _, f := range source.Formats() {
		formats = append(formats, string(f))
	}
	ends := of("none", "workload", "task")
	return map[string]cobra.CompletionFunc{
		"output":          of(session.Formats...),
		"kind":            list(kinds...),
		"status":          list(phases...),
		"phase":           list(phases...),
		"on":              list(phases...),
		"for":             of(append(phases, "end")...),
		"priority":        of(spec.PriorityNames()...),
		"from":            of(formats...),
		"format":          of(string(source.Kubernetes), string(source.Sbatch), string(source.Mcli)),
		"exit-status":     ends,
		"on-interrupt":    of("detach", "stop"),
		"deadline-action": of("warn", "stop"),
		"resize":          of("restart", "live"),
		"state":           of("waiting", "delivered", "failed"),
		"placement":       of("fill", "binpack", "spread"),
		"log-level":       of("debug", "info", "warn", "error"),
		"backend":         list("local", "kube"),
		"attempt":         of("all"),
		"user":            of("@me"),
		"project":         s.CompleteProjects,
		"of-project":      s.CompleteProjects,
		"for-project":     s.CompleteProjects,
		"parent":          s.CompleteRecords(session.DepartmentWord),
		"after":           s.CompleteNames,
		"secret":          s.CompleteSecrets,
		"node":            s.CompleteNodes,
		"pool":            among(s, admin.CompletePools),
		"reservation":     among(s, admin.CompleteReservations),
		"gpu-type":        among(s, gpuTypes),
	}
}

// among is a list of names that needs the session.
func among(s *session.Session, list func(*session.Session, *cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return list(s, cmd, args, typed)
	}
}

// gpuTypes are the types of the GPUs that nodes have.
func gpuTypes(s *session.Session, cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (types []string) {
		list, err := c.Nodes.List(ctx)
		if err != nil {
			return nil
		}
		for _, n := range list.Items {
			for _, d := range n.Devices {
				if d.Product != "" && !slices.Contains(types, d.Product) {
					types = append(types, d.Product)
				}
			}
		}
		return types
	})
}
