// Package container decides how a task looks as an OCI runtime bundle: what it
// runs, as whom, with what in its file tree, and what it may not do. It is
// pure: files of the image and of the machine are read by its caller, and
// nothing here starts anything. It fails only for what the user can mend.
package container

import (
	"fmt"
	"slices"
	"strings"
)

// Image is an unpacked image.
type Image struct {
	Ref    string   `json:"ref"`
	Digest string   `json:"digest,omitempty"`
	Layers []string `json:"layers"` // directories usable as lower layers of an overlay, lowest first
	Config Config   `json:"config"`
}

// Config is what an image says about how it wants to be run.
type Config struct {
	Env        []string `json:"env,omitempty"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	User       string   `json:"user,omitempty"` // name or id, or either with :group
	Workdir    string   `json:"workdir,omitempty"`
}

// defaultPath is for images that set none.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Command is what runs: argv, which replaces both of the image's, or the
// image's entry point followed by args, or by its own arguments without any.
// Empty: there is nothing.
func (c Config) Command(argv, args []string) []string {
	switch {
	case len(argv) > 0:
		return argv
	case len(args) > 0:
		return append(slices.Clone(c.Entrypoint), args...)
	default:
		return append(slices.Clone(c.Entrypoint), c.Cmd...)
	}
}

// Environment is the image's, then what the machine adds, then the task's own.
// Of equal names the last one counts; the caller removes the others.
func (c Config) Environment(machine, own []string) []string {
	return slices.Concat([]string{defaultPath}, c.Env, machine, own)
}

// Dir is where the command starts: the task's own choice, the image's, or /.
func (c Config) Dir(own string) (string, error) {
	dir := own
	if dir == "" {
		dir = c.Workdir
	}
	if dir == "" {
		dir = "/"
	}
	if !strings.HasPrefix(dir, "/") {
		return "", fmt.Errorf("workdir %q is not absolute; in a container it must begin with /", dir)
	}
	return dir, nil
}
