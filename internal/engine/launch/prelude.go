package launch

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// prelude is the script that does the integrations of w before its command, in
// their order. It is empty where there is nothing to do.
func prelude(w *core.Workload) []byte {
	var b strings.Builder
	for _, in := range w.Spec.Integrations {
		switch {
		case in.Git != nil:
			writeGit(&b, in.Git)
		case in.Pip != nil:
			upgrade := ""
			if in.Pip.Upgrade {
				upgrade = "--upgrade "
			}
			fmt.Fprintf(&b, "muster_do python3 -m pip install %s%s || exit $?\n", upgrade, spec.ShellWords(in.Pip.Packages...))
		case in.Apt != nil:
			fmt.Fprintf(&b, "muster_do apt-get update -qq -o DPkg::Lock::Timeout=600 || exit $?\nmuster_do env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 %s || exit $?\n", spec.ShellWords(in.Apt.Packages...))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []byte(preludeHead + b.String() + "unset -f muster_do muster_clone\n")
}

// preludeHead holds what every prelude uses. Tasks on one node share the
// working directory, so each takes its turn with a clone.
// Every step says itself that a failure ends the task: set -e would not hold,
// since the script may be run as a condition.
const preludeHead = `muster_do() { echo "[muster] $*" >&2; "$@"; }
muster_clone() { # url path branch commit
	if [ ! -d "$2/.git" ]; then
		if [ -n "$3" ]; then muster_do git clone --branch "$3" -- "$1" "$2"; else muster_do git clone -- "$1" "$2"; fi || return
	fi
	[ -n "$4" ] || return 0
	git -C "$2" cat-file -e "$4^{commit}" 2>/dev/null || muster_do git -C "$2" fetch origin "$4" || return
	muster_do git -C "$2" -c advice.detachedHead=false checkout "$4"
}
`

func writeGit(b *strings.Builder, g *spec.Git) {
	name := strings.TrimSuffix(g.Repo[strings.LastIndexAny(g.Repo, "/:")+1:], ".git")
	dir := g.Path
	if dir == "" {
		dir = name
	}
	host := g.Host
	if host == "" {
		host = "github.com"
	}
	https, ssh := "https://"+host+"/"+g.Repo, fmt.Sprintf("git@%s:%s.git", host, strings.TrimSuffix(g.Repo, ".git"))
	switch {
	case strings.Contains(g.Repo, "://") || strings.HasPrefix(g.Repo, "/") || strings.Contains(g.Repo, "@"):
		fmt.Fprintf(b, "muster_url=%s\n", spec.ShellWords(g.Repo))
	case g.SSH == nil: // over ssh where the user has a key for it
		fmt.Fprintf(b, "muster_url=%s; [ -z \"${GIT_SSH_COMMAND:-}\" ] || muster_url=%s\n", spec.ShellWords(https), spec.ShellWords(ssh))
	case *g.SSH:
		fmt.Fprintf(b, "muster_url=%s\n", spec.ShellWords(ssh))
	default:
		fmt.Fprintf(b, "muster_url=%s\n", spec.ShellWords(https))
	}
	fmt.Fprintf(b, "( if command -v flock >/dev/null; then flock 9; fi; muster_clone \"$muster_url\" %s %s %s ) 9>%s || exit $?\n", spec.ShellWords(dir), spec.ShellWords(g.Branch), spec.ShellWords(g.Commit), spec.ShellWords(dir+".lock"))
	if g.Pip != "" {
		fmt.Fprintf(b, "( cd %s && muster_do python3 -m pip install %s ) || exit $?\n", spec.ShellWords(dir), g.Pip)
	}
}

// trackerEnv is what experiment trackers read (docs.mosaicml.com,
// "Integrations": environment variables only).
func trackerEnv(m map[string]string, w *core.Workload) {
	set := func(k, v string) {
		if v != "" {
			m[k] = v
		}
	}
	for _, in := range w.Spec.Integrations {
		switch {
		case in.Wandb != nil:
			set("WANDB_PROJECT", in.Wandb.Project)
			set("WANDB_ENTITY", in.Wandb.Entity)
			set("WANDB_RUN_GROUP", in.Wandb.Group)
			set("WANDB_JOB_TYPE", in.Wandb.JobType)
			set("WANDB_TAGS", strings.Join(in.Wandb.Tags, ","))
			set("WANDB_NAME", w.Name)
		case in.Comet != nil:
			set("COMET_PROJECT_NAME", in.Comet.Project)
			set("COMET_WORKSPACE", in.Comet.Workspace)
			set("COMET_EXPERIMENT_NAME", w.Name)
		case in.Mlflow != nil:
			set("MLFLOW_EXPERIMENT_NAME", in.Mlflow.Experiment)
			uri := in.Mlflow.TrackingURI
			if uri == "" {
				uri = "databricks"
			}
			set("MLFLOW_TRACKING_URI", uri)
			set("MLFLOW_RUN_NAME", w.Name)
		}
	}
}
