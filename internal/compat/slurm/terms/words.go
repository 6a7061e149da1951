package terms

import (
	"cmp"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Words are Slurm's for what muster advises; its tools have them in common.
var Words = compat.Words{
	Commands: []compat.Saying{
		{Ours: "get", Theirs: "squeue"}, {Ours: "get nodes", Theirs: "sinfo -N"}, {Ours: "describe", Theirs: "scontrol show job"}, {Ours: "why", Theirs: "scontrol show job"},
		{Ours: "run", Theirs: "sbatch"}, {Ours: "stop", Theirs: "scancel"}, {Ours: "restart", Theirs: "scontrol requeue"}, {Ours: "hold", Theirs: "scontrol hold"}, {Ours: "release", Theirs: "scontrol release"},
		{Ours: "node list", Theirs: "sinfo -N"}, {Ours: "pool list", Theirs: "sinfo"}, {Ours: "reservation list", Theirs: "scontrol show reservation"}, {Ours: "license list", Theirs: "scontrol show licenses"},
	},
	Flags: []compat.Saying{
		{Ours: "--gpus", Theirs: "--gpus-per-node"}, {Ours: "--workers", Theirs: "--nodes"}, {Ours: "--max-duration", Theirs: "--time"},
		{Ours: "--task"}, {Ours: "--all-tasks"}, {Ours: "--first-error"}, {Ours: "--failed"}, {Ours: "--attempt"}, {Ours: "--run"}, {Ours: "--build"}, {Ours: "--exit-status"},
		{Ours: "--project"}, {Ours: "--all"}, {Ours: "--like"}, {Ours: "--secret"}, {Ours: "--dry-run"}, {Ours: "--kind"}, {Ours: "--limit"}, {Ours: "-it"}, {Ours: "-p"}, {Ours: "-A"}, {Ours: "-f"}, {Ours: "-o"},
	},
	None: []string{
		"access", "access-rule", "apply", "approvals", "approve", "attach", "audit", "auth", "budget", "check", "cluster", "compute", "config", "cp", "datasource", "datavolume", "delete", "department", "diff",
		"doctor", "environment", "events", "exec", "explain", "export", "import", "lifecycle", "login", "logout", "logs", "metrics", "move", "notifications", "policy", "port-forward", "preempt", "price",
		"project", "quota", "reject", "report", "role", "scale", "schedule", "secret", "server", "service-account", "share", "simulate", "ssh-config", "template", "token", "top", "ui", "update", "usage",
		"user", "user-limit", "util", "version", "wait",
	},
	Phase: func(p lifecycle.Phase) string { return cmp.Or(States[p].Long, Pending.Long) },
}
