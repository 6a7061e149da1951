package convert

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/convert/skypilot"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// marks are fields at the top of a document that only one format has.
var marks = map[source.Format][]string{
	source.Kubernetes: {"apiVersion"},
	source.Mcli: {
		"compute", "scheduling", "env_variables", "experiment_tracker", "dependent_deployment", "run_name",
		"gpu_num", "gpu_type", "optimization_level", "parent_name",
	},
	source.SkyPilot: {"run", "setup", "num_nodes", "envs", "file_mounts", "storage_mounts"},
	source.Dstack:   {"type", "commands", "creation_policy", "idle_duration", "repos", "stop_criteria", "startup_order", "utilization_policy"},
}

// Detect tells the format of a source from its content; what looks like none
// of the others is Native, whose parser then says what is wrong with it. It
// fails with codec.Errors on what looks like several.
func Detect(data []byte) (source.Format, error) {
	format, _, err := detect(data)
	return format, err
}

// detect is Detect with the documents that it read on the way, where it did.
func detect(data []byte) (source.Format, []codec.Tree, error) {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if f := detectText(text); f != "" {
		return f, nil, nil
	}
	trees, err := codec.ReadTrees(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	if err != nil {
		return detectBroken(data), nil, nil // the format's own reader says what is wrong
	}
	format, line := source.Format(""), 0
	for i := range trees {
		f, err := detectTree(&trees[i])
		if err != nil {
			return source.Native, nil, err
		}
		if format != "" && f != format && format != source.SkyPilot { // a pipeline of SkyPilot begins with its name alone
			return format, nil, mixed(trees[i].Line, f, format, line)
		}
		if format == "" {
			format, line = f, trees[i].Line
		}
		if len(trees) > 1 && i == 0 && format == source.Native && skypilot.IsHeader(&trees[0]) {
			format = "" // as one of SkyPilot does
		}
	}
	if format == "" {
		format = source.Native
	}
	return format, trees, nil
}

func mixed(line int, f, format source.Format, first int) error {
	return codec.Errors{{Line: line, Problem: fmt.Sprintf("looks like %s, and line %d like %s", f, first, format), Hint: "import files of one kind"}}
}

// submitsToRunai are commands of runai that submit, at the beginning of a line.
var submitsToRunai = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(\$ )?runai[ \t]+((submit|submit-dist|submit-mpi|submit-pytorch)[ \t]|(training|workspace|inference|workload|distributed|mpi|pytorch|tf|xgboost)[ \t]+([a-z]+[ \t]+)?submit[ \t])`)
})

// field is how lines of YAML begin.
var field = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(- |["']?[\w./-]+["']?:([ \t]|$)|[{\[])`) })

// detectText knows what is not YAML: scripts and command lines. A script that calls
// runai and has no directives of Slurm is one of Run:ai.
func detectText(data []byte) source.Format {
	script := bytes.HasPrefix(data, []byte("#!"))
	for line := range bytes.Lines(data) {
		whole := bytes.TrimPrefix(line, []byte("$ "))
		if line = bytes.TrimSpace(whole); script { // lines of YAML may begin with any word; a script's may be indented
			whole = line
		}
		switch {
		case bytes.HasPrefix(line, []byte("#SBATCH")):
			return source.Sbatch
		case len(line) == 0 || line[0] == '#':
		case bytes.HasPrefix(whole, []byte("runai ")) || bytes.HasPrefix(whole, []byte("runai\t")):
			return source.Runai
		case !script && !assignment(line):
			if !field().Match(line) && submitsToRunai().Match(data) { // other commands stand before it
				return source.Runai
			}
			return ""
		}
	}
	if script {
		return source.Sbatch
	}
	return ""
}

// assignment reports whether a line gives a variable of a shell its value, or sets
// options of the shell, as scripts begin.
func assignment(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte("export "))
	if bytes.HasPrefix(line, []byte("set -")) {
		return true
	}
	name, _, ok := bytes.Cut(line, []byte("="))
	return ok && len(name) > 0 && bytes.IndexFunc(name, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	}) < 0
}

// detectTree knows a document by the fields at its top.
func detectTree(t *codec.Tree) (source.Format, error) {
	if source.Entry(t, "apiVersion") != nil && source.Entry(t, "kind") != nil { // an object may have any field, such as the type of a Secret
		return source.Kubernetes, nil
	}
	format, line, field := source.Format(""), 0, ""
	for i, name := range t.Names {
		f := markOf(name)
		if name == "compute" && t.Items[i].Kind == codec.TreeText { // a compute resource's name, where mcli has a map
			f = ""
		}
		if name == "kind" && nativeKind(t.Items[i].Text) {
			return source.Native, nil
		}
		if f == "" {
			f = inner(name, &t.Items[i])
		}
		if name == "setup" && source.Entry(t, "type") != nil { // dstack had it, too
			f = source.Dstack
		}
		switch {
		case f == "" || f == format:
		case format == "":
			format, line, field = f, t.Lines[i], name
		default:
			return format, codec.Errors{{
				Line: t.Lines[i], Path: name, Problem: fmt.Sprintf("is of %s, and %s in line %d of %s", f, field, line, format),
				Hint: "keep what one of them knows",
			}}
		}
	}
	if format == "" {
		return source.Native, nil
	}
	return format, nil
}

func nativeKind(s string) bool {
	return s == "training" || s == "distributed" || s == "workspace" || s == "inference"
}

func markOf(name string) source.Format {
	for _, f := range []source.Format{source.Kubernetes, source.Mcli, source.SkyPilot, source.Dstack} {
		for _, m := range marks[f] {
			if m == name {
				return f
			}
		}
	}
	return ""
}

// inner tells formats apart that share a field name, by the content of that field.
func inner(name string, t *codec.Tree) source.Format {
	has := func(t *codec.Tree, name string) bool {
		for _, n := range t.Names {
			if n == name {
				return true
			}
		}
		return false
	}
	switch {
	case name == "integrations" && len(t.Items) > 0 && has(&t.Items[0], "integration_type"):
		return source.Mcli
	case name == "resources" && (has(t, "accelerators") || has(t, "cloud") || has(t, "infra") || has(t, "cpus")):
		return source.SkyPilot
	}
	return ""
}

// detectBroken guesses at what cannot be read.
func detectBroken(data []byte) source.Format {
	for line := range bytes.Lines(data) {
		name, _, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		if f := markOf(strings.Trim(name, `"'{ `)); f != "" {
			return f
		}
	}
	return source.Native
}
